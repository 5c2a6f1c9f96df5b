/* Latency of the halo exchange, by size, shape, rung and route.
 *
 * The plan is a periodic grid of ranks as molecular dynamics cuts it: along each axis one or two
 * pulses towards -1. A first pulse sends `rows` owned rows, and from every earlier pulse's ghosts
 * an eighth of that (edges and corners); a second pulse along the axis sends on half of what the
 * first one brought. Indices are scattered with a stride, as atoms on a face are.
 *
 * Two numbers a case. Latency: after a barrier, from begin to end, of the slowest rank (minimum,
 * median, 95th percentile over iterations). Stream: time per exchange of many in a row without a
 * barrier, which is what a time step feels. copy_us is the time to move the same rows within one
 * thread: the floor.
 */
#include "bench_halo.h"

#include "sundog/sundog.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ITERATIONS = 400, N_PROBES = 5, MAX_PULSES = 6 };
static const double SECONDS_A_CASE = 0.01;

typedef struct bench_case {
    int n_axes, n_pulses, rows;
    sundog_type type;
} bench_case;

typedef struct served {
    const char *rung;
    sundog_route route;
} served;

static const served all_served[] = {
    {"reference", SUNDOG_ROUTE_STAGED}, {"pulse", SUNDOG_ROUTE_STAGED},
    {"fused", SUNDOG_ROUTE_STAGED},     {"reference", SUNDOG_ROUTE_DIRECT},
    {"pulse", SUNDOG_ROUTE_DIRECT},     {"fused", SUNDOG_ROUTE_DIRECT},
    {"direct", SUNDOG_ROUTE_DIRECT},
};
enum { N_SERVED = sizeof all_served / sizeof all_served[0] };

typedef struct bench {              /* shared by the ranks */
    int n_ranks;
    FILE *json;
    const char *origin;
    double *seconds;                /* [MAX_ITERATIONS][n_ranks] */
} bench;

typedef struct bench_rank {
    sundog_team *team;
    bench *shared;
    int rank, grid[3];
    sundog_plan *plan;
    sundog_idx n_owned, n_rows;
    sundog_field field;
    size_t row_bytes;
    void *expected[2][2];           /* by route and direction */
    sundog_status status;
    char error[512];
} bench_rank;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TRY(call)                                         \
    do {                                                  \
        sundog_status try_status_ = (call);               \
        if (try_status_ != SUNDOG_OK) return try_status_; \
    } while (0)

