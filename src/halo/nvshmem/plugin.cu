/* libsundog-nvshmem.so: the kernels of the exchange with puts to far peers, and the calls of
 * NVSHMEM that the library needs. */
#define SUNDOG_FAR_HEADER "halo/nvshmem/far.cuh"
#include "halo/peer/kernels.cuh"

#include "halo/nvshmem/plugin.h"

static_assert(sizeof(nvshmemx_uniqueid_t) <= HALO_NVSHMEM_ID_BYTES, "the id of a start");

static int new_id(void *id)
{
    nvshmemx_uniqueid_t fresh = NVSHMEMX_UNIQUEID_INITIALIZER;
    const int code = nvshmemx_get_uniqueid(&fresh);
    memcpy(id, &fresh, sizeof fresh);
    return code;
}

/* (nvshmemx_init_attr() ends the program when this fails.) */
static int start(const void *id, int rank, int n_ranks, int gpu)
{
    static nvshmemx_uniqueid_t shared;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemi_version_t version = {NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
                                  NVSHMEM_VENDOR_PATCH_VERSION};
    int provided = 0;
    memcpy(&shared, id, sizeof shared);
    const cudaError_t error = cudaSetDevice(gpu);   /* for the runtime linked here */
    if (error != cudaSuccess) return (int)error;
    const int code = nvshmemx_set_attr_uniqueid_args(rank, n_ranks, &shared, &attributes);
    if (code != 0) return code;
    return nvshmemi_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided,
                                NVSHMEMX_INIT_WITH_UNIQUEID, &attributes, version);
}

static void *allocate(size_t n_bytes)
{
    return nvshmem_align(512, n_bytes);
}

static void release(void *memory)
{
    nvshmem_free(memory);
}

static void *pointer(const void *symmetric, int pe)
{
    return nvshmem_ptr(symmetric, pe);
}

static void put_on(const sundog_view_put *put, uint64_t epoch, void *stream)
{
    const int64_t parity = (int64_t)(epoch & 1);
    if (put->n_bytes > 0)
        nvshmemx_putmem_signal_on_stream(put->to + parity * put->to_parity,
                                         put->from + parity * put->from_parity,
                                         (size_t)put->n_bytes, put->word, epoch,
                                         NVSHMEM_SIGNAL_SET, (int)put->pe, (cudaStream_t)stream);
    else
        nvshmemx_signal_op_on_stream(put->word, epoch, NVSHMEM_SIGNAL_SET, (int)put->pe,
                                     (cudaStream_t)stream);
}

static void wait_on(uint64_t *word, uint64_t epoch, void *stream)
{
    nvshmemx_signal_wait_until_on_stream(word, NVSHMEM_CMP_GE, epoch, (cudaStream_t)stream);
}

static void quiet_on(void *stream)
{
    nvshmemx_quiet_on_stream((cudaStream_t)stream);
}

const halo_nvshmem *sundog_nvshmem_plugin(void)
{
    static halo_nvshmem plugin = {
        HALO_NVSHMEM_INTERFACE,
        {NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION},
        {0, 0, 0}, HALO_KERNELS_HERE, new_id, start, allocate, release, pointer, put_on, wait_on,
        quiet_on};
    nvshmemx_vendor_get_version_info(&plugin.found[0], &plugin.found[1], &plugin.found[2]);
    return &plugin;
}
