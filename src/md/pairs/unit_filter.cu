/* Inner lists: the outer ones filtered by the distances of now, and dealt to the lanes of the force
 * kernel.
 *
 *      1  copy the outer slots into shared memory
 *      2  a warp a unit: entries of its bands within rinner, behind its cores in memory
 *      3  number the slots that are wanted: of cores and of what was found
 *      4  lanes for each unit in proportion to its work, units with much work first
 *      5  a lane of the force kernel takes every S-th entry of its unit (S lanes); rows of words,
 *         by all warps that there are, which are more than those of the force kernel
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
    NONE = 65535,                           /* no slot */
    UNITS_A_LANE = MD_UNIT_MOST / 32,
    PLACERS = UNIT_BUILDERS / MD_UNIT_MOST, /* threads that find a unit's lanes */
    ROWS_AHEAD = 8                          /* of 32 slots each, while they are numbered */
};

/* Instructions of the force kernel an entry, times 3 atoms, about (docs/pair-lists-on-gpus.md). */
static __device__ __forceinline__ float work_of(int n_charge, int n_all, int n_tail, int many_lj)
{
    return 43.f * n_charge + (many_lj ? 76.f : 56.f) * n_all + 40.f * n_tail;
}

typedef struct filter_shared {
    int4 n_outer[MD_UNIT_MOST], slot[MD_UNIT_MOST];     /* slot: of the unit's atoms, or NONE */
    int n_charge[MD_UNIT_MOST], n_all[MD_UNIT_MOST], first_tail[MD_UNIT_MOST];
    int n_tail[MD_UNIT_MOST], many_lj[MD_UNIT_MOST];
    int first_lane[MD_UNIT_MOST], n_lanes[MD_UNIT_MOST];
    int charge_start[MD_UNIT_MOST];                     /* in the unit's outer list */
    float work[MD_UNIT_MOST], rank[MD_UNIT_MOST];       /* units of higher rank come first */
    uint8_t unit_of_lane[MD_UNIT_THREADS];
    int wanted[WARPS], fits[2][WARPS], words[WARPS];
} filter_shared;

typedef struct filter_places {
    float4 *x;                  /* [outer_capacity + 1]; the last is far away */
    uint16_t *number;           /* the same: 16 times the inner number, from 1; 0: not wanted */
} filter_places;

/* What of the units is asked for again and again. */
static __device__ __forceinline__ void load_units(const unit_arrays &p, filter_shared &s, int first,
                                                  int n_units)
{
    const int u = threadIdx.x;
    if (u < MD_UNIT_THREADS) s.unit_of_lane[u] = IDLE;
    if (u >= n_units) return;
    const int2 tail = p.tail[first + u];
    const int4 unit = ((const int4 *)p.view.unit)[first + u];
    const uint16_t *slot = p.tail_slot + tail.x;
    s.n_outer[u] = p.n_outer[first + u];
    s.first_tail[u] = tail.x;
    s.n_tail[u] = tail.y - tail.x;
    s.many_lj[u] = unit.w;
    s.slot[u] = make_int4(slot[0], unit.y >= 0 ? slot[1] : NONE, unit.z >= 0 ? slot[2] : NONE, 0);
}

