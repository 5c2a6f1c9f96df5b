/* What a kernel receives of a bound exchange: plain structs, no CUDA words, compiles as C.
 *
 * A sundog_view is passed to kernels by value; its pointers lead to memory of the rank's GPU
 * (names without prefix), of a peer (peer_) or of the host (watch). It describes messages; for the
 * route staged a message is a pulse, for the route direct it is a peer.
 *
 *   rows here        [ owned | ghosts ... ]                  field[f].rows
 *   rows that I send, over all messages, n_send_rows
 *       src, dst     row here, row at the peer               entries send[m].first ... + n
 *       place        number within the message               in the order of the peer's ghosts
 *       sums         reverse: what came back                 field[f].sums, flits in sum_flits
 *   ghosts by message, n_recv_rows
 *       ghost        row here                                entries recv[m].first ... + n
 *       flits        forward by rung flit: what came         two copies, by parity of the epoch
 *       inbox        where ghosts arrive, if not in place    field[f].inbox, NULL: in place
 *
 * A peer that is near is stored into; one that is far is reached by puts: rows are packed into an
 * outbox of this rank, and the last chunk of the message to be packed puts them, each part with a
 * word of its own as its signal. (The rows' address at the peer is then that of the outbox.)
 *
 * Work is cut into chunks that a block (rung fused-tma: a warp) does at once, listed in an order
 * in which no chunk waits for a later one: blocks that take chunk b, b + blocks, ... cannot block
 * each other as long as all of them are resident.
 *
 * A word is a 64-bit epoch, set and never reset (names as in docs/exchange.md: arrived, space,
 * sums, room). What brings rows, arrived and sums, has up to 256 words a message, side by side, so
 * that each chunk can signal for itself; `per_word` chunks share one where there are more. The
 * counts of completed forwards and reverses live in device memory, so a captured graph replays them
 * rightly.
 */
#ifndef SUNDOG_VIEW_H
#define SUNDOG_VIEW_H
#include <stdint.h>

enum { SUNDOG_VIEW_MAX_FIELDS = 16, SUNDOG_MESSAGE_WORDS = 256 };

typedef struct sundog_word {
    uint64_t value;
    uint64_t unused[15];            /* 128 bytes: what the L2 of a GPU moves */
} sundog_word;

/* 12 bytes of payload and the low half of the epoch, stored and loaded in one access of 16. Its
 * payload is three 4-byte components of a row, one 8-byte component, or twelve bytes. */
typedef struct sundog_flit {
    uint32_t payload[3], epoch;
} sundog_flit;

typedef struct sundog_view_field {
    char *rows, *sums;              /* [n_rows], [n_send_rows]; sums NULL: not floating-point */
    int32_t type, width, row_bytes; /* type: sundog_type */
    char *inbox;                    /* [n_recv_rows] without gaps; NULL: ghosts come in place */
    int32_t stride;                 /* of rows, in bytes; those of sums have no gaps */
    int32_t sent_stride;            /* of rows where they are sent to: stride, or without gaps */
    int32_t shifted;
    int32_t quads;                  /* rows are whole, aligned 16-byte units everywhere */
    int32_t wide;                   /* rows here begin at multiples of 16 bytes */
    int32_t n_flits;                /* a row */
    int32_t first_flit, first_sum_flit; /* within the flits of a row of all fields */
} sundog_view_field;

typedef struct sundog_view_put {    /* a part of a message to a far peer */
    const char *from;
    char *to;                       /* symmetric address */
    int64_t n_bytes;                /* 0: the signal alone */
    int64_t from_parity, to_parity; /* flits: from the copy of parity 0 to that of 1; else 0 */
    uint64_t *word;                 /* symmetric address */
    int64_t pe;
} sundog_view_put;

typedef struct sundog_view_send {   /* my rows that the peer mirrors */
    int32_t peer, first, n;
    int32_t n_chunks, per_word;     /* forward: the last chunk of a word to be done signals */
    int32_t first_word;             /* in `sent` */
    int32_t n_sums;                 /* reverse: words to wait for */
    int32_t first_put, n_puts;      /* forward, in `put`; none: the peer is near */
    uint64_t *peer_arrived;         /* forward, [n_chunks / per_word, rounded up] */
    uint64_t *space;
    uint64_t *sums, *peer_room;     /* reverse, sums [n_sums] */
    sundog_flit *peer_flits;        /* of row 0 of this message, parity 0 */
    int64_t peer_flit_stride;       /* between parities */
} sundog_view_send;

