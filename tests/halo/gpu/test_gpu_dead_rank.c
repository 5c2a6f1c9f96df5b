/* A rank stops answering, or gives up, in the middle of an exchange on GPUs: the others get an
 * error in time that names rank, peer, pulse and epoch; nothing hangs; everything can be freed. And
 * what is refused before anything runs: no GPU bound, rows in host memory, too many blocks. */
#include "gpus.h"

#include "base/clock.h"
#include "team/team.h"

#include <unistd.h>

enum { OWNED = 300, N_ROWS = 3 * OWNED };

typedef struct death {
    int n_gpus;
    served how;
    int epoch;                      /* the last rank dies before this one */
    bool in_reverse, aborts, late;
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

static sundog_status step(sundog_exchange *exchange, bool in_reverse)
{
    sundog_status status =
        in_reverse ? sundog_reverse_begin(exchange) : sundog_forward_begin(exchange);
    if (status != SUNDOG_OK) return status;
    return in_reverse ? sundog_reverse_end(exchange) : sundog_forward_end(exchange);
}

static void check_text(const death *d)
{
    const char *text = sundog_last_error();
    if (d->aborts) {
        CHECK(strcmp(text, "the roof is on fire") == 0);
        return;
    }
    if (!strstr(text, " waits for rank ") || !strstr(text, "wanted epoch ") ||
        !strstr(text, ", seen ") || !strstr(text, d->how.rung) ||
        !(strstr(text, "forward, ") || strstr(text, "reverse, "))) {
        fprintf(stderr, "text is: %s\n", text);
        exit(1);
    }
}

static void one_dies(rank_args *args)
{
    const death *d = args->shared;
    bind_gpu(args, d->n_gpus);
    double *x = gpu_alloc(N_ROWS * sizeof *x);
    CHECK_CUDA(cudaMemsetAsync(x, 0, N_ROWS * sizeof *x, cudaStreamPerThread));
    gpu_sync();
    sundog_plan *plan = two_pulses(args);
    sundog_field field = {x, SUNDOG_FLOAT64, 1, false, 0};
    sundog_exchange *exchange = gpu_exchange_of(&d->how, plan, &field, 1);
    sundog_team_set_timeout(args->team, d->aborts ? 20 : 0.2);
    CHECK_OK(sundog_exchange_check(exchange));
    int64_t start = base_clock_ns();
    sundog_status status = SUNDOG_OK;
    bool mortal = args->rank == args->n_ranks - 1, died = false;
    for (int epoch = 1; epoch <= 10 && status == SUNDOG_OK && !died; epoch++)
        for (int r = 0; r < 2 && status == SUNDOG_OK && !died; r++) {
            if (mortal && epoch == d->epoch && r == d->in_reverse) {
                if (d->aborts) sundog_team_abort(args->team, "the roof is on fire");
                if (d->late) usleep(600000);
                else died = true;
            }
            if (!died) status = step(exchange, r);
        }
    if (!died) {
        CHECK(status == (d->aborts ? SUNDOG_ERR_ABORTED : SUNDOG_ERR_PEER_TIMEOUT));
        CHECK(base_clock_seconds_since(start) < 15);
        check_text(d);
        CHECK(sundog_exchange_check(exchange) == status);
        CHECK_CUDA(cudaFree(x));
        CHECK(sundog_forward_begin(exchange) == status);        /* and stays so */
        sundog_exchange_destroy(&exchange);
    } else {
        while (!team_is_dead(args->team)) usleep(1000);         /* a corpse calls nothing */
        sundog_exchange_destroy(&exchange);
        CHECK_CUDA(cudaFree(x));
    }
    sundog_plan_destroy(&plan);
}

/* The last rank gives up between two exchanges: the streams of the others are in the second one by
 * then, and its own calls know of the first. All of them end at once, not when time is up. */
static void between_two(rank_args *args)
{
    const death *d = args->shared;
    bind_gpu(args, d->n_gpus);
    double *x[2];
    sundog_exchange *exchange[2];
    sundog_plan *plan = two_pulses(args);
    for (int k = 0; k < 2; k++) {
        x[k] = gpu_alloc(N_ROWS * sizeof **x);
        CHECK_CUDA(cudaMemsetAsync(x[k], 0, N_ROWS * sizeof **x, cudaStreamPerThread));
        gpu_sync();
        const sundog_field field = {x[k], SUNDOG_FLOAT64, 1, false, 0};
        exchange[k] = gpu_exchange_of(&d->how, plan, &field, 1);
    }
    sundog_team_set_timeout(args->team, 20);
    CHECK_OK(sundog_forward_on(exchange[0], NULL));
    int64_t start = base_clock_ns();
    if (args->rank == args->n_ranks - 1) {
        usleep(200000);
        sundog_team_abort(args->team, "the roof is on fire");
        CHECK(sundog_exchange_wait(exchange[0], NULL) == SUNDOG_ERR_ABORTED);
    } else {
        sundog_status status = sundog_forward_on(exchange[1], NULL);
        /* As a program that waits for its stream itself; the words of rung stream are set by calls
         * of the library alone. */
        while (strcmp(d->how.rung, "stream") != 0 &&
               cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady)
            usleep(100);
        if (status == SUNDOG_OK) status = sundog_exchange_wait(exchange[0], NULL);
        CHECK(status == SUNDOG_ERR_ABORTED);
    }
    CHECK(base_clock_seconds_since(start) < 10);
    for (int k = 1; k >= 0; k--) {
        sundog_exchange_destroy(&exchange[k]);
        CHECK_CUDA(cudaFree(x[k]));
    }
    sundog_plan_destroy(&plan);
}

static void refusals(rank_args *args)
{
    double on_host[N_ROWS] = {0}, *x;
    sundog_plan *plan = two_pulses(args);
    sundog_exchange *exchange = NULL;
    sundog_exchange_options options = {.struct_size = sizeof options, .rung = "fused",
                                       .memory = SUNDOG_MEMORY_DEVICE};
    sundog_field field = {on_host, SUNDOG_FLOAT64, 1, false, 0};
    CHECK(sundog_exchange_create(plan, &field, 1, &options, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "sundog_team_bind_gpu"));
    CHECK(sundog_team_bind_gpu(args->team, 99) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "GPU 99"));
    bind_gpu(args, 1);
    CHECK(sundog_exchange_create(plan, &field, 1, &options, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "device memory"));
    x = gpu_alloc(sizeof on_host);
    field.rows = x;
    options.max_blocks = 1 << 20;
    CHECK(sundog_exchange_create(plan, &field, 1, &options, &exchange) == SUNDOG_ERR_ARGUMENT);
    CHECK(strstr(sundog_last_error(), "max_blocks"));
    options.max_blocks = 0;
    options.rung = "shouting";
    CHECK(sundog_exchange_create(plan, &field, 1, &options, &exchange) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(strstr(sundog_last_error(), "flit") && strstr(sundog_last_error(), "fused-tma"));
    options.rung = "direct";
    CHECK(sundog_exchange_create(plan, &field, 1, &options, &exchange) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(exchange == NULL);
    options.rung = NULL;            /* the best: flit */
    CHECK_OK(sundog_exchange_create(plan, &field, 1, &options, &exchange));
    CHECK(strcmp(sundog_exchange_describe(exchange), "peer/flit staged") == 0);
    sundog_exchange_destroy(&exchange);
    field.rows = on_host;           /* host memory goes on as ever */
    CHECK_OK(sundog_exchange_create(plan, &field, 1, NULL, &exchange));
    CHECK(sundog_forward_on(exchange, NULL) == SUNDOG_ERR_ARGUMENT);
    forward(exchange);
    sundog_exchange_destroy(&exchange);
    sundog_plan_destroy(&plan);
    CHECK_CUDA(cudaFree(x));
}

int main(void)
{
    gpus_start();
    const int n_ranks[] = {2, 3, 5, 3};     /* by kind of death */
    run_ranks(3, refusals, NULL);
    printf("refusals: passed\n");
    for (int n_gpus = 1; n_gpus <= gpus_to_try(); n_gpus++)
        for (int kind = 0; kind < 4; kind++) {
            for (int s = 0; s < N_GPU_SERVED; s++) {
                death d = {.n_gpus = n_gpus, .how = gpu_served[s], .epoch = kind + 1,
                           .in_reverse = kind & 1, .aborts = kind == 2, .late = kind == 3};
                if (gpu_has(&d.how)) run_ranks(n_ranks[kind], one_dies, &d);
            }
            printf("%s on %d GPU%s: passed\n", kind == 2 ? "a rank that aborts"
                   : kind == 3 ? "a rank that is late" : "a rank that stops", n_gpus,
                   n_gpus > 1 ? "s" : "");
            fflush(stdout);
        }
    for (int n_gpus = 1; n_gpus <= gpus_to_try(); n_gpus++)
        for (int s = 0; s < N_GPU_SERVED; s++) {
            death d = {.n_gpus = n_gpus, .how = gpu_served[s]};
            if (gpu_has(&d.how)) run_ranks(3, between_two, &d);
        }
    printf("a rank that aborts between two exchanges: passed\n");
    return 0;
}
