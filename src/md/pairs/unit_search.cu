/* Outer lists: which rows are within rlist of which units.
 *
 * A block looks at the bounding boxes of all leaves, then at the rows of those in reach, and keeps
 * the rows within rlist of a box around eight of its units: they get slots, in the order of the
 * leaves, so that 32 slots next to each other are near each other: a group. Then a warp takes up to
 * four units, writes down what is within reach of a box around them, asking groups' boxes first,
 * and goes through that with each of the four. What is within rinner of a unit goes to the
 * core of its list, the rest to its band (unit_kernels.cuh).
 *
 * Rows of a unit's tail are met on the way like all others: their global numbers are in a short
 * range, and who is in it is looked up.
 */
#include "md/pairs/unit_kernels.cuh"
#include "md/pairs/unit_device.cuh"

enum { SUB = 8, N_SUB = MD_UNIT_MOST / SUB };

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
static __device__ __forceinline__ int4 moved_by(int4 from, float4 d, const unit_scale &scale)
{
    const float *s = scale.m;
    float c = d.z / s[5], b = (d.y - c * s[4]) / s[2], a = (d.x - b * s[1] - c * s[3]) / s[0];
    return make_int4((int)((uint32_t)from.x + (uint32_t)__float2int_rn(a)),
                     (int)((uint32_t)from.y + (uint32_t)__float2int_rn(b)),
                     (int)((uint32_t)from.z + (uint32_t)__float2int_rn(c)), 0);
}

/*  grid  a warp a leaf     reads  row, leaf_row     writes  leaf_at, leaf_half, held */
static __global__ void box_leaves(const __grid_constant__ unit_arrays p, const int4 *row)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf == 0 && lane == 0 && p.need->overflow) p.need->held = 1;
    if (leaf >= p.numbers->n_leaves) return;
    const unit_scale scale = unit_scale_of(p.view.scale);
    int first = p.leaf_row[leaf * MD_UNIT_LEAF], mine = p.leaf_row[leaf * MD_UNIT_LEAF + lane];
    if (first < 0) {                    /* empty: far from everything */
        if (lane == 0) p.leaf_half[leaf] = make_float4(-1e9f, -1e9f, -1e9f, 0);
        return;
    }
    int4 at = row[first];
    float3 lo, hi;
    warp_box(unit_offset(row[mine < 0 ? first : mine], at, scale), &lo, &hi);
    if (lane) return;
    p.leaf_at[leaf] = moved_by(at, middle(lo, hi), scale);
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
    unit_scale scale;
} search_shared;

