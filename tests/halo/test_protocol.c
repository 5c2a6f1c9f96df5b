/* The exchange under bad weather: every rung and route with random sleeps before every signal, late
 * ranks, ghosts still being read, one-way use, odd payload, grids of one and two ranks an axis.
 * Each case below is a way in which an exchange elsewhere has gone wrong. */
#include "ranks.h"

#include "base/clock.h"
#include "halo/exchange.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

typedef struct weather {
    served how;
    bool lockstep;
} weather;

/* ---- delays ---------------------------------------------------------------------------------- */

/* Now and then a sleep, from a generator of each thread's own. */
static void delay(int rank)
{
    static _Thread_local uint64_t state;
    state += (uint64_t)rank + 1;
    int what = random_below(&state, 20);
    if (what == 0) usleep((unsigned)random_below(&state, 300));
    else if (what < 6) sched_yield();
}

/* ---- a periodic grid of ranks, all three axes, two pulses along the last --------------------- */

enum { OWNED = 11, MAX_ROWS = 2000 };

static void grid_of(int n_ranks, int grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    for (int axis = 0; axis < 3 && n_ranks % 2 == 0; axis++, n_ranks /= 2) grid[axis] = 2;
    grid[2] *= n_ranks;
}

static int neighbour(const int grid[3], int rank, int axis, int step)
{
    int at[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    at[axis] = (at[axis] + step + grid[axis]) % grid[axis];
    return (at[0] * grid[1] + at[1]) * grid[2] + at[2];
}

static sundog_plan *grid_plan(const rank_args *args)
{
    int grid[3];
    sundog_idx index[MAX_ROWS], n_rows = OWNED + args->rank % 3;
    sundog_plan *plan;
    grid_of(args->n_ranks, grid);
    CHECK_OK(sundog_plan_create(args->team, n_rows, &plan));
    for (int p = 0; p < 4; p++) {
        int axis = p < 3 ? 2 - p : 0, n = 0;
        for (sundog_idx i = p; i < n_rows; i += 2) index[n++] = i;
        index[n++] = 0;             /* once more */
        sundog_pulse pulse = {neighbour(grid, args->rank, axis, -1),
                              neighbour(grid, args->rank, axis, +1), n, index, {0, 0, 0}};
        pulse.shift[axis] = -1.5;
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, NULL, NULL));
        n_rows = sundog_plan_n_rows(plan);
        CHECK(n_rows < MAX_ROWS);
    }
    CHECK_OK(sundog_plan_commit(plan));
    return plan;
}

static sundog_exchange *exchange_in(const weather *w, sundog_plan *plan, const sundog_field *field)
{
    sundog_exchange_options options = {.struct_size = sizeof options, .rung = w->how.rung,
                                       .route = w->how.route,
                                       .deterministic = w->how.deterministic,
                                       .lockstep = w->lockstep};
    sundog_exchange *exchange;
    CHECK_OK(sundog_exchange_create(plan, field, 1, &options, &exchange));
    return exchange;
}

/* Ghosts must be those of this epoch, exactly. */
static void check_epoch(const sundog_plan *plan, int64_t (*id)[3], int epoch)
{
    int rank[MAX_ROWS];
    sundog_idx row[MAX_ROWS];
    CHECK_OK(sundog_plan_owners(plan, rank, row));
    for (sundog_idx i = sundog_plan_n_owned(plan); i < sundog_plan_n_rows(plan); i++)
        CHECK(id[i][0] == rank[i] && id[i][1] == row[i] && id[i][2] == epoch);
}

static void fill_epoch(const rank_args *args, const sundog_plan *plan, int64_t (*id)[3], int epoch)
{
    for (sundog_idx i = 0; i < sundog_plan_n_owned(plan); i++)
        id[i][0] = args->rank, id[i][1] = i, id[i][2] = epoch;
}

/* Forward without reverse, many times; owned rows change right after end, ghosts are checked late
 * and must still be those of their epoch although faster peers are in the next forward already. */
