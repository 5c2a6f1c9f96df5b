/* Blocks of units anew, from where the rows are now: atoms diffuse, and after some hundred steps
 * the units of a block are no longer near each other. Which rows form a unit stays, and tails and
 * all numbers do.
 *
 *      measure          what the units fill: slabs and columns such that blocks are about cubes
 *      sort by x        cut into slabs of whole blocks
 *      sort by slab, y  cut each slab into columns of whole blocks
 *      sort by column, z: blocks one after another, each of as many units as before
 *      halve each block along its longest axis, again and again, down to single units
 *      leaves: ten units each; of ghosts, 32 rows along a Morton curve
 *
 * Coordinates are fractions counted from the middle of the cell, to 8 bits or 16, since each 8 bits
 * are a pass of a sort; equal ones stay in the order of the plan. So equal rows give equal blocks,
 * whatever came before: the cuts, too, are measured anew each time. Sorting is CUB's, which is part
 * of CUDA. Nothing is asked of the host, so it can be captured.
 */
#include "md/pairs/unit_kernels.cuh"
#include "md/pairs/unit_device.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <climits>

enum { HALVES = 7 };

/* Of a key, from its lowest bit on: a step is 0.06 nm at most until there are many blocks. */
typedef struct key_bits {
    int fraction, column, slab;         /* column: of a slab */
} key_bits;

static key_bits key_bits_for(int n_blocks)
{
    const key_bits few = {8, 4, 4}, many = {16, 6, 6};
    return n_blocks <= 1000 ? few : many;
}

static __device__ __forceinline__ uint32_t fraction_of(int s, int origin, int bits)
{
    return (((uint32_t)s - (uint32_t)origin) ^ 0x80000000u) >> (32 - bits);
}

/*   one thread; before measure_units     writes  cut, held */
static __global__ void start_replan(const __grid_constant__ unit_arrays p,
                                    const __grid_constant__ unit_replan r)
{
    for (int k = 0; k < 3; k++) {
        r.cut->lo[k] = INT_MAX;
        r.cut->hi[k] = INT_MIN;
    }
    if (p.need->overflow) p.need->held = 1;
}

/*   thread  a unit     reads  unit, row     writes  cut->lo, cut->hi */
static __global__ void measure_units(const __grid_constant__ unit_arrays p,
                                     const __grid_constant__ unit_replan r, const int4 *row)
{
    const int u = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const unit_numbers &n = *p.numbers;
    const int4 at = row[r.unit[min(u, n.n_units - 1)].x];
    const int s[3] = {at.x, at.y, at.z};
    for (int k = 0; k < 3; k++) {
        const int from = (int)((uint32_t)s[k] - (uint32_t)n.origin[k]);
        const int lo = __reduce_min_sync(~0u, from), hi = __reduce_max_sync(~0u, from);
        if (threadIdx.x % 32) continue;
        atomicMin(&r.cut->lo[k], lo);
        atomicMax(&r.cut->hi[k], hi);
    }
}

/*   one thread     reads  cut->lo, cut->hi, scale     writes  the rest of cut */
static __global__ void choose_cuts(const __grid_constant__ unit_arrays p,
                                   const __grid_constant__ unit_replan r, int most_slabs)
{
    const unit_scale scale = unit_scale_of(p.view.scale);
    const float unit[3] = {scale.m[0], scale.m[2], scale.m[5]};
    double side[3];
    for (int k = 0; k < 3; k++)
        side[k] = ((double)r.cut->hi[k] - r.cut->lo[k]) * unit[k] + 0.1;
    const int n_blocks = p.view.n_blocks;
    const int n = (int)rint(cbrt(n_blocks * side[0] * side[0] / (side[1] * side[2])));
    r.cut->n_slabs = max(1, min(n, min(n_blocks, most_slabs)));
    r.cut->y_to_z = (float)(side[1] / side[2]);
}

