/* Outer lists: which rows are within rlist of which units.
 *
 * A block looks at the bounding boxes of all leaves, then at the rows of those in reach, and keeps
 * the rows within rlist of a box around eight of its units: they get slots, in the order of the
 * leaves, so that 32 slots next to each other are near each other. Then a warp takes four units: of
 * every 32 slots it asks first whether any is in reach of the box around the four, and mostly none
 * is. Exact distances to the three atoms decide.
 *
 * Rows of a unit's tail are met on the way like all others: their global numbers are in a short
 * range, and who is in it is looked up.
 */
#include "md/pairs/unit_kernels.cuh"
#include "md/pairs/unit_device.cuh"

enum { SUB = 8, N_SUB = MD_UNIT_MOST / SUB, UNITS_A_WARP = MD_UNIT_MOST / 32 };

static __device__ __forceinline__ void warp_box(float3 v, float3 *lo, float3 *hi)
{
    *lo = *hi = v;
    for (int d = 16; d; d >>= 1) {
        lo->x = fminf(lo->x, __shfl_xor_sync(~0u, lo->x, d));
        lo->y = fminf(lo->y, __shfl_xor_sync(~0u, lo->y, d));
        lo->z = fminf(lo->z, __shfl_xor_sync(~0u, lo->z, d));
        hi->x = fmaxf(hi->x, __shfl_xor_sync(~0u, hi->x, d));
        hi->y = fmaxf(hi->y, __shfl_xor_sync(~0u, hi->y, d));
        hi->z = fmaxf(hi->z, __shfl_xor_sync(~0u, hi->z, d));
    }
}

static __device__ __forceinline__ float4 middle(float3 lo, float3 hi)
{
    return make_float4(.5f * (lo.x + hi.x), .5f * (lo.y + hi.y), .5f * (lo.z + hi.z), 0);
}

static __device__ __forceinline__ float4 half_size(float3 lo, float3 hi)
{
    const float margin = 1e-5f;         /* more than any rounding on the way */
    return make_float4(.5f * (hi.x - lo.x) + margin, .5f * (hi.y - lo.y) + margin,
                       .5f * (hi.z - lo.z) + margin, 0);
}

/* Squared distance of a point, or of a box around it, to a box. */
static __device__ __forceinline__ float gap2(float x, float y, float z, float4 centre, float4 half)
{
    float a = fmaxf(fabsf(x - centre.x) - half.x, 0), b = fmaxf(fabsf(y - centre.y) - half.y, 0);
    float c = fmaxf(fabsf(z - centre.z) - half.z, 0);
    return a * a + b * b + c * c;
}

/* nm to fractions. */
static __device__ __forceinline__ int4 moved_by(int4 from, float4 d, const float s[6])
{
    float c = d.z / s[5], b = (d.y - c * s[4]) / s[2], a = (d.x - b * s[1] - c * s[3]) / s[0];
    return make_int4((int)((uint32_t)from.x + (uint32_t)__float2int_rn(a)),
                     (int)((uint32_t)from.y + (uint32_t)__float2int_rn(b)),
                     (int)((uint32_t)from.z + (uint32_t)__float2int_rn(c)), 0);
}

/*  grid  a warp a leaf     reads  row, leaf_row     writes  leaf_at, leaf_half */
static __global__ void box_leaves(const __grid_constant__ unit_arrays p, const int4 *row)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf >= p.n_leaves) return;
    int first = p.leaf_row[leaf * MD_UNIT_LEAF], mine = p.leaf_row[leaf * MD_UNIT_LEAF + lane];
    int4 at = row[first];
    float3 lo, hi;
    warp_box(unit_offset(row[mine < 0 ? first : mine], at, p.view.scale), &lo, &hi);
    if (lane) return;
    p.leaf_at[leaf] = moved_by(at, middle(lo, hi), p.view.scale);
    p.leaf_half[leaf] = half_size(lo, hi);
}

