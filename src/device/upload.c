#include "device/upload.h"

#include <string.h>

enum { COUNTING = 1, COPYING = 2 };

bool device_upload_pass(device_upload *upload)
{
    if (upload->pass == COPYING || upload->status != SUNDOG_OK) {
        upload->pass = 0;
        return false;
    }
    upload->pass++;
    if (upload->pass == COPYING) {
        upload->status = device_reserve(&upload->memory, upload->at);
        if (upload->status != SUNDOG_OK) {
            upload->pass = 0;
            return false;
        }
        BASE_RESERVE(upload->staging, upload->staging_capacity, upload->n_filled);
    } else {
        upload->n_filled = 0;
    }
    upload->at = 0;
    return true;
}

void *device_upload_place(device_upload *upload, const void *from, size_t n_bytes)
{
    const size_t at = upload->at;
    upload->at += (n_bytes + 15) / 16 * 16;
    if (upload->pass == COPYING) {
        if (from != NULL && n_bytes > 0) memcpy(upload->staging + at, from, n_bytes);
        return (char *)upload->memory.d + at;
    }
    if (from != NULL) upload->n_filled = at + n_bytes;
    return NULL;
}

sundog_status device_upload_finish(device_upload *upload, cudaStream_t stream)
{
    const sundog_status status = upload->status;
    upload->status = SUNDOG_OK;
    if (status != SUNDOG_OK || upload->n_filled == 0) return status;
    /* From pageable memory: the host's array has been read when this returns. */
    return DEVICE_CHECK(cudaMemcpyAsync(upload->memory.d, upload->staging, upload->n_filled,
                                     cudaMemcpyHostToDevice, stream));
}

void device_upload_free(device_upload *upload)
{
    device_free(&upload->memory);
    base_free(upload->staging);
    *upload = (device_upload){0};
}
