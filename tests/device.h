/* For tests of what runs on a GPU: skip without one, copy to and fro. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H
#include "check.h"

#include <cuda_runtime_api.h>

#define CHECK_CUDA(call)                                                                  \
    do {                                                                                  \
        const cudaError_t check_error_ = (call);                                          \
        if (check_error_ != cudaSuccess) {                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                 \
                    cudaGetErrorString(check_error_));                                    \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* Ends the program with 77 (skipped) when there is no GPU. */
static inline void device_required(void)
{
    int n = 0;
    const cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess && n > 0) return;
    printf("skipped: no GPU (%s)\n", cudaGetErrorString(error));
    exit(77);
}

static inline void *upload(const void *from, size_t n_bytes)
{
    void *d = NULL;
    CHECK_CUDA(cudaMalloc(&d, n_bytes + 1));
    CHECK_CUDA(cudaMemcpy(d, from, n_bytes, cudaMemcpyHostToDevice));
    return d;
}

static inline void download(void *to, const void *d, size_t n_bytes)
{
    CHECK_CUDA(cudaMemcpy(to, d, n_bytes, cudaMemcpyDeviceToHost));
}
#endif