typedef struct sundog_view_recv {   /* my ghosts that the peer owns or forwards */
    int32_t peer, first, n;
    int32_t n_chunks, per_word;     /* reverse: the last chunk of a word to be done signals */
    int32_t first_word;             /* in `returned` */
    int32_t n_arrived;              /* forward: words to wait for */
    int32_t first_user, n_users;    /* in `user`: later messages that forward some of them */
    int32_t first_put, n_puts;      /* reverse, in `put`; none: the peer is near */
    uint64_t *arrived, *peer_space; /* forward, arrived [n_arrived] */
    uint64_t *peer_sums, *room;     /* reverse */
    sundog_flit *peer_sum_flits;
    int64_t peer_sum_flit_stride;
} sundog_view_recv;

typedef enum sundog_chunk_kind {
    SUNDOG_CHUNK_SEND,              /* forward: entries of send; reverse: entries of ghost */
    SUNDOG_CHUNK_RECEIVE,           /* forward, flits or an inbox: entries of ghost */
    SUNDOG_CHUNK_ADD                /* reverse: targets of a group, or entries of send (atomic) */
} sundog_chunk_kind;

typedef struct sundog_view_chunk {
    int32_t kind, message;          /* ADD: the group */
    int32_t first, n;
    int32_t source;                 /* forward SEND: message that must have arrived before; -1: none
                                       ADD: group that must have been added before; -1: none */
    int32_t n_shifts, shift;        /* forward SEND */
    int16_t contiguous;             /* forward SEND: dst rises by one from row to row */
    int16_t word;                   /* SEND: which of the message's words it signals */
} sundog_view_chunk;

typedef struct sundog_counts {      /* of completed exchanges */
    uint64_t forward, reverse;
    uint32_t blocks_done[2];        /* of a running launch: forward, reverse */
    uint32_t given_up;
} sundog_counts;

/* In pinned host memory, one for each rank: how a wait that cannot end is told and ended. */
typedef struct sundog_watch {
    uint64_t abort;                 /* not 0: all waits of this rank end */
    uint64_t timeout_ns;            /* 0: wait for ever */
    uint64_t filled;                /* not 0: what follows is whole */
    uint64_t wanted, seen, waited_ns;
    int32_t word, peer, message, block;
} sundog_watch;

enum { SUNDOG_WORD_ARRIVED, SUNDOG_WORD_SPACE, SUNDOG_WORD_SUMS, SUNDOG_WORD_ROOM,
       SUNDOG_WORD_FLIT, SUNDOG_WORD_SUM_FLIT, SUNDOG_WORD_ADDED };

typedef struct sundog_view {
    int32_t rank, n_ranks, n_messages, n_groups, n_fields;
    int32_t lockstep, deterministic;
    int32_t n_send_rows, n_recv_rows;
    int32_t n_forward, n_reverse;   /* chunks */
    int32_t n_flits, n_sum_flits;   /* of one row of all fields */
    int64_t flit_stride, sum_flit_stride;       /* between parities */
    sundog_view_field field[SUNDOG_VIEW_MAX_FIELDS];
    const sundog_view_send *send;               /* [n_messages] */
    const sundog_view_recv *recv;               /* [n_messages] */
    const sundog_view_chunk *forward, *reverse;
    const int32_t *src, *dst, *place;           /* [n_send_rows] */
    const int32_t *ghost;                       /* [n_recv_rows] */
    const double (*shift)[3];
    const int32_t *user;
    const sundog_view_put *put;
    char *const *peer_rows;                     /* [n_messages][n_fields] of send */
    char *const *peer_sums;                     /* [n_messages][n_fields] of recv: row 0 of it */
    /* Adding in a fixed order: target t is row add_row[t]; its terms are the sums at
     * add_entry[add_first[t] ... add_first[t + 1]), in that order. Atomic: add_row [n_send_rows] is
     * the row of every sum. */
    const int32_t *add_row, *add_first, *add_entry;
    const int32_t *add_chunks;                  /* [n_groups] */
    const int32_t *group_first;     /* [n_groups + 1]: a group adds the messages from .. on */
    sundog_flit *flits, *sum_flits;             /* two parities each */
    sundog_word *added;                         /* [n_groups]: reverse epoch that was added */
    uint32_t *sent, *returned, *summed;         /* chunks done: of words, of words, of groups */
    sundog_counts *counts;
    sundog_watch *watch;                        /* [n_ranks] */
} sundog_view;
#endif