/* Centre of the block, atoms relative to it, boxes around eight units, tails. */
static __device__ void load_block(const unit_arrays &p, const int4 *row, search_shared &s,
                                  int first, int n_units)
{
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, n = n_units * MD_UNIT;
    const unit_scale scale = unit_scale_of(p.view.scale);
    const int4 reference = row[p.view.unit[first][0]];
    int4 mine = reference;
    if (t < n) {
        int r = p.view.unit[first + t / MD_UNIT][t % MD_UNIT];
        mine = row[r >= 0 ? r : p.view.unit[first + t / MD_UNIT][0]];
    }
    float3 lo, hi;
    warp_box(unit_offset(mine, reference, scale), &lo, &hi);
    if (lane == 0) {
        s.lo[warp] = lo;
        s.hi[warp] = hi;
    }
    __syncthreads();
    float3 unused;
    warp_box(s.lo[lane], &lo, &unused);
    warp_box(s.hi[lane], &unused, &hi);
    int4 centre = moved_by(reference, middle(lo, hi), scale);
    const float4 half = half_size(lo, hi);
    centre.w = __float_as_int(fmaxf(half.x, fmaxf(half.y, half.z)) + 2 * p.rlist + 1);
    if (t == 0) {
        s.centre = p.centre[blockIdx.x] = centre;
        s.half = half;
        s.scale = scale;
    }
    float3 v = unit_offset(mine, centre, scale);
    if (t < n) s.own[t] = make_float4(v.x, v.y, v.z, 0);
    for (int u = t; u < n_units; u += UNIT_BUILDERS) {
        const int2 tail = p.tail[first + u];
        const uint2 gid = p.tail_gid[first + u];
        s.tail[u] = make_int4(tail.x, tail.y, (int)(gid.x & 0x7fffffffu), (int)gid.y);
        for (int k = tail.x; k < tail.y; k++) p.tail_slot[k] = 65535;
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
static __device__ bool one_image(const unit_arrays &p, const search_shared &s)
{
    const unit_planes planes = unit_planes_of(s.scale);
    bool good = true;
    for (int k = 0; k < 3; k++) {
        const float3 n = planes.normal[k];
        const float half =
            fabsf(n.x) * s.half.x + fabsf(n.y) * s.half.y + fabsf(n.z) * s.half.z;
        good &= half + p.rlist <= planes.half[k];
    }
    return good;
}

static __device__ int find_leaves(const unit_arrays &p, search_shared &s)
{
    const unit_scale scale = s.scale;
    const unit_planes planes = unit_planes_of(scale);
    const int n_leaves = p.numbers->n_leaves;
    int n = 0;
    for (int first = 0; first < n_leaves; first += UNIT_BUILDERS) {
        int leaf = first + threadIdx.x, total;
        bool in = false;
        if (leaf < n_leaves) {
            const float3 d = unit_offset(p.leaf_at[leaf], s.centre, scale);
            const float4 h = p.leaf_half[leaf];
            const float3 both = make_float3(h.x + s.half.x, h.y + s.half.y, h.z + s.half.z);
            in = !unit_far_apart(planes, d, both, p.rlist);
        }
        int place = n + unit_scan(in, s.scan, &total);
        if (in && place < UNIT_LEAVES) s.leaf[place] = leaf;
        n += total;
        __syncthreads();
    }
    return n;
}

/* Boxes of eight units that each leaf is within reach of, as bits. Rectangular periods wrap axis by
 * axis, which is right for leaves of any size; in skewed ones all boxes are asked. */
static __device__ void mask_leaves(const unit_arrays &p, search_shared &s, int n_leaves, int n_sub)
{
    const int t = threadIdx.x;
    if (t >= n_leaves) return;
    const unit_scale scale = s.scale;
    const unit_planes planes = unit_planes_of(scale);
    const float3 d = unit_offset(p.leaf_at[s.leaf[t]], s.centre, scale);
    const float4 h = p.leaf_half[s.leaf[t]];
    uint32_t mask = 0;
    for (int b = 0; b < n_sub; b++) {
        const float4 c = s.sub_centre[b], both = s.sub_half[b];
        float x = fabsf(d.x - c.x), y = fabsf(d.y - c.y), z = fabsf(d.z - c.z);
        x = fmaxf(fminf(x, fabsf(x - 2 * planes.half[0])) - (h.x + both.x), 0);
        y = fmaxf(fminf(y, fabsf(y - 2 * planes.half[1])) - (h.y + both.y), 0);
        z = fmaxf(fminf(z, fabsf(z - 2 * planes.half[2])) - (h.z + both.z), 0);
        const bool near = planes.skewed || x * x + y * y + z * z < p.rlist * p.rlist;
        mask |= (uint32_t)near << b;
    }
    s.leaf_mask[t] = mask;
}

typedef struct search_slots {
    float4 *x;                  /* [outer slots + 1] relative to the centre; unit_room for rlist;
                                   the last, and those that fill the last group, are far away */
    uint32_t *id;               /* the same: global number, 31 bits | charge only << 31 */
    float4 *group_centre, *group_half;  /* [outer slots / 32] */
    uint8_t *core;              /* [outer slots] 1: in the core of a unit's list */
} search_slots;

static __device__ __forceinline__ void set_far(const search_slots &slots, int o)
{
    slots.x[o] = make_float4(1e9f, 1e9f, 1e9f, -1e30f);
    slots.id[o] = ~0u;
}

/* Candidates of a warp's units: charge-only ones from the end of their room backwards; both padded
 * with slot outer_capacity, to whole rows of a warp. */
typedef struct search_candidates {
    uint16_t *at;
    int n_all, n_charge;
} search_candidates;

/* Rows of the leaves within reach of a box of eight units, as bits in place of boxes. */
static __device__ void choose_rows(const unit_arrays &p, const int4 *row, search_shared &s,
                                   int n_leaves)
{
    enum { AHEAD = 4, WARPS = UNIT_BUILDERS / 32 };
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float reach2 = p.rlist * p.rlist;
    const unit_scale scale = s.scale;
    for (int c0 = warp; c0 < n_leaves; c0 += AHEAD * WARPS) {
        int r[AHEAD];
        int4 at[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int c = c0 + k * WARPS;
            r[k] = c < n_leaves ? p.leaf_row[s.leaf[c] * MD_UNIT_LEAF + lane] : -1;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) at[k] = row[r[k] < 0 ? 0 : r[k]];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            float3 d = unit_offset(at[k], s.centre, scale);
            bool in = false;
            uint32_t boxes = c0 + k * WARPS < n_leaves ? s.leaf_mask[c0 + k * WARPS] : 0;
            for (; boxes; boxes &= boxes - 1) {
                const int b = __ffs((int)boxes) - 1;
                in |= gap2(d.x, d.y, d.z, s.sub_centre[b], s.sub_half[b]) < reach2;
            }
            uint32_t mask = __ballot_sync(~0u, in && r[k] >= 0);
            __syncwarp();               /* all lanes have read the boxes that were there */
            if (lane == 0 && c0 + k * WARPS < n_leaves) s.leaf_mask[c0 + k * WARPS] = mask;
        }
    }
}

/* Slots for the chosen rows; returns how many there are. */
static __device__ int fill_slots(const unit_arrays &p, const int4 *row, search_shared &s,
                                 int n_leaves, const search_slots &slots)
{
    enum { AHEAD = 4, WARPS = UNIT_BUILDERS / 32 };
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const unit_scale scale = s.scale;
    int total, mine = t < n_leaves ? __popc(s.leaf_mask[t]) : 0;
    int first = unit_scan(mine, s.scan, &total);
    s.leaf_first[t] = first;
    __syncthreads();
    if (total > p.outer_capacity) return total;
    uint32_t *out = p.outer_slot + (size_t)blockIdx.x * p.outer_capacity;
    for (int c0 = warp; c0 < n_leaves; c0 += AHEAD * WARPS) {
        int r[AHEAD];
        int4 at[AHEAD];
        uint32_t id[AHEAD], word[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int c = c0 + k * WARPS;
            bool in = c < n_leaves && (s.leaf_mask[c] >> lane & 1);
            r[k] = in ? p.leaf_row[s.leaf[c] * MD_UNIT_LEAF + lane] : -1;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int from = r[k] < 0 ? 0 : r[k];
            at[k] = row[from];
            id[k] = (p.row_gid[from] & 0x7fffffffu) | (uint32_t)p.row_charge_only[from] << 31;
            word[k] = p.row_word[from];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int c = c0 + k * WARPS;
            if (r[k] < 0) continue;
            int place = s.leaf_first[c] + __popc(s.leaf_mask[c] & ((1u << lane) - 1));
            float3 d = unit_offset(at[k], s.centre, scale);
            slots.x[place] = make_float4(d.x, d.y, d.z, unit_room(d, p.rlist));
            slots.core[place] = 0;
            slots.id[place] = id[k];
            out[place] = word[k];
        }
    }
    if (t == 0) set_far(slots, p.outer_capacity);
    if (t >= 32 && t < 64 && (total & 31) && t - 32 >= (total & 31))
        set_far(slots, total / 32 * 32 + t - 32);
    __syncthreads();
    for (int g = warp; g * 32 < total; g += WARPS) {
        float4 v = slots.x[min(g * 32 + lane, total - 1)];
        float3 lo, hi;
        warp_box(make_float3(v.x, v.y, v.z), &lo, &hi);
        if (lane) continue;
        slots.group_centre[g] = middle(lo, hi);
        slots.group_half[g] = half_size(lo, hi);
    }
    __syncthreads();
    return total;
}

/* Is the row of a slot in the unit's tail? Then the slot is noted there. */
static __device__ bool note_tail(const unit_arrays &p, int4 tail, int slot)
{
    const uint32_t word = p.outer_slot[(size_t)blockIdx.x * p.outer_capacity + slot];
    const int row = (int)(word & ((1u << p.view.row_bits) - 1));
    for (int k = tail.x; k < tail.y; k++)
        if (p.tail_row[k] == row) {
            p.tail_slot[k] = (uint16_t)slot;
            return true;
        }
    return false;
}

/* Slots within rlist of a box around units [u, end) of the block, by one warp. There may be more
 * than there is room for: the numbers say so. */
static __device__ search_candidates find_candidates(const unit_arrays &p, const search_shared &s,
                                                    int u, int end, int n_slots,
                                                    const search_slots &slots)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_own = (end - u) * MD_UNIT;
    const size_t room = (size_t)blockIdx.x * (UNIT_BUILDERS / 32) + warp;
    const uint32_t before = (1u << lane) - 1;
    const float reach2 = p.rlist * p.rlist;
    const float4 w = s.own[u * MD_UNIT + (lane < n_own ? lane : 0)];
    float3 lo, hi;
    warp_box(make_float3(w.x, w.y, w.z), &lo, &hi);
    const float4 centre = middle(lo, hi), half = half_size(lo, hi);
    search_candidates c = {p.candidate + room * p.candidates, 0, 0};
    for (int g0 = 0; g0 * 32 < n_slots; g0 += 32) {
        bool near = false;
        if ((g0 + lane) * 32 < n_slots) {
            float4 m = slots.group_centre[g0 + lane], h = slots.group_half[g0 + lane];
            h.x += half.x;
            h.y += half.y;
            h.z += half.z;
            near = gap2(m.x, m.y, m.z, centre, h) < reach2;
        }
        for (uint32_t groups = __ballot_sync(~0u, near); groups; groups &= groups - 1) {
            const int o = (g0 + __ffs((int)groups) - 1) * 32 + lane;
            const float4 v = slots.x[o];
            const bool in = gap2(v.x, v.y, v.z, centre, half) < reach2;
            const bool charge = slots.id[o] >> 31;
            const uint32_t mask = __ballot_sync(~0u, in);
            const uint32_t charges = __ballot_sync(~0u, in && charge);
            const int place_all = c.n_all + __popc(mask & ~charges & before);
            const int place_charge = p.candidates - 1 - c.n_charge - __popc(charges & before);
            const int place = charge ? place_charge : place_all;
            if (in && place >= 0 && place < p.candidates) c.at[place] = (uint16_t)o;
            c.n_all += __popc(mask & ~charges);
            c.n_charge += __popc(charges);
        }
    }
    const int end_all = (c.n_all + 31) & ~31, end_charge = (c.n_charge + 31) & ~31;
    if (end_all + end_charge <= p.candidates) {
        const int k = c.n_all + lane, m = c.n_charge + lane;
        if (k < end_all) c.at[k] = (uint16_t)p.outer_capacity;
        if (m < end_charge) c.at[p.candidates - 1 - m] = (uint16_t)p.outer_capacity;
    }
    c.n_all = end_all;
    c.n_charge = end_charge;
    __syncwarp();
    return c;
}

