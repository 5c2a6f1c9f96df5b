/* The exchange from inside: bound arrays, epochs, signal words, reverse slots.
 *
 * Four words for each message, each on a cache line of its own, each set to an epoch and never
 * reset. "Mine" are written by the peer of the message and waited for here:
 *
 *   word       lives at            set by      to      means
 *   arrived    receiver of ghosts  owner       F       the ghosts of forward F are in place
 *   space      owner               receiver    F       entered forward F: ghosts may be overwritten
 *   sums       owner               receiver    R       the sums of reverse R are in the slot
 *   room       receiver            owner       R       added reverse R: the slot may be overwritten
 *
 * F and R count the forwards and reverses of this exchange; all ranks count alike. When the
 * exchange is bound anew all words take the present counts, so a message that was empty in between
 * is not behind.
 *
 * Reverse sums land in slots at the owner, one for each message, field by field, rows in the order
 * of the ghosts.
 */
#ifndef HALO_EXCHANGE_H
#define HALO_EXCHANGE_H
#include "halo/plan.h"

struct halo_rung;
struct halo_peer;                   /* what fabric peer holds (peer/peer.h) */
struct halo_remote;                 /* messages to other processes (fabric/remote.h) */

typedef struct halo_words {
    base_word arrived, space, sums, room;
} halo_words;

typedef enum halo_phase { HALO_IDLE, HALO_FORWARD, HALO_REVERSE } halo_phase;

/* Where a running exchange stands with one message. */
typedef struct halo_progress {
    bool sent, received;            /* all rows are stored and signalled; all rows are here */
    bool started;                   /* forward: independent runs are stored */
    int users_left;                 /* reverse: later messages not yet added */
} halo_progress;

struct sundog_exchange {
    sundog_plan *plan;
    sundog_team *team;
    sundog_exchange **peer;         /* [n_ranks]; NULL: in another process */
    void *offer;                    /* [n_ranks], scratch of binding */
    const struct halo_rung *rung;
    sundog_route route;
    bool deterministic, lockstep;
    uint64_t n_commits, n_stretches;            /* of the plan, when bound */
    int n_fields;
    halo_field field[HALO_MAX_FIELDS];

    halo_phase phase;
    bool forward_next;              /* lockstep: what the promise allows next */
    uint64_t forward_epoch, reverse_epoch;

    halo_words *words;              /* [n_messages] */
    halo_progress *progress;        /* [n_messages] */
    char *slots;                    /* sums for me */
    size_t *slot;                   /* [n_messages] offsets of the sending halves' slots */
    char **slot_at_peer;            /* [n_messages] of the receiving halves */
    int max_blocks;                 /* of the options */
    sundog_transport transport;
    struct halo_remote *remote;     /* NULL: all ranks are in this process */
    struct halo_peer *device;       /* device memory only */
    void *stream;                   /* of the call under way; NULL: the thread's own */
    size_t capacity_words, capacity_progress, capacity_slots, capacity_slot, capacity_slot_at_peer;
    char description[160];
};

/* Bytes of a block of n rows of one field, and of a whole slot: whole cache lines. */
static inline size_t halo_block_bytes(const halo_field *field, sundog_idx n)
{
    size_t line = BASE_CACHE_LINE;
    return ((size_t)n * field->row_bytes + line - 1) / line * line;
}

static inline size_t halo_slot_bytes(const sundog_exchange *exchange, sundog_idx n)
{
    size_t sum = 0;
    for (int f = 0; f < exchange->n_fields; f++)
        if (halo_is_float(&exchange->field[f])) sum += halo_block_bytes(&exchange->field[f], n);
    return sum;
}

/* Test hook: called by the signalling thread before every signal, when set. */
extern void (*halo_before_signal)(int rank);

static inline const halo_route *halo_route_of(const sundog_exchange *exchange)
{
    return &exchange->plan->route[exchange->route];
}
#endif
