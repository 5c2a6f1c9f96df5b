/* See work.h. */
#include "work.h"

#include <cuda_runtime.h>
#include <stdint.h>

__global__ void stand_still(unsigned long long ns)
{
    const long long start = clock64();
    while ((unsigned long long)(clock64() - start) < 2 * ns) { }    /* some 2 GHz */
}

__global__ void copy_words(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = __ldcg((const unsigned long long *)from + i);
}

int work_delay(void *stream, unsigned us)
{
    stand_still<<<1, 1, 0, (cudaStream_t)stream>>>(1000ull * us);
    return (int)cudaGetLastError();
}

int work_fill(void *stream, int n_blocks, unsigned us)
{
    stand_still<<<n_blocks, 1024, 0, (cudaStream_t)stream>>>(1000ull * us);
    return (int)cudaGetLastError();
}

int work_copy(void *stream, void *to, const void *from, size_t n_words)
{
    copy_words<<<4, 256, 0, (cudaStream_t)stream>>>((uint64_t *)to, (const uint64_t *)from,
                                                    n_words);
    return (int)cudaGetLastError();
}