/* Step 1. */
static __device__ __forceinline__ void copy_slots(const unit_arrays &p, const filter_places &at,
                                                  const int4 *row, int n_outer)
{
    enum { AHEAD = 6 };
    const int b = blockIdx.x, t = threadIdx.x;
    const int4 centre = p.centre[b];
    const uint32_t row_mask = (1u << p.view.row_bits) - 1;
    const unit_scale scale = unit_scale_of(p.view.scale);
    const uint32_t *outer = p.outer_slot + (size_t)b * p.outer_capacity;
    const uint32_t *core = p.core_bits + (size_t)b * (p.outer_capacity / 32);
    for (int o0 = t; o0 < n_outer; o0 += AHEAD * UNIT_BUILDERS) {
        uint32_t word[AHEAD], bits[AHEAD];
        int4 from[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int o = min(o0 + k * UNIT_BUILDERS, n_outer - 1);
            word[k] = outer[o];
            bits[k] = core[o >> 5];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) from[k] = row[word[k] & row_mask];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int o = o0 + k * UNIT_BUILDERS;
            if (o >= n_outer) break;
            const float3 d = unit_offset(from[k], centre, scale);
            at.x[o] = make_float4(d.x, d.y, d.z, unit_room(d, p.rinner));
            at.number[o] = (uint16_t)(bits[k] >> (o & 31) & 1);
        }
    }
    if (t == 0) {
        at.x[p.outer_capacity] = make_float4(0, 0, 0, -1e30f);
        at.number[p.outer_capacity] = 0;
    }
}

/* What step 2 found in a unit's bands. */
static __device__ __forceinline__ void note_found(filter_shared &s, int u, int n_all, int n_charge)
{
    const int4 n = s.n_outer[u];
    const float work = work_of(n.z + n_charge, n.x + n_all, s.n_tail[u], s.many_lj[u]);
    s.charge_start[u] = unit_charge_start(n.x, n.y);
    s.n_charge[u] = n.z + n_charge;
    s.n_all[u] = n.x + n_all;
    s.work[u] = work;
    s.rank[u] = work + (s.many_lj[u] ? 1e6f : 0);
}