typedef struct search_shared {
    float4 own[MD_UNIT_MOST * MD_UNIT];         /* atoms of the block's units; none: the first */
    float4 sub_centre[N_SUB], sub_half[N_SUB];
    int4 tail[MD_UNIT_MOST];                    /* first, end, lowest number, range */
    int leaf[UNIT_LEAVES], leaf_first[UNIT_LEAVES];
    uint32_t leaf_mask[UNIT_LEAVES];
    float3 lo[32], hi[32];
    int scan[32];
    int4 centre;
    float4 half;
} search_shared;

/* Centre of the block, atoms relative to it, boxes around eight units, tails. */
static __device__ void load_block(const unit_arrays &p, const int4 *row, search_shared &s,
                                  int first, int n_units)
{
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, n = n_units * MD_UNIT;
    const int4 reference = row[p.view.unit[first][0]];
    int4 mine = reference;
    if (t < n) {
        int r = p.view.unit[first + t / MD_UNIT][t % MD_UNIT];
        mine = row[r >= 0 ? r : p.view.unit[first + t / MD_UNIT][0]];
    }
    float3 lo, hi;
    warp_box(unit_offset(mine, reference, p.view.scale), &lo, &hi);
    if (lane == 0) {
        s.lo[warp] = lo;
        s.hi[warp] = hi;
    }
    __syncthreads();
    float3 unused;
    warp_box(s.lo[lane], &lo, &unused);
    warp_box(s.hi[lane], &unused, &hi);
    int4 centre = moved_by(reference, middle(lo, hi), p.view.scale);
    const float4 half = half_size(lo, hi);
    centre.w = __float_as_int(fmaxf(half.x, fmaxf(half.y, half.z)) + 2 * p.rlist + 1);
    if (t == 0) {
        s.centre = p.centre[blockIdx.x] = centre;
        s.half = half;
    }
    float3 v = unit_offset(mine, centre, p.view.scale);
    if (t < n) s.own[t] = make_float4(v.x, v.y, v.z, 0);
    for (int u = t; u < n_units; u += UNIT_BUILDERS) {
        int begin = p.tail_start[first + u], end = p.tail_start[first + u + 1];
        s.tail[u] = make_int4(begin, end, (int)p.tail_gid[first + u][0],
                              (int)p.tail_gid[first + u][1]);
        for (int k = begin; k < end; k++) p.tail_slot[k] = 65535;
    }
    __syncthreads();
    if (warp * SUB >= n_units) return;
    int k = warp * SUB * MD_UNIT + (lane < SUB * MD_UNIT ? lane : 0);
    float4 w = s.own[k < n ? k : warp * SUB * MD_UNIT];
    warp_box(make_float3(w.x, w.y, w.z), &lo, &hi);
    if (lane) return;
    s.sub_centre[warp] = middle(lo, hi);
    s.sub_half[warp] = half_size(lo, hi);
}

/* Does the block's reach stay within half a period of its centre? */
static __device__ bool one_image(const unit_arrays &p, float4 half)
{
    float h[3] = {half.x, half.y, half.z};
    float whole = sqrtf(half.x * half.x + half.y * half.y + half.z * half.z);
    bool good = true;
    for (int k = 0; k < 3; k++) good &= (p.skewed ? whole : h[k]) + p.rlist <= p.half[k];
    return good;
}

static __device__ int find_leaves(const unit_arrays &p, search_shared &s)
{
    const float4 origin = make_float4(0, 0, 0, 0);
    const float reach2 = p.rlist * p.rlist;
    int n = 0;
    for (int first = 0; first < p.n_leaves; first += UNIT_BUILDERS) {
        int leaf = first + threadIdx.x, total;
        bool in = false;
        if (leaf < p.n_leaves) {
            float3 d = unit_offset(p.leaf_at[leaf], s.centre, p.view.scale);
            float4 h = p.leaf_half[leaf];
            h.x += s.half.x;
            h.y += s.half.y;
            h.z += s.half.z;
            in = gap2(d.x, d.y, d.z, origin, h) < reach2;
        }
        int place = n + unit_scan(in, s.scan, &total);
        if (in && place < UNIT_LEAVES) s.leaf[place] = leaf;
        n += total;
        __syncthreads();
    }
    return n;
}

