/* Inner lists: the outer ones filtered by the distances of now, and dealt to the lanes of the force
 * kernel.
 *
 *      1  copy the outer slots into shared memory
 *      2  a warp a unit: entries of its bands within rinner, behind its cores in memory
 *      3  number the slots that are wanted: of cores and of what was found
 *      4  lanes for each unit in proportion to its work, units with much work first
 *      5  a lane of the force kernel takes every S-th entry of its unit (S lanes); rows of words
 *
 * Cores are neither read nor asked before they are dealt. Bands are padded to whole chunks with a
 * slot that is far from everything, so no entry is asked whether it is one.
 *
 * Lanes of a unit may stand in two warps or more. Each warp's part of a unit is dealt its share of
 * the entries in proportion to its lanes, and all lanes of a warp make as many steps as the one
 * with the most. Charge-only entries fill what is free in the loop over the others.
 */
#include "md/pairs/unit_kernels.cuh"
#include "md/pairs/unit_device.cuh"

enum {
    WARPS = UNIT_BUILDERS / 32,
    IDLE = 255,
    LANES_A_UNIT = MD_UNIT_MOST / 32,       /* units that one lane looks at */
    RANKERS = UNIT_BUILDERS / MD_UNIT_MOST  /* threads that find the rank of a unit */
};

/* Instructions of the force kernel an entry, times 3 atoms, about (docs/pair-lists-on-gpus.md). */
static __device__ __forceinline__ float work_of(int n_charge, int n_all, int n_tail, int many_lj)
{
    return 43.f * n_charge + (many_lj ? 76.f : 56.f) * n_all + 40.f * n_tail;
}

typedef struct filter_shared {
    float4 own[MD_UNIT_MOST][MD_UNIT];
    int4 n_outer[MD_UNIT_MOST];
    int n_charge[MD_UNIT_MOST], n_all[MD_UNIT_MOST], first_tail[MD_UNIT_MOST];
    int n_tail[MD_UNIT_MOST], many_lj[MD_UNIT_MOST];
    int by_rank[MD_UNIT_MOST], first_lane[MD_UNIT_MOST], n_lanes[MD_UNIT_MOST];
    int charge_start[MD_UNIT_MOST];         /* in the unit's outer list */
    float work[MD_UNIT_MOST];
    uint8_t unit_of_lane[MD_UNIT_THREADS];
    int scan[32], fits[32], words[32];
    float low, high;
} filter_shared;

typedef struct filter_places {
    float4 *x;                  /* [outer_capacity + 1]; the last is far away */
    uint16_t *number;           /* the same: 16 times the inner number, from 1; 0: not wanted */
} filter_places;

/* What of a unit is asked for again and again; a thread has one. */
typedef struct unit_numbers_of {
    int2 tail;
    int4 unit, n_outer;
    int slot[MD_UNIT];
} unit_numbers_of;

static __device__ __forceinline__ unit_numbers_of read_unit(const unit_arrays &p, int first,
                                                            int n_units)
{
    unit_numbers_of n = {{0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0}};
    const int u = threadIdx.x;
    if (u >= n_units) return n;
    n.tail = p.tail[first + u];
    n.unit = ((const int4 *)p.view.unit)[first + u];
    n.n_outer = p.n_outer[first + u];
    const int row[MD_UNIT] = {n.unit.x, n.unit.y, n.unit.z};
    for (int a = 0; a < MD_UNIT; a++) {
        const int slot = p.tail_slot[n.tail.x + (row[a] >= 0 ? a : 0)];
        n.slot[a] = slot == 65535 ? 0 : slot;
    }
    return n;
}

static __device__ __forceinline__ void share_unit(filter_shared &s, const filter_places &at,
                                                  const unit_numbers_of &n, int n_units)
{
    const int u = threadIdx.x;
    if (u >= n_units) return;
    s.first_tail[u] = n.tail.x;
    s.n_tail[u] = n.tail.y - n.tail.x;
    s.many_lj[u] = n.unit.w;
    s.n_outer[u] = n.n_outer;
    for (int a = 0; a < MD_UNIT; a++) s.own[u][a] = unit_centre_of(at.x[n.slot[a]]);
}