/* Step 2 for unit u of the block. */
static __device__ void choose(const unit_arrays &p, filter_shared &s, const filter_places &at,
                              int first, int u)
{
    enum { AHEAD = 4 };
    const int lane = threadIdx.x & 31, n_tail = s.n_tail[u];
    const uint32_t before = (1u << lane) - 1;
    const uint16_t *tail = p.tail_slot + s.first_tail[u] + lane;
    const int4 n_outer = s.n_outer[u], own_slot = s.slot[u];
    const int tail_slot = lane < n_tail ? tail[0] : NONE;
    const int end_all = unit_chunks_end(n_outer.y), end = end_all + unit_chunks_end(n_outer.w);
    uint16_t *list = p.outer + (size_t)(first + u) * p.unit_capacity;
    const uint16_t *band = list + p.unit_capacity - 1 - lane;
    uint16_t *out = list + n_outer.x;
    const int own_slots[MD_UNIT] = {own_slot.x, own_slot.y == NONE ? own_slot.x : own_slot.y,
                                    own_slot.z == NONE ? own_slot.x : own_slot.z};
    float4 own[MD_UNIT];
    for (int a = 0; a < MD_UNIT; a++)
        own[a] = unit_centre_of(at.x[own_slots[a] == NONE ? 0 : own_slots[a]]);
    int n = 0, n_all = 0;
    for (int k0 = 0; k0 < end; k0 += AHEAD * UNIT_CHUNK, band -= AHEAD * UNIT_CHUNK) {
        int slot[AHEAD][2];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const bool here = k0 + k * UNIT_CHUNK < end;
            slot[k][0] = here ? band[-k * UNIT_CHUNK] : 0;
            slot[k][1] = here ? band[-k * UNIT_CHUNK - 32] : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k0 + k * UNIT_CHUNK >= end) break;
            if (k0 + k * UNIT_CHUNK == end_all) {
                n_all = n;
                n = 0;
                out = list + unit_charge_start(n_outer.x, n_outer.y) + n_outer.z;
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
    if (tail_slot != NONE) at.number[tail_slot] = 1;
    for (int k = 32; k < n_tail - lane; k += 32)
        if (tail[k] != NONE) at.number[tail[k]] = 1;
    if (lane == 0) note_found(s, u, n_all, n);
}

/* Lanes without an entry would only add what padding is off by. */
static __device__ __forceinline__ int lanes_for(float work, int most, float inverse)
{
    return min((int)ceilf(work * inverse), most);
}

static __device__ __forceinline__ int most_lanes(const filter_shared &s, int u)
{
    return max(1, s.n_charge[u] + s.n_all[u]);
}

/* The least work a lane with which the units need no more lanes than there are lies between these:
 * rounding up takes less than a lane of each. Every warp works it out, and has all units' work. */
typedef struct sharing {
    float low, high;
    float work[UNITS_A_LANE];
    int most[UNITS_A_LANE];
} sharing;

static __device__ __forceinline__ sharing begin_sharing(const filter_shared &s, int n_units,
                                                        int n_lanes)
{
    sharing a;
    float sum = 0, most = 1;
#pragma unroll
    for (int k = 0; k < UNITS_A_LANE; k++) {
        const int u = (threadIdx.x & 31) + 32 * k;
        a.work[k] = u < n_units ? s.work[u] : 0;
        a.most[k] = u < n_units ? most_lanes(s, u) : 0;
        sum += a.work[k];
        most = fmaxf(most, a.work[k]);
    }
    for (int d = 16; d; d >>= 1) {
        sum += __shfl_xor_sync(~0u, sum, d);
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    }
    a.high = n_lanes > n_units ? fminf(most, 1.0001f * sum / (n_lanes - n_units)) : most;
    a.low = fminf(sum / n_lanes, a.high);
    return a;
}

static __device__ __forceinline__ float guess_of(const sharing &a, int k)
{
    return k == WARPS - 1 ? a.high : a.low + (a.high - a.low) * (1.f / WARPS) * (k + 1);
}

/* A guess a warp: do the lanes suffice? */
static __device__ __forceinline__ void try_guess(const sharing &a, int n_lanes, int *fits)
{
    const int warp = threadIdx.x >> 5;
    const float inverse = __frcp_rn(guess_of(a, warp));
    int lanes = 0;
#pragma unroll
    for (int k = 0; k < UNITS_A_LANE; k++) lanes += lanes_for(a.work[k], a.most[k], inverse);
    lanes = __reduce_add_sync(~0u, lanes);
    if ((threadIdx.x & 31) == 0) fits[warp] = lanes <= n_lanes || warp == WARPS - 1;
}

/* The first guess that fits is the new upper end. */
static __device__ __forceinline__ void narrow(sharing &a, const int *fits)
{
    const int best = __ffs((int)__ballot_sync(~0u, fits[threadIdx.x & 31])) - 1;
    const float high = guess_of(a, best);
    a.low = best == 0 ? a.low : guess_of(a, best - 1);
    a.high = high;
}

/* Step 4: lanes of the units; those with several Lennard-Jones atoms apart from the others, the
 * longest first. Some threads next to each other for each unit. */
static __device__ __forceinline__ void place_units(const unit_arrays &p, filter_shared &s,
                                                   int n_units, float a_lane)
{
    const int mine = threadIdx.x / PLACERS, part = threadIdx.x % PLACERS;
    const float inverse = __frcp_rn(a_lane), rank = mine < n_units ? s.rank[mine] : 0;
    int first = 0;
    for (int u = part; mine < n_units && u < n_units; u += PLACERS) {
        const float other = s.rank[u];
        if (other > rank || (other == rank && u < mine))
            first += lanes_for(s.work[u], most_lanes(s, u), inverse);
    }
    for (int d = 1; d < PLACERS; d <<= 1) first += __shfl_xor_sync(~0u, first, d);
    if (mine >= n_units) return;
    const int n = lanes_for(s.work[mine], most_lanes(s, mine), inverse);
    for (int k = part; k < n; k += PLACERS) s.unit_of_lane[first + k] = (uint8_t)mine;
    if (part) return;
    s.first_lane[mine] = first;
    s.n_lanes[mine] = n;
    p.lanes[(size_t)blockIdx.x * MD_UNIT_MOST + mine] = (uint32_t)first | (uint32_t)n << 16;
}

/* Step 3: a warp numbers a stretch of the outer slots, 32 at a time. */
typedef struct numbering {
    int begin, end;
    uint32_t word[ROWS_AHEAD];
} numbering;

static __device__ __forceinline__ numbering begin_numbering(const uint32_t *outer, int n_outer,
                                                            const filter_places &at, int *wanted)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int each = (n_outer + UNIT_BUILDERS - 1) / UNIT_BUILDERS * 32;
    numbering n;
    n.begin = warp * each;
    n.end = min(n_outer, n.begin + each);
#pragma unroll
    for (int k = 0; k < ROWS_AHEAD; k++) {
        const int o = n.begin + 32 * k + lane;
        n.word[k] = o < n.end ? outer[o] : 0;
    }
    int sum = 0;
    for (int o = n.begin + lane; o < n.end; o += 32) sum += at.number[o] != 0;
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) wanted[warp] = sum;
    return n;
}

