/* A rank dies, or comes too late, in the middle of an exchange: all others get an error in time
 * that says who waits for whom, nothing hangs, and everything can be destroyed. Arrays are freed
 * right after the error, which the sanitizers watch. */
#include "ranks.h"

#include "base/clock.h"
#include "team/wire.h"

#include <unistd.h>

enum { OWNED = 50, N_ROWS = 3 * OWNED };

typedef struct death {
    served how;
    int epoch;                      /* dies before this one; */
    bool in_reverse;                /* in its reverse; */
    bool between;                   /* between begin and end; */
    bool late;                      /* and comes back after all have given up; */
    bool aborts;                    /* or says so itself */
} death;

static sundog_plan *two_pulses(const rank_args *args)
{
    sundog_idx index[OWNED];
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, OWNED, &plan));
    for (int p = 0; p < 2; p++) {
        for (int k = 0; k < OWNED; k++) index[k] = OWNED * p + k;   /* the second sends ghosts on */
        sundog_pulse pulse = {(args->rank + 1) % args->n_ranks,
                              (args->rank + args->n_ranks - 1) % args->n_ranks, OWNED, index,
                              {0, 0, 0}};
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, NULL, NULL));
    }
    CHECK_OK(sundog_plan_commit(plan));
    return plan;
}

/* Dies here: true. */
static bool is_time(const rank_args *args, const death *d, int epoch, bool in_reverse, bool between)
{
    if (args->rank != args->n_ranks / 2 || epoch != d->epoch || in_reverse != d->in_reverse ||
        between != d->between)
        return false;
    if (d->aborts) sundog_team_abort(args->team, "the roof is on fire");
    if (d->late) usleep(300000);
    return !d->late;
}

static sundog_status step(const rank_args *args, const death *d, sundog_exchange *exchange,
                          int epoch, bool in_reverse, bool *died)
{
    if (is_time(args, d, epoch, in_reverse, false)) return *died = true, SUNDOG_OK;
    sundog_status status =
        in_reverse ? sundog_reverse_begin(exchange) : sundog_forward_begin(exchange);
    if (status != SUNDOG_OK) return status;
    if (is_time(args, d, epoch, in_reverse, true)) return *died = true, SUNDOG_OK;
    return in_reverse ? sundog_reverse_end(exchange) : sundog_forward_end(exchange);
}

static void one_dies(rank_args *args)
{
    const death *d = args->shared;
    double *x = calloc(N_ROWS, sizeof *x);
    sundog_plan *plan = two_pulses(args);
    sundog_field field = {x, SUNDOG_FLOAT64, 1, false, 0};
    sundog_exchange *exchange = exchange_of(&d->how, plan, &field, 1);
    sundog_team_set_timeout(args->team, d->aborts ? 20 : 0.1);
    int64_t start = base_clock_ns();
    sundog_status status = SUNDOG_OK;
    bool died = false;
    for (int epoch = 1; epoch <= 20 && status == SUNDOG_OK && !died; epoch++) {
        status = step(args, d, exchange, epoch, false, &died);
        if (status == SUNDOG_OK && !died) status = step(args, d, exchange, epoch, true, &died);
    }
    if (!died) {
        CHECK(status == (d->aborts ? SUNDOG_ERR_ABORTED : SUNDOG_ERR_PEER_TIMEOUT));
        CHECK(base_clock_seconds_since(start) < 20);
        const char *text = sundog_last_error();
        if (d->aborts) {
            CHECK(strcmp(text, "the roof is on fire") == 0);
        } else if (strcmp(d->how.rung, "reference") == 0) {
            CHECK(strstr(text, "waits in collective") && strstr(text, "not there: rank "));
        } else {
            CHECK(strstr(text, "waits for rank ") && strstr(text, "wanted epoch ") &&
                  strstr(text, ", seen ") && strstr(text, d->how.rung));
            CHECK(strstr(text, "forward, ") || strstr(text, "reverse, "));
        }
        free(x);
        CHECK(sundog_forward_begin(exchange) == status);        /* and stays so */
        CHECK(sundog_team_barrier(args->team) == status);
    } else {
        while (!team_is_dead(args->team)) {                     /* a corpse calls nothing */
            usleep(1000);
            if (args->team->shared->wire) args->team->shared->wire->listen(args->team->shared);
        }
        CHECK(sundog_team_barrier(args->team) != SUNDOG_OK);    /* waits until all have left x */
        free(x);
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    CHECK(exchange == NULL && plan == NULL);
}

int main(void)
{
    const int n_ranks[] = {2, 3, 8};
    for (int i = 0; i < 3; i++)
        for (int s = 0; s < N_SERVED; s++)
            for (int kind = 0; kind < 6; kind++) {
                death d = {.how = all_served[s], .epoch = kind + 1, .in_reverse = kind & 1,
                           .between = kind & 2, .late = kind == 4,
                           .aborts = kind == 5 || kind == 2};
                run_ranks(n_ranks[i], one_dies, &d);
            }
    return 0;
}
