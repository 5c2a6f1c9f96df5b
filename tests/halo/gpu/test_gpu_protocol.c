/* Exchanges on streams under bad weather. Each case is a way in which an exchange elsewhere has
 * gone wrong: late ranks, ghosts still being read, one-way use, graphs mixed with eager calls, a
 * producer that still runs, unequal budgets, odd payload, plans that shrink and grow, an exchange
 * destroyed while its stream is busy. Delays are put into the streams, between the kernels. */
#include "ring.h"

#include <math.h>

/* Forwards without a reverse, ranks late at random, before the forward and before reading. */
static void one_way(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    uint64_t mine = (uint64_t)args->rank + 77;
    bind_gpu(args, w->n_gpus);
    cudaStream_t beside = args->rank == 0 ? new_stream() : NULL;    /* streams are few */
    ring_create(&r, args, w, 0);
    for (int step = 0; step < 40; step++) {
        /* Kernels that fill the GPU, beside those that wait. */
        if (args->rank == 0 && step % 10 == 5)
            CHECK_CUDA((cudaError_t)work_fill(beside, 300, 500));
        unsigned before = random_below(&mine, 5) == 0 ? (unsigned)random_below(&mine, 400) : 0;
        unsigned after = random_below(&mine, 5) == 0 ? (unsigned)random_below(&mine, 400) : 0;
        ring_turn(&r, step % 3 == 0, before, after);
    }
    ring_check(&r, args);
    if (beside) CHECK_CUDA(cudaStreamDestroy(beside));
    ring_destroy(&r);
}

/* Three forwards without a reverse; one rank stands still between the first and its reading. */
static void three_forwards_one_late(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 0);
    for (int step = 0; step < 3; step++)
        ring_turn(&r, false, 0, args->rank == 0 && step == 0 ? 20000 : 0);
    ring_check(&r, args);
    ring_destroy(&r);
}