/* Numbers row o0 of slots from *next on; whether a ghost is among them. */
static __device__ __forceinline__ bool number_row(const filter_places &at, int o0, int end,
                                                  uint32_t word, int *next, uint32_t row_mask,
                                                  uint32_t n_owned, uint32_t *slot)
{
    const int lane = threadIdx.x & 31, o = o0 + lane;
    const bool wanted = o < end && at.number[o];
    const uint32_t mask = __ballot_sync(~0u, wanted);
    const int number = *next + __popc(mask & ((1u << lane) - 1));
    *next += __popc(mask);
    if (!wanted) return false;
    at.number[o] = (uint16_t)(16 * number);
    if (slot) slot[number] = word;
    return (word & row_mask) >= n_owned;
}

/* Returns the number of inner slots, the empty one included. */
static __device__ __forceinline__ int number_slots(const unit_arrays &p, const filter_shared &s,
                                                   const filter_places &at, const numbering &n,
                                                   const uint32_t *outer, uint32_t n_owned,
                                                   bool *ghosts)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t row_mask = (1u << p.view.row_bits) - 1;
    const int wanted = s.wanted[lane], total = __reduce_add_sync(~0u, wanted) + 1;
    int next = 1 + __reduce_add_sync(~0u, lane < warp ? wanted : 0);
    uint32_t *slot = p.slot + (size_t)blockIdx.x * p.view.slot_capacity;
    if (total > p.view.slot_capacity) slot = NULL;
    *ghosts = false;
#pragma unroll
    for (int k = 0; k < ROWS_AHEAD; k++) {
        const int o = n.begin + 32 * k;
        if (o >= n.end) break;
        *ghosts |= number_row(at, o, n.end, n.word[k], &next, row_mask, n_owned, slot);
    }
    for (int o = n.begin + 32 * ROWS_AHEAD; o < n.end; o += 32) {
        const uint32_t word = o + lane < n.end ? outer[o + lane] : 0;
        *ghosts |= number_row(at, o, n.end, word, &next, row_mask, n_owned, slot);
    }
    if (threadIdx.x == 0) {
        if (slot) slot[0] = 0;
        atomicMax(&p.need->slots, total);
    }
    return total;
}

/* What one lane of the force kernel is dealt: its warp's share of the unit, every stride-th. */
typedef struct deal {
    int unit, place, stride;
    int tail, n_tail, all, n_all, charge, n_charge;     /* first and number of the warp's share */
} deal;

/* Entries before the k-th of n lanes; any rounding will do, as long as both sides agree. */
static __device__ __forceinline__ int before_lane(int entries, int k, int n, float inverse)
{
    return k == n ? entries : min(entries, (int)((float)(entries * k) * inverse));
}

