/* Latency of the exchange of device memory. Two parts:
 *
 *   pingpong   two ranks, one pulse, kernels that answer each other (bench_pingpong.h): one way,
 *              launches apart. By size, way of moving rows and number of blocks.
 *   round      forward of x and reverse of f, as a time step does them, one launch each where the
 *              rung can, many in a row on one stream: launched one by one, and as a graph. By size,
 *              axes, rung and route. us_forward is the forward alone.
 *
 * Rows are float[3]. Every case is verified: the ghosts carry the owner's payload; on the direct
 * route a reverse of ones counts the copies of every row.
 */
#include "bench_halo_gpu.h"

#include "bench_pingpong.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RANKS = 8, PINGPONGS = 1000, ROUNDS = 200, GRAPH_ROUNDS = 20 };

typedef struct served {
    const char *rung;
    sundog_route route;
} served;

static const served all_served[] = {
    {"mpi", SUNDOG_ROUTE_STAGED},   {"stream", SUNDOG_ROUTE_STAGED},
    {"pulse", SUNDOG_ROUTE_STAGED}, {"fused", SUNDOG_ROUTE_STAGED},
    {"fused-tma", SUNDOG_ROUTE_STAGED}, {"flit", SUNDOG_ROUTE_STAGED},
    {"direct", SUNDOG_ROUTE_DIRECT}, {"fused-tma", SUNDOG_ROUTE_DIRECT},
    {"flit", SUNDOG_ROUTE_DIRECT},  {"mpi", SUNDOG_ROUTE_DIRECT},
};
enum { N_SERVED = sizeof all_served / sizeof all_served[0] };

typedef struct bench {              /* shared by the ranks */
    int n_ranks, n_gpus, n_axes, rows;
    FILE *json;
    const char *origin;
    char gpu[256];
    int driver;
    double us[MAX_RANKS];
} bench;

typedef struct bench_rank {
    bench *shared;
    sundog_team *team;
    int rank;
    sundog_plan *plan;
    sundog_idx n_owned, n_rows;
    float *x, *f;                   /* device [n_rows][3] */
    float *host;
    cudaStream_t stream;
    sundog_status status;
    char error[512];
} bench_rank;