/* A graph of three turns replayed many times, eager turns in between. */
static void graph_and_eager(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 0);
    ring_turn(&r, false, 0, 0);
    CHECK_CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
    if (!gpu_captures(&w->how)) {
        CHECK(sundog_forward_on(r.exchange, r.stream) == SUNDOG_ERR_UNSUPPORTED);
        CHECK(strstr(sundog_last_error(), "graph"));
        CHECK_CUDA(cudaStreamEndCapture(r.stream, &graph));
        CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK_OK(sundog_exchange_wait(r.exchange, r.stream));
        ring_destroy(&r);
        return;
    }
    for (int step = 0; step < 3; step++) ring_turn(&r, step == 1, 0, 0);
    r.turned -= 3;
    CHECK_CUDA(cudaStreamEndCapture(r.stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CHECK_OK(sundog_team_barrier(args->team));  /* instantiating may load what a spin would hold */
    for (int i = 0; i < 1000; i++) {
        CHECK_CUDA(cudaGraphLaunch(replay, r.stream));
        r.turned += 3;
        if (i % 97 == 0) ring_turn(&r, i % 2, 0, 0);
    }
    ring_check(&r, args);
    CHECK_CUDA(cudaGraphExecDestroy(replay));
    CHECK_CUDA(cudaGraphDestroy(graph));
    ring_destroy(&r);
}

/* Unequal budgets; the rows are written by what is on the stream just before; and the exchange is
 * destroyed while its stream is still busy. */
static void budgets_and_busy(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 1 + args->rank % 3);
    for (int step = 0; step < 5; step++) ring_turn(&r, false, 0, 0);
    ring_check(&r, args);
    int64_t *host;                  /* pinned, so that the copy is of the stream's order alone */
    CHECK_CUDA(cudaHostAlloc((void **)&host, 2 * RING * sizeof *host, cudaHostAllocPortable));
    for (int k = 0; k < RING; k++) host[2 * k] = 100 + args->rank, host[2 * k + 1] = k;
    delay(r.stream, 3000);
    CHECK_CUDA(cudaMemcpyAsync(r.rows, host, 2 * RING * sizeof *host, cudaMemcpyHostToDevice,
                               r.stream));
    CHECK_OK(sundog_forward_on(r.exchange, r.stream));
    delay(r.stream, 1000);
    CHECK_OK(sundog_forward_on(r.exchange, r.stream));
    sundog_exchange_destroy(&r.exchange);
    CHECK_CUDA(cudaStreamSynchronize(r.stream));
    from_gpu(host, r.rows + 2 * RING, 2 * RING * sizeof *host);
    for (int k = 0; k < RING; k++)
        CHECK(host[2 * k] == 100 + (args->rank + 1) % args->n_ranks && host[2 * k + 1] == k);
    CHECK_CUDA(cudaFreeHost(host));
    ring_destroy(&r);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Forward and reverse as a time step does them, in doubles small enough to be exact: reverse of
 * ghosts that forward has just filled gives each row times the number of its copies. */
static void steps(rank_args *args)
{
    const weather *w = args->shared;
    const grid_spec spec = {3, 2, 60};
    bind_gpu(args, w->n_gpus);
    sundog_plan *plan = grid_plan_create(&spec, args);
    sundog_idx n_rows = sundog_plan_n_rows(plan), n_owned = sundog_plan_n_owned(plan);
    size_t n_bytes = (size_t)n_rows * 3 * sizeof(double);
    double(*x)[3] = malloc(n_bytes + 1), *device = gpu_alloc(n_bytes);
    sundog_field field = {device, SUNDOG_FLOAT64, 3, false, 0};
    cudaStream_t stream = new_stream();
    sundog_exchange *exchange = gpu_exchange_with(&w->how, plan, &field, 1, w->lockstep, 0);
    int *rank = malloc(((size_t)n_rows + 1) * sizeof *rank);
    sundog_idx *row = malloc(((size_t)n_rows + 1) * sizeof *row);
    double *copies = calloc((size_t)n_owned + 1, sizeof *copies);
    uint64_t mine = (uint64_t)args->rank + 99;
    CHECK(x && rank && row && copies);
    CHECK_OK(sundog_plan_owners(plan, rank, row));
    for (int step = 1; step <= 12; step++) {
        for (sundog_idx i = 0; i < n_rows; i++)
            for (int c = 0; c < 3; c++)
                x[i][c] = i < n_owned ? args->rank * 1000 + i + c * step : (double)NAN;
        /* (In lockstep a faster peer may have stored ghosts already.) */
        to_gpu(device, x, w->lockstep ? (size_t)n_owned * 3 * sizeof(double) : n_bytes);
        if (random_below(&mine, 4) == 0) delay(stream, (unsigned)random_below(&mine, 500));
        CHECK_OK(sundog_forward_begin_on(exchange, stream));
        CHECK_OK(sundog_forward_end_on(exchange, stream));
        CHECK_OK(sundog_exchange_wait(exchange, stream));
        from_gpu(x, device, n_bytes);
        for (sundog_idx i = 0; i < n_rows; i++)
            for (int c = 0; c < 3; c++) CHECK(x[i][c] == rank[i] * 1000 + row[i] + c * step);
        if (!w->lockstep && step % 4 == 3) continue;    /* skipped on all ranks alike */
        CHECK_OK(sundog_reverse_begin_on(exchange, stream));
        if (random_below(&mine, 4) == 0) delay(stream, (unsigned)random_below(&mine, 500));
        CHECK_OK(sundog_reverse_end_on(exchange, stream));
        CHECK_OK(sundog_exchange_wait(exchange, stream));
        from_gpu(x, device, n_bytes);
        for (sundog_idx i = 0; i < n_owned; i++)
            for (int c = 0; c < 3; c++) {
                double value = args->rank * 1000 + i + c * step;
                if (value == 0) continue;
                if (step == 1 && c == 0) copies[i] = x[i][c] / value;
                if (copies[i] == 0) copies[i] = x[i][c] / value;
                CHECK(x[i][c] == value * copies[i] && copies[i] >= 1);
            }
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaFree(device));
    free(x), free(rank), free(row), free(copies);
}

/* ---- payload, rebuilds ----------------------------------------------------------------------- */

/* NaN, both zeros, denormals, infinities arrive bit by bit, also beside a shift of another axis. */
static void odd_payload(rank_args *args)
{
    const weather *w = args->shared;
    const float odd[8] = {NAN, -0.0f, 0.0f, 1.4e-45f, -1e-40f, INFINITY, -INFINITY, 3e38f};
    float x[24][4], before[24][4];
    sundog_idx index[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    sundog_plan *plan;
    bind_gpu(args, w->n_gpus);
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
        for (int c = 0; c < 4; c++) x[i][c] = i < 8 ? odd[i] : 1;
    uint32_t payload = 0x7fc12345;  /* a NaN that says something */
    memcpy(&x[0][3], &payload, sizeof payload);
    memcpy(before, x, sizeof x);
    float *device = gpu_alloc(sizeof x);
    to_gpu(device, x, sizeof x);
    sundog_field field = {device, SUNDOG_FLOAT32, 4, true, 0};
    sundog_exchange *exchange = gpu_exchange_of(&w->how, plan, &field, 1);
    forward(exchange);
    from_gpu(x, device, sizeof x);
    for (int i = 8; i < 24; i++) {
        CHECK(memcmp(x[i], before[i % 8], 2 * sizeof(float)) == 0);
        CHECK(memcmp(&x[i][3], &before[i % 8][3], sizeof(float)) == 0);
    }
    CHECK(x[8 + 2][2] == 2.5f && x[16 + 2][2] == 5.0f);
    const double twice[3] = {1, 1, 2};              /* shifts on the GPU are those of before */
    CHECK_OK(sundog_plan_stretch(plan, twice));
    CHECK(sundog_forward_begin(exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "stretched"));
    CHECK_OK(sundog_exchange_rebind(exchange, &field, 1));
    forward(exchange);
    from_gpu(x, device, sizeof x);
    CHECK(x[8 + 2][2] == 5.0f && x[16 + 2][2] == 10.0f);
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    CHECK_CUDA(cudaFree(device));
}

/* Plans that shrink, grow, go to zero; pulses 2, 1, 2 an axis; exchanges go on counting. */
static void rebuild(rank_args *args)
{
    const weather *w = args->shared;
    static const struct {
        grid_spec grid;
        int owned;
    } plans[] = {{{3, 2, 40}, 200}, {{3, 1, 10}, 50}, {{1, 1, 0}, 5}, {{2, 2, 90}, 400},
                 {{3, 1, 1}, 0},    {{3, 2, 70}, 350}};
    sundog_plan *plan;
    sundog_exchange *exchange = NULL;
    bind_gpu(args, w->n_gpus);
    CHECK_OK(sundog_plan_create(args->team, 0, &plan));
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        sundog_idx n_owned = plans[i].owned ? plans[i].owned + args->rank : 0;
        CHECK_OK(sundog_plan_reset(plan, n_owned));
        grid_plan_build(&plans[i].grid, args, plan);
        sundog_idx n_rows = sundog_plan_n_rows(plan);
        size_t n_bytes = (size_t)n_rows * 2 * sizeof(int64_t);
        int64_t(*x)[2] = malloc(n_bytes + 1), *device = gpu_alloc(n_bytes);
        int *rank = malloc(((size_t)n_rows + 1) * sizeof *rank);
        sundog_idx *row = malloc(((size_t)n_rows + 1) * sizeof *row);
        CHECK(x && rank && row);
        CHECK_OK(sundog_plan_owners(plan, rank, row));
        sundog_field field = {device, SUNDOG_INT64, 2, false, 0};
        if (!exchange) exchange = gpu_exchange_of(&w->how, plan, &field, 1);
        else CHECK_OK(sundog_exchange_rebind(exchange, &field, 1));
        for (int repeat = 0; repeat < 3; repeat++) {
            for (sundog_idx k = 0; k < n_rows; k++) {
                x[k][0] = k < n_owned ? args->rank : -1;
                x[k][1] = k < n_owned ? k + 1000 * repeat : -1;
            }
            to_gpu(device, x, n_bytes);
            forward(exchange);
            from_gpu(x, device, n_bytes);
            for (sundog_idx k = 0; k < n_rows; k++)
                CHECK(x[k][0] == rank[k] && x[k][1] == row[k] + 1000 * repeat);
            reverse(exchange);      /* integers: nothing is added, everything is signalled */
        }
        CHECK_OK(sundog_team_barrier(args->team));
        free(x), free(rank), free(row);
        CHECK_CUDA(cudaFree(device));
    }
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
}

int main(void)
{
    gpus_start();
    static void (*const cases[])(rank_args *) = {
        one_way, three_forwards_one_late, graph_and_eager, budgets_and_busy,
        steps,   odd_payload,             rebuild};
    static const char *const name[] = {"one_way", "three_forwards_one_late", "graph_and_eager",
                                       "budgets_and_busy", "steps", "odd_payload", "rebuild"};
    const int n_ranks[] = {1, 2, 3, 8};
    for (int n_gpus = 1; n_gpus <= gpus_to_try(); n_gpus++)
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            for (int i = 0; i < 4; i++)
                for (int s = 0; s < N_GPU_SERVED; s++) {
                    weather w = {n_gpus, gpu_served[s], false};
                    if (!gpu_has(&w.how)) continue;
                    run_ranks(n_ranks[i], cases[c], &w);
                    w.lockstep = true;
                    if (cases[c] == steps) run_ranks(n_ranks[i], cases[c], &w);
                }
            printf("%s on %d GPU%s: passed\n", name[c], n_gpus, n_gpus > 1 ? "s" : "");
            fflush(stdout);
        }
    return 0;
}
