/* Sums over a grid, by the launch that makes the terms, in a fixed order: the same bits in every
 * run of the same grid.
 *
 *      warp        value i of its lanes        -> warp_sum[i][warp]
 *      block       its warps, in order         -> partial[i][block]
 *      last block  all blocks, a warp a value  -> the caller
 *
 * Which block comes last differs from run to run, what it adds does not. The counter is left at 0,
 * so launches may be repeated, from a graph too, one after the other.
 */
#ifndef DEVICE_GRID_SUM_CUH
#define DEVICE_GRID_SUM_CUH

/* In device memory; at most MAX values of at most n_blocks blocks. */
typedef struct grid_sum_scratch {
    double *partial;                /* [MAX][n_blocks] */
    unsigned *arrived;              /* 0 between launches */
} grid_sum_scratch;

template <int BLOCK, int MAX> struct grid_sum_shared {
    double warp_sum[MAX][BLOCK / 32];
    bool last;
};

static __device__ __forceinline__ double grid_sum_warp(double value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

/* Term i of every thread; whole warps call it, each i once. */
template <int BLOCK, int MAX>
static __device__ __forceinline__ void grid_sum_add(grid_sum_shared<BLOCK, MAX> *shared, int i,
                                                    double value)
{
    const double sum = grid_sum_warp(value);
    if (threadIdx.x % 32 == 0) shared->warp_sum[i][threadIdx.x / 32] = sum;
}

/* After all n terms; all threads of the grid call it. True in the last block, where
 * grid_sum_total() may then be called. */
template <int BLOCK, int MAX>
static __device__ bool grid_sum_finish(grid_sum_shared<BLOCK, MAX> *shared, int n,
                                       const grid_sum_scratch &scratch)
{
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        double sum = 0;
        for (int w = 0; w < BLOCK / 32; w++) sum += shared->warp_sum[i][w];
        __stcg(&scratch.partial[(size_t)i * gridDim.x + blockIdx.x], sum);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        shared->last = atomicAdd(scratch.arrived, 1u) == gridDim.x - 1;
        if (shared->last) *scratch.arrived = 0;
        __threadfence();
    }
    __syncthreads();
    return shared->last;
}

/* Value i of the whole grid, in lane 0; a whole warp calls it. */
static __device__ __forceinline__ double grid_sum_total(const grid_sum_scratch &scratch, int i)
{
    double sum = 0;
    for (unsigned b = threadIdx.x % 32; b < gridDim.x; b += 32)
        sum += __ldcg(&scratch.partial[(size_t)i * gridDim.x + b]);
    return grid_sum_warp(sum);
}
#endif
