/* Run a function on the n ranks of a team; random numbers; random plans.
 *
 * The same source serves two programs: one whose ranks are threads, and, compiled with RANKS_MPI,
 * one whose ranks are threads of the processes that a launcher started (mpi_ranks.c). There a team
 * is made anew of as many processes as n ranks need; the others wait. A third, compiled with
 * RANKS_FORKED, has a rank a process, for GPUs (gpu/forked_ranks.c).
 */
#ifndef RANKS_H
#define RANKS_H
#include "check.h"
#include <pthread.h>
#include <string.h>

typedef struct rank_args {
    sundog_team *team;
    int rank, n_ranks;
    void *shared;                   /* the same pointer on all ranks of a process */
    void (*function)(struct rank_args *args);
} rank_args;

enum { MAX_RANKS = 64 };

/* How sundog_exchange_describe() must begin, in the present team. */
static const char *ranks_fabric = "threads";

#if defined RANKS_MPI || defined RANKS_FORKED
int ranks_main(void);               /* called by main() of mpi_ranks.c, forked_ranks.c */
#define main ranks_main
extern char **ranks_argv;
/* Handles of those of n ranks that are here, and how many. */
int ranks_create(int n_ranks, sundog_team **team);
/* How many of n ranks one process holds, at most. */
int ranks_a_process(int n_ranks);
/* Until all processes are here. */
void ranks_meet(void);
#ifdef RANKS_FORKED
/* Is there a team of n ranks? */
bool ranks_can(int n_ranks);
#endif
#else
static inline bool ranks_can(int n_ranks)
{
    return n_ranks > 0;
}
static inline int ranks_create(int n_ranks, sundog_team **team)
{
    CHECK_OK(sundog_team_create_threads(n_ranks, team));
    return n_ranks;
}
static inline int ranks_a_process(int n_ranks)
{
    return n_ranks;
}
static inline void ranks_meet(void)
{
}
#endif

static inline void *rank_main(void *pointer)
{
    rank_args *args = pointer;
    args->function(args);
    sundog_team_destroy(&args->team);
    return NULL;
}

static inline void run_ranks(int n_ranks, void (*function)(rank_args *), void *shared)
{
    sundog_team *team[MAX_RANKS];
    pthread_t thread[MAX_RANKS];
    rank_args args[MAX_RANKS];
    CHECK(n_ranks <= MAX_RANKS);
    int n_here = ranks_create(n_ranks, team);
#ifdef RANKS_FORKED
    const char *const wire = "forked";
#else
    const char *const wire = "mpi";
#endif
    ranks_fabric = ranks_a_process(n_ranks) < n_ranks ? wire : "threads";
    for (int t = 0; t < n_here; t++) {
        args[t] = (rank_args){team[t], sundog_team_rank(team[t]), n_ranks, shared, function};
        CHECK(pthread_create(&thread[t], NULL, rank_main, &args[t]) == 0);
    }
    for (int t = 0; t < n_here; t++) CHECK(pthread_join(thread[t], NULL) == 0);
    ranks_meet();
}

/* splitmix64: the same on all machines */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 .. n-1 */
static inline int random_below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint64_t)n);
}

/* Which random plan: everything follows from these. Pulse p sends to rank + hop(p). */
typedef struct random_plan {
    uint64_t seed;
    int n_pulses, max_owned;
    bool shifts;
    double stretch[3];              /* shifts are multiplied by this, where it is not 0 */
} random_plan;

