/* Collectives of a team: values, sizes on both sides of a slot, any order of calls; and the ends
 * that are errors: abort, a rank that does not come, calls that do not match. */
#include "ranks.h"

#include "base/clock.h"

#include <math.h>
#include <unistd.h>

static void check_reductions(rank_args *args, int n)
{
    size_t n_bytes = sizeof(double) * ((size_t)n + 1);
    double *sum = malloc(n_bytes), *max = malloc(n_bytes), *min = malloc(n_bytes);
    int64_t *count = malloc(n_bytes);
    for (int i = 0; i < n; i++) {
        sum[i] = 0.1 * (args->rank + 1) * (i + 1);
        max[i] = min[i] = (args->rank * 7 + i) % 5;
        count[i] = INT64_C(1) << (args->rank + i % 20);
    }
    CHECK_OK(sundog_team_sum_double(args->team, sum, n));
    CHECK_OK(sundog_team_max_double(args->team, max, n));
    CHECK_OK(sundog_team_min_double(args->team, min, n));
    CHECK_OK(sundog_team_sum_int64(args->team, count, n));
    for (int i = 0; i < n; i++) {
        double s = 0.1 * (i + 1), hi = i % 5, lo = i % 5;
        int64_t c = 0;
        for (int r = 0; r < args->n_ranks; r++) {
            if (r > 0) s += 0.1 * (r + 1) * (i + 1);    /* in rank order: the same bits */
            hi = fmax(hi, (r * 7 + i) % 5);
            lo = fmin(lo, (r * 7 + i) % 5);
            c += INT64_C(1) << (r + i % 20);
        }
        CHECK(sum[i] == s && max[i] == hi && min[i] == lo && count[i] == c);
    }
    free(sum), free(max), free(min), free(count);
}

static void check_gather(rank_args *args, size_t n_bytes)
{
    unsigned char *send = malloc(n_bytes + 1), *recv = malloc(n_bytes * (size_t)args->n_ranks + 1);
    for (size_t i = 0; i < n_bytes; i++) send[i] = (unsigned char)(args->rank * 31 + (int)i);
    CHECK_OK(sundog_team_allgather(args->team, send, n_bytes, recv));
    for (int r = 0; r < args->n_ranks; r++)
        for (size_t i = 0; i < n_bytes; i++)
            CHECK(recv[(size_t)r * n_bytes + i] == (unsigned char)(r * 31 + (int)i));
    for (int root = 0; root < args->n_ranks; root++) {
        for (size_t i = 0; i < n_bytes; i++) send[i] = (unsigned char)(args->rank + (int)i);
        CHECK_OK(sundog_team_broadcast(args->team, root, send, n_bytes));
        for (size_t i = 0; i < n_bytes; i++) CHECK(send[i] == (unsigned char)(root + (int)i));
    }
    free(send), free(recv);
}

/* Rank a sends (a + 2 b) % 5 times `unit` bytes to rank b. */
static void check_alltoall(rank_args *args, size_t unit)
{
    int n = args->n_ranks, me = args->rank;
    size_t send_offset[65] = {0}, recv_offset[65];
    for (int r = 0; r < n; r++)
        send_offset[r + 1] = send_offset[r] + (size_t)((me + 2 * r) % 5) * unit;
    CHECK_OK(sundog_team_alltoall_sizes(args->team, send_offset, recv_offset));
    unsigned char *send = malloc(send_offset[n] + 1), *recv = malloc(recv_offset[n] + 1);
    for (int r = 0; r < n; r++)
        memset(send + send_offset[r], me * 16 + r, send_offset[r + 1] - send_offset[r]);
    CHECK_OK(sundog_team_alltoall(args->team, send, send_offset, recv, recv_offset));
    for (int r = 0; r < n; r++) {
        CHECK(recv_offset[r + 1] - recv_offset[r] == (size_t)((r + 2 * me) % 5) * unit);
        for (size_t i = recv_offset[r]; i < recv_offset[r + 1]; i++)
            CHECK(recv[i] == (unsigned char)(r * 16 + me));
    }
    free(send), free(recv);
}

