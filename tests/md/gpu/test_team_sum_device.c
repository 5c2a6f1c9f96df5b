/* Sums over a team on the device against sums in rank order on the host, bit for bit and the same
 * on all ranks: 1 to 12 ranks on one GPU and on two, every rung that only enqueues, many in a row,
 * two objects in turn, captured and replayed. */
#include "device.h"
#include "md/gpu/team_sum.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { MAX_RANKS = 12, N_ROUNDS = 20, SMALL = 3, LARGE = 300 };
static const char *const rungs[] = {NULL, "flit", "direct", "fused", "pulse"};

typedef struct one_rank {
    sundog_team *team;
    int rank, n_ranks, n_gpus;
    const char *rung;
} one_rank;

/* Of many sizes and both signs, so that another order of adding shows. */
static double value_of(int rank, int i, int round)
{
    const double x = sin(1 + 7.3 * rank + 0.37 * i + 1.9 * round);
    return x * pow(10, (rank + i) % 9 - 4);
}

static double sum_of(int n_ranks, int i, int round)
{
    double sum = 0;
    for (int r = 0; r < n_ranks; r++) sum += value_of(r, i, round);
    return sum;
}

static void fill(const one_rank *me, double *d, int n, int round, cudaStream_t stream)
{
    double values[LARGE];
    for (int i = 0; i < n; i++) values[i] = value_of(me->rank, i, round);
    CHECK_CUDA(cudaMemcpyAsync(d, values, (size_t)n * sizeof *d, cudaMemcpyHostToDevice, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
}

/* The stream is waited for first: a copy must not stand behind a kernel that waits for peers, whose
 * own copies might then stand behind it. */
static void fetch(double *values, const double *d, int n, cudaStream_t stream)
{
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemcpyAsync(values, d, (size_t)n * sizeof *d, cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
}

static void check(const one_rank *me, const double *d, int n, int round, cudaStream_t stream)
{
    double values[LARGE];
    fetch(values, d, n, stream);
    for (int i = 0; i < n; i++) {
        const double wanted = sum_of(me->n_ranks, i, round);
        CHECK(memcmp(&values[i], &wanted, sizeof wanted) == 0);
    }
}

/* Sums of sums without a host in between: the total of a round is what each rank adds next. */
static void test_chain(md_team_sum *sum, const one_rank *me, double *d_in, cudaStream_t stream)
{
    double values[SMALL], wanted[SMALL];
    const double *d_out = d_in;
    fill(me, d_in, SMALL, 5, stream);
    for (int k = 0; k < 4; k++) CHECK_OK(md_team_sum_on(sum, d_out, &d_out, stream));
    fetch(values, d_out, SMALL, stream);
    for (int i = 0; i < SMALL; i++) {
        wanted[i] = sum_of(me->n_ranks, i, 5);
        for (int k = 1; k < 4 && me->n_ranks > 1; k++) {
            double next = 0;
            for (int r = 0; r < me->n_ranks; r++) next += wanted[i];
            wanted[i] = next;
        }
        CHECK(memcmp(&values[i], &wanted[i], sizeof wanted[i]) == 0);
    }
}

static void test_graph(md_team_sum *sum, const one_rank *me, double *d_in, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    const double *d_out;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < 3; k++) CHECK_OK(md_team_sum_on(sum, d_in, &d_out, stream));
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_OK(sundog_team_barrier(me->team));
    for (int round = 0; round < N_ROUNDS; round++) {
        fill(me, d_in, LARGE, round, stream);
        CHECK_CUDA(cudaGraphLaunch(exec, stream));
        check(me, d_out, LARGE, round, stream);
        if (round % 3 == 0) {
            CHECK_OK(md_team_sum_on(sum, d_in, &d_out, stream));
            check(me, d_out, LARGE, round, stream);
        }
    }
    CHECK_OK(sundog_team_barrier(me->team));
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

static void *rank_main(void *pointer)
{
    const one_rank *me = pointer;
    sundog_team *team = me->team;
    md_team_sum *small, *large;
    cudaStream_t stream;
    double *d_small, *d_large;
    const double *d_out;
    CHECK_OK(sundog_team_bind_gpu(team, me->rank % me->n_gpus));
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc((void **)&d_small, SMALL * sizeof *d_small));
    CHECK_CUDA(cudaMalloc((void **)&d_large, LARGE * sizeof *d_large));
    CHECK_OK(md_team_sum_create(team, SMALL, me->rung, &small));
    CHECK_OK(md_team_sum_create(team, LARGE, me->rung, &large));
    fill(me, d_small, SMALL, 0, stream);
    CHECK_OK(sundog_team_barrier(team));
    for (int round = 0; round < N_ROUNDS; round++) {
        fill(me, d_small, SMALL, round, stream);
        fill(me, md_team_sum_row(large), LARGE, round, stream);
        CHECK_OK(md_team_sum_on(small, d_small, &d_out, stream));
        check(me, d_out, SMALL, round, stream);
        CHECK_OK(md_team_sum_on(large, md_team_sum_row(large), &d_out, stream));
        check(me, d_out, LARGE, round, stream);
    }
    test_chain(small, me, d_small, stream);
    test_graph(large, me, d_large, stream);
    md_team_sum_destroy(&small);
    md_team_sum_destroy(&large);
    CHECK(small == NULL && large == NULL);
    cudaFree(d_small), cudaFree(d_large);
    CHECK_CUDA(cudaStreamDestroy(stream));
    sundog_team_destroy(&team);
    return NULL;
}

static void run_ranks(int n_ranks, int n_gpus, const char *rung)
{
    sundog_team *team[MAX_RANKS];
    pthread_t thread[MAX_RANKS];
    one_rank rank[MAX_RANKS];
    printf("%d ranks on %d GPU(s), %s\n", n_ranks, n_gpus, rung ? rung : "best rung");
    fflush(stdout);
    CHECK_OK(sundog_team_create_threads(n_ranks, team));
    for (int r = 0; r < n_ranks; r++) {
        rank[r] = (one_rank){team[r], r, n_ranks, n_gpus, rung};
        CHECK(pthread_create(&thread[r], NULL, rank_main, &rank[r]) == 0);
    }
    for (int r = 0; r < n_ranks; r++) CHECK(pthread_join(thread[r], NULL) == 0);
}

int main(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    device_required();
    const int sizes[] = {1, 2, 3, 5, 8, 12};
    for (int n_gpus = 1; n_gpus <= (sundog_gpu_count() < 2 ? 1 : 2); n_gpus++)
        for (size_t k = 0; k < sizeof rungs / sizeof *rungs; k++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                run_ranks(sizes[s], n_gpus, rungs[k]);
    return 0;
}
