/* From a route of the plan to what kernels read: rows, chunks, launches, the order of adding.
 * Plain host arrays; peer.c copies them to the GPU.
 *
 * A rung is an order of chunks and a way of cutting them into launches:
 *
 *   forward  pulse         one launch a message: its chunks, then wait for one message
 *            fused, ...    one launch: all independent chunks, the dependent ones pulse by pulse,
 *                          (flits: the chunks of receiving,) wait for all messages
 *   reverse  pulse         one launch a message, last to first: return ghosts, add what came
 *            fused, ...    one launch: ghosts that nobody forwarded, then message by message from
 *                          the last: ghosts that were forwarded, sums
 *
 * The order is such that no chunk waits for a later one of its rank, nor for one of a peer that
 * waits for a later one, so blocks that walk through it cannot block each other.
 */
#ifndef HALO_PEER_LAYOUT_H
#define HALO_PEER_LAYOUT_H
#include "halo/exchange.h"
#include "halo/peer/kernels.h"

typedef enum halo_order { HALO_ORDER_PULSE, HALO_ORDER_FUSED } halo_order;

typedef struct halo_range {
    int first, n;
} halo_range;

enum { HALO_WHOLE, HALO_BEGIN, HALO_END, HALO_N_CUTS };

/* The launches of one direction, for begin and end together and apart. */
typedef struct halo_launches {
    halo_launch *launch;
    size_t capacity;
    halo_range cut[HALO_N_CUTS];
} halo_launches;

typedef struct halo_layout {
    halo_transport transport;
    halo_order order;
    bool one_word;                  /* a message has one word, which the host sets */
    bool boxed;                     /* ghosts come into an inbox of their message (not flits) */
    const bool *far;                /* [n_ranks] no store reaches it; NULL: all are near */
    int max_blocks;                 /* of a launch, so that all ranks' blocks are resident */
    int chunk_rows;
    int n_send_rows, n_recv_rows, n_groups, n_targets, n_users, n_shifts;
    int n_forward, n_reverse;       /* chunks */
    int n_sent_words, n_returned_words;         /* over all messages */
    int n_flits, n_sum_flits;
    sundog_view_field field[HALO_MAX_FIELDS];   /* rows, sums and quads are filled in later */
    sundog_view_send *send;         /* [n_messages]; pointers are filled in later */
    sundog_view_recv *recv;
    sundog_view_chunk *forward, *reverse;
    int32_t *src, *dst, *place, *ghost, *user;
    int32_t *add_row, *add_first, *add_entry, *add_chunks, *group_first;
    double (*shift)[3];
    halo_range *sends, *returns, *adds; /* chunks of a message, of a group */
    halo_launches forth, back;
    int32_t *mark;                  /* scratch: target of a row, or -1 */
    size_t capacity_send, capacity_recv, capacity_forward, capacity_reverse, capacity_src,
        capacity_dst, capacity_place, capacity_ghost, capacity_user, capacity_add_row,
        capacity_add_first, capacity_add_entry, capacity_add_chunks, capacity_group_first,
        capacity_shift, capacity_sends, capacity_returns, capacity_adds, capacity_mark;
} halo_layout;

/* Words by which n chunks signal. */
static inline int halo_n_words(int n_chunks, int per_word)
{
    return (n_chunks + per_word - 1) / per_word;
}

sundog_status halo_layout_build(const sundog_exchange *exchange, halo_layout *layout);
void halo_layout_free(halo_layout *layout);
#endif