/* Step 1. */
static __device__ __forceinline__ void copy_slots(const unit_arrays &p, const filter_places &at,
                                                  const int4 *row, int n_outer)
{
    const int b = blockIdx.x;
    const int4 centre = p.centre[b];
    const uint32_t row_mask = (1u << p.view.row_bits) - 1;
    const unit_scale scale = unit_scale_of(p.view.scale);
    const uint32_t *outer = p.outer_slot + (size_t)b * p.outer_capacity;
    const uint32_t *core = p.core_bits + (size_t)b * (p.outer_capacity / 32);
#pragma unroll 4
    for (int o = threadIdx.x; o < n_outer; o += UNIT_BUILDERS) {
        const float3 d = unit_offset(row[outer[o] & row_mask], centre, scale);
        at.x[o] = make_float4(d.x, d.y, d.z, unit_room(d, p.rinner));
        at.number[o] = (uint16_t)(core[o >> 5] >> (o & 31) & 1);
    }
    if (threadIdx.x == 0) {
        at.x[p.outer_capacity] = make_float4(0, 0, 0, -1e30f);
        at.number[p.outer_capacity] = 0;
    }
}

/* Step 2 for unit u of the block. */
static __device__ void choose(const unit_arrays &p, filter_shared &s, const filter_places &at,
                              int first, int u)
{
    enum { AHEAD = 4 };
    const int lane = threadIdx.x & 31;
    const uint32_t before = (1u << lane) - 1;
    const int4 n_outer = s.n_outer[u];
    const int end_all = unit_chunks_end(n_outer.y), end = end_all + unit_chunks_end(n_outer.w);
    uint16_t *list = p.outer + (size_t)(first + u) * p.unit_capacity;
    const uint16_t *band = list + p.unit_capacity - 1 - lane;
    const int charge_start = unit_charge_start(n_outer.x, n_outer.y);
    uint16_t *out = list + n_outer.x;
    float4 own[MD_UNIT];
    for (int a = 0; a < MD_UNIT; a++) own[a] = s.own[u][a];
    int n = 0, n_all = 0;
    for (int k0 = 0; k0 < end; k0 += AHEAD * UNIT_CHUNK) {
        int slot[AHEAD][2];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const bool here = k0 + k * UNIT_CHUNK < end;
            slot[k][0] = here ? band[-k0 - k * UNIT_CHUNK] : 0;
            slot[k][1] = here ? band[-k0 - k * UNIT_CHUNK - 32] : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k0 + k * UNIT_CHUNK >= end) break;
            if (k0 + k * UNIT_CHUNK == end_all) {
                n_all = n;
                n = 0;
                out = list + charge_start + n_outer.z;
            }
            const int o0 = slot[k][0], o1 = slot[k][1];
            const float4 x0 = at.x[o0], x1 = at.x[o1];
            const bool in0 = unit_near(own, x0) < x0.w, in1 = unit_near(own, x1) < x1.w;
            const uint32_t mask0 = __ballot_sync(~0u, in0), mask1 = __ballot_sync(~0u, in1);
            const int n0 = n + __popc(mask0);
            if (in0) {
                at.number[o0] = 1;
                out[n + __popc(mask0 & before)] = (uint16_t)o0;
            }
            if (in1) {
                at.number[o1] = 1;
                out[n0 + __popc(mask1 & before)] = (uint16_t)o1;
            }
            n = n0 + __popc(mask1);
        }
    }
    if (end == end_all) {
        n_all = n;
        n = 0;
    }
    for (int k = lane; k < s.n_tail[u]; k += 32) {
        const int slot = p.tail_slot[s.first_tail[u] + k];
        if (slot != 65535) at.number[slot] = 1;
    }
    if (lane) return;
    s.charge_start[u] = charge_start;
    s.n_charge[u] = n_outer.z + n;
    s.n_all[u] = n_outer.x + n_all;
    s.work[u] = work_of(s.n_charge[u], s.n_all[u], s.n_tail[u], s.many_lj[u]);
}

/* Step 3; returns the number of inner slots, the empty one included. *border: ghosts among them. A
 * warp numbers a stretch of slots. */
static __device__ int number_slots(const unit_arrays &p, filter_shared &s, const filter_places &at,
                                   int n_outer, int *border)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int each = (n_outer + UNIT_BUILDERS - 1) / UNIT_BUILDERS * 32;
    const int begin = warp * each, end = min(n_outer, begin + each);
    const uint32_t row_mask = (1u << p.view.row_bits) - 1, n_owned = (uint32_t)p.numbers->n_owned;
    const uint32_t before = (1u << lane) - 1;
    const uint32_t *outer = p.outer_slot + (size_t)blockIdx.x * p.outer_capacity;
    uint32_t *slot = p.slot + (size_t)blockIdx.x * p.view.slot_capacity;
    int mine = 0, ghosts = 0;
    for (int o = begin + lane; o < end; o += 32) mine += at.number[o];
    mine = __reduce_add_sync(~0u, mine);
    if (lane == 0) s.scan[warp] = mine;
    __syncthreads();
    const int other = s.scan[lane];
    const int total = __reduce_add_sync(~0u, other);
    int next = 1 + __reduce_add_sync(~0u, lane < warp ? other : 0);
    const bool fits = total + 1 <= p.view.slot_capacity;
