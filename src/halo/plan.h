/* The plan from inside: pulses as the caller gave them, and the two routes made from them.
 *
 *   rows here:   [ owned | ghosts of pulse 0 | ghosts of pulse 1 | ... ]
 *
 *   pulse p      index[k]  k = 0 .. n_send-1   lands at to_rank in row first_at_peer + k
 *
 * A route is a list of messages; message m has a sending and a receiving half here. The receiving
 * half at the peer has number peer_message there.
 *   staged   message = pulse
 *   direct   message = peer rank; everything that one rank owns and another mirrors
 * Both halves of the forward message tell the same rows; the reverse message runs from the
 * receiving half to the sending half, in the order of the ghost rows.
 */
#ifndef HALO_PLAN_H
#define HALO_PLAN_H
#include "halo/rows.h"
#include "team/team.h"

typedef struct halo_pulse {
    int to_rank, from_rank;
    sundog_idx n_send, n_recv;
    sundog_idx first_ghost;         /* here */
    sundog_idx first_at_peer;       /* at to_rank */
    size_t index;                   /* offset in plan->index */
    int n_shifts;                   /* 0 or 1 */
    double shift[1][3];             /* components without shift hold -0.0 */
} halo_pulse;

/* Rows of a message that can leave together. */
typedef struct halo_run {
    sundog_idx n;
    halo_rows src, dst;             /* rows here, rows at the peer */
    halo_rows place;                /* among the rows of the message, in the order of recv.rows */
    int source;                     /* message that must have arrived before; -1: owned rows */
    int n_shifts;
    size_t shift;                   /* offset in route->shift */
} halo_run;

typedef struct halo_send {          /* my rows that the peer mirrors */
    int peer, peer_message;
    sundog_idx n;
    int first_run, n_runs;          /* forward; independent runs first */
    halo_rows rows;                 /* reverse: row k of the slot is added to rows(k) */
} halo_send;

typedef struct halo_recv {          /* my ghosts that the peer owns or forwards */
    int peer, peer_message;
    sundog_idx n;
    halo_rows rows;                 /* the ghosts, in rising order */
    int n_users;                    /* runs of later pulses that forward some of them */
} halo_recv;

typedef struct halo_route {
    bool built;
    int n_messages;
    halo_send *send;                /* [n_messages] */
    halo_recv *recv;                /* [n_messages] */
    halo_run *run;
    sundog_idx *list;               /* what the halo_rows point into */
    double (*shift)[3];
    sundog_idx *send_list;          /* direct: the same of what I send */
    size_t n_runs, n_list, n_shift;
    size_t capacity_send, capacity_recv, capacity_run, capacity_list, capacity_shift,
        capacity_send_list;
} halo_route;

/* What every rank tells all others in a collective call on a plan. */
typedef struct halo_offer {
    sundog_status status;           /* of its own part; text says why */
    char text[256];
    int n_pulses;                   /* before this call; fetch: which pulse */
    int to_rank, from_rank;         /* add_pulse */
    sundog_idx n_send, n_rows;
    int n_fields;                   /* fetch */
} halo_offer;

struct sundog_plan {
    sundog_team *team;
    halo_offer *offer;              /* [n_ranks], scratch of the collective calls */
    sundog_idx n_owned, n_rows;
    int n_pulses;
    halo_pulse *pulse;
    sundog_idx *index;
    size_t n_index, capacity_pulse, capacity_index;
    bool committed;
    uint64_t n_commits;             /* an exchange bound to an earlier one is stale */
    uint64_t n_stretches;           /* as are its shifts in device memory */

    /* from commit on: where every row comes from. path[row] numbers a sequence of shifts:
     * path_shift[path_first[i] .. path_first[i+1]); path 0 is empty. */
    int *owner_rank, *path;
    sundog_idx *owner_row;
    size_t capacity_owner_rank, capacity_owner_row, capacity_path;
    int n_paths;
    size_t *path_first;             /* [n_paths + 1] */
    double (*path_shift)[3];
    size_t capacity_path_first, capacity_path_shift;

    int *known;                     /* scratch: my numbers of the sender's paths */
    size_t capacity_known;
    struct halo_mail {              /* scratch: what is written for a peer, what came from one */
        char *bytes;
        size_t n, capacity;
    } out, in;
    size_t *offset;                 /* [2 (n_ranks + 1)], scratch of personal messages */
    size_t *count;                  /* scratch of sorting */
    size_t capacity_count;

    halo_route route[2];            /* by sundog_route; direct is built when first asked for */
};

/* Room for n elements, keeping contents; the library's own base_grow that can fail. */
sundog_status halo_reserve(void *array_of_pointer, size_t *capacity, size_t needed,
                           size_t n_bytes_element);
#define HALO_RESERVE(array, capacity, needed) \
    halo_reserve(&(array), &(capacity), (size_t)(needed), sizeof *(array))

/* Append to mail; take from it, NULL when it is shorter than that. Values keep their alignment of 8
 * bytes. */
typedef struct halo_mail halo_mail;
sundog_status halo_mail_put(halo_mail *mail, const void *bytes, size_t n_bytes);
const void *halo_mail_take(const halo_mail *mail, size_t *at, size_t n_bytes);
/* Room for so many bytes more; where they are. */
sundog_status halo_mail_room(halo_mail *mail, size_t n_bytes, char **room);
/* plan->out goes to one rank, plan->in comes from another. Collective. */
sundog_status halo_mail_pass(sundog_plan *plan, int to, int from);
/* plan->out, cut at plan->offset [n_ranks + 1], goes to all ranks; that of rank r is then in
 * plan->in from (*come)[r] on. Collective. */
sundog_status halo_mail_swap(sundog_plan *plan, const size_t **come);

sundog_status halo_trace_owners(sundog_plan *plan);     /* collective; part of commit */
sundog_status halo_build_staged(sundog_plan *plan);     /* collective; part of commit */
sundog_status halo_build_direct(sundog_plan *plan);     /* collective; of a committed plan */
#endif
