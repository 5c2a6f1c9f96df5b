/* Fabric nvshmem from inside: every rank is a process with a GPU, and a PE of NVSHMEM.
 *
 * What peers write lies in symmetric memory, in one piece for an exchange, the arena:
 *
 *   [ words | sums | inbox, or flits of both directions | outboxes ]
 *
 * of the same size on all ranks, cut by each as its own messages need it; each tells the others
 * where its parts begin. It grows by half more than the largest need, by one collective call, and
 * not at all while it is enough. An arena that has become too small is kept until the exchange
 * ends, since giving it back is a collective call, too.
 *
 * A peer whose memory is mapped here (NVLink) is near: all is as in fabric peer, but that ghosts
 * come into the inbox and are copied from there, since the caller's arrays are not symmetric.
 * Others are far, and reached by puts (sundog/device_far.cuh).
 */
#ifndef HALO_NVSHMEM_FAR_H
#define HALO_NVSHMEM_FAR_H
#include "device/cuda.h"
#include "halo/nvshmem/plugin.h"
#include "halo/peer/peer.h"

enum { FAR_MAX_RETIRED = 48 };

/* Where a rank's parts begin in its arena, in bytes. */
typedef struct far_parts {
    int64_t words, sums, inbox, flits, sum_flits, outbox, sum_outbox, end;
    int32_t n_send_rows, n_recv_rows;
} far_parts;

struct halo_far {
    const halo_nvshmem *nvshmem;
    char *arena;
    size_t n_bytes;
    void *retired[FAR_MAX_RETIRED];
    int n_retired;
    bool *is_far;                   /* [n_ranks] */
    char **arena_of;                /* [n_ranks] mapped here; NULL: nowhere */
    far_parts *parts;               /* [n_ranks] */
    halo_boxes inbox, outbox, sum_outbox;
    sundog_flit *flit_outbox, *sum_flit_outbox;
    bool any_far;
};

/* The plug-in, loaded once; else why not (load.c). */
sundog_status halo_nvshmem_load(const halo_nvshmem **out);
/* NVSHMEM runs on the ranks of this team, one a process (start.c). Collective. */
sundog_status halo_nvshmem_start(sundog_team *team, const halo_nvshmem **out);

/* Room for n_bytes on all ranks, who each bring their own need (arena.c). Collective. */
sundog_status far_reserve(sundog_team *team, struct halo_far *far, size_t n_bytes);
/* Collective, unless the team is dead: then nothing is given back. */
void far_give_back(const sundog_team *team, struct halo_far *far);
/* Cut the arena for this exchange, whose chunks are laid out: first where parts begin, then, when
 * there is room, the arrays. */
far_parts far_cut(const sundog_exchange *exchange);
void far_set_arrays(sundog_exchange *exchange);

/* Addresses at the peers (connect.c). Collective. */
sundog_status far_connect(sundog_exchange *exchange);

extern const halo_hooks halo_far_hooks;         /* bind.c */
#endif