#pragma unroll 4
    for (int o = begin + lane; o - lane < end; o += 32) {
        const bool wanted = o < end && at.number[o < end ? o : 0];
        const uint32_t word = o < end ? outer[o] : 0, mask = __ballot_sync(~0u, wanted);
        const int number = next + __popc(mask & before);
        if (wanted) {
            at.number[o] = (uint16_t)(16 * number);
            if (fits) slot[number] = word;
            ghosts |= (word & row_mask) >= n_owned;
        }
        next += __popc(mask);
    }
    if (threadIdx.x == 0) {
        if (fits) slot[0] = 0;
        atomicMax(&p.need->slots, total + 1);
    }
    *border = __syncthreads_or(ghosts);
    return total + 1;
}

/* Lanes without an entry would only add what padding is off by. */
static __device__ __forceinline__ int lanes_for(const filter_shared &s, int u, float a_lane)
{
    return min((int)ceilf(s.work[u] * __frcp_rn(a_lane)), max(1, s.n_charge[u] + s.n_all[u]));
}

/* The least work a lane with which the units need no more lanes than there are: 32 guesses at a
 * time, a warp each. */
static __device__ void share_out(const unit_arrays &p, filter_shared &s, int n_units)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (warp == 0) {
        float sum = 0, most = 1;
        for (int u = lane; u < n_units; u += 32) {
            sum += s.work[u];
            most = fmaxf(most, s.work[u]);
        }
        for (int d = 16; d; d >>= 1) {
            sum += __shfl_xor_sync(~0u, sum, d);
            most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
        }
        if (lane == 0) {
            s.low = fminf(sum / p.view.threads, most);
            s.high = most;
        }
    }
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        const float low = s.low, high = s.high, step = (high - low) * (1.f / WARPS);
        float guess = warp == WARPS - 1 ? high : low + step * (warp + 1);
        int lanes = 0;
        for (int u = lane; u < n_units; u += 32) lanes += lanes_for(s, u, guess);
        lanes = __reduce_add_sync(~0u, lanes);
        if (lane == 0) s.fits[warp] = lanes <= p.view.threads || warp == WARPS - 1;
        __syncthreads();
        int best = __ffs(__ballot_sync(~0u, s.fits[lane])) - 1;
        if (warp == best && lane == 0) {
            s.high = guess;
            s.low = low + step * best;
        }
        __syncthreads();
    }
    const int t = threadIdx.x;
    if (t < n_units) s.n_lanes[t] = lanes_for(s, t, s.high);
}

/* Units with much work first; several threads next to each other for each. */
static __device__ __forceinline__ void rank_units(filter_shared &s, int n_units)
{
    const int mine = threadIdx.x / RANKERS, part = threadIdx.x % RANKERS;
    const bool here = mine < n_units;
    const float work = here ? s.work[mine] + (s.many_lj[mine] ? 1e6f : 0) : 0;
    int rank = 0;
    for (int u = part; here && u < n_units; u += RANKERS) {
        const float other = s.work[u] + (s.many_lj[u] ? 1e6f : 0);
        rank += other > work || (other == work && u < mine);
    }
    for (int d = 1; d < RANKERS; d <<= 1) rank += __shfl_xor_sync(~0u, rank, d);
    if (here && part == 0) s.by_rank[rank] = mine;
}

/* Step 4: units with several Lennard-Jones atoms apart from the others, the longest first. */
static __device__ void deal_lanes(const unit_arrays &p, filter_shared &s, int n_units)
{
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    share_out(p, s, n_units);
    rank_units(s, n_units);
    for (int k = t; k < MD_UNIT_THREADS; k += UNIT_BUILDERS) s.unit_of_lane[k] = IDLE;
    __syncthreads();
    if (warp == 0) {
        int mine = 0, n[LANES_A_UNIT];
        for (int k = 0; k < LANES_A_UNIT; k++) {
            int rank = lane * LANES_A_UNIT + k;
            n[k] = rank < n_units ? s.n_lanes[s.by_rank[rank]] : 0;
            mine += n[k];
        }
        int sum = mine;
        for (int d = 1; d < 32; d <<= 1) {
            int other = __shfl_up_sync(~0u, sum, d);
            if (lane >= d) sum += other;
        }
        int at = sum - mine;
        for (int k = 0; k < LANES_A_UNIT; k++) {
            int rank = lane * LANES_A_UNIT + k;
            if (rank < n_units) s.first_lane[s.by_rank[rank]] = at;
            at += n[k];
        }
    }
    __syncthreads();
    for (int u = warp; u < n_units; u += WARPS)
        for (int k = lane; k < s.n_lanes[u]; k += 32)
            s.unit_of_lane[s.first_lane[u] + k] = (uint8_t)u;
    if (t < n_units)
        p.lanes[(size_t)blockIdx.x * MD_UNIT_MOST + t] =
            (uint32_t)s.first_lane[t] | (uint32_t)s.n_lanes[t] << 16;
}