/* A unit while its list is made. */
typedef struct search_unit {
    float4 own[MD_UNIT];
    int4 tail;
    uint16_t *out;
    int n_core, n_band;         /* places taken so far, from both ends */
} search_unit;

/* The entries of one sort among n candidates, `step` apart from each other. */
template <int STEP>
static __device__ __forceinline__ void list_sort(const unit_arrays &p, const search_slots &slots,
                                                 const uint16_t *candidate, int n,
                                                 search_unit &unit)
{
    enum { AHEAD = 4 };
    const int lane = threadIdx.x & 31, capacity = p.unit_capacity;
    const uint32_t before = (1u << lane) - 1;
    const uint32_t lowest = (uint32_t)unit.tail.z | (STEP < 0 ? 1u << 31 : 0);
    const float core_room = (p.rinner - p.rlist) * (p.rinner + p.rlist);    /* 0 if no band */
    uint16_t *out = unit.out;
    asm volatile("" : "+l"(out));       /* else worked out anew for every entry */
    candidate += STEP * lane;
    for (int k0 = 0; k0 < n; k0 += 32 * AHEAD, candidate += STEP * 32 * AHEAD) {
        int slot[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            slot[k] = k0 + 32 * k < n ? candidate[STEP * 32 * k] : p.outer_capacity;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k0 + 32 * k >= n) break;
            const int o = slot[k];
            const float4 v = slots.x[o];
            float near = unit_near(unit.own, v);
            const bool perhaps = slots.id[o] - lowest <= (uint32_t)unit.tail.w;
            if (__any_sync(~0u, perhaps) && perhaps && note_tail(p, unit.tail, o)) near = 1e30f;
            const bool in = near < v.w, core = in && near < v.w + core_room;
            const uint32_t cores = __ballot_sync(~0u, core);
            const uint32_t bands = __ballot_sync(~0u, in) ^ cores;
            const int rank = __popc((core ? cores : bands) & before);
            const int place = core ? unit.n_core + rank : capacity - 1 - unit.n_band - rank;
            unit.n_core += __popc(cores);
            unit.n_band += __popc(bands);
            if (in && unit.n_core + unit.n_band <= capacity) out[place] = (uint16_t)o;
            if (core) slots.core[o] = 1;
        }
    }
}