static __device__ deal deal_of(const filter_shared &s, int t)
{
    deal d = {s.unit_of_lane[t], 0, 1, 0, 0, 0, 0, 0, 0};
    if (d.unit == IDLE) return d;
    const int u = d.unit, first = s.first_lane[u], n = s.n_lanes[u], warp = t & ~31;
    const int low = max(first, warp) - first, high = min(first + n, warp + 32) - first;
    const float inverse = __fdividef(1, (float)n);
    d.place = t - first - low;
    d.stride = high - low;
    d.tail = before_lane(s.n_tail[u], low, n, inverse);
    d.n_tail = before_lane(s.n_tail[u], high, n, inverse) - d.tail;
    d.all = before_lane(s.n_all[u], low, n, inverse);
    d.n_all = before_lane(s.n_all[u], high, n, inverse) - d.all;
    d.charge = before_lane(s.n_charge[u], low, n, inverse);
    d.n_charge = before_lane(s.n_charge[u], high, n, inverse) - d.charge;
    return d;
}

/* n / stride, rounded up: exact while n is below some hundred thousand. */
static __device__ __forceinline__ int steps_of(int n, int stride, float inverse)
{
    return (int)(((float)(n + stride) - 0.5f) * inverse);
}

/* Steps of one warp of the force kernel: the most of any lane. */
static __device__ md_unit_warp count_steps(const filter_shared &s, const deal &d)
{
    md_unit_warp w;
    const int n = d.stride, many = d.unit != IDLE && s.many_lj[d.unit];
    const float inverse = __fdividef(1, (float)n);
    w.n_tail = (int)__reduce_max_sync(~0u, (unsigned)steps_of(d.n_tail, n, inverse));
    w.n_all = (int)__reduce_max_sync(~0u, (unsigned)steps_of(d.n_all, n, inverse));
    const int rest = max(0, d.n_all + d.n_charge - w.n_all * n);
    w.n_charge = (int)__reduce_max_sync(~0u, (unsigned)steps_of(rest, n, inverse));
    w.n_tail |= (int)__reduce_max_sync(~0u, (unsigned)many) << 16;
    w.first = 0;
    return w;
}

static __device__ int words_of(const md_unit_warp &w)
{
    return 32 * ((w.n_tail & 65535) + (w.n_charge + 1) / 2 + (w.n_all + 1) / 2);
}

/* Warps that write the same warp's lists, some steps each in turn. */
typedef struct writers {
    int mine, n;
} writers;