/* What one lane of the force kernel is dealt: its warp's share of the unit, every stride-th. */
typedef struct deal {
    int unit, place, stride;
    int tail, n_tail, all, n_all, charge, n_charge;     /* first and number of the warp's share */
} deal;

static __device__ deal deal_of(const filter_shared &s, int t)
{
    deal d = {s.unit_of_lane[t], 0, 1, 0, 0, 0, 0, 0, 0};
    if (d.unit == IDLE) return d;
    const int u = d.unit, first = s.first_lane[u], n = s.n_lanes[u], warp = t & ~31;
    const int low = max(first, warp) - first, high = min(first + n, warp + 32) - first;
    d.place = t - first - low;
    d.stride = high - low;
    d.tail = s.n_tail[u] * low / n;
    d.n_tail = s.n_tail[u] * high / n - d.tail;
    d.all = s.n_all[u] * low / n;
    d.n_all = s.n_all[u] * high / n - d.all;
    d.charge = s.n_charge[u] * low / n;
    d.n_charge = s.n_charge[u] * high / n - d.charge;
    return d;
}

/* Steps of one warp of the force kernel: the most of any lane. */
static __device__ md_unit_warp count_steps(const filter_shared &s, const deal &d)
{
    md_unit_warp w;
    const int n = d.stride;
    int many = d.unit != IDLE && s.many_lj[d.unit];
    w.n_tail = (int)__reduce_max_sync(~0u, (unsigned)((d.n_tail + n - 1) / n));
    w.n_all = (int)__reduce_max_sync(~0u, (unsigned)((d.n_all + n - 1) / n));
    int rest = max(0, d.n_all + d.n_charge - w.n_all * n);
    w.n_charge = (int)__reduce_max_sync(~0u, (unsigned)((rest + n - 1) / n));
    w.n_tail |= (int)__reduce_max_sync(~0u, (unsigned)many) << 16;
    w.first = 0;
    return w;
}

static __device__ int words_of(const md_unit_warp &w)
{
    return 32 * ((w.n_tail & 65535) + (w.n_charge + 1) / 2 + (w.n_all + 1) / 2);
}

/* Two steps a word, from `step` on: of a lane's share all others, then charge-only ones. */
static __device__ __forceinline__ void write_steps(const unit_arrays &p, const filter_places &at,
                                                   const uint16_t *all, const uint16_t *charge,
                                                   const deal &d, int step, int n, uint32_t *out)
{
    enum { AHEAD = 8 };
    const int last = d.n_all + d.n_charge;
    int e = d.place + step * d.stride;
    for (int k0 = 0; k0 < n; k0 += AHEAD, out += 16 * AHEAD) {
        int slot[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++, e += d.stride) {
            slot[k] = p.outer_capacity;
            if (e < last && k0 + k < n) slot[k] = (e < d.n_all ? all : charge)[e];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k += 2) {
            if (k0 + k >= n) break;
            out[16 * k] = at.number[slot[k]] | (uint32_t)at.number[slot[k + 1]] << 16;
        }
    }
}

/* Step 5 for the warp that stands for one of the force kernel. */
static __device__ void write_lists(const unit_arrays &p, const filter_shared &s,
                                   const filter_places &at, int first, const deal &d,
                                   const md_unit_warp &w)
{
    const int lane = threadIdx.x & 31, n_tail = w.n_tail & 65535;
    uint32_t *out = p.list + (size_t)blockIdx.x * p.view.list_capacity + w.first + lane;
    for (int k = 0; k < n_tail; k++) {
        int e = d.place + k * d.stride;
        uint32_t word = 0;
        if (e < d.n_tail) {
            int t = s.first_tail[d.unit] + d.tail + e, slot = p.tail_slot[t];
            if (slot != 65535) word = at.number[slot] | (uint32_t)p.tail_mask[t] << 16;
        }
        out[32 * k] = word;
    }
    out += 32 * n_tail;
    const int u = d.unit == IDLE ? 0 : d.unit;
    const uint16_t *all = p.outer + (size_t)(first + u) * p.unit_capacity + d.all;
    const uint16_t *charge = all - d.all + s.charge_start[u] + d.charge - d.n_all;
    write_steps(p, at, all, charge, d, w.n_all, w.n_charge, out);
    write_steps(p, at, all, charge, d, 0, w.n_all, out + 32 * ((w.n_charge + 1) / 2));
}

