/* A fabric is a way to reach peers' rows; a rung is a way to run an exchange on it. One file each,
 * ending in const tables; fabric.c lists those compiled in, best first.
 */
#ifndef HALO_FABRIC_FABRIC_H
#define HALO_FABRIC_FABRIC_H
#include "halo/exchange.h"

enum {
    HALO_CAP_STAGED = 1,            /* can serve SUNDOG_ROUTE_STAGED */
    HALO_CAP_DIRECT = 2,            /* can serve SUNDOG_ROUTE_DIRECT */
    HALO_CAP_DEVICE = 4,            /* rows are device memory; else host memory */
    HALO_CAP_WORDS = 8,             /* waits for words, which remote.h sets for peers elsewhere */
};

/* What a fabric for device memory does beside begin and end. */
typedef struct halo_hooks {
    sundog_status (*bind)(sundog_exchange *exchange);           /* collective; all ends are known */
    sundog_status (*wait)(sundog_exchange *exchange, void *stream);
    void (*look)(sundog_exchange *exchange);    /* no waiting: one that gave up kills the team */
    void (*quiesce)(sundog_exchange *exchange); /* the team is dead: until nothing runs any more */
    sundog_status (*finish)(sundog_exchange *exchange); /* until all launched here has run */
    void (*release)(sundog_exchange *exchange);
    sundog_status (*view)(const sundog_exchange *exchange, struct sundog_view *out);
} halo_hooks;

/* begin announces and does what can be done without waiting; end does the rest. */
typedef struct halo_rung {
    const char *name, *fabric;
    unsigned caps;
    sundog_status (*forward_begin)(sundog_exchange *exchange);
    sundog_status (*forward_end)(sundog_exchange *exchange);
    sundog_status (*reverse_begin)(sundog_exchange *exchange);
    sundog_status (*reverse_end)(sundog_exchange *exchange);
    const halo_hooks *hooks;        /* NULL: host memory */
    /* begin and end at once; NULL: one after the other */
    sundog_status (*forward)(sundog_exchange *exchange);
    sundog_status (*reverse)(sundog_exchange *exchange);
} halo_rung;

extern const halo_rung halo_reference;              /* reference.c */
extern const halo_rung halo_threads_pulse, halo_threads_fused, halo_threads_direct,
    halo_threads_mpi;                               /* threads.c */

/* The rungs of fabric peer, best first, and how many; none in a build without GPU support. */
const halo_rung *const *halo_peer_rungs(int *n);

/* The same of fabric nvshmem, whose plug-in may be missing all the same. */
const halo_rung *const *halo_nvshmem_rungs(int *n);

/* The rung that was asked for (no name: the best) for this route, memory and fabric; `spans`: ranks
 * are in several processes. */
sundog_status halo_rung_find(const sundog_exchange_options *options, bool spans,
                             const halo_rung **out);

/* Waiting on the host for a word of this exchange, and setting one of a peer's (threads.c). */
sundog_status halo_wait_word(sundog_exchange *exchange, const base_word *word, uint64_t wanted,
                             const char *name, int peer, int message);
void halo_signal_peer(sundog_exchange *exchange, int peer, base_word *word, uint64_t epoch);
/* The ghosts of a message as they lie in the owner's slot. */
void halo_store_slot(const sundog_exchange *exchange, const halo_recv *recv, char *slot);
#endif
