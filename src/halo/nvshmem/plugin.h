/* Between the library and its plug-in for NVSHMEM, libsundog-nvshmem.so, which is loaded when it is
 * there, so that one program serves machines with and without NVSHMEM. A table of functions that
 * print nothing of their own and return 0 or a code; the plug-in is built with the library and has
 * the same number.
 *
 * One PE a process; its number is the rank. Functions marked collective are called by all PEs.
 */
#ifndef HALO_NVSHMEM_PLUGIN_H
#define HALO_NVSHMEM_PLUGIN_H
#include "halo/peer/kernels.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HALO_NVSHMEM_INTERFACE = 1, HALO_NVSHMEM_ID_BYTES = 128 };

typedef struct halo_nvshmem {
    int interface;                  /* HALO_NVSHMEM_INTERFACE of its build */
    int built[3], found[3];         /* version of the headers, of the library that was loaded */
    halo_kernels kernels;
    /* Started by one rank, whose id all the others get; then all start. Collective. */
    int (*new_id)(void *id);
    int (*start)(const void *id, int rank, int n_ranks, int gpu);
    /* Symmetric memory: all PEs ask for the same. NULL: there is not so much. Collective. */
    void *(*allocate)(size_t n_bytes);
    void (*release)(void *memory);
    /* Where memory of another PE is mapped here; NULL: nowhere. */
    void *(*pointer)(const void *symmetric, int pe);
    /* In the order of a stream. n_bytes 0: the signal alone. */
    void (*put_on)(const sundog_view_put *put, uint64_t epoch, void *stream);
    void (*wait_on)(uint64_t *word, uint64_t epoch, void *stream);
    /* Until all that this PE has put has arrived. */
    void (*quiet_on)(void *stream);
} halo_nvshmem;

/* The only name that the plug-in shows. */
const halo_nvshmem *sundog_nvshmem_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