static __device__ void write_lane(const unit_arrays &p, const filter_places &at, int first,
                                  const deal &d)
{
    uint32_t slot[MD_UNIT] = {0, 0, 0}, unit = 65535;
    if (d.unit != IDLE) {
        const int begin = p.tail[first + d.unit].x;
        unit = (uint32_t)d.unit;
        for (int a = 0; a < MD_UNIT; a++) {
            if (p.view.unit[first + d.unit][a] < 0) continue;
            int outer = p.tail_slot[begin + a];
            if (outer != 65535) slot[a] = at.number[outer];
        }
    }
    p.lane[(size_t)blockIdx.x * p.view.threads + threadIdx.x] =
        make_uint2(slot[0] | slot[1] << 16, slot[2] | unit << 16);
}

/*   grid     a block of units each                 thread  a slot, a unit's entry, a lane in turn
 *   reads    row, outer*, core_bits, centre, tail_* writes  slot, n_slots, list, warp, lane, lanes;
 *                                                           outer, where there is room for it
 */
static __global__ void __launch_bounds__(UNIT_BUILDERS, 1)
    filter(const __grid_constant__ unit_arrays p, const int4 *row)
{
    extern __shared__ float4 dynamic[];
    __shared__ filter_shared s;
    filter_places at;
    at.x = dynamic;
    at.number = (uint16_t *)(dynamic + p.outer_capacity + 1);
    const int b = blockIdx.x, t = threadIdx.x, warp = t >> 5;
    const int first = p.view.block_start[b], n_units = p.view.block_start[b + 1] - first;
    const int n_outer = p.n_outer_slots[b];
    const unit_numbers_of mine = read_unit(p, first, n_units);
    copy_slots(p, at, row, n_outer);
    __syncthreads();
    share_unit(s, at, mine, n_units);
    __syncthreads();
    for (int u = warp; u < n_units; u += WARPS) choose(p, s, at, first, u);
    __syncthreads();
    int border;
    const int n_slots = number_slots(p, s, at, n_outer, &border);
    deal_lanes(p, s, n_units);
    __syncthreads();
    const bool plays = warp < p.view.threads / 32;
    deal d = deal_of(s, plays ? t : 0);
    md_unit_warp w = count_steps(s, d);
    if ((t & 31) == 0) s.words[warp] = plays ? words_of(w) : 0;
    __syncthreads();
    int words = 0;
    for (int k = 0; k < WARPS; k++) {
        if (k == warp) w.first = words;
        words += s.words[k];
    }
    const bool fits = words <= p.view.list_capacity && n_slots <= p.view.slot_capacity &&
                      n_outer > 0;
    if (t == 0) {
        atomicMax(&p.need->list_words, words);
        if (!fits && n_outer > 0) p.need->overflow = 1;
        p.n_slots[b] = (fits ? n_slots : 1) | (border ? MD_UNIT_BORDER_BLOCK : 0);
    }
    if (!plays) return;
    if (fits) write_lists(p, s, at, first, d, w);
    else w.n_tail = w.n_charge = w.n_all = 0;
    if ((t & 31) == 0) p.warp[(size_t)b * (p.view.threads / 32) + warp] = w;
    if (!fits) d.unit = IDLE;
    write_lane(p, at, first, d);
}

size_t unit_filter_bytes(int outer_capacity)
{
    return ((size_t)outer_capacity + 1) * (sizeof(float4) + sizeof(uint16_t));
}

cudaError_t unit_launch_filter(const unit_arrays *p, const int4 *row, cudaStream_t stream)
{
    if (p->view.n_blocks == 0) return cudaSuccess;
    filter<<<p->view.n_blocks, UNIT_BUILDERS, unit_filter_bytes(p->outer_capacity), stream>>>(*p,
                                                                                             row);
    return cudaGetLastError();
}

cudaError_t unit_prepare_filter(int shared_bytes, int *static_bytes)
{
    cudaFuncAttributes a;
    cudaError_t error = cudaFuncGetAttributes(&a, filter);
    if (error != cudaSuccess) return error;
    *static_bytes = (int)a.sharedSizeBytes;
    return cudaFuncSetAttribute(filter, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                shared_bytes - *static_bytes);
}