/* Rows of the leaves within reach of a box of eight units; returns how many. */
static __device__ int find_slots(const unit_arrays &p, const int4 *row, search_shared &s,
                                 int n_leaves, int n_sub, float4 *slot_x, uint32_t *slot_row)
{
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const float reach2 = p.rlist * p.rlist;
    for (int c = warp; c < n_leaves; c += UNIT_BUILDERS / 32) {
        int r = p.leaf_row[s.leaf[c] * MD_UNIT_LEAF + lane];
        bool in = false;
        if (r >= 0) {
            float3 d = unit_offset(row[r], s.centre, p.view.scale);
            for (int k = 0; k < n_sub && !in; k++)
                in = gap2(d.x, d.y, d.z, s.sub_centre[k], s.sub_half[k]) < reach2;
        }
        uint32_t mask = __ballot_sync(~0u, in);
        if (lane == 0) s.leaf_mask[c] = mask;
    }
    __syncthreads();
    int total, mine = t < n_leaves ? __popc(s.leaf_mask[t]) : 0;
    int first = unit_scan(mine, s.scan, &total);
    s.leaf_first[t] = first;
    __syncthreads();
    if (total > p.outer_capacity) return total;
    uint32_t *out = p.outer_slot + (size_t)blockIdx.x * p.outer_capacity;
    for (int c = warp; c < n_leaves; c += UNIT_BUILDERS / 32) {
        uint32_t mask = s.leaf_mask[c];
        if (!(mask >> lane & 1)) continue;
        int r = p.leaf_row[s.leaf[c] * MD_UNIT_LEAF + lane];
        int place = s.leaf_first[c] + __popc(mask & ((1u << lane) - 1));
        float3 d = unit_offset(row[r], s.centre, p.view.scale);
        slot_x[place] = make_float4(d.x, d.y, d.z, __uint_as_float(p.row_gid[r]));
        slot_row[place] = (uint32_t)r | (uint32_t)p.row_charge_only[r] << 31;
        out[place] = p.row_word[r];
    }
    __syncthreads();
    return total;
}

/* Is the row in the unit's tail? Then its slot is noted there. */
static __device__ bool note_tail(const unit_arrays &p, int4 tail, uint32_t row, int slot)
{
    for (int k = tail.x; k < tail.y; k++)
        if ((uint32_t)p.tail_row[k] == row) {
            p.tail_slot[k] = (uint16_t)slot;
            return true;
        }
    return false;
}

static __device__ __forceinline__ float distance2(float4 a, float4 b)
{
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return x * x + y * y + z * z;
}

