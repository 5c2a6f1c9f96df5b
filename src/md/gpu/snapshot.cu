#include "device/cuda.h"
#include "md/gpu/snapshot.h"

enum { BLOCK = 256 };

/* Threads of one value: 45,000 atoms are a thousand blocks, bound by memory. */
static __global__ void take(int n, const double *x, const double *v, const double *work, double *to,
                            size_t stride, const gpu_counts *counts)
{
    to += (counts->verdicts % MD_GPU_AHEAD) * stride;
    for (int i = (int)(blockIdx.x * BLOCK + threadIdx.x); i < n; i += (int)(gridDim.x * BLOCK)) {
        to[i] = x[i];
        to[n + i] = v[i];
    }
    if (blockIdx.x == 0 && threadIdx.x < MD_MAX_GROUPS) to[2 * n + threadIdx.x] = work[threadIdx.x];
}

extern "C" sundog_status gpu_snapshot_take(int n, const double *d_x, const double *d_v,
                                           const double *d_work, double *d_to, size_t stride,
                                           const gpu_counts *counts, void *stream)
{
    enum { MOST_BLOCKS = 2048 };
    int blocks = (n + BLOCK - 1) / BLOCK;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    take<<<blocks > 0 ? blocks : 1, BLOCK, 0, (cudaStream_t)stream>>>(n, d_x, d_v, d_work, d_to,
                                                                     stride, counts);
    return DEVICE_CHECK(cudaGetLastError());
}