static void collectives(rank_args *args)
{
    CHECK(sundog_team_rank(args->team) == args->rank);
    CHECK(sundog_team_size(args->team) == args->n_ranks);
    for (int round = 0; round < 3; round++) {
        for (int n = 0; n < 300; n = 3 * n + 1) check_reductions(args, n);
        for (size_t n = 0; n < 5000; n = 4 * n + 1) check_gather(args, n);
        check_gather(args, 448);
        check_gather(args, 449);
        check_alltoall(args, 0);
        check_alltoall(args, 3);
        check_alltoall(args, 5000);
        CHECK_OK(sundog_team_barrier(args->team));
    }
    double broken = args->rank == args->n_ranks / 2 ? NAN : args->rank;
    CHECK_OK(sundog_team_max_double(args->team, &broken, 1));
    CHECK(isnan(broken));   /* a NaN must not hide */
}

static void abort_reaches_all(rank_args *args)
{
    if (args->rank == 0) {
        usleep(20000);
        sundog_team_abort(args->team, "no more coffee");
        sundog_team_abort(args->team, "too late");
    }
    CHECK(sundog_team_barrier(args->team) == SUNDOG_ERR_ABORTED);
    CHECK(strcmp(sundog_last_error(), "no more coffee") == 0);
    double value = 1;
    CHECK(sundog_team_sum_double(args->team, &value, 1) == SUNDOG_ERR_ABORTED);
    sundog_plan *plan = NULL;
    CHECK(sundog_plan_create(args->team, 3, &plan) == SUNDOG_ERR_ABORTED && plan == NULL);
}

static void missing_rank_is_named(rank_args *args)
{
    if (args->rank == args->n_ranks - 1) return;    /* never comes */
    sundog_team_set_timeout(args->team, 0.1);
    int64_t start = base_clock_ns();
    CHECK(sundog_team_barrier(args->team) == SUNDOG_ERR_PEER_TIMEOUT);
    CHECK(base_clock_seconds_since(start) < 20);
    char name[32];
    snprintf(name, sizeof name, " rank %d", args->n_ranks - 1);
    const char *missing = strstr(sundog_last_error(), "not there:");
    CHECK(missing && strstr(missing, name));
    if (strcmp(ranks_fabric, "threads") == 0) CHECK(strstr(missing, "(at 0)"));
    CHECK(sundog_team_barrier(args->team) == SUNDOG_ERR_PEER_TIMEOUT);
}

static void different_calls_are_named(rank_args *args)
{
    double value[2] = {1, 2};
    char all[64 * 16];
    sundog_status status = args->rank == 1
                               ? sundog_team_allgather(args->team, value, 16, all)
                               : sundog_team_sum_double(args->team, value, 2);
    CHECK(status == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "rank 1 in allgather"));
}

/* Nothing may reach a limit by itself when there is none. */
static void no_limit_waits(rank_args *args)
{
    sundog_team_set_timeout(args->team, 0);
    if (args->rank == 0) usleep(100000);
    CHECK_OK(sundog_team_barrier(args->team));
}

int main(void)
{
    const int n_ranks[] = {1, 2, 3, 5, 8};
    sundog_team *team[1], *none = NULL;
    CHECK(sundog_team_create_threads(0, team) == SUNDOG_ERR_ARGUMENT);
    CHECK(sundog_team_create_threads(2, NULL) == SUNDOG_ERR_ARGUMENT);
    sundog_team_destroy(&none);
    sundog_team_destroy(NULL);
    for (int i = 0; i < 5; i++) {
        run_ranks(n_ranks[i], collectives, NULL);
        run_ranks(n_ranks[i], abort_reaches_all, NULL);
        run_ranks(n_ranks[i], no_limit_waits, NULL);
        if (n_ranks[i] < 2) continue;
        run_ranks(n_ranks[i], missing_rank_is_named, NULL);
        run_ranks(n_ranks[i], different_calls_are_named, NULL);
    }
    return 0;
}