/* Lists of units [u, end) of the block, at most four, by one warp. */
static __device__ void list_units(const unit_arrays &p, const search_shared &s, int first, int u,
                                  int end, int n_slots, const float4 *slot_x,
                                  const uint32_t *slot_row)
{
    const int lane = threadIdx.x & 31, n_own = (end - u) * MD_UNIT;
    const float reach2 = p.rlist * p.rlist;
    float4 w = s.own[u * MD_UNIT + (lane < n_own ? lane : 0)];
    float3 lo, hi;
    warp_box(make_float3(w.x, w.y, w.z), &lo, &hi);
    const float4 centre = middle(lo, hi), half = half_size(lo, hi);
    int n[UNITS_A_WARP] = {0};
    for (int o0 = 0; o0 < n_slots; o0 += 32) {
        int o = o0 + lane;
        bool here = o < n_slots;
        float4 v = slot_x[here ? o : 0];
        here = here && gap2(v.x, v.y, v.z, centre, half) < reach2;
        if (!__any_sync(~0u, here)) continue;
        uint32_t r = slot_row[o < n_slots ? o : 0];
#pragma unroll
        for (int k = 0; k < UNITS_A_WARP; k++) {
            if (u + k >= end) break;
            const float4 *own = s.own + (u + k) * MD_UNIT;
            float d2 = fminf(distance2(v, own[0]),
                             fminf(distance2(v, own[1]), distance2(v, own[2])));
            bool in = here && d2 < reach2;
            int4 tail = s.tail[u + k];
            if (o < n_slots && __float_as_uint(v.w) - (uint32_t)tail.z <= (uint32_t)tail.w &&
                note_tail(p, tail, r & 0x7fffffffu, o))
                in = false;
            uint32_t mask = __ballot_sync(~0u, in);
            int place = n[k] + __popc(mask & ((1u << lane) - 1));
            if (in && place < p.unit_capacity)
                p.outer[(size_t)(first + u + k) * p.unit_capacity + place] =
                    (uint16_t)((uint32_t)o | (r >> 31) << 15);
            n[k] += __popc(mask);
        }
    }
    if (lane) return;
#pragma unroll
    for (int k = 0; k < UNITS_A_WARP; k++) {
        if (u + k >= end) break;
        p.n_outer[first + u + k] = min(n[k], p.unit_capacity);
        if (n[k] > p.unit_capacity) atomicMax(&p.need->unit_list, n[k]);
    }
}

/* Outer slots and lists of one block of units.
 *   grid     a block of units each          thread  a leaf, a row, a slot in turn
 *   reads    row, plan, leaf_at, leaf_half  writes  centre, outer_*, n_outer*, tail_slot, need
 */
static __global__ void __launch_bounds__(UNIT_BUILDERS, 1)
    search(const __grid_constant__ unit_arrays p, const int4 *row)
{
    extern __shared__ float4 slot_x[];
    __shared__ search_shared s;
    uint32_t *slot_row = (uint32_t *)(slot_x + p.outer_capacity);
    const int b = blockIdx.x, first = p.view.block_start[b];
    const int n_units = p.view.block_start[b + 1] - first, warp = threadIdx.x >> 5;
    load_block(p, row, s, first, n_units);
    __syncthreads();
    int n_leaves = find_leaves(p, s), n_slots = 0;
    if (n_leaves <= UNIT_LEAVES)
        n_slots = find_slots(p, row, s, n_leaves, (n_units + SUB - 1) / SUB, slot_x, slot_row);
    const bool fits = n_leaves <= UNIT_LEAVES && n_slots <= p.outer_capacity;
    if (threadIdx.x == 0) {
        if (!one_image(p, s.half)) p.need->images = 1;
        atomicMax(&p.need->leaves, n_leaves);
        atomicMax(&p.need->outer_slots, n_slots);
        p.n_outer_slots[b] = fits ? n_slots : 0;
    }
    if (!fits) n_slots = 0;
    list_units(p, s, first, n_units * warp / 32, n_units * (warp + 1) / 32, n_slots, slot_x,
               slot_row);
}

size_t unit_search_bytes(int outer_capacity)
{
    return (size_t)outer_capacity * (sizeof(float4) + sizeof(uint32_t));
}

cudaError_t unit_launch_search(const unit_arrays *p, const int4 *row, cudaStream_t stream)
{
    enum { WARPS = 8 };
    if (p->view.n_blocks == 0) return cudaSuccess;
    box_leaves<<<(p->n_leaves + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*p, row);
    search<<<p->view.n_blocks, UNIT_BUILDERS, unit_search_bytes(p->outer_capacity), stream>>>(*p,
                                                                                             row);
    return cudaGetLastError();
}

cudaError_t unit_prepare_search(int shared_bytes, int *static_bytes)
{
    cudaFuncAttributes a;
    cudaError_t error = cudaFuncGetAttributes(&a, search);
    if (error != cudaSuccess) return error;
    *static_bytes = (int)a.sharedSizeBytes;
    return cudaFuncSetAttribute(search, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                shared_bytes - *static_bytes);
}
