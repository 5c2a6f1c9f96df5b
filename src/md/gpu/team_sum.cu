/* Plan, exchange and kernels of team_sum.h.
 *
 * Pulse p (1 .. ranks - 1) sends row 0 to the rank p places further on, so ghost p is the row of
 * the rank p places before this one. No pulse forwards another's ghosts; all are under way at once.
 */
#include "device/cuda.h"
#include "md/gpu/team_sum.h"

enum { BLOCK = 128, MAX_EXCHANGE_BLOCKS = 2 };

struct md_team_sum {
    int n, rank, n_ranks;
    sundog_plan *plan;
    sundog_exchange *exchange;
    device_array memory;
    double *d_rows, *d_total;       /* [n_ranks][n]; [n] */
};

__global__ void __launch_bounds__(BLOCK) copy_values(const double *from, int n, double *to)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = from[i];
}

/* Add the rows of all ranks in rank order.
 *   grid     blocks of values                   thread   one value
 *   reads    rows                               writes   total
 *   waits    nothing                            signals  nothing */
__global__ void __launch_bounds__(BLOCK)
    add_rows(const double *rows, int n, int rank, int n_ranks, double *total)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (int from = 0; from < n_ranks; from++)
        sum += rows[(size_t)((rank - from + n_ranks) % n_ranks) * n + i];
    total[i] = sum;
}

static sundog_status plan_make(sundog_team *team, md_team_sum *sum)
{
    const sundog_idx own_row = 0;
    BASE_TRY(sundog_plan_create(team, 1, &sum->plan));
    for (int p = 1; p < sum->n_ranks; p++) {
        sundog_pulse pulse = {};
        pulse.to_rank = (sum->rank + p) % sum->n_ranks;
        pulse.from_rank = (sum->rank - p + sum->n_ranks) % sum->n_ranks;
        pulse.n_send = 1;
        pulse.index = &own_row;
        sundog_idx first_ghost, n_ghost;
        BASE_TRY(sundog_plan_add_pulse(sum->plan, &pulse, &first_ghost, &n_ghost));
    }
    return sundog_plan_commit(sum->plan);
}

static sundog_status exchange_make(sundog_team *team, const char *rung, md_team_sum *sum)
{
    const size_t n = (size_t)sum->n;
    BASE_TRY(plan_make(team, sum));
    BASE_TRY(device_reserve(&sum->memory, ((size_t)sum->n_ranks + 1) * n * sizeof(double)));
    sum->d_rows = (double *)sum->memory.d;
    sum->d_total = sum->d_rows + (size_t)sum->n_ranks * n;
    sundog_exchange_options options = {};
    options.struct_size = sizeof options;
    options.rung = rung;
    options.route = SUNDOG_ROUTE_DIRECT;
    options.deterministic = true;
    options.memory = SUNDOG_MEMORY_DEVICE;
    options.max_blocks = MAX_EXCHANGE_BLOCKS;
    const sundog_field field = {sum->d_rows, SUNDOG_FLOAT64, sum->n, false, 0};
    return sundog_exchange_create(sum->plan, &field, 1, &options, &sum->exchange);
}

extern "C" sundog_status md_team_sum_create(sundog_team *team, int n, const char *rung,
                                            md_team_sum **out)
{
    md_team_sum *sum = (md_team_sum *)base_alloc_zero(sizeof *sum);
    sum->n = n;
    sum->rank = sundog_team_rank(team);
    sum->n_ranks = sundog_team_size(team);
    const sundog_status status = sum->n_ranks > 1 ? exchange_make(team, rung, sum)
                                                  : device_reserve(&sum->memory,
                                                                   (size_t)n * sizeof(double));
    if (status != SUNDOG_OK) {
        md_team_sum_destroy(&sum);
        return status;
    }
    sum->d_rows = (double *)sum->memory.d;
    *out = sum;
    return SUNDOG_OK;
}

extern "C" void md_team_sum_destroy(md_team_sum **sum)
{
    if (*sum == NULL) return;
    sundog_exchange_destroy(&(*sum)->exchange);
    sundog_plan_destroy(&(*sum)->plan);
    device_free(&(*sum)->memory);
    base_free(*sum);
    *sum = NULL;
}

extern "C" double *md_team_sum_row(const md_team_sum *sum)
{
    return sum->d_rows;
}

extern "C" sundog_status md_team_sum_on(md_team_sum *sum, const double *d_in, const double **d_out,
                                        void *stream)
{
    const cudaStream_t queue = (cudaStream_t)stream;
    const int n_blocks = (sum->n + BLOCK - 1) / BLOCK;
    if (sum->n_ranks == 1) {
        *d_out = d_in;
        return SUNDOG_OK;
    }
    if (d_in != sum->d_rows)
        copy_values<<<n_blocks, BLOCK, 0, queue>>>(d_in, sum->n, sum->d_rows);
    BASE_TRY(DEVICE_CHECK(cudaGetLastError()));
    BASE_TRY(sundog_forward_on(sum->exchange, stream));
    add_rows<<<n_blocks, BLOCK, 0, queue>>>(sum->d_rows, sum->n, sum->rank, sum->n_ranks,
                                            sum->d_total);
    *d_out = sum->d_total;
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status md_team_sum_check(md_team_sum *sum)
{
    return sum->exchange ? sundog_exchange_check(sum->exchange) : SUNDOG_OK;
}