/* Fills the last chunk of a band. */
static __device__ __forceinline__ void pad_band(const unit_arrays &p, search_unit &unit)
{
    const int end = unit_chunks_end(unit.n_band);
    for (int k = unit.n_band + (threadIdx.x & 31); k < end && k < p.unit_capacity; k += 32)
        unit.out[p.unit_capacity - 1 - k] = (uint16_t)p.outer_capacity;
    unit.n_band = end;
}

/* The outer list of unit u of the block, by one warp, from its candidates. */
static __device__ void list_unit(const unit_arrays &p, const search_shared &s, int first, int u,
                                 const search_slots &slots, const search_candidates &from)
{
    search_unit unit;
    unit.tail = s.tail[u];
    unit.out = p.outer + (size_t)(first + u) * p.unit_capacity;
    unit.n_core = unit.n_band = 0;
    for (int a = 0; a < MD_UNIT; a++) unit.own[a] = unit_centre_of(s.own[u * MD_UNIT + a]);
    list_sort<1>(p, slots, from.at, from.n_all, unit);
    const int core_all = unit.n_core, band_all = unit.n_band;
    pad_band(p, unit);
    const int start = unit_charge_start(core_all, band_all), bands_before = unit.n_band;
    unit.n_core = start;
    list_sort<-1>(p, slots, from.at + p.candidates - 1, from.n_charge, unit);
    const int core_charge = unit.n_core - start, band_charge = unit.n_band - bands_before;
    pad_band(p, unit);
    if (threadIdx.x & 31) return;
    const int need = start + core_charge + band_charge + unit.n_band;
    const bool fits = need <= p.unit_capacity;
    p.n_outer[first + u] =
        fits ? make_int4(core_all, band_all, core_charge, band_charge) : make_int4(0, 0, 0, 0);
    if (fits) return;
    atomicMax(&p.need->unit_list, need);
    p.need->overflow = 1;
}

