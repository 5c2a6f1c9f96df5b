#include "device/cuda.h"
#include "md/gpu/stretch.h"

enum { BLOCK = 256 };

static __global__ void stretch(int n, double *x, double *v, double3 factor)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (i >= 3 * n) return;
    int k = i % 3;
    double f = k == 0 ? factor.x : k == 1 ? factor.y : factor.z;
    x[i] *= f;
    v[i] *= 1 / f;
}

extern "C" sundog_status gpu_stretch(int n, double (*d_x)[3], double (*d_v)[3],
                                     const double factor[3], void *stream)
{
    if (n == 0) return SUNDOG_OK;
    stretch<<<(3 * n + BLOCK - 1) / BLOCK, BLOCK, 0, (cudaStream_t)stream>>>(
        n, (double *)d_x, (double *)d_v, make_double3(factor[0], factor[1], factor[2]));
    return DEVICE_CHECK(cudaGetLastError());
}
