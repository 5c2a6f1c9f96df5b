/* The kernels of the fabrics for GPUs, as the host sees them: a table of launchers for each fabric,
 * for which they are compiled (kernels.cuh). Launchers return a cudaError_t; they never wait.
 * A launch runs a range of a view's chunks and may wait for the arrival of messages wait_first ..
 * wait_first + wait_n - 1 (forward). */
#ifndef HALO_PEER_KERNELS_H
#define HALO_PEER_KERNELS_H
#include "sundog/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HALO_BLOCK_THREADS = 256, HALO_BLOCK_WARPS = HALO_BLOCK_THREADS / 32 };

typedef enum halo_transport {
    HALO_STORE,                     /* rows by stores, one signal a message */
    HALO_BULK,                      /* rows by bulk stores of a warp, one signal a message */
    HALO_FLIT                       /* rows that carry their epoch */
} halo_transport;

enum {
    HALO_PART_ANNOUNCE = 1,         /* forward: tell peers that my ghosts may be overwritten */
    HALO_PART_LAST = 2,             /* completes the exchange: count it */
    HALO_PART_NO_WORDS = 4,         /* rows only: somebody else waits and signals */
};

typedef struct halo_launch {
    int32_t first, n;               /* chunks */
    int32_t wait_first, wait_n;     /* messages */
    uint32_t parts;
} halo_launch;

typedef struct halo_boxes {         /* dense rows of each field */
    char *field[SUNDOG_VIEW_MAX_FIELDS];
} halo_boxes;

typedef struct halo_kernels {
    int (*forward)(const sundog_view *view, const halo_launch *launch, halo_transport transport,
                   int n_blocks, void *stream);
    int (*reverse)(const sundog_view *view, const halo_launch *launch, halo_transport transport,
                   int n_blocks, void *stream);
    /* Forward chunks into boxes [n_send_rows]; ghost entries into or out of boxes [n_recv_rows]. */
    int (*pack)(const sundog_view *view, int first_chunk, int n_chunks, const halo_boxes *boxes,
                int n_blocks, void *stream);
    int (*ghosts)(const sundog_view *view, int first, int n, const halo_boxes *boxes, int unpack,
                  int n_blocks, void *stream);
    /* One word, from a stream, where the driver's own stream operations are missing. */
    int (*signal)(uint64_t *word, uint64_t epoch, void *stream);
    int (*wait)(const sundog_view *view, const uint64_t *word, int kind, int peer, int message,
                uint64_t epoch, void *stream);
    /* Load all kernels of a transport on the current GPU; how many blocks of the largest fit on one
     * multiprocessor together. */
    int (*load)(halo_transport transport, int *blocks_per_multiprocessor);
} halo_kernels;

extern const halo_kernels halo_peer_kernels;    /* kernels.cu */

#ifdef __cplusplus
}
#endif
#endif