/* Units of the block are dealt to warps in stretches, which are near each other. */
static __device__ void list_units(const unit_arrays &p, const search_shared &s, int first,
                                  int n_units, int n_slots, const search_slots &slots)
{
    const int warp = threadIdx.x >> 5, WARPS = UNIT_BUILDERS / 32;
    const int u = n_units * warp / WARPS, end = n_units * (warp + 1) / WARPS;
    if (u == end) return;
    search_candidates c = find_candidates(p, s, u, end, n_slots, slots);
    const int n = c.n_all + c.n_charge;
    if ((threadIdx.x & 31) == 0) {
        atomicMax(&p.need->candidates, n);
        if (n > p.candidates) p.need->overflow = 1;
    }
    if (n > p.candidates) c.n_all = c.n_charge = 0;
    for (int k = u; k < end; k++) list_unit(p, s, first, k, slots, c);
}

/* Slots in any core, as bits. */
static __device__ void write_cores(const unit_arrays &p, int n_slots, const search_slots &slots)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_groups = p.outer_capacity / 32;
    uint32_t *out = p.core_bits + (size_t)blockIdx.x * n_groups;
    for (int g = warp; g * 32 < n_slots; g += UNIT_BUILDERS / 32) {
        const int o = g * 32 + lane;
        const uint32_t bits = __ballot_sync(~0u, o < n_slots && slots.core[o]);
        if (lane == 0) out[g] = bits;
    }
}

