/* The team as the halo room sees it: waiting, signalling, standing in a peer's memory, agreeing.
 *
 * Ranks are threads of this process, and, in a team that spans processes, threads of others: these
 * are reached over the wire (wire.h), the others through memory.
 *
 * Waiting. Each rank has a bell. A waiter spins shortly, then sleeps on its bell; a signal is a
 * word set to an epoch, after which the bell of the rank that waits for it is rung. Every wait ends
 * by the word, by the team's death, or by the time limit, which kills the team.
 *
 *   signaller                                | waiter
 *   word = n            (seen)               | sleepers += 1            (seen)
 *   sleepers > 0 ?      (seen)               | word >= n ?              (seen)
 *     yes: sequence += 1, wake               |   no: sleep unless sequence has changed
 *
 * At least one sees the other's write, so no wake-up is lost.
 *
 * Peers' memory. Threads of a process store into each other's arrays. When a team dies its ranks
 * return errors and the callers free those arrays, so a rank touches foreign memory only between
 * team_enter() and team_leave(), never waits there, and no call returns the error of a dead team
 * before every other rank of the process has left.
 */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H
#include "base/order.h"
#include "base/status.h"

typedef struct team_bell {
    alignas(BASE_CACHE_LINE) _Atomic uint32_t sequence;     /* futex word */
    _Atomic int32_t sleepers;
} team_bell;

enum { TEAM_SLOT_BYTES = 448 };

/* What one rank shows the others. A slot serves every second collective: whoever writes it again
 * has passed the barrier of the collective between, hence all have read it. */
typedef struct team_member {
    team_bell bell;
    base_word inside;               /* 1 while the rank stands in a peer's memory */
    base_word at_barrier;           /* barriers entered */
    int gpu;                        /* that the rank is bound to, + 1; 0: none */
    int n_on_gpu;                   /* ranks that are, in whichever process */
    struct team_slot {
        const char *call;           /* which collective: all ranks must be in the same one */
        char call_there[24];        /* the same, of a rank in another process */
        const void *pointer;        /* NULL: in another process, and more than fits here */
        size_t n_bytes;
        int root;                   /* broadcast: whose bytes */
        alignas(8) unsigned char bytes[TEAM_SLOT_BYTES];        /* numbers, too */
    } slot[2];
} team_member;

/* What the ranks of one process share. */
typedef struct team_shared {
    int n_ranks;                    /* of the team */
    int first_here, n_here;         /* those of this process */
    const struct team_wire *wire;   /* to other processes; NULL: there are none */
    void *wire_state;               /* its own */
    int n_spins;                    /* looks at a word before sleeping */
    _Atomic int n_handles;
    _Atomic int64_t timeout_ns;     /* <= 0: none */
    _Atomic int state;              /* TEAM_ALIVE, then TEAM_DYING while reason is written */
    sundog_status cause;
    char reason[1024];
    team_bell barrier_bell;
    base_word barrier_arrivals;     /* n_here for each barrier */
    base_word barrier_done;         /* barriers completed */
    team_member *member;            /* [n_ranks]; of ranks elsewhere only the slots are used */
} team_shared;

enum { TEAM_ALIVE, TEAM_DYING, TEAM_DEAD };

struct sundog_team {
    int rank;
    uint64_t n_barriers;            /* entered */
    int parity;                     /* of the slot that the next collective uses */
    size_t *offset;                 /* [n_ranks + 1], scratch of team_pass() */
    team_shared *shared;
};

/* Something to wait for. describe() writes who waits for whom, wanted and seen. */
typedef struct team_condition {
    bool (*ready)(const void *arg);             /* looks with base_acquire_seen() */
    void (*describe)(const void *arg, char *text, size_t n_bytes);
    const void *arg;
    bool looks;                     /* ready() has to be asked again and again: no bell is rung */
} team_condition;

sundog_status team_wait(sundog_team *team, team_bell *bell, const team_condition *condition);
/* Wake whoever sleeps on the bell. */
void team_ring(team_bell *bell);
static inline team_bell *team_bell_of(sundog_team *team, int rank)
{
    return &team->shared->member[rank].bell;
}
/* Set a word that `rank` may be waiting for. */
static inline void team_signal(sundog_team *team, int rank, base_word *word, uint64_t value)
{
    base_release_seen(word, value);
    team_bell *bell = team_bell_of(team, rank);
    if (atomic_load(&bell->sleepers) > 0) team_ring(bell);
}

/* Step into peers' memory; fails when the team is dead. */
sundog_status team_enter(sundog_team *team);
void team_leave(sundog_team *team);

/* The error of a dead team; waits until no other rank stands in foreign memory. */
sundog_status team_fail_dead(sundog_team *team);
static inline bool team_is_dead(const sundog_team *team)
{
    return atomic_load(&team->shared->state) != TEAM_ALIVE;
}
/* Kill the team (the first cause wins) and return that error. */
sundog_status team_kill(sundog_team *team, sundog_status cause, const char *reason);

static inline bool team_is_here(const sundog_team *team, int rank)
{
    int place = rank - team->shared->first_here;
    return place >= 0 && place < team->shared->n_here;
}

/* n handles for ranks first_here + 0 .. n_here - 1 of n_ranks; wire may be NULL. */
sundog_status team_make(int n_ranks, int first_here, int n_here, int n_spins,
                        const struct team_wire *wire, void *wire_state, sundog_team **teams);
/* How often to look before sleeping, where n_ranks share this machine's cores. */
int team_spins(int n_ranks);
/* Another process says that the team is dead. */
void team_learn_death(team_shared *shared, sundog_status cause, const char *reason);

/* Collective: gather small records (n_bytes <= TEAM_SLOT_BYTES) of all ranks, recv [n_ranks]. */
sundog_status team_gather_small(sundog_team *team, const char *call, const void *send,
                                size_t n_bytes, void *recv);
/* Collective: each rank passes a parcel to one rank and gets one from another (these are a
 * permutation); *recv grows as needed. */
sundog_status team_pass(sundog_team *team, int to, const void *send, size_t n_send, int from,
                        char **recv, size_t *n_recv, size_t *capacity);
/* Collective, of a team with ranks elsewhere: a line for the messages of one exchange. */
struct team_line;
sundog_status team_open_line(sundog_team *team, struct team_line **out);
/* Collective: each rank brings the status (and error text) of what it did; if any failed, all
 * return the failure of the lowest rank that did, with its text. */
sundog_status team_agree(sundog_team *team, sundog_status mine);
#endif
