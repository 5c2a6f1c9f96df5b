/* CUDA on the host side: errors as sundog_status, device memory that grows. Included by *.cu files
 * and by C files that are compiled only when CUDA was found.
 *
 *      BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(...)));
 *
 * The text of a failure names the call, file and line, and CUDA's own words. */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H
#include "base/alloc.h"
#include "base/status.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SUNDOG_ERR_MEMORY when memory ran out, SUNDOG_ERR_GPU for everything else. */
sundog_status device_check(cudaError_t error, const char *call, const char *file, int line);
#define DEVICE_CHECK(call) device_check((call), #call, __FILE__, __LINE__)

/* Device memory of the current device; starts as {0}. */
typedef struct device_array {
    void *d;
    size_t n_bytes;
} device_array;

/* At least n_bytes; contents are lost when it grows (by half more than asked). Waits for the device
 * before it frees the old memory. */
sundog_status device_reserve(device_array *array, size_t n_bytes);
void device_free(device_array *array);

#ifdef __cplusplus
}
#endif
#endif