/* Which of n parts of `whole`, each from whole * i / n on, has item k? */
static __device__ __forceinline__ int part_of(int k, int n, int whole)
{
    return (int)(((int64_t)(k + 1) * n - 1) / whole);
}

static __device__ __forceinline__ int block_of(const unit_arrays &p, int position, int n_units)
{
    const int *start = p.view.block_start;
    int b = (int)((int64_t)position * p.view.n_blocks / n_units);
    while (start[b] > position) b--;
    while (start[b + 1] <= position) b++;
    return b;
}

/* Slab (LEVEL 1), or slab and column (LEVEL 2), of the block at a position. */
template <int LEVEL>
static __device__ __forceinline__ uint32_t region_of(const unit_arrays &p, const unit_cut &cut,
                                                     int position, const key_bits &bits)
{
    if (LEVEL == 0) return 0;
    const int n_blocks = p.view.n_blocks, b = block_of(p, position, p.numbers->n_units);
    const int slab = part_of(b, cut.n_slabs, n_blocks);
    if (LEVEL == 1) return (uint32_t)slab;
    const int first = (int)((int64_t)n_blocks * slab / cut.n_slabs);
    const int end = (int)((int64_t)n_blocks * (slab + 1) / cut.n_slabs), all = end - first;
    int columns = (int)rintf(sqrtf((float)all * cut.y_to_z));
    columns = max(1, min(columns, min(all, 1 << bits.column)));
    return (uint32_t)(slab << bits.column | part_of(b - first, columns, all));
}

/*   thread  a position     reads  order (LEVEL > 0), unit, row     writes  key; order (LEVEL 0) */
template <int LEVEL>
static __global__ void key_units(const __grid_constant__ unit_arrays p,
                                 const __grid_constant__ unit_replan r, const int4 *row,
                                 key_bits bits, int *order)
{
    const int position = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (position >= r.capacity) return;
    const unit_numbers &n = *p.numbers;
    if (LEVEL == 0) order[position] = position;
    uint32_t key = ~0u;                 /* beyond the last unit: stays there */
    if (position < n.n_units) {
        const int4 at = row[r.unit[LEVEL == 0 ? position : order[position]].x];
        const int s = LEVEL == 0 ? at.x : LEVEL == 1 ? at.y : at.z;
        key = region_of<LEVEL>(p, *r.cut, position, bits) << bits.fraction |
              fraction_of(s, n.origin[LEVEL], bits.fraction);
    }
    r.key[position] = key;
}

typedef struct block_units {
    float x[3][MD_UNIT_MOST];
    int id[MD_UNIT_MOST];
} block_units;

/* Where thread t's unit belongs in its stretch [first, end), ordered along the longest axis. */
static __device__ int place_in(const block_units &s, int t, int first, int end)
{
    int axis = 0;
    float longest = -1;
    for (int k = 0; k < 3; k++) {
        float lo = s.x[k][first], hi = lo;
        for (int u = first + 1; u < end; u++) {
            lo = fminf(lo, s.x[k][u]);
            hi = fmaxf(hi, s.x[k][u]);
        }
        if (hi - lo <= longest) continue;
        longest = hi - lo;
        axis = k;
    }
    const float *x = s.x[axis], mine = x[t];
    int place = first;
    for (int u = first; u < end; u++) place += x[u] < mine || (x[u] == mine && u < t);
    return place;
}

/*   grid    a block of units each, thread  a unit
 *   reads   order, unit, tail, tail_gid of the plan, row     writes  those that lists are made from
 */
