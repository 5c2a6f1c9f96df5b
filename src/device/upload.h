/* Many host arrays to the device in one allocation and one copy.
 *
 *      device_upload up = {0};
 *      while (device_upload_pass(&up)) {                  // once to count, once to copy
 *          view.row = DEVICE_PLACE(&up, const int *, jobs->row, n);
 *          view.work = DEVICE_PLACE_EMPTY(&up, double *, n);
 *      }
 *      BASE_TRY(device_upload_finish(&up, stream));
 *
 * Each array starts at a multiple of 16 bytes. What the second pass returns are device addresses.
 * Empty arrays should come last: all before the last filled one is copied.
 */
#ifndef DEVICE_UPLOAD_H
#define DEVICE_UPLOAD_H
#include "device/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct device_upload {
    device_array memory;
    char *staging;
    size_t staging_capacity;
    size_t at, n_filled;                /* bytes placed in this pass; up to the last filled array */
    int pass;
    sundog_status status;
} device_upload;

/* False after the second pass, and at once when there was no memory. */
bool device_upload_pass(device_upload *upload);
void *device_upload_place(device_upload *upload, const void *from, size_t n_bytes);
/* The copy, ordered on `stream`; host arrays may change when it returns. */
sundog_status device_upload_finish(device_upload *upload, cudaStream_t stream);
void device_upload_free(device_upload *upload);

#define DEVICE_PLACE(upload, type, from, n) \
    ((type)device_upload_place((upload), (from), (size_t)(n) * sizeof *(from)))
#define DEVICE_PLACE_EMPTY(upload, type, n) \
    ((type)device_upload_place((upload), NULL, (size_t)(n) * sizeof *(type)NULL))

#ifdef __cplusplus
}
#endif
#endif