#define TRY(call)                                         \
    do {                                                  \
        sundog_status try_status_ = (call);               \
        if (try_status_ != SUNDOG_OK) return try_status_; \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A failure that the library does not know: all ranks must leave. */
static sundog_status fail(bench_rank *b, const char *why)
{
    sundog_team_abort(b->team, why);
    return sundog_team_barrier(b->team);
}
#define TRY_CUDA(b, call)                                                             \
    do {                                                                              \
        cudaError_t try_error_ = (call);                                              \
        if (try_error_ != cudaSuccess) return fail(b, cudaGetErrorString(try_error_)); \
    } while (0)

/* ---- plan and rows --------------------------------------------------------------------------- */

/* Two ranks along each cut axis: the same one in both directions. */
static int neighbour(int rank, int axis)
{
    return rank ^ 1 << axis;
}

/* Along each axis one pulse: owned rows, scattered, and an eighth of every earlier one's ghosts. */
static sundog_status build_plan(bench_rank *b)
{
    const bench *s = b->shared;
    sundog_idx first[3], n_ghost[3];
    sundog_idx *index = malloc(sizeof *index * (size_t)(2 * s->rows + 8));
    if (!index) return fail(b, "no memory");
    b->n_owned = 4 * s->rows + 8;
    sundog_status status = sundog_plan_create(b->team, b->n_owned, &b->plan);
    for (int p = 0; p < s->n_axes && status == SUNDOG_OK; p++) {
        int n = 0;
        for (int k = 0; k < s->rows; k++) index[n++] = (3 * k + p) % b->n_owned;
        for (int q = 0; q < p; q++)
            for (int k = 0; k < s->rows / 8; k++) index[n++] = first[q] + k;
        sundog_pulse pulse = {neighbour(b->rank, p), neighbour(b->rank, p), n, index,
                              {0, 0, 0}};
        status = sundog_plan_add_pulse(b->plan, &pulse, &first[p], &n_ghost[p]);
    }
    free(index);
    TRY(status);
    TRY(sundog_plan_commit(b->plan));
    b->n_rows = sundog_plan_n_rows(b->plan);
    return SUNDOG_OK;
}

static sundog_status make_rows(bench_rank *b)
{
    size_t n_bytes = (size_t)b->n_rows * 12;
    b->host = malloc(n_bytes);
    if (!b->host) return fail(b, "no memory");
    TRY_CUDA(b, cudaMalloc((void **)&b->x, n_bytes));
    TRY_CUDA(b, cudaMalloc((void **)&b->f, n_bytes));
    TRY_CUDA(b, cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    return SUNDOG_OK;
}

static void free_rows(bench_rank *b)
{
    if (b->stream) (void)cudaStreamDestroy(b->stream);
    (void)cudaFree(b->x);
    (void)cudaFree(b->f);
    free(b->host);
    b->x = b->f = b->host = NULL;
    b->stream = NULL;
}

static sundog_status copy(bench_rank *b, void *to, const void *from)
{
    TRY_CUDA(b, cudaMemcpyAsync(to, from, (size_t)b->n_rows * 12, cudaMemcpyDefault, b->stream));
    TRY_CUDA(b, cudaStreamSynchronize(b->stream));
    return SUNDOG_OK;
}

/* x: owned rows tell rank and row, ghosts are poisoned. f: ones in ghosts. */
static sundog_status fill(bench_rank *b, bool x)
{
    for (sundog_idx i = 0; i < b->n_rows; i++) {
        bool owned = i < b->n_owned;
        b->host[3 * i] = x ? (owned ? (float)b->rank : -1) : !owned;
        b->host[3 * i + 1] = x ? (owned ? (float)i : -1) : !owned;
        b->host[3 * i + 2] = x ? (owned ? 0.5f : -1) : !owned;
    }
    TRY(copy(b, x ? b->x : b->f, b->host));
    return sundog_team_barrier(b->team);
}

static sundog_status check_ghosts(bench_rank *b)
{
    int *rank = malloc((size_t)b->n_rows * sizeof *rank);
    sundog_idx *row = malloc((size_t)b->n_rows * sizeof *row);
    sundog_status status = rank && row ? sundog_plan_owners(b->plan, rank, row)
                                       : SUNDOG_ERR_MEMORY;
    if (status == SUNDOG_OK) status = copy(b, b->host, b->x);
    bool same = status == SUNDOG_OK;
    for (sundog_idx i = b->n_owned; same && i < b->n_rows; i++)
        same = b->host[3 * i] == (float)rank[i] && b->host[3 * i + 1] == (float)row[i] &&
               b->host[3 * i + 2] == 0.5f;
    free(rank);
    free(row);
    if (!same) return fail(b, "ghosts are wrong after a forward");
    return sundog_team_barrier(b->team);
}

/* Sums of ones over the owned rows of all ranks are the ghosts of all ranks. */
static sundog_status check_sums(bench_rank *b)
{
    double sum[2] = {0, (double)(b->n_rows - b->n_owned)};
    TRY(copy(b, b->host, b->f));
    for (sundog_idx i = 0; i < b->n_owned; i++) sum[0] += b->host[3 * i + 1];
    TRY(sundog_team_sum_double(b->team, sum, 2));
    if (sum[0] != sum[1]) return fail(b, "sums are wrong after a reverse");
    return SUNDOG_OK;
}

static sundog_status bind(bench_rank *b, const served *s, float *rows, bool lockstep,
                          sundog_exchange **out)
{
    const sundog_field field = {rows, SUNDOG_FLOAT32, 3, true, 0};
    const sundog_exchange_options options = {
        .struct_size = sizeof options, .rung = s->rung, .route = s->route, .deterministic = true,
        .lockstep = lockstep, .memory = SUNDOG_MEMORY_DEVICE};
    return sundog_exchange_create(b->plan, &field, 1, &options, out);
}

static void print_head(const bench *s, const char *part, const served *how)
{
    fprintf(s->json,
            "{\"bench\":\"halo\",\"device\":\"gpu\",\"part\":\"%s\",\"gpus\":%d,\"domains\":%d,"
            "\"axes\":%d,\"exchange\":\"%s\",\"route\":\"%s\",\"rows\":%d,\"row_bytes\":12,",
            part, s->n_gpus, s->n_ranks, s->n_axes, how->rung,
            how->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct", s->rows);
}

static void print_tail(const bench *s)
{
    fprintf(s->json, "\"gpu\":\"%s\",\"driver\":\"%d.%d\",%s}\n", s->gpu, s->driver / 1000,
            s->driver % 1000 / 10, s->origin);
    fflush(s->json);
}

static double slowest(const bench *s)
{
    double us = 0;
    for (int r = 0; r < s->n_ranks; r++) us = s->us[r] > us ? s->us[r] : us;
    return us;
}

/* ---- ping-pong ------------------------------------------------------------------------------- */

static sundog_status time_pingpong(bench_rank *b, const sundog_view *view, pingpong_kind kind,
                                   int n_blocks, unsigned long long *d_ns)
{
    unsigned long long ns = 0;
    for (int warm = 0; warm < 2; warm++) {
        TRY_CUDA(b, cudaMemsetAsync(d_ns, 0, sizeof *d_ns, b->stream));
        TRY_CUDA(b, cudaStreamSynchronize(b->stream));
        TRY(sundog_team_barrier(b->team));
        TRY_CUDA(b, (cudaError_t)pingpong_launch(view, kind, b->rank == 0, PINGPONGS, n_blocks,
                                                 d_ns, b->stream));
        TRY_CUDA(b, cudaStreamSynchronize(b->stream));
    }
    TRY_CUDA(b, cudaMemcpyAsync(&ns, d_ns, sizeof ns, cudaMemcpyDeviceToHost, b->stream));
    TRY_CUDA(b, cudaStreamSynchronize(b->stream));
    b->shared->us[b->rank] = 1e-3 * (double)ns / (2.0 * (PINGPONGS - 1));
    return sundog_team_barrier(b->team);
}

static sundog_status pingpong_case(bench_rank *b, const served *how, pingpong_kind kind,
                                   unsigned long long *d_ns)
{
    static const int blocks_tried[] = {1, 4, 16, 64, 132, 1000};
    bench *s = b->shared;
    sundog_exchange *exchange;
    sundog_view view;
    int most;
    TRY(fill(b, true));
    TRY(bind(b, how, b->x, true, &exchange));
    TRY(sundog_exchange_view(exchange, &view));
    TRY_CUDA(b, (cudaError_t)pingpong_max_blocks(kind, s->n_gpus > 1 ? 1 : 2, &most));
    int n_chunks = view.n_forward;
    if (kind == PINGPONG_FLIT) n_chunks /= 2;
    if (kind == PINGPONG_BULK) n_chunks = (n_chunks + 7) / 8;
    int before = 0;
    for (int i = 0; i < 6; i++) {
        int n_blocks = blocks_tried[i] < most ? blocks_tried[i] : most;
        if (n_blocks > n_chunks) n_blocks = n_chunks;
        if (n_blocks == before || n_blocks < 1) continue;
        before = n_blocks;
        TRY(time_pingpong(b, &view, kind, n_blocks, d_ns));
        if (b->rank == 0) {
            print_head(s, "pingpong", how);
            fprintf(s->json, "\"blocks\":%d,\"us_one_way\":%.3f,", n_blocks, s->us[0]);
            print_tail(s);
        }
    }
    TRY(check_ghosts(b));
    sundog_exchange_destroy(&exchange);
    return SUNDOG_OK;
}

static sundog_status pingpong_all(bench_rank *b)
{
    static const served how[] = {{"fused", SUNDOG_ROUTE_STAGED}, {"fused-tma", SUNDOG_ROUTE_STAGED},
                                 {"flit", SUNDOG_ROUTE_STAGED}};
    unsigned long long *d_ns;
    TRY_CUDA(b, cudaMalloc((void **)&d_ns, sizeof *d_ns));
    sundog_status status = SUNDOG_OK;
    for (int kind = 0; kind < 3 && status == SUNDOG_OK; kind++) {
        char text[256];
        int gpu = 0;
        if (sundog_gpu_rung_check(how[kind].rung, &gpu, 1, text, sizeof text) == SUNDOG_OK)
            status = pingpong_case(b, &how[kind], (pingpong_kind)kind, d_ns);
    }
    (void)cudaFree(d_ns);
    return status;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static sundog_status run_round(bench_rank *b, sundog_exchange *x, sundog_exchange *f)
{
    TRY(sundog_forward_on(x, b->stream));
    return f ? sundog_reverse_on(f, b->stream) : SUNDOG_OK;
}

/* us of one of n rounds in a row, of the slowest rank. */
static sundog_status time_rounds(bench_rank *b, sundog_exchange *x, sundog_exchange *f, double *us)
{
    double start = 0;
    for (int i = -20; i < ROUNDS; i++) {
        if (i == 0) {
            TRY(sundog_exchange_wait(x, b->stream));
            TRY(sundog_team_barrier(b->team));
            start = now();
        }
        TRY(run_round(b, x, f));
    }
    TRY(sundog_exchange_wait(x, b->stream));
    b->shared->us[b->rank] = 1e6 * (now() - start) / ROUNDS;
    TRY(sundog_team_barrier(b->team));
    *us = slowest(b->shared);
    return sundog_team_barrier(b->team);
}

static sundog_status time_graph(bench_rank *b, sundog_exchange *x, sundog_exchange *f, double *us)
{
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    double start = 0;
    TRY_CUDA(b, cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < GRAPH_ROUNDS; i++) TRY(run_round(b, x, f));
    TRY_CUDA(b, cudaStreamEndCapture(b->stream, &graph));
    TRY_CUDA(b, cudaGraphInstantiate(&replay, graph, 0));
    for (int i = -2; i < ROUNDS / GRAPH_ROUNDS; i++) {
        if (i == 0) {
            TRY(sundog_exchange_wait(x, b->stream));
            TRY(sundog_team_barrier(b->team));
            start = now();
        }
        TRY_CUDA(b, cudaGraphLaunch(replay, b->stream));
    }
    TRY(sundog_exchange_wait(x, b->stream));
    b->shared->us[b->rank] = 1e6 * (now() - start) / ROUNDS;
    TRY(sundog_team_barrier(b->team));
    *us = slowest(b->shared);
    TRY_CUDA(b, cudaGraphExecDestroy(replay));
    TRY_CUDA(b, cudaGraphDestroy(graph));
    return sundog_team_barrier(b->team);
}

static sundog_status round_case(bench_rank *b, const served *how)
{
    bench *s = b->shared;
    sundog_exchange *x, *f;
    double us_forward, us_round, us_graph = 0;
    bool captures = strcmp(how->rung, "mpi") != 0 && strcmp(how->rung, "stream") != 0;
    TRY(fill(b, true));
    TRY(fill(b, false));
    TRY(bind(b, how, b->x, false, &x));
    TRY(bind(b, how, b->f, false, &f));
    TRY(run_round(b, x, f));
    TRY(sundog_exchange_wait(f, b->stream));
    TRY(check_ghosts(b));
    if (how->route == SUNDOG_ROUTE_DIRECT) TRY(check_sums(b));  /* staged: ghosts hold sums too */
    TRY_CUDA(b, cudaMemsetAsync(b->f, 0, (size_t)b->n_rows * 12, b->stream));
    TRY(time_rounds(b, x, NULL, &us_forward));
    TRY(time_rounds(b, x, f, &us_round));
    if (captures) TRY(time_graph(b, x, f, &us_graph));
    if (b->rank == 0) {
        int launches = strcmp(how->rung, "pulse") == 0 ? 2 * s->n_axes : 2;
        print_head(s, "round", how);
        fprintf(s->json, "\"us_forward\":%.3f,\"us_round\":%.3f,", us_forward, us_round);
        if (captures)
            fprintf(s->json, "\"us_round_graph\":%.3f,\"launches_a_round\":%d,", us_graph,
                    launches);
        print_tail(s);
    }
    sundog_exchange_destroy(&x);
    sundog_exchange_destroy(&f);
    return SUNDOG_OK;
}

static sundog_status round_all(bench_rank *b)
{
    for (int i = 0; i < N_SERVED; i++) {
        char text[256];
        int gpu = 0;
        if (sundog_gpu_rung_check(all_served[i].rung, &gpu, 1, text, sizeof text) != SUNDOG_OK)
            continue;
        TRY(round_case(b, &all_served[i]));
    }
    return SUNDOG_OK;
}

/* ---- all cases ------------------------------------------------------------------------------- */

static sundog_status run_case(bench_rank *b)
{
    TRY(sundog_team_bind_gpu(b->team, b->rank % b->shared->n_gpus));
    TRY(build_plan(b));
    TRY(make_rows(b));
    if (b->shared->n_axes == 1) TRY(pingpong_all(b));
    return round_all(b);
}

static void *rank_main(void *pointer)
{
    bench_rank *b = pointer;
    b->status = run_case(b);
    if (b->status != SUNDOG_OK) snprintf(b->error, sizeof b->error, "%s", sundog_last_error());
    sundog_plan_destroy(&b->plan);
    free_rows(b);
    sundog_team_destroy(&b->team);
    return NULL;
}

static int run_ranks(bench *shared)
{
    bench_rank rank[MAX_RANKS];
    sundog_team *team[MAX_RANKS];
    pthread_t thread[MAX_RANKS];
    int failed = 0;
    if (sundog_team_create_threads(shared->n_ranks, team) != SUNDOG_OK) {
        fprintf(stderr, "bench halo: %s\n", sundog_last_error());
        return 1;
    }
    for (int r = 0; r < shared->n_ranks; r++) {
        rank[r] = (bench_rank){.shared = shared, .team = team[r], .rank = r};
        if (pthread_create(&thread[r], NULL, rank_main, &rank[r]) != 0) abort();
    }
    for (int r = 0; r < shared->n_ranks; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < shared->n_ranks && !failed; r++)
        if (rank[r].status != SUNDOG_OK) {
            fprintf(stderr, "bench halo: rank %d: %s\n", r, rank[r].error);
            failed = 1;
        }
    return failed;
}

int bench_halo_gpu(int n_gpus, const char *origin, FILE *json)
{
    static const int rows[] = {100, 1000, 6000, 10000, 32000, 100000};
    bench shared = {.n_gpus = n_gpus, .json = json, .origin = origin};
    if (sundog_gpu_count() < n_gpus || n_gpus < 1) {
        fprintf(stderr, "bench halo: %d GPUs are asked for, %d are here\n", n_gpus,
                sundog_gpu_count());
        return 1;
    }
    if (sundog_gpu_describe(0, shared.gpu, sizeof shared.gpu) != SUNDOG_OK) return 1;
    (void)cudaDriverGetVersion(&shared.driver);
    for (shared.n_axes = 1; shared.n_axes <= 3; shared.n_axes++)
        for (int i = 0; i < 6; i++) {
            shared.n_ranks = 1 << shared.n_axes;
            shared.rows = rows[i];
            if (run_ranks(&shared) != 0) return 1;
        }
    return 0;
}