static __global__ void __launch_bounds__(MD_UNIT_MOST)
    halve_blocks(const __grid_constant__ unit_arrays p, const __grid_constant__ unit_replan r,
                 const int4 *row, const int *order)
{
    __shared__ block_units s;
    if (p.need->held) return;
    const int b = blockIdx.x, t = threadIdx.x;
    const int begin = p.view.block_start[b], n = p.view.block_start[b + 1] - begin;
    const unit_scale scale = unit_scale_of(p.view.scale);
    const bool is = t < n;
    const int id = is ? order[begin + t] : 0;
    if (is) {
        const float3 d =
            unit_offset(row[r.unit[id].x], row[r.unit[order[begin]].x], scale);
        s.x[0][t] = d.x;
        s.x[1][t] = d.y;
        s.x[2][t] = d.z;
        s.id[t] = id;
    }
    __syncthreads();
    int first = 0, end = n, at = t;
    for (int level = 0; level < HALVES; level++) {
        const int place = is && end - first > 1 ? place_in(s, at, first, end) : at;
        const float x = is ? s.x[0][at] : 0, y = is ? s.x[1][at] : 0, z = is ? s.x[2][at] : 0;
        const int mine = is ? s.id[at] : 0;
        __syncthreads();
        if (is) {
            s.x[0][place] = x;
            s.x[1][place] = y;
            s.x[2][place] = z;
            s.id[place] = mine;
        }
        __syncthreads();
        at = place;
        const int cut = first + (end - first) / 2;
        if (at < cut) end = cut;
        else first = cut;
    }
    if (!is) return;
    const int from = s.id[t];
    r.unit_now[begin + t] = r.unit[from];
    r.tail_now[begin + t] = r.tail[from];
    r.tail_gid_now[begin + t] = r.tail_gid[from];
}

/*   thread  a place of a leaf of owned rows     reads  unit_now     writes  leaf_row */
static __global__ void fill_leaves(const __grid_constant__ unit_arrays p,
                                   const __grid_constant__ unit_replan r)
{
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int leaf = k / MD_UNIT_LEAF, place = k % MD_UNIT_LEAF;
    const unit_numbers &n = *p.numbers;
    if (leaf >= n.n_owned_leaves || p.need->held) return;
    int first = leaf * MD_UNIT_LEAF_UNITS, end = n.n_units;
    if (n.leaves_a_block > 0) {
        const int b = leaf / n.leaves_a_block;
        first = p.view.block_start[b] + leaf % n.leaves_a_block * MD_UNIT_LEAF_UNITS;
        end = p.view.block_start[b + 1];
    }
    const int u = first + place / MD_UNIT;
    const bool is = place < MD_UNIT_LEAF_UNITS * MD_UNIT && u < end;
    r.leaf_row[k] = is ? ((const int *)(r.unit_now + u))[place % MD_UNIT] : -1;
}

enum { MORTON_BITS = 7 };               /* of an axis */

/* The low bits of v, two places between each. */
static __device__ __forceinline__ uint32_t spread(uint32_t v)
{
    uint32_t out = 0;
    for (int k = 0; k < MORTON_BITS; k++) out |= (v >> k & 1) << (3 * k);
    return out;
}

/*   thread  a ghost     reads  row     writes  ghost, ghost_key */
static __global__ void key_ghosts(const __grid_constant__ unit_arrays p,
                                  const __grid_constant__ unit_replan r, const int4 *row)
{
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const unit_numbers &n = *p.numbers;
    if (k >= r.ghost_capacity) return;
    const int mine = n.n_owned + k;
    uint32_t key = ~0u;
    if (mine < n.n_rows) {
        const int4 at = row[mine];
        key = spread(fraction_of(at.x, n.origin[0], MORTON_BITS)) |
              spread(fraction_of(at.y, n.origin[1], MORTON_BITS)) << 1 |
              spread(fraction_of(at.z, n.origin[2], MORTON_BITS)) << 2;
    }
    r.ghost[k] = mine;
    r.ghost_key[k] = key;
}

