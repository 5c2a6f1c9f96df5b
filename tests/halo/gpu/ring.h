/* A ring that turns: every rank mirrors the rows of the next one; after a forward the ghosts are
 * copied over the owned rows, so the rows move on by one rank. Where they are after n steps tells
 * whether each of the n forwards brought what it should. */
#ifndef RING_H
#define RING_H
#include "gpus.h"
#include "work.h"

typedef struct weather {
    int n_gpus;
    served how;
    bool lockstep;
} weather;

static inline void delay(cudaStream_t stream, unsigned us)
{
    CHECK_CUDA((cudaError_t)work_delay(stream, us));
}

/* Made and used once before ranks begin to exchange: either may wait for kernels that run. */
static inline cudaStream_t new_stream(void)
{
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    delay(stream, 1);
    CHECK_CUDA(cudaStreamSynchronize(stream));
    return stream;
}

enum { RING = 500 };

typedef struct ring {
    sundog_plan *plan;
    sundog_exchange *exchange;
    int64_t *rows;                  /* device [2 RING][2] */
    cudaStream_t stream;
    int turned;
} ring;

static inline void ring_plan(sundog_plan *plan, const rank_args *args)
{
    sundog_idx index[RING], first;
    for (int k = 0; k < RING; k++) index[k] = k;
    sundog_pulse pulse = {(args->rank + args->n_ranks - 1) % args->n_ranks,
                          (args->rank + 1) % args->n_ranks, RING, index, {0, 0, 0}};
    CHECK_OK(sundog_plan_add_pulse(plan, &pulse, &first, NULL));
    CHECK(first == RING);
    CHECK_OK(sundog_plan_commit(plan));
}

static inline void ring_create(ring *r, const rank_args *args, const weather *w, int max_blocks)
{
    int64_t host[2 * RING][2];
    r->stream = new_stream();
    CHECK_OK(sundog_plan_create(args->team, RING, &r->plan));
    ring_plan(r->plan, args);
    r->rows = gpu_alloc(sizeof host);
    for (int k = 0; k < 2 * RING; k++) host[k][0] = k < RING ? args->rank : -1, host[k][1] = k;
    to_gpu(r->rows, host, sizeof host);
    sundog_field field = {r->rows, SUNDOG_INT64, 2, false, 0};
    r->exchange = gpu_exchange_with(&w->how, r->plan, &field, 1, w->lockstep, max_blocks);
    r->turned = 0;
}

/* Late copies: the ghosts are read long after the forward, while faster ranks are further on. */
static inline void ring_turn(ring *r, bool apart, unsigned before_us, unsigned after_us)
{
    if (before_us) delay(r->stream, before_us);
    if (apart) {
        CHECK_OK(sundog_forward_begin_on(r->exchange, r->stream));
        CHECK_OK(sundog_forward_end_on(r->exchange, r->stream));
    } else {
        CHECK_OK(sundog_forward_on(r->exchange, r->stream));
    }
    if (after_us) delay(r->stream, after_us);
    CHECK_CUDA((cudaError_t)work_copy(r->stream, r->rows, r->rows + 2 * RING, 2 * RING));
    r->turned++;
}

static inline void ring_check(ring *r, const rank_args *args)
{
    int64_t host[2 * RING][2];
    CHECK_OK(sundog_exchange_wait(r->exchange, r->stream));
    CHECK_CUDA(cudaStreamSynchronize(r->stream));       /* the copy as well */
    from_gpu(host, r->rows, sizeof host);
    for (int k = 0; k < RING; k++)
        CHECK(host[k][0] == (args->rank + r->turned) % args->n_ranks && host[k][1] == k);
}

static inline void ring_destroy(ring *r)
{
    sundog_exchange_destroy(&r->exchange);
    sundog_plan_destroy(&r->plan);
    CHECK_CUDA(cudaStreamDestroy(r->stream));
    CHECK_CUDA(cudaFree(r->rows));
}
#endif