/* Two steps a word, from `step` on: of a lane's share all others, then charge-only ones. */
static __device__ __forceinline__ void write_steps(const unit_arrays &p, const filter_places &at,
                                                   const uint16_t *all, const uint16_t *charge,
                                                   const deal &d, writers by, int step, int n,
                                                   uint32_t *out)
{
    enum { AHEAD = 8 };
    const int last = d.n_all + d.n_charge;
    out += 16 * AHEAD * by.mine;
    for (int k0 = AHEAD * by.mine; k0 < n; k0 += AHEAD * by.n, out += 16 * AHEAD * by.n) {
        int slot[AHEAD], e = d.place + (step + k0) * d.stride;
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

/* The k-th word of a lane's tail. */
static __device__ __forceinline__ uint32_t tail_word(const unit_arrays &p, const filter_shared &s,
                                                     const filter_places &at, const deal &d, int k)
{
    const int e = d.place + k * d.stride;
    if (e >= d.n_tail) return 0;
    const int t = s.first_tail[d.unit] + d.tail + e, slot = p.tail_slot[t];
    return slot == NONE ? 0 : at.number[slot] | (uint32_t)p.tail_mask[t] << 16;
}

/* Step 5 for the warp that stands for one of the force kernel. */
static __device__ void write_lists(const unit_arrays &p, const filter_shared &s,
                                   const filter_places &at, int first, const deal &d, writers by,
                                   const md_unit_warp &w)
{
    const int lane = threadIdx.x & 31, n_tail = w.n_tail & 65535;
    const int u = d.unit == IDLE ? 0 : d.unit;
    uint32_t *tail = p.list + (size_t)blockIdx.x * p.view.list_capacity + w.first + lane;
    uint32_t *out = tail + 32 * n_tail;
    const uint16_t *all = p.outer + (size_t)(first + u) * p.unit_capacity + d.all;
    const uint16_t *charge = all - d.all + s.charge_start[u] + d.charge - d.n_all;
    for (int k = by.mine; k < n_tail; k += by.n) tail[32 * k] = tail_word(p, s, at, d, k);
    write_steps(p, at, all, charge, d, by, w.n_all, w.n_charge, out);
    write_steps(p, at, all, charge, d, by, 0, w.n_all, out + 32 * ((w.n_charge + 1) / 2));
}

static __device__ void write_lane(const unit_arrays &p, const filter_shared &s,
                                  const filter_places &at, const deal &d, int lane)
{
    uint2 out = make_uint2(0, 65535u << 16);
    if (d.unit != IDLE) {
        const int4 slot = s.slot[d.unit];
        const uint32_t a = slot.x == NONE ? 0 : at.number[slot.x];
        const uint32_t b = slot.y == NONE ? 0 : at.number[slot.y];
        const uint32_t c = slot.z == NONE ? 0 : at.number[slot.z];
        out = make_uint2(a | b << 16, c | (uint32_t)d.unit << 16);
    }
    p.lane[(size_t)blockIdx.x * p.view.threads + lane] = out;
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
    const filter_places at = {dynamic, (uint16_t *)(dynamic + p.outer_capacity + 1)};
    const int b = blockIdx.x, t = threadIdx.x, warp = t >> 5, lane = t & 31;
    const int first = p.view.block_start[b], n_units = p.view.block_start[b + 1] - first;
    const int n_outer = p.n_outer_slots[b], n_lanes = p.view.threads;
    const uint32_t n_owned = (uint32_t)p.numbers->n_owned;
    const uint32_t *outer = p.outer_slot + (size_t)b * p.outer_capacity;
    load_units(p, s, first, n_units);
    copy_slots(p, at, row, n_outer);
    __syncthreads();
    for (int u = warp; u < n_units; u += WARPS) choose(p, s, at, first, u);
    __syncthreads();
    const numbering numbers = begin_numbering(outer, n_outer, at, s.wanted);
    sharing share = begin_sharing(s, n_units, n_lanes);
    try_guess(share, n_lanes, s.fits[0]);
    __syncthreads();
    bool ghosts;
    const int n_slots = number_slots(p, s, at, numbers, outer, n_owned, &ghosts);
    narrow(share, s.fits[0]);
    try_guess(share, n_lanes, s.fits[1]);
    const int border = __syncthreads_or(ghosts);
    narrow(share, s.fits[1]);
    place_units(p, s, n_units, share.high);
    __syncthreads();
    const int n_warps = n_lanes / 32, for_warp = warp % n_warps;
    const writers by = {warp / n_warps, WARPS / n_warps + (for_warp < WARPS % n_warps)};
    deal d = deal_of(s, 32 * for_warp + lane);
    md_unit_warp w = count_steps(s, d);
    if (lane == 0) s.words[warp] = by.mine == 0 ? words_of(w) : 0;
    __syncthreads();
    const int words = __reduce_add_sync(~0u, s.words[lane]);
    w.first = __reduce_add_sync(~0u, lane < for_warp ? s.words[lane] : 0);
    const bool fits = words <= p.view.list_capacity && n_slots <= p.view.slot_capacity &&
                      n_outer > 0;
    if (t == 0) {
        atomicMax(&p.need->list_words, words);
        if (!fits && n_outer > 0) p.need->overflow = 1;
        p.n_slots[b] = (fits ? n_slots : 1) | (border ? MD_UNIT_BORDER_BLOCK : 0);
    }
    if (fits) write_lists(p, s, at, first, d, by, w);
    if (by.mine > 0) return;
    if (!fits) {
        w.n_tail = w.n_charge = w.n_all = 0;
        d.unit = IDLE;
    }
    if (lane == 0) p.warp[(size_t)b * n_warps + for_warp] = w;
    write_lane(p, s, at, d, t);
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
