/* Exchanges captured into graphs, as an engine does it: a graph of many steps for each rank, with
 * work beside the exchange and begin and end on different streams; graphs that were captured and
 * never launched; plans rebuilt between two graphs; what other ranks may do while one captures. */
#include "ring.h"

#include "team/team.h"

#include <unistd.h>

enum { STEPS = 6, REPLAYS = 60 };

static cudaEvent_t new_event(void)
{
    cudaEvent_t event;
    CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

/* What comes on `to` is after what is on `from`. */
static void order(cudaStream_t from, cudaEvent_t event, cudaStream_t to)
{
    CHECK_CUDA(cudaEventRecord(event, from));
    CHECK_CUDA(cudaStreamWaitEvent(to, event, 0));
}

static void capture_begin(cudaStream_t stream)
{
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

/* Collective: instantiating may load what a kernel that waits would hold up. */
static cudaGraphExec_t capture_end(const rank_args *args, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CHECK_CUDA(cudaGraphUpload(replay, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_OK(sundog_team_barrier(args->team));
    return replay;
}

/* ---- fork and join --------------------------------------------------------------------------- */

typedef struct split {
    cudaStream_t local, ending;     /* beside the ring's own */
    cudaEvent_t begun, worked, ended;
    int64_t *kept;                  /* device [RING][2]: what `local` saw of the owned rows */
} split;

/* begin on the ring's stream, work on `local`, which reads owned rows, end on `ending`, join. */
static void forked_turn(ring *r, const split *f, unsigned work_us)
{
    CHECK_OK(sundog_forward_begin_on(r->exchange, r->stream));
    order(r->stream, f->begun, f->local);
    CHECK_CUDA(cudaStreamWaitEvent(f->ending, f->begun, 0));
    if (work_us) delay(f->local, work_us);
    CHECK_CUDA((cudaError_t)work_copy(f->local, f->kept, r->rows, 2 * RING));
    CHECK_OK(sundog_forward_end_on(r->exchange, f->ending));
    order(f->local, f->worked, r->stream);
    order(f->ending, f->ended, r->stream);
    CHECK_CUDA((cudaError_t)work_copy(r->stream, r->rows, r->rows + 2 * RING, 2 * RING));
    r->turned++;
}

static void fork_and_join(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    int64_t host[RING][2];
    bind_gpu(args, w->n_gpus);
    split f = {new_stream(), new_stream(), new_event(), new_event(), new_event(),
              gpu_alloc(sizeof host)};
    ring_create(&r, args, w, 0);
    forked_turn(&r, &f, 0);
    capture_begin(r.stream);
    for (int step = 0; step < STEPS; step++)
        forked_turn(&r, &f, (unsigned)(args->rank + step) % 4 * 10);
    r.turned -= STEPS;
    cudaGraphExec_t replay = capture_end(args, r.stream);
    for (int i = 0; i < REPLAYS; i++) {
        CHECK_CUDA(cudaGraphLaunch(replay, r.stream));
        r.turned += STEPS;
        if (i % 13 == 5) forked_turn(&r, &f, 20);
    }
    ring_check(&r, args);
    from_gpu(host, f.kept, sizeof host);
    for (int k = 0; k < RING; k++)
        CHECK(host[k][0] == (args->rank + r.turned - 1) % args->n_ranks && host[k][1] == k);
    CHECK_CUDA(cudaGraphExecDestroy(replay));
    CHECK_CUDA(cudaFree(f.kept));
    CHECK_CUDA(cudaEventDestroy(f.begun));
    CHECK_CUDA(cudaEventDestroy(f.worked));
    CHECK_CUDA(cudaEventDestroy(f.ended));
    ring_destroy(&r);
    CHECK_CUDA(cudaStreamDestroy(f.local));
    CHECK_CUDA(cudaStreamDestroy(f.ending));
}

/* ---- rebinding ------------------------------------------------------------------------------- */

/* A graph that is captured and not launched must not count: bound anew, a rank that took captures
 * for exchanges would find every credit given and overwrite ghosts of a late peer. */
static void captured_in_vain(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 0);
    for (int round = 0; round < 4; round++) {
        capture_begin(r.stream);
        for (int step = 0; step < STEPS; step++) ring_turn(&r, step % 2, 0, 0);
        r.turned -= STEPS;
        cudaGraphExec_t replay = capture_end(args, r.stream);
        if (round % 2) {
            CHECK_CUDA(cudaGraphLaunch(replay, r.stream));
            r.turned += STEPS;
            CHECK_OK(sundog_exchange_wait(r.exchange, r.stream));
        }
        CHECK_CUDA(cudaGraphExecDestroy(replay));
        CHECK_OK(sundog_plan_reset(r.plan, RING));
        ring_plan(r.plan, args);
        sundog_field field = {r.rows, SUNDOG_INT64, 2, false, 0};
        CHECK_OK(sundog_exchange_rebind(r.exchange, &field, 1));
        for (int step = 0; step < 3; step++)
            ring_turn(&r, false, 0, args->rank == round % args->n_ranks ? 1000 : 0);
        ring_check(&r, args);
    }
    ring_destroy(&r);
}

/* ---- beside a capture ------------------------------------------------------------------------ */

/* One rank captures at leisure; the others bind anew and destroy other exchanges meanwhile, in so
 * far as that goes without it. It may not be disturbed. */
static void others_go_on(rank_args *args)
{
    const weather *w = args->shared;
    ring r, other;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 0);
    ring_create(&other, args, w, 0);
    ring_turn(&other, false, 0, 0);
    cudaGraph_t graph;
    sundog_field field = {other.rows, SUNDOG_INT64, 2, false, 0};
    for (int round = 0; round < 2; round++) {
        CHECK_OK(sundog_team_barrier(args->team));
        if (args->rank == 0) {
            capture_begin(r.stream);
            usleep(3000);
            ring_turn(&r, false, 0, 0);
            r.turned--;
            usleep(3000);
            CHECK_CUDA(cudaStreamEndCapture(r.stream, &graph));
            CHECK_CUDA(cudaGraphDestroy(graph));
        }
        if (round == 0) CHECK_OK(sundog_exchange_rebind(other.exchange, &field, 1));
        else ring_destroy(&other);
    }
    CHECK_OK(sundog_team_barrier(args->team));      /* all have freed what they had */
    ring_turn(&r, false, 0, 0);
    ring_check(&r, args);
    ring_destroy(&r);
}

/* The team dies while a rank captures: its call says so, and all can free what they have. */
static void death_beside_a_capture(rank_args *args)
{
    const weather *w = args->shared;
    ring r;
    bind_gpu(args, w->n_gpus);
    ring_create(&r, args, w, 0);
    ring_turn(&r, false, 0, 0);
    CHECK_OK(sundog_exchange_wait(r.exchange, r.stream));
    CHECK_OK(sundog_team_barrier(args->team));
    if (args->rank == 0) {
        cudaGraph_t graph = NULL;
        capture_begin(r.stream);
        CHECK_OK(sundog_forward_on(r.exchange, r.stream));
        while (!team_is_dead(args->team)) {
            if (args->n_ranks == 1) sundog_team_abort(args->team, "enough");
            usleep(1000);
        }
        CHECK(sundog_forward_on(r.exchange, r.stream) == SUNDOG_ERR_ABORTED);
        (void)cudaStreamEndCapture(r.stream, &graph);
        (void)cudaGetLastError();
        if (graph) CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK(sundog_exchange_wait(r.exchange, r.stream) == SUNDOG_ERR_ABORTED);
    } else {
        usleep(2000);
        if (args->rank == 1) sundog_team_abort(args->team, "enough");
        while (!team_is_dead(args->team)) usleep(1000);
        CHECK(sundog_forward_on(r.exchange, r.stream) == SUNDOG_ERR_ABORTED);
    }
    CHECK(strcmp(sundog_last_error(), "enough") == 0);
    ring_destroy(&r);
}

int main(void)
{
    gpus_start();
    static void (*const cases[])(rank_args *) = {fork_and_join, captured_in_vain, others_go_on,
                                                 death_beside_a_capture};
    static const char *const name[] = {"fork_and_join", "captured_in_vain", "others_go_on",
                                       "death_beside_a_capture"};
    const int n_ranks[] = {1, 2, 3, 8};
    for (int n_gpus = 1; n_gpus <= gpus_to_try(); n_gpus++)
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            for (int i = 0; i < 4; i++)
                for (int s = 0; s < N_GPU_SERVED; s++) {
                    weather w = {n_gpus, gpu_served[s], false};
                    if (gpu_has(&w.how) && gpu_captures(&w.how) && w.how.deterministic)
                        run_ranks(n_ranks[i], cases[c], &w);
                }
            printf("%s on %d GPU%s: passed\n", name[c], n_gpus, n_gpus > 1 ? "s" : "");
            fflush(stdout);
        }
    return 0;
}