static void forward_only(rank_args *args)
{
    const weather *w = args->shared;
    int64_t id[MAX_ROWS][3];
    sundog_plan *plan = grid_plan(args);
    sundog_field field = {id, SUNDOG_INT64, 3, false, 0};
    if (w->lockstep) {              /* has no meaning one way */
        sundog_plan_destroy(&plan);
        return;
    }
    sundog_exchange *exchange = exchange_in(w, plan, &field);
    uint64_t state = (uint64_t)args->rank + 77;
    for (int epoch = 1; epoch <= 30; epoch++) {
        fill_epoch(args, plan, id, epoch);
        CHECK_OK(sundog_forward_begin(exchange));
        if (random_below(&state, 4) == 0) usleep((unsigned)random_below(&state, 200));
        CHECK_OK(sundog_forward_end(exchange));
        if (random_below(&state, 4) == 0) usleep((unsigned)random_below(&state, 200));
        check_epoch(plan, id, epoch);
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* Three forwards without a reverse, and one rank far behind: it reads its ghosts of the first while
 * all others stand in the second. */
static void three_forwards_one_late(rank_args *args)
{
    const weather *w = args->shared;
    int64_t id[MAX_ROWS][3];
    sundog_plan *plan = grid_plan(args);
    sundog_field field = {id, SUNDOG_INT64, 3, false, 0};
    sundog_exchange *exchange = exchange_in(w, plan, &field);
    for (int epoch = 1; epoch <= 3; epoch++) {
        fill_epoch(args, plan, id, epoch);
        forward(exchange);
        if (args->rank == 0) usleep(100000);
        check_epoch(plan, id, epoch);
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* Forward and reverse as a time step does them, with reverses skipped at random (all alike) and
 * work between begin and end. Counts tell exactly how often a row was mirrored. */
static void steps(rank_args *args)
{
    const weather *w = args->shared;
    double x[MAX_ROWS][3];
    sundog_plan *plan = grid_plan(args);
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    sundog_field field = {x, SUNDOG_FLOAT64, 3, false, 0};
    sundog_exchange *exchange = exchange_in(w, plan, &field);
    uint64_t all = 5, mine = (uint64_t)args->rank + 99;
    double total = n_rows;
    CHECK_OK(sundog_team_sum_double(args->team, &total, 1));
    int rank[MAX_ROWS];
    sundog_idx row[MAX_ROWS];
    CHECK_OK(sundog_plan_owners(plan, rank, row));
    for (int epoch = 1; epoch <= 20; epoch++) {
        for (sundog_idx i = 0; i < n_owned; i++)
            x[i][0] = args->rank, x[i][1] = i, x[i][2] = epoch;
        CHECK_OK(sundog_forward_begin(exchange));
        if (random_below(&mine, 5) == 0) usleep((unsigned)random_below(&mine, 100));
        CHECK_OK(sundog_forward_end(exchange));
        for (sundog_idx i = n_owned; i < n_rows; i++)
            CHECK(x[i][0] == rank[i] && x[i][1] == row[i] && x[i][2] == epoch);
        if (!w->lockstep && random_below(&all, 3) == 0) continue;
        for (sundog_idx i = 0; i < n_rows; i++) x[i][0] = 1, x[i][1] = epoch, x[i][2] = 0;
        CHECK_OK(sundog_reverse_begin(exchange));
        if (random_below(&mine, 5) == 0) usleep((unsigned)random_below(&mine, 100));
        CHECK_OK(sundog_reverse_end(exchange));
        double sum[2] = {0, 0};
        for (sundog_idx i = 0; i < n_owned; i++) sum[0] += x[i][0], sum[1] += x[i][1];
        if (!w->lockstep) {         /* a collective would order the ranks */
            CHECK_OK(sundog_team_sum_double(args->team, sum, 2));
            CHECK(sum[0] == total && sum[1] == total * epoch);
        }
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* Reverse alone, many times: slots must not be overwritten before they were added. */
static void reverse_only(rank_args *args)
{
    const weather *w = args->shared;
    double x[MAX_ROWS][3];
    sundog_plan *plan = grid_plan(args);
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    sundog_field field = {x, SUNDOG_FLOAT64, 3, false, 0};
    uint64_t mine = (uint64_t)args->rank + 5;
    double times[MAX_ROWS];
    sundog_exchange *exchange = exchange_in(w, plan, &field);
    for (int epoch = 0; !w->lockstep && epoch < 20; epoch++) {
        for (sundog_idx i = 0; i < n_rows; i++) x[i][0] = x[i][1] = x[i][2] = 1 << epoch % 20;
        if (random_below(&mine, 6) == 0) usleep((unsigned)random_below(&mine, 300));
        reverse(exchange);
        for (sundog_idx i = 0; i < n_owned; i++) {
            double n = x[i][0] / (1 << epoch % 20);     /* copies of this row, itself among them */
            if (epoch == 0) times[i] = n;
            CHECK(n == times[i] && n >= 1 && x[i][2] == x[i][0]);
        }
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* <F x, y> = <x, R y>, in integers small enough for exact sums: F and R are adjoint. */
static void adjoint(rank_args *args)
{
    const weather *w = args->shared;
    double x[MAX_ROWS][3], y[MAX_ROWS][3], z[MAX_ROWS][3];
    random_plan spec = {1234 + (uint64_t)args->n_ranks, 4, 20, false, {0}};
    sundog_plan *plan = random_plan_create(&spec, args);
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    CHECK(n_rows <= MAX_ROWS);
    uint64_t mine = (uint64_t)args->rank * 7 + 3;
    for (sundog_idx i = 0; i < n_rows; i++)
        for (int c = 0; c < 3; c++) {
            x[i][c] = i < n_owned ? random_below(&mine, 100) - 50 : (double)NAN;
            y[i][c] = z[i][c] = random_below(&mine, 100) - 50;
        }
    sundog_field field_x = {x, SUNDOG_FLOAT64, 3, false, 0};
    sundog_field field_z = {z, SUNDOG_FLOAT64, 3, false, 0};
    sundog_exchange *forth = exchange_in(w, plan, &field_x), *back = exchange_in(w, plan, &field_z);
    CHECK_OK(sundog_forward_begin(forth));
    CHECK_OK(sundog_forward_end(forth));
    if (w->lockstep) CHECK_OK(sundog_forward_begin(back));      /* keeps the promise */
    if (w->lockstep) CHECK_OK(sundog_forward_end(back));
    memcpy(z, y, (size_t)n_rows * sizeof *z);
    CHECK_OK(sundog_team_barrier(args->team));
    reverse(back);
    double product[2] = {0, 0};
    for (sundog_idx i = 0; i < n_rows; i++)
        for (int c = 0; c < 3; c++) {
            product[0] += x[i][c] * y[i][c];
            if (i < n_owned) product[1] += x[i][c] * z[i][c];
        }
    CHECK_OK(sundog_team_sum_double(args->team, product, 2));
    CHECK(product[0] == product[1]);
    sundog_exchange_destroy(&forth);
    sundog_exchange_destroy(&back);
    sundog_plan_destroy(&plan);
}

/* NaN, both zeros, denormals, infinities arrive as they are, bit by bit; under a shift of another
 * axis too. */
static void odd_payload(rank_args *args)
{
    const weather *w = args->shared;
    const double odd[] = {(double)NAN, -0.0,     0.0,       4.9e-324,
                          -2.2e-309,   INFINITY, -INFINITY, DBL_MAX};
    const float odd_float[] = {NAN, -0.0f, 0.0f, 1.4e-45f, -1e-40f, INFINITY, -INFINITY, FLT_MAX};
    double x[32][3];
    float f[32][3];
    sundog_idx index[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, 8, &plan));
    for (int p = 0; p < 2; p++) {   /* the second hop sends the first one's ghosts on */
        sundog_pulse pulse = {(args->rank + 1) % args->n_ranks,
                              (args->rank + args->n_ranks - 1) % args->n_ranks, 8, index,
                              {0, 0, 2.5}};
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, &index[0], NULL));
        for (int k = 1; k < 8; k++) index[k] = index[0] + k;
    }
    CHECK_OK(sundog_plan_commit(plan));
    for (int i = 0; i < 24; i++)
        for (int c = 0; c < 3; c++) {
            x[i][c] = i < 8 ? odd[i] : 1;
            f[i][c] = i < 8 ? odd_float[i] : 1;
        }
    sundog_field field[2] = {{x, SUNDOG_FLOAT64, 3, true, 0}, {f, SUNDOG_FLOAT32, 3, true, 0}};
    sundog_exchange_options options = {.struct_size = sizeof options, .rung = w->how.rung,
                                       .route = w->how.route, .deterministic = true};
    sundog_exchange *exchange;
    CHECK_OK(sundog_exchange_create(plan, field, 2, &options, &exchange));
    forward(exchange);
    for (int i = 8; i < 24; i++) {
        CHECK(memcmp(x[i], x[i % 8], 2 * sizeof(double)) == 0);
        CHECK(memcmp(f[i], f[i % 8], 2 * sizeof(float)) == 0);
    }
    CHECK(x[8 + 2][2] == 2.5 && x[16 + 2][2] == 5.0 && f[16 + 1][2] == 5.0f);
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* The last pulse sends nothing while an earlier one is late; the first sends nothing in reverse. */
static void empty_beside_late(rank_args *args)
{
    const weather *w = args->shared;
    int64_t id[64][3];
    sundog_idx index[3] = {2, 0, 2};
    int next = (args->rank + 1) % args->n_ranks, n = args->n_ranks;
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, 3, &plan));
    for (int p = 0; p < 3; p++) {   /* rank 0 alone fills pulse 0, all fill pulse 1, none pulse 2 */
        int n_send = p == 0 ? (args->rank == 0 ? 3 : 0) : p == 1 ? 3 : 0;
        sundog_pulse pulse = {next, (args->rank + n - 1) % n, n_send, index, {0, 0, 0}};
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, NULL, NULL));
    }
    CHECK_OK(sundog_plan_commit(plan));
    sundog_field field = {id, SUNDOG_INT64, 3, false, 0};
    sundog_exchange *exchange = exchange_in(w, plan, &field);
    for (int epoch = 1; epoch <= 3; epoch++) {
        fill_epoch(args, plan, id, epoch);
        if (args->rank == 0) usleep(20000);
        forward(exchange);
        check_epoch(plan, id, epoch);
        reverse(exchange);          /* integers: nothing is added, everything is signalled */
        check_epoch(plan, id, epoch);
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

/* The promise is checked where asserts are on, and is no check where they are off. */
static void broken_promise(rank_args *args)
{
    weather w = {{"fused", SUNDOG_ROUTE_STAGED, true}, true};
    int64_t id[MAX_ROWS][3];
    sundog_plan *plan = grid_plan(args);
    sundog_field field = {id, SUNDOG_INT64, 3, false, 0};
    sundog_exchange *exchange = exchange_in(&w, plan, &field);
    CHECK(strstr(sundog_exchange_describe(exchange), "lockstep"));
    fill_epoch(args, plan, id, 1);
    forward(exchange);
    CHECK_OK(sundog_team_barrier(args->team));
#ifndef NDEBUG
    CHECK(sundog_forward_begin(exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "lockstep"));
#endif
    reverse(exchange);
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

int main(void)
{
    static void (*const cases[])(rank_args *) = {forward_only, steps,       reverse_only,
                                                 adjoint,      odd_payload, empty_beside_late};
    const int n_ranks[] = {1, 2, 3, 5, 8};
    for (int delayed = 0; delayed < 2; delayed++) {
        halo_before_signal = delayed ? delay : NULL;
        for (int i = 0; i < 5; i++) {
            for (int s = 0; s < 2 * N_SERVED; s++) {
                weather w = {all_served[s / 2], s % 2};
                for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
                    if (w.lockstep && cases[c] != steps && cases[c] != adjoint) continue;
                    run_ranks(n_ranks[i], cases[c], &w);
                }
                if (!w.lockstep && !delayed && n_ranks[i] == 3)
                    run_ranks(3, three_forwards_one_late, &w);
            }
            run_ranks(n_ranks[i], broken_promise, NULL);
        }
    }
    return 0;
}
