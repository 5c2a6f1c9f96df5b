#include "device/cuda.h"

sundog_status device_check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess) return SUNDOG_OK;
    const char *slash = file;
    for (const char *c = file; *c; c++)
        if (*c == '/') slash = c + 1;
    cudaGetLastError();                 /* forget what is not sticky */
    size_t free_bytes, all_bytes;
    int gpu;
    if (error == cudaErrorMemoryAllocation && cudaGetDevice(&gpu) == cudaSuccess &&
        cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
        return base_fail(SUNDOG_ERR_MEMORY,
                         "GPU %d is out of memory: %.1f of its %.1f GB are free; other "
                         "programs may use it, or the system is too large: use more GPUs (%s:%d)",
                         gpu, 1e-9 * (double)free_bytes, 1e-9 * (double)all_bytes, slash, line);
    return base_fail(error == cudaErrorMemoryAllocation ? SUNDOG_ERR_MEMORY : SUNDOG_ERR_GPU,
                     "CUDA: %s (%s:%d, %s)", cudaGetErrorString(error), slash, line, call);
}

sundog_status device_reserve(device_array *array, size_t n_bytes)
{
    if (n_bytes <= array->n_bytes) return SUNDOG_OK;
    device_free(array);
    const size_t wanted = n_bytes + n_bytes / 2;
    BASE_TRY(DEVICE_CHECK(cudaMalloc(&array->d, wanted)));
    array->n_bytes = wanted;
    return SUNDOG_OK;
}

void device_free(device_array *array)
{
    if (array->d != NULL) cudaFree(array->d);
    *array = (device_array){0};
}