/* Outer slots and lists of one block of units.
 *   grid     a block of units each          thread  a leaf, a row, a slot in turn
 *   reads    row, plan, leaf_at, leaf_half  writes  centre, outer*, n_outer*, core_bits,
 *                                                   tail_slot, need
 */
static __global__ void __launch_bounds__(UNIT_BUILDERS, 1)
    search(const __grid_constant__ unit_arrays p, const int4 *row)
{
    extern __shared__ float4 dynamic[];
    __shared__ search_shared s;
    const int n_groups = p.outer_capacity / 32;
    float4 *groups = dynamic + p.outer_capacity + 1;
    const search_slots slots = {dynamic,
                                (uint32_t *)(groups + 2 * n_groups), groups, groups + n_groups,
                                (uint8_t *)(groups + 2 * n_groups) + 4 * (p.outer_capacity + 1)};
    if (p.need->held) return;
    const int b = blockIdx.x, first = p.view.block_start[b];
    const int n_units = p.view.block_start[b + 1] - first;
    load_block(p, row, s, first, n_units);
    __syncthreads();
    int n_leaves = find_leaves(p, s), n_slots = 0;
    if (n_leaves <= UNIT_LEAVES) {
        mask_leaves(p, s, n_leaves, (n_units + SUB - 1) / SUB);
        __syncthreads();
        choose_rows(p, row, s, n_leaves);
        __syncthreads();
        n_slots = fill_slots(p, row, s, n_leaves, slots);
    }
    const bool fits = n_leaves <= UNIT_LEAVES && n_slots <= p.outer_capacity;
    if (threadIdx.x == 0) {
        if (!one_image(p, s)) p.need->images = p.need->overflow = 1;
        atomicMax(&p.need->leaves, n_leaves);
        atomicMax(&p.need->outer_slots, n_slots);
        if (!fits) p.need->overflow = 1;
        p.n_outer_slots[b] = fits ? n_slots : 0;
    }
    if (!fits) n_slots = 0;
    list_units(p, s, first, n_units, n_slots, slots);
    __syncthreads();
    write_cores(p, n_slots, slots);
}

size_t unit_search_bytes(int outer_capacity)
{
    return (size_t)(outer_capacity + 1) *
               (sizeof(float4) + sizeof(uint32_t) + sizeof(uint8_t)) +
           (size_t)(outer_capacity / 32) * 2 * sizeof(float4);
}

cudaError_t unit_launch_search(const unit_arrays *p, const int4 *row, cudaStream_t stream)
{
    enum { WARPS = 8 };
    if (p->view.n_blocks == 0) return cudaSuccess;
    box_leaves<<<(p->leaf_capacity + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*p, row);
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
