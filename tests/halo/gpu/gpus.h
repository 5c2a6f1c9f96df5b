/* Ranks on GPUs: binding, device arrays and their copies, every rung that a machine has. */
#ifndef GPUS_H
#define GPUS_H
#include "halo/ranks.h"

#include <cuda_runtime_api.h>

#define CHECK_CUDA(call)                                                                   \
    do {                                                                                   \
        cudaError_t check_error_ = (call);                                                 \
        if (check_error_ != cudaSuccess) {                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                  \
                    cudaGetErrorString(check_error_));                                     \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

/* First thing in main: settings that must stand before CUDA starts; skips without a GPU. */
static inline void gpus_start(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (sundog_gpu_count() > 0) return;
    printf("skipped: no GPU here\n");
    exit(77);
}

/* How device memory is reached: by fabric peer, or, where ranks are processes, by fabric nvshmem
 * and what a test sets here. */
#ifdef RANKS_FORKED
enum { GPU_PROCESSES = 1 };
#else
enum { GPU_PROCESSES = 0 };
#endif
static sundog_transport gpu_transport = SUNDOG_TRANSPORT_AUTO;

/* One or two GPUs are tried: as many as there are. */
static inline int gpus_to_try(void)
{
    int n = sundog_gpu_count();
    return n < 2 || GPU_PROCESSES ? n : 2;
}
/* The least number; processes have a GPU each. */
static inline int gpus_to_try_first(void)
{
    return GPU_PROCESSES ? gpus_to_try() : 1;
}

/* Ranks in turn over the first n_gpus. */
static inline void bind_gpu(const rank_args *args, int n_gpus)
{
    CHECK_OK(sundog_team_bind_gpu(args->team, args->rank % n_gpus));
}

static inline void *gpu_alloc(size_t n_bytes)
{
    void *p;
    CHECK_CUDA(cudaMalloc(&p, n_bytes ? n_bytes : 1));
    return p;
}

/* All copies are on the thread's own stream: the others belong to ranks that may be waiting. */
static inline void gpu_sync(void)
{
    CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
}
static inline void to_gpu(void *to, const void *from, size_t n_bytes)
{
    CHECK_CUDA(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, cudaStreamPerThread));
    gpu_sync();
}
static inline void from_gpu(void *to, const void *from, size_t n_bytes)
{
    CHECK_CUDA(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread));
    gpu_sync();
}

static const served gpu_served[] = {
    {"mpi", SUNDOG_ROUTE_STAGED, true},       {"mpi", SUNDOG_ROUTE_DIRECT, true},
    {"stream", SUNDOG_ROUTE_STAGED, true},    {"stream", SUNDOG_ROUTE_DIRECT, true},
    {"pulse", SUNDOG_ROUTE_STAGED, true},     {"pulse", SUNDOG_ROUTE_DIRECT, true},
    {"fused", SUNDOG_ROUTE_STAGED, true},     {"fused", SUNDOG_ROUTE_DIRECT, true},
    {"fused-tma", SUNDOG_ROUTE_STAGED, true}, {"fused-tma", SUNDOG_ROUTE_DIRECT, true},
    {"direct", SUNDOG_ROUTE_DIRECT, true},    {"flit", SUNDOG_ROUTE_STAGED, true},
    {"flit", SUNDOG_ROUTE_DIRECT, true},      {"mpi", SUNDOG_ROUTE_STAGED, false},
    {"stream", SUNDOG_ROUTE_DIRECT, false},   {"pulse", SUNDOG_ROUTE_STAGED, false},
    {"fused", SUNDOG_ROUTE_STAGED, false},    {"fused-tma", SUNDOG_ROUTE_STAGED, false},
    {"direct", SUNDOG_ROUTE_DIRECT, false},   {"flit", SUNDOG_ROUTE_STAGED, false},
    {"flit", SUNDOG_ROUTE_DIRECT, false},
};
enum { N_GPU_SERVED = sizeof gpu_served / sizeof gpu_served[0] };

/* Does this machine have the rung? */
static inline bool gpu_has(const served *s)
{
    char text[256];
    int gpu = 0;
    if (GPU_PROCESSES && strcmp(s->rung, "mpi") == 0) return false;
    return sundog_gpu_rung_check(s->rung, &gpu, 1, text, sizeof text) == SUNDOG_OK;
}
/* Do begin and end only enqueue, and may they be captured? */
static inline bool gpu_captures(const served *s)
{
    return strcmp(s->rung, "mpi") != 0 && strcmp(s->rung, "stream") != 0;
}

