/* For tests of what runs on a GPU: skip without one, copy to and fro. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H
#include "check.h"
#include "device/cuda.h"

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
    CHECK_OK(DEVICE_CHECK(cudaMalloc(&d, n_bytes + 1)));
    CHECK_OK(DEVICE_CHECK(cudaMemcpy(d, from, n_bytes, cudaMemcpyHostToDevice)));
    return d;
}

static inline void download(void *to, const void *d, size_t n_bytes)
{
    CHECK_OK(DEVICE_CHECK(cudaMemcpy(to, d, n_bytes, cudaMemcpyDeviceToHost)));
}
#endif