/* Unequal sizes, some empty; indices of any earlier rows, repeated ones among them. */
static inline void random_plan_build(const random_plan *spec, const rank_args *args,
                                     sundog_plan *plan, bool fresh)
{
    uint64_t all = spec->seed, mine = spec->seed * 1000003 + (uint64_t)args->rank + 1;
    sundog_idx n_owned = random_below(&mine, 5) == 0 ? 0 : random_below(&mine, spec->max_owned + 1);
    if (!fresh) CHECK_OK(sundog_plan_reset(plan, n_owned));
    sundog_idx n_rows = sundog_plan_n_rows(plan);
    for (int p = 0; p < spec->n_pulses; p++) {
        int hop = random_below(&all, args->n_ranks);
        bool empty = random_below(&all, 6) == 0 || random_below(&mine, 5) == 0 || n_rows == 0;
        int n_send = empty ? 0 : random_below(&mine, n_rows + n_rows / 2 + 1);
        sundog_idx *index = malloc(((size_t)n_send + 1) * sizeof *index);
        CHECK(index);
        for (int k = 0; k < n_send; k++) index[k] = random_below(&mine, n_rows);
        sundog_pulse pulse = {(args->rank + hop) % args->n_ranks,
                              (args->rank - hop + args->n_ranks) % args->n_ranks, n_send, index,
                              {0, 0, 0}};
        for (int axis = 0; spec->shifts && axis < 3; axis++)
            pulse.shift[axis] = 0.37 * (random_below(&mine, 3) - 1) * (axis + 1);
        for (int axis = 0; axis < 3; axis++)
            if (spec->stretch[axis] > 0) pulse.shift[axis] *= spec->stretch[axis];
        sundog_idx first, n_ghost;
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, &first, &n_ghost));
        CHECK(first == n_rows && sundog_plan_n_rows(plan) == n_rows + n_ghost);
        n_rows += n_ghost;
        free(index);
    }
    CHECK_OK(sundog_plan_commit(plan));
}

static inline sundog_plan *random_plan_create(const random_plan *spec, const rank_args *args)
{
    uint64_t mine = spec->seed * 1000003 + (uint64_t)args->rank + 1;
    sundog_idx n_owned = random_below(&mine, 5) == 0 ? 0 : random_below(&mine, spec->max_owned + 1);
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, n_owned, &plan));
    random_plan_build(spec, args, plan, true);
    return plan;
}

/* Every rung and route that goes together. */
typedef struct served {
    const char *rung;
    sundog_route route;
    bool deterministic;
} served;

static const served all_served[] = {
    {"reference", SUNDOG_ROUTE_STAGED, true}, {"reference", SUNDOG_ROUTE_DIRECT, true},
    {"pulse", SUNDOG_ROUTE_STAGED, true},     {"pulse", SUNDOG_ROUTE_DIRECT, true},
    {"mpi", SUNDOG_ROUTE_STAGED, true},       {"mpi", SUNDOG_ROUTE_DIRECT, true},
    {"fused", SUNDOG_ROUTE_STAGED, true},     {"fused", SUNDOG_ROUTE_DIRECT, true},
    {"direct", SUNDOG_ROUTE_DIRECT, true},    {"fused", SUNDOG_ROUTE_STAGED, false},
    {"direct", SUNDOG_ROUTE_DIRECT, false},
};
enum { N_SERVED = sizeof all_served / sizeof all_served[0] };

static inline sundog_exchange *exchange_of(const served *s, sundog_plan *plan,
                                           const sundog_field *fields, int n_fields)
{
    sundog_exchange_options options = {.struct_size = sizeof options, .rung = s->rung,
                                       .route = s->route, .deterministic = s->deterministic};
    sundog_exchange *exchange;
    CHECK_OK(sundog_exchange_create(plan, fields, n_fields, &options, &exchange));
    char who[96];
    snprintf(who, sizeof who, "%s/%s %s%s", ranks_fabric, s->rung,
             s->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct",
             s->deterministic ? " deterministic" : "");
    CHECK(strcmp(sundog_exchange_describe(exchange), who) == 0);
    return exchange;
}

static inline void forward(sundog_exchange *exchange)
{
    CHECK_OK(sundog_forward_begin(exchange));
    CHECK_OK(sundog_forward_end(exchange));
}

static inline void reverse(sundog_exchange *exchange)
{
    CHECK_OK(sundog_reverse_begin(exchange));
    CHECK_OK(sundog_reverse_end(exchange));
}
#endif