static sundog_status out_of_memory(bench_rank *b)
{
    sundog_team_abort(b->team, "no memory for the benchmark");
    return SUNDOG_ERR_MEMORY;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Factor n over the axes, as even as prime factors allow, larger first. */
static void grid_of(int n, int n_axes, int grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    for (int factor = n; factor > 1;) {
        int prime = 2, least = 0;
        while (n % prime) prime++;
        for (int axis = 0; axis < n_axes; axis++)
            if (grid[axis] < grid[least]) least = axis;
        grid[least] *= prime;
        n /= prime;
        factor = n;
    }
}

static int neighbour(const int grid[3], int rank, int axis, int step)
{
    int at[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    at[axis] = (at[axis] + step + grid[axis]) % grid[axis];
    return (at[0] * grid[1] + at[1]) * grid[2] + at[2];
}

static sundog_status build_plan(bench_rank *b, const bench_case *c)
{
    sundog_idx first[MAX_PULSES], n_ghost[MAX_PULSES], n = 0;
    sundog_idx capacity = c->rows * (2 + MAX_PULSES);
    sundog_idx *index = malloc((size_t)capacity * sizeof *index);
    if (!index) return out_of_memory(b);
    b->n_owned = 4 * c->rows + 8;
    sundog_status status = sundog_plan_create(b->team, b->n_owned, &b->plan);
    for (int p = 0; status == SUNDOG_OK && p < c->n_axes * c->n_pulses; p++) {
        int axis = p / c->n_pulses, second = p % c->n_pulses;
        n = 0;
        if (second) {
            for (sundog_idx k = 0; k < (n_ghost[p - 1] + 1) / 2; k++) index[n++] = first[p - 1] + k;
        } else {
            for (sundog_idx k = 0; k < c->rows; k++) index[n++] = (3 * k + p) % b->n_owned;
            for (int q = 0; q < p; q++)
                for (sundog_idx k = 0; k < (n_ghost[q] < c->rows / 8 ? n_ghost[q] : c->rows / 8);
                     k++)
                    index[n++] = first[q] + k;
        }
        sundog_pulse pulse = {neighbour(b->grid, b->rank, axis, -1),
                              neighbour(b->grid, b->rank, axis, +1), n, index, {0, 0, 0}};
        pulse.shift[axis] = neighbour(b->grid, b->rank, axis, -1) >= b->rank ? 3.25 : 0;
        status = sundog_plan_add_pulse(b->plan, &pulse, &first[p], &n_ghost[p]);
    }
    free(index);
    TRY(status);
    TRY(sundog_plan_commit(b->plan));
    b->n_rows = sundog_plan_n_rows(b->plan);
    return SUNDOG_OK;
}

/* ---- one case -------------------------------------------------------------------------------- */

static void fill(bench_rank *b)
{
    for (sundog_idx i = 0; i < 3 * b->n_rows; i++) {
        double value = sin(b->rank + 0.01 * i);
        if (b->field.type == SUNDOG_FLOAT32) ((float *)b->field.rows)[i] = (float)value;
        else ((double *)b->field.rows)[i] = value;
    }
}

/* Reverse makes sums grow, so the timed reverses run on zeros; speed does not depend on it. */
static void zero(bench_rank *b)
{
    memset(b->field.rows, 0, (size_t)b->n_rows * b->row_bytes);
}

static sundog_status run_once(sundog_exchange *exchange, bool forward)
{
    if (forward) {
        TRY(sundog_forward_begin(exchange));
        return sundog_forward_end(exchange);
    }
    TRY(sundog_reverse_begin(exchange));
    return sundog_reverse_end(exchange);
}

/* The reference of each route keeps its result, the others must repeat it bit for bit. */
static sundog_status verify(bench_rank *b, sundog_exchange *exchange, const served *s, bool forward)
{
    size_t n_bytes = (size_t)(forward ? b->n_rows : b->n_owned) * b->row_bytes;
    void **expected = &b->expected[s->route][forward];
    fill(b);
    TRY(sundog_team_barrier(b->team));
    TRY(run_once(exchange, forward));
    if (strcmp(s->rung, "reference") == 0) {
        free(*expected);
        *expected = malloc(n_bytes);
        if (!*expected) return out_of_memory(b);
        memcpy(*expected, b->field.rows, n_bytes);
    } else if (memcmp(*expected, b->field.rows, n_bytes) != 0) {
        sundog_team_abort(b->team, "a rung does not repeat the reference");
    }
    return sundog_team_barrier(b->team);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Move as many rows as the exchange sends, within this thread. */
static double time_copy(bench_rank *b, int64_t n_rows)
{
    float *to = malloc((size_t)(n_rows + 1) * b->row_bytes);
    double best = 1e9;
    for (int repeat = 0; to && repeat < 20; repeat++) {
        double start = now();
        for (int64_t k = 0; k < n_rows; k++)
            memcpy((char *)to + (size_t)k * b->row_bytes,
                   (char *)b->field.rows + (size_t)(3 * k % b->n_owned) * b->row_bytes,
                   b->row_bytes == 12 ? 12 : 24);
        double seconds = now() - start;
        __asm__ volatile("" : : "r"(to) : "memory");    /* the copy is wanted */
        if (seconds < best) best = seconds;
    }
    free(to);
    return best;
}

/* Iterations that fit the time, the same on all ranks. */
static sundog_status choose_iterations(bench_rank *b, sundog_exchange *exchange, bool forward,
                                       int *n)
{
    double start = now();
    for (int i = 0; i < N_PROBES; i++) {
        TRY(sundog_team_barrier(b->team));
        TRY(run_once(exchange, forward));
    }
    double seconds = (now() - start) / N_PROBES;
    TRY(sundog_team_max_double(b->team, &seconds, 1));
    double fits = SECONDS_A_CASE / seconds;
    *n = fits < 20 ? 20 : fits > MAX_ITERATIONS ? MAX_ITERATIONS : (int)fits;
    return SUNDOG_OK;
}

static void report(bench_rank *b, const bench_case *c, const served *s, bool forward, int n,
                   double stream, const sundog_exchange_volume *volume)
{
    double slowest[MAX_ITERATIONS];
    for (int i = 0; i < n; i++) {
        slowest[i] = 0;
        for (int r = 0; r < b->shared->n_ranks; r++)
            slowest[i] = fmax(slowest[i], b->shared->seconds[i * b->shared->n_ranks + r]);
    }
    qsort(slowest, (size_t)n, sizeof slowest[0], compare_doubles);
    fprintf(b->shared->json,
            "{\"bench\":\"halo\",\"ranks\":%d,\"grid\":[%d,%d,%d],\"axes\":%d,\"pulses\":%d,"
            "\"rows\":%d,\"row_bytes\":%zu,\"rung\":\"%s\",\"route\":\"%s\",\"direction\":\"%s\","
            "\"sent_rows\":%lld,\"sent_bytes\":%lld,\"messages\":%lld,\"iterations\":%d,"
            "\"min_us\":%.3f,\"median_us\":%.3f,\"p95_us\":%.3f,\"stream_us\":%.3f,"
            "\"copy_us\":%.3f,%s}\n",
            b->shared->n_ranks, b->grid[0], b->grid[1], b->grid[2], c->n_axes, c->n_pulses, c->rows,
            b->row_bytes, s->rung, s->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct",
            forward ? "forward" : "reverse", (long long)volume->n_rows, (long long)volume->n_bytes,
            (long long)volume->n_messages, n, 1e6 * slowest[0], 1e6 * slowest[n / 2],
            1e6 * slowest[(int)(0.95 * (n - 1))], 1e6 * stream,
            1e6 * time_copy(b, (int64_t)(b->n_rows - b->n_owned)), b->shared->origin);
    fflush(b->shared->json);
}

static sundog_status time_one(bench_rank *b, sundog_exchange *exchange, const bench_case *c,
                              const served *s, bool forward)
{
    int n;
    TRY(verify(b, exchange, s, forward));
    zero(b);
    TRY(choose_iterations(b, exchange, forward, &n));
    for (int i = 0; i < n; i++) {
        TRY(sundog_team_barrier(b->team));
        double start = now();
        TRY(run_once(exchange, forward));
        b->shared->seconds[i * b->shared->n_ranks + b->rank] = now() - start;
    }
    TRY(sundog_team_barrier(b->team));
    double start = now();
    for (int i = 0; i < n; i++) TRY(run_once(exchange, forward));
    TRY(sundog_team_barrier(b->team));
    double stream = (now() - start) / n;
    sundog_exchange_volume volume;
    TRY(sundog_exchange_volume_of(exchange, &volume));
    if (b->rank == 0) report(b, c, s, forward, n, stream, &volume);
    return sundog_team_barrier(b->team);
}

static sundog_status run_case(bench_rank *b, const bench_case *c)
{
    grid_of(b->shared->n_ranks, c->n_axes, b->grid);
    TRY(build_plan(b, c));
    b->row_bytes = c->type == SUNDOG_FLOAT32 ? 12 : 24;
    b->field = (sundog_field){malloc((size_t)b->n_rows * b->row_bytes), c->type, 3, true, 0};
    if (!b->field.rows) return out_of_memory(b);
    for (int s = 0; s < N_SERVED; s++) {
        sundog_exchange_options options = {.struct_size = sizeof options,
                                           .rung = all_served[s].rung,
                                           .route = all_served[s].route,
                                           .deterministic = true};
        sundog_exchange *exchange;
        TRY(sundog_exchange_create(b->plan, &b->field, 1, &options, &exchange));
        sundog_status status = time_one(b, exchange, c, &all_served[s], true);
        if (status == SUNDOG_OK) status = time_one(b, exchange, c, &all_served[s], false);
        sundog_exchange_destroy(&exchange);
        TRY(status);
    }
    return SUNDOG_OK;
}

static void *rank_main(void *pointer)
{
    static const int rows[] = {1, 64, 1024, 8192, 32768};
    bench_rank *b = pointer;
    for (int axes = 1; axes <= 3 && b->status == SUNDOG_OK; axes++)
        for (int pulses = 1; pulses <= 2 && b->status == SUNDOG_OK; pulses++)
            for (int i = 0; i < 10 && b->status == SUNDOG_OK; i++) {
                bench_case c = {axes, pulses, rows[i / 2],
                                i % 2 ? SUNDOG_FLOAT64 : SUNDOG_FLOAT32};
                b->status = run_case(b, &c);
                if (b->status != SUNDOG_OK)
                    snprintf(b->error, sizeof b->error, "%s", sundog_last_error());
                sundog_plan_destroy(&b->plan);
                free(b->field.rows);
                b->field.rows = NULL;
            }
    for (int i = 0; i < 4; i++) free(b->expected[i / 2][i % 2]);
    sundog_team_destroy(&b->team);
    return NULL;
}

int bench_halo(int n_ranks, const char *origin, FILE *json)
{
    enum { MAX_RANKS = 256 };
    sundog_team *team[MAX_RANKS];
    pthread_t thread[MAX_RANKS];
    bench shared = {n_ranks, json, origin, NULL};
    if (n_ranks < 1 || n_ranks > MAX_RANKS) {
        fprintf(stderr, "bench halo: %d ranks, must be 1 to %d\n", n_ranks, MAX_RANKS);
        return 1;
    }
    shared.seconds = malloc(sizeof(double) * MAX_ITERATIONS * (size_t)n_ranks);
    bench_rank *rank = calloc((size_t)n_ranks, sizeof *rank);
    if (!shared.seconds || !rank || sundog_team_create_threads(n_ranks, team) != SUNDOG_OK) {
        fprintf(stderr, "bench halo: no memory\n");
        free(rank);
        free(shared.seconds);
        return 1;
    }
    int n_started = 0, failed = 0;
    for (int r = 0; r < n_ranks; r++)
        rank[r] = (bench_rank){.team = team[r], .shared = &shared, .rank = r};
    while (n_started < n_ranks &&
           pthread_create(&thread[n_started], NULL, rank_main, &rank[n_started]) == 0)
        n_started++;
    if (n_started < n_ranks) sundog_team_abort(team[n_started], "a thread could not be started");
    for (int r = n_started; r < n_ranks; r++) {
        sundog_team_destroy(&rank[r].team);
        rank[r].status = SUNDOG_ERR_MEMORY;
    }
    for (int r = 0; r < n_started; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < n_ranks && !failed; r++)
        if (rank[r].status != SUNDOG_OK) {
            fprintf(stderr, "bench halo: rank %d: %s: %s\n", r,
                    sundog_status_name(rank[r].status), rank[r].error);
            failed = 1;
        }
    free(rank);
    free(shared.seconds);
    return failed;
}