/*   thread  a place of a ghosts' leaf     reads  ghost_order     writes  leaf_row */
static __global__ void fill_ghost_leaves(const __grid_constant__ unit_arrays p,
                                         const __grid_constant__ unit_replan r)
{
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const unit_numbers &n = *p.numbers;
    const int n_ghosts = n.n_rows - n.n_owned;
    if (k >= (n_ghosts + MD_UNIT_LEAF - 1) / MD_UNIT_LEAF * MD_UNIT_LEAF || p.need->held) return;
    r.leaf_row[n.n_owned_leaves * MD_UNIT_LEAF + k] = k < n_ghosts ? r.ghost_order[k] : -1;
}

static cudaError_t sort(const unit_replan *r, const int *from, int *to, int bits,
                        cudaStream_t stream)
{
    size_t bytes = r->temp_bytes;
    return cub::DeviceRadixSort::SortPairs(r->temp, bytes, r->key, r->sorted, from, to,
                                           r->capacity, 0, bits, stream);
}

static cudaError_t replan_ghosts(const unit_arrays *p, const unit_replan *r, const int4 *row,
                                 cudaStream_t stream)
{
    enum { THREADS = 256 };
    const int blocks = (r->ghost_capacity + MD_UNIT_LEAF) / THREADS + 1;
    size_t bytes = r->temp_bytes;
    if (r->ghost_capacity == 0) return cudaSuccess;
    key_ghosts<<<blocks, THREADS, 0, stream>>>(*p, *r, row);
    cudaError_t error = cub::DeviceRadixSort::SortPairs(
        r->temp, bytes, r->ghost_key, r->ghost_sorted, r->ghost, r->ghost_order,
        r->ghost_capacity, 0, 3 * MORTON_BITS, stream);
    if (error != cudaSuccess) return error;
    fill_ghost_leaves<<<blocks, THREADS, 0, stream>>>(*p, *r);
    return cudaGetLastError();
}

cudaError_t unit_replan_bytes(int capacity, size_t *bytes)
{
    *bytes = 0;
    return cub::DeviceRadixSort::SortPairs((void *)NULL, *bytes, (const uint32_t *)NULL,
                                           (uint32_t *)NULL, (const int *)NULL, (int *)NULL,
                                           capacity, 0, 32);
}

cudaError_t unit_launch_replan(const unit_arrays *p, const unit_replan *r, int leaf_capacity,
                               const int4 *row, cudaStream_t stream)
{
    enum { THREADS = 256 };
    if (p->view.n_blocks == 0) return cudaSuccess;
    const int blocks = (r->capacity + THREADS - 1) / THREADS;
    const key_bits bits = key_bits_for(p->view.n_blocks);
    int *a = r->order[0], *b = r->order[1];
    cudaError_t error;
    start_replan<<<1, 1, 0, stream>>>(*p, *r);
    measure_units<<<blocks, THREADS, 0, stream>>>(*p, *r, row);
    choose_cuts<<<1, 1, 0, stream>>>(*p, *r, 1 << bits.column);
    key_units<0><<<blocks, THREADS, 0, stream>>>(*p, *r, row, bits, a);
    error = sort(r, a, b, bits.fraction, stream);
    if (error != cudaSuccess) return error;
    key_units<1><<<blocks, THREADS, 0, stream>>>(*p, *r, row, bits, b);
    error = sort(r, b, a, bits.fraction + bits.slab, stream);
    if (error != cudaSuccess) return error;
    key_units<2><<<blocks, THREADS, 0, stream>>>(*p, *r, row, bits, a);
    error = sort(r, a, b, bits.fraction + bits.slab + bits.column, stream);
    if (error != cudaSuccess) return error;
    halve_blocks<<<p->view.n_blocks, MD_UNIT_MOST, 0, stream>>>(*p, *r, row, b);
    fill_leaves<<<(leaf_capacity * MD_UNIT_LEAF + THREADS - 1) / THREADS, THREADS, 0, stream>>>(*p,
                                                                                               *r);
    error = cudaGetLastError();
    return error == cudaSuccess ? replan_ghosts(p, r, row, stream) : error;
}
