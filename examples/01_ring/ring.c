/* A halo of your own: nodes spread over a ring of ranks, every rank mirrors some of its
 * predecessor's nodes.
 *
 *   rank r owns 5 + 3 r nodes       rows:  [ owned | ghosts: nodes of rank r - 1 ]
 *
 * Which nodes is an irregular map: a list of row numbers, in any order. Forward brings their
 * values; reverse takes back what each rank has added up for its ghosts.
 */
#include <sundog/sundog.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_RANKS = 4 };

#define CHECK(call)                                                                     \
    do {                                                                                \
        sundog_status status_ = (call);                                                 \
        if (status_ != SUNDOG_OK) {                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                      \
                    sundog_status_name(status_), sundog_last_error());                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

static int n_nodes_of(int rank)
{
    return 5 + 3 * rank;
}

/* The nodes that rank + 1 wants to see: every second one, last first. */
static int wanted_from(int rank, sundog_idx *index)
{
    int n = 0;
    for (int i = n_nodes_of(rank) - 1; i >= 0; i -= 2) index[n++] = i;
    return n;
}

static double value_of(int rank, int node)
{
    return 100 * rank + node;
}

static void *rank_main(void *handle)
{
    sundog_team *team = handle;
    int rank = sundog_team_rank(team), n_owned = n_nodes_of(rank);
    int next = (rank + 1) % N_RANKS, previous = (rank + N_RANKS - 1) % N_RANKS;

    /* The plan: one pulse around the ring. */
    sundog_idx index[32], first_ghost, n_ghost;
    sundog_plan *plan;
    CHECK(sundog_plan_create(team, n_owned, &plan));
    sundog_pulse pulse = {.to_rank = next, .from_rank = previous,
                          .n_send = wanted_from(rank, index), .index = index};
    CHECK(sundog_plan_add_pulse(plan, &pulse, &first_ghost, &n_ghost));
    CHECK(sundog_plan_commit(plan));

    /* The exchange: two fields, bound once. */
    double value[64], count[64];
    for (int i = 0; i < n_owned; i++) value[i] = value_of(rank, i);
    sundog_field value_field = {value, SUNDOG_FLOAT64, 1, false, 0};
    sundog_field count_field = {count, SUNDOG_FLOAT64, 1, false, 0};
    sundog_exchange *values, *counts;
    CHECK(sundog_exchange_create(plan, &value_field, 1, NULL, &values));
    CHECK(sundog_exchange_create(plan, &count_field, 1, NULL, &counts));

    /* Forward: ghosts show the owners' values, in the order of the owner's list. */
    CHECK(sundog_forward_begin(values));
    CHECK(sundog_forward_end(values));
    wanted_from(previous, index);
    for (int k = 0; k < n_ghost; k++)
        if (value[first_ghost + k] != value_of(previous, index[k])) {
            fprintf(stderr, "rank %d, ghost %d: %g\n", rank, k, value[first_ghost + k]);
            exit(1);
        }

    /* Reverse: everybody counts 1 for each node that it sees, so a mirrored node is seen twice. */
    for (int i = 0; i < n_owned + n_ghost; i++) count[i] = 1;
    CHECK(sundog_reverse_begin(counts));
    CHECK(sundog_reverse_end(counts));
    double seen = 0, all = n_owned + n_ghost;
    for (int i = 0; i < n_owned; i++) seen += count[i];
    CHECK(sundog_team_sum_double(team, &seen, 1));
    CHECK(sundog_team_sum_double(team, &all, 1));
    if (seen != all) {
        fprintf(stderr, "counted %g, should be %g\n", seen, all);
        exit(1);
    }

    for (int r = 0; r < N_RANKS; r++) {     /* one line a rank, in order */
        if (r == rank)
            printf("rank %d owns %2d nodes and mirrors %d of rank %d\n", rank, n_owned, n_ghost,
                   previous);
        fflush(stdout);
        CHECK(sundog_team_barrier(team));
    }
    if (rank == 0)
        printf("all values arrived; %g nodes and mirrors counted (%s)\n", seen,
               sundog_exchange_describe(values));

    sundog_exchange_destroy(&counts);
    sundog_exchange_destroy(&values);
    sundog_plan_destroy(&plan);
    sundog_team_destroy(&team);
    return NULL;
}

int main(void)
{
    sundog_team *team[N_RANKS];
    pthread_t thread[N_RANKS];
    CHECK(sundog_team_create_threads(N_RANKS, team));
    for (int r = 0; r < N_RANKS; r++)
        if (pthread_create(&thread[r], NULL, rank_main, team[r]) != 0) return 1;
    for (int r = 0; r < N_RANKS; r++) pthread_join(thread[r], NULL);
    return 0;
}