static inline sundog_exchange *gpu_exchange_with(const served *s, sundog_plan *plan,
                                                 const sundog_field *fields, int n_fields,
                                                 bool lockstep, int max_blocks)
{
    sundog_exchange_options options = {
        .struct_size = sizeof options, .rung = s->rung, .route = s->route,
        .deterministic = s->deterministic, .lockstep = lockstep,
        .memory = SUNDOG_MEMORY_DEVICE, .max_blocks = max_blocks, .transport = gpu_transport};
    sundog_exchange *exchange;
    CHECK_OK(sundog_exchange_create(plan, fields, n_fields, &options, &exchange));
    char who[160];
    snprintf(who, sizeof who, "%s/%s %s%s%s", GPU_PROCESSES ? "nvshmem" : "peer", s->rung,
             s->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct",
             s->deterministic ? " deterministic" : "", lockstep ? " lockstep" : "");
    if (GPU_PROCESSES) {            /* and by what: stores where memory is mapped */
        const char *how = sundog_exchange_describe(exchange) + strlen(who);
        bool puts = gpu_transport == SUNDOG_TRANSPORT_PUT || strcmp(s->rung, "stream") == 0;
        CHECK(strncmp(sundog_exchange_describe(exchange), who, strlen(who)) == 0);
        CHECK(strcmp(how, ", by puts") == 0 || (!puts && strcmp(how, ", by stores") == 0) ||
              (!puts && strstr(how, " by puts")));
        return exchange;
    }
    bool gaps = false;
    for (int f = 0; f < n_fields; f++) gaps = gaps || fields[f].stride;
    if (gaps && strcmp(s->rung, "fused-tma") == 0)
        strncat(who, ", rows with gaps by stores", sizeof who - strlen(who) - 1);
    CHECK(strcmp(sundog_exchange_describe(exchange), who) == 0);
    return exchange;
}

static inline sundog_exchange *gpu_exchange_of(const served *s, sundog_plan *plan,
                                               const sundog_field *fields, int n_fields)
{
    return gpu_exchange_with(s, plan, fields, n_fields, false, 0);
}

/* ---- periodic grids, as molecular dynamics cuts them ----------------------------------------- */

typedef struct grid_spec {
    int n_axes, n_pulses;           /* cut axes; pulses along each */
    int rows;                       /* that a first pulse sends of its own */
} grid_spec;

static inline void grid_of_ranks(int n, int n_axes, int grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    for (int prime; n > 1; n /= prime) {
        int least = 0;
        for (prime = 2; n % prime; prime++) { }
        for (int axis = 0; axis < n_axes; axis++)
            if (grid[axis] < grid[least]) least = axis;
        grid[least] *= prime;
    }
}

static inline int grid_neighbour(const int grid[3], int rank, int axis, int step)
{
    int at[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    at[axis] = (at[axis] + step + grid[axis]) % grid[axis];
    return (at[0] * grid[1] + at[1]) * grid[2] + at[2];
}

/* Rows of unequal number; rank 3 owns none; a first pulse sends owned rows and an eighth of every
 * earlier pulse's ghosts, a second one half of what the first brought, one of them twice. */
static inline void grid_plan_build(const grid_spec *spec, const rank_args *args, sundog_plan *plan)
{
    int grid[3];
    grid_of_ranks(args->n_ranks, spec->n_axes, grid);
    sundog_idx first[6], n_ghost[6], n_owned = sundog_plan_n_owned(plan);
    sundog_idx *index = malloc(sizeof *index * (size_t)(64 * spec->rows + 64));
    CHECK(index);
    for (int p = 0; p < spec->n_axes * spec->n_pulses; p++) {
        int axis = p / spec->n_pulses, n = 0;
        if (p % spec->n_pulses) {
            for (sundog_idx k = 0; k < (n_ghost[p - 1] + 1) / 2; k++) index[n++] = first[p - 1] + k;
        } else {
            for (sundog_idx k = 0; k < spec->rows && n_owned > 0; k++)
                index[n++] = (3 * k + p) % n_owned;
            for (int q = 0; q < p; q++)
                for (sundog_idx k = 0; k < n_ghost[q] / 8; k++) index[n++] = first[q] + k;
        }
        if (n > 0) index[n] = index[0], n++;
        int to = grid_neighbour(grid, args->rank, axis, -1);
        sundog_pulse pulse = {to, grid_neighbour(grid, args->rank, axis, +1), n, index, {0, 0, 0}};
        pulse.shift[axis] = to >= args->rank ? 3.25 : 0;
        CHECK_OK(sundog_plan_add_pulse(plan, &pulse, &first[p], &n_ghost[p]));
    }
    free(index);
    CHECK_OK(sundog_plan_commit(plan));
}

static inline sundog_plan *grid_plan_create(const grid_spec *spec, const rank_args *args)
{
    sundog_idx n_owned = args->rank == 3 ? 0 : 2 * spec->rows + 7 * args->rank + 1;
    sundog_plan *plan;
    CHECK_OK(sundog_plan_create(args->team, n_owned, &plan));
    grid_plan_build(spec, args, plan);
    return plan;
}
#endif
