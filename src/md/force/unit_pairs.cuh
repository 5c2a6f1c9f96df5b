/* What a block does to find the forces of its units, for kernels that go on differently.
 *
 *      copy_slots      all rows in reach into shared memory, relative to the block's centre
 *      lane_forces     of a lane's three atoms, over its lists
 *      put_parts, sum_parts    lanes to units
 *
 * Equal rows and lists give equal bits, whichever kernel does it. The algorithm: unit_force.cu. */
#ifndef MD_UNIT_PAIRS_CUH
#define MD_UNIT_PAIRS_CUH
#include "device/early.cuh"
#include "md/force/unit_force.cuh"
#include "md/pairs/unit_device.cuh"

static __device__ __forceinline__ float rsqrt_approx(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* A lane's three atoms. */
typedef struct lane_atoms {
    float x[MD_UNIT], y[MD_UNIT], z[MD_UNIT], q[MD_UNIT];
    float fx[MD_UNIT], fy[MD_UNIT], fz[MD_UNIT];
} lane_atoms;

typedef struct lane_sums {
    float lj, coulomb, virial[6];       /* the virial's in the order of MD_SUM_XX ... */
} lane_sums;

typedef struct pair_distance {
    float dx, dy, dz, r2;
} pair_distance;

static __device__ __forceinline__ pair_distance distance(const lane_atoms &i, int a, float4 j)
{
    pair_distance d;
    d.dx = i.x[a] - j.x;
    d.dy = i.y[a] - j.y;
    d.dz = i.z[a] - j.z;
    d.r2 = fmaf(d.dz, d.dz, fmaf(d.dy, d.dy, d.dx * d.dx));
    return d;
}

static __device__ __forceinline__ void add(lane_atoms &i, int a, const pair_distance &d, float f)
{
    i.fx[a] = fmaf(f, d.dx, i.fx[a]);
    i.fy[a] = fmaf(f, d.dy, i.fy[a]);
    i.fz[a] = fmaf(f, d.dz, i.fz[a]);
}

/* 2 krf. Where the force vanishes at the cut-off, the value that makes it vanish with the root as
 * it is taken: padding and pairs beyond the cut-off are many, and add up what it is off by. */
template <bool VANISHES>
static __device__ __forceinline__ float twice_krf(const unit_parameters<float> &p)
{
    if (!VANISHES) return p.twice_krf;
    const float ri = rsqrt_approx(p.rc2);
    return ri * ri * ri;
}

/* Coulomb's F / r without the charges. */
template <bool VANISHES>
static __device__ __forceinline__ float coulomb(const unit_parameters<float> &p, float r2)
{
    float ri = rsqrt_approx(VANISHES ? fminf(r2, p.rc2) : r2);
    float f = fmaf(ri * ri, ri, -twice_krf<VANISHES>(p));
    return VANISHES || r2 < p.rc2 ? f : 0.f;
}

template <int LJ>
static __device__ __forceinline__ float2 lj_of(const unit_parameters<float> &p, float2 i, float2 j)
{
    if (LJ == UNIT_LJ_PRODUCT) return make_float2(i.x * j.x, i.y * j.y);
    return __ldg(p.table + __float_as_int(i.x) + __float_as_int(j.x));
}

/* F / r of a pair with everything. */
template <int LJ, int MODIFIER, bool VANISHES>
static __device__ __forceinline__ float full_pair(const unit_parameters<float> &p, float r2,
                                                  float qq, float2 i, float2 j)
{
    const float2 c = lj_of<LJ>(p, i, j);
    float ri = rsqrt_approx(r2), unused;
    float f = qq * fmaf(ri * ri, ri, -twice_krf<VANISHES>(p));
    float lj = unit_lj_force<float, MODIFIER, false>(p, r2, ri, c.x, c.y, &unused);
    if (VANISHES) return r2 < p.rc2 ? f + lj : 0.f;
    return (r2 < p.rc2 ? f : 0.f) + (r2 < p.rv2 ? lj : 0.f);
}

static __device__ __forceinline__ void add_virial(lane_sums &sum, const pair_distance &d, float f)
{
    const float x = f * d.dx, y = f * d.dy, z = f * d.dz;
    sum.virial[0] = fmaf(x, d.dx, sum.virial[0]);
    sum.virial[1] = fmaf(y, d.dy, sum.virial[1]);
    sum.virial[2] = fmaf(z, d.dz, sum.virial[2]);
    sum.virial[3] = fmaf(x, d.dy, sum.virial[3]);
    sum.virial[4] = fmaf(x, d.dz, sum.virial[4]);
    sum.virial[5] = fmaf(y, d.dz, sum.virial[5]);
}

/* A pair that may be excluded, or not be one at all; with ENERGY adds to the sums. */
template <int LJ, int MODIFIER, bool ENERGY>
static __device__ __forceinline__ void masked_pair(const unit_parameters<float> &p, lane_atoms &i,
                                                   int a, float4 j, float2 lj_i, float2 lj_j,
                                                   bool interacts, bool excluded, lane_sums &sum)
{
    const pair_distance d = distance(i, a, j);
    const float2 c = lj_of<LJ>(p, lj_i, lj_j);
    const float ri = interacts ? rsqrt_approx(d.r2) : 0.f, qq = i.q[a] * j.w;
    const bool charged = (interacts || excluded) && d.r2 < p.rc2;
    const bool disperses = interacts && d.r2 < p.rv2;
    float e_lj = 0, f = charged ? qq * fmaf(ri * ri, ri, -p.twice_krf) : 0.f;
    float lj = unit_lj_force<float, MODIFIER, ENERGY>(p, d.r2, ri, c.x, c.y, &e_lj);
    if (disperses) f += lj;
    add(i, a, d, f);
    if (!ENERGY) return;
    if (charged) sum.coulomb += qq * (ri + p.krf * d.r2 - p.crf);
    if (disperses) sum.lj += e_lj;
    add_virial(sum, d, f);
}

/* A pair of the lists, with energies. */
template <int LJ, int MODIFIER, bool HAS_LJ>
static __device__ __forceinline__ void energy_pair(const unit_parameters<float> &p, lane_atoms &i,
                                                   int a, float4 j, float2 lj_i, float2 lj_j,
                                                   lane_sums &sum)
{
    const pair_distance d = distance(i, a, j);
    const float ri = rsqrt_approx(d.r2), qq = i.q[a] * j.w;
    const bool charged = d.r2 < p.rc2;
    float f = charged ? qq * fmaf(ri * ri, ri, -p.twice_krf) : 0.f;
    sum.coulomb += charged ? qq * (ri + fmaf(p.krf, d.r2, -p.crf)) : 0.f;
    if (HAS_LJ) {
        const float2 c = lj_of<LJ>(p, lj_i, lj_j);
        float energy = 0;
        const float lj = unit_lj_force<float, MODIFIER, true>(p, d.r2, ri, c.x, c.y, &energy);
        const bool disperses = d.r2 < p.rv2;
        f += disperses ? lj : 0.f;
        sum.lj += disperses ? energy : 0.f;
    }
    add(i, a, d, f);
    add_virial(sum, d, f);
}

/* The list of one lane: words in a column, read two ahead. */
typedef struct lane_list {
    const uint32_t *next;
    uint32_t now, then;
} lane_list;

static __device__ __forceinline__ uint32_t take_word(lane_list &l)
{
    uint32_t word = l.now;
    l.now = l.then;
    l.next += 32;
    l.then = __ldg(l.next + 32);
    return word;
}

static __device__ __forceinline__ float4 slot_at(const char *slots, uint32_t at)
{
    return *(const float4 *)(slots + at);
}

/* Two floats of a slot's kind: 8 bytes a slot, behind the positions. */
static __device__ __forceinline__ float2 lj_at(const char *lj, uint32_t at)
{
    return *(const float2 *)(lj + (at >> 1));
}

/* Where a kernel takes rows from: begin() once, when the lists have been asked for, then load():
 * the first n of AHEAD. These are the rows as an earlier kernel left them. */
typedef struct rows_at_rest {
    const int4 *row;
    __device__ __forceinline__ void begin(void) const { wait_for_previous(); }
    template <int AHEAD>
    __device__ __forceinline__ void load(const uint32_t *at, int n, int4 *to) const
    {
        (void)n;                        /* those beyond are row 0 */
#pragma unroll
        for (int k = 0; k < AHEAD; k++) to[k] = row[at[k]];
    }
} rows_at_rest;

/* Copy what is in reach into shared memory; slot 0 is out of reach of everything. */
template <int LJ, class ROWS>
static __device__ __forceinline__ void copy_slots(const md_unit_view &v,
                                                  const unit_parameters<float> &p, int n,
                                                  const ROWS &rows, float4 *slots, float2 *lj)
{
    enum { AHEAD = 4 };
    const int b = blockIdx.x, t = threadIdx.x, T = blockDim.x;
    const int4 centre = ((const int4 *)v.centre)[b];
    const uint32_t *word = v.slot + (size_t)b * v.slot_capacity, mask = (1u << v.row_bits) - 1;
    uint32_t w[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) w[k] = t + k * T < n ? __ldg(word + t + k * T) : 0;
    rows.begin();
    const unit_scale scale = unit_scale_of(v.scale);
    for (int first = t; first < n; first += AHEAD * T) {
        int4 r[AHEAD];
        float4 kind[AHEAD];
        uint32_t at[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            at[k] = w[k] & mask;
            kind[k] = __ldg(p.kind + (w[k] >> v.row_bits));
        }
        rows.template load<AHEAD>(at, (n - first + T - 1) / T, r);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int s = first + k * T;
            if (s >= n) break;
            float3 d = unit_offset(r[k], centre, scale);
            slots[s] = make_float4(d.x, d.y, d.z, kind[k].x);
            lj[s] = LJ == UNIT_LJ_PRODUCT ? make_float2(kind[k].y, kind[k].z)
                                          : make_float2(kind[k].w, 0.f);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int s = first + (AHEAD + k) * T;
            w[k] = s < n ? __ldg(word + s) : 0;
        }
    }
    if (t == 0) {                       /* after its own turn at slot 0 */
        const float far = -__int_as_float(centre.w);
        slots[0] = make_float4(far, far, far, 0.f);
        lj[0] = make_float2(0.f, 0.f);
    }
}

template <int LJ>
static __device__ __forceinline__ void load_atoms(const md_unit_view &v,
                                                  const unit_parameters<float> &p, uint2 lane,
                                                  const char *slots, const char *lj,
                                                  lane_atoms &i, float2 *lj_i)
{
    const float far = __int_as_float(((const int4 *)v.centre)[blockIdx.x].w);
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++) {
        uint32_t at = a == 0 ? lane.x & 65535 : a == 1 ? lane.x >> 16 : lane.y & 65535;
        float4 x = slot_at(slots, at);
        i.x[a] = at ? x.x : far;
        i.y[a] = at ? x.y : far;
        i.z[a] = at ? x.z : far;
        i.q[a] = x.w;
        i.fx[a] = i.fy[a] = i.fz[a] = 0;
        lj_i[a] = lj_at(lj, at);
        if (LJ == UNIT_LJ_TABLE)
            lj_i[a].x = __int_as_float(__float_as_int(lj_i[a].x) * p.n_kinds);
    }
}

template <bool VANISHES>
static __device__ __forceinline__ void charge_step(const unit_parameters<float> &p, lane_atoms &i,
                                                   float4 j)
{
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++) {
        pair_distance d = distance(i, a, j);
        add(i, a, d, coulomb<VANISHES>(p, d.r2));
    }
}

/* N_LJ: how many of the unit's atoms may have Lennard-Jones, 1 or 3. Those without leave their own
 * charge to be multiplied at the end. */
template <int LJ, int MODIFIER, bool VANISHES, int N_LJ>
static __device__ __forceinline__ void all_step(const unit_parameters<float> &p, lane_atoms &i,
                                                const float2 *lj_i, float4 j, float2 lj_j)
{
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++) {
        pair_distance d = distance(i, a, j);
        float f = a < N_LJ ? full_pair<LJ, MODIFIER, VANISHES>(p, d.r2, i.q[a] * j.w, lj_i[a], lj_j)
                           : coulomb<VANISHES>(p, d.r2) * j.w;
        add(i, a, d, f);
    }
}

static __device__ __forceinline__ void multiply(lane_atoms &i, int a, float m)
{
    i.fx[a] *= m;
    i.fy[a] *= m;
    i.fz[a] *= m;
}

template <int LJ, int MODIFIER, bool VANISHES, int N_LJ>
static __device__ __forceinline__ void all_loop(const unit_parameters<float> &p, lane_atoms &i,
                                                const float2 *lj_i, int n, lane_list &list,
                                                const char *slots, const char *lj)
{
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++)
        multiply(i, a, a < N_LJ ? i.q[a] * p.charge_only : p.charge_only);
#pragma unroll 2
    for (int k = 0; k < n / 2; k++) {
        uint32_t word = take_word(list), low = word & 65535, high = word >> 16;
        all_step<LJ, MODIFIER, VANISHES, N_LJ>(p, i, lj_i, slot_at(slots, low), lj_at(lj, low));
        all_step<LJ, MODIFIER, VANISHES, N_LJ>(p, i, lj_i, slot_at(slots, high), lj_at(lj, high));
    }
    if (n & 1) {
        uint32_t low = list.now & 65535;
        all_step<LJ, MODIFIER, VANISHES, N_LJ>(p, i, lj_i, slot_at(slots, low), lj_at(lj, low));
    }
#pragma unroll
    for (int a = N_LJ; a < MD_UNIT; a++) multiply(i, a, i.q[a]);
}

/* An entry of the tail, with all it may have. */
template <int LJ, int MODIFIER, bool ENERGY>
static __device__ __forceinline__ void masked_steps(const unit_parameters<float> &p, lane_atoms &i,
                                                    const float2 *lj_i, uint32_t at, uint32_t mask,
                                                    const char *slots, const char *lj,
                                                    lane_sums &sum)
{
    const float4 j = slot_at(slots, at);
    const float2 lj_j = lj_at(lj, at);
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++)
        masked_pair<LJ, MODIFIER, ENERGY>(p, i, a, j, lj_i[a], lj_j, mask >> a & 1,
                                          mask >> (3 + a) & 1, sum);
}

/* N_LJ: how many of the unit's atoms may have Lennard-Jones. */
template <int LJ, int MODIFIER, int N_LJ>
static __device__ __forceinline__ void energy_step(const unit_parameters<float> &p, lane_atoms &i,
                                                   const float2 *lj_i, uint32_t at,
                                                   const char *slots, const char *lj,
                                                   lane_sums &sum)
{
    const float4 j = slot_at(slots, at);
    const float2 lj_j = N_LJ > 0 ? lj_at(lj, at) : make_float2(0.f, 0.f);
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++) {
        if (a < N_LJ) energy_pair<LJ, MODIFIER, true>(p, i, a, j, lj_i[a], lj_j, sum);
        else energy_pair<LJ, MODIFIER, false>(p, i, a, j, lj_i[a], lj_j, sum);
    }
}

/* n words of a list; the upper half of the last may be padding. */
template <int LJ, int MODIFIER, int N_LJ>
static __device__ __forceinline__ void energy_loop(const unit_parameters<float> &p, lane_atoms &i,
                                                   const float2 *lj_i, int n, lane_list &list,
                                                   const char *slots, const char *lj,
                                                   lane_sums &sum)
{
    for (int k = 0; k < n; k++) {
        const uint32_t word = take_word(list);
        energy_step<LJ, MODIFIER, N_LJ>(p, i, lj_i, word & 65535, slots, lj, sum);
        energy_step<LJ, MODIFIER, N_LJ>(p, i, lj_i, word >> 16, slots, lj, sum);
    }
}

/* The block's part of a lane: its warp's lengths, its atoms, its list from the first word on. */
typedef struct lane_part {
    int4 warp;
    uint2 lane;
    lane_list list;
} lane_part;

static __device__ __forceinline__ lane_part lane_part_of(const md_unit_view &v)
{
    const int b = blockIdx.x, t = threadIdx.x;
    lane_part part;
    part.warp = __ldg((const int4 *)v.warp + (size_t)b * (blockDim.x / 32) + (t >> 5));
    part.lane = __ldg((const uint2 *)v.lane + (size_t)b * blockDim.x + t);
    part.list = {v.list + (size_t)b * v.list_capacity + part.warp.x + (t & 31), 0, 0};
    part.list.now = __ldg(part.list.next);
    part.list.then = __ldg(part.list.next + 32);
    return part;
}

/* Forces on a lane's atoms, from the slots in shared memory. */
template <int LJ, int MODIFIER, bool VANISHES>
static __device__ __forceinline__ void lane_forces(const md_unit_view &v,
                                                   const unit_parameters<float> &p,
                                                   const lane_part &part, const char *slots,
                                                   const char *lj, lane_atoms &i)
{
    float2 lj_i[MD_UNIT];
    lane_sums unused;
    const int n_tail = part.warp.y & 65535, n_charge = part.warp.z, n_all = part.warp.w;
    lane_list list = part.list, tail = part.list;   /* done last, when charges are in the sums */
    load_atoms<LJ>(v, p, part.lane, slots, lj, i, lj_i);
    list.next += 32 * n_tail;
    list.now = __ldg(list.next);
    list.then = __ldg(list.next + 32);
#pragma unroll 4
    for (int k = 0; k < n_charge / 2; k++) {
        uint32_t word = take_word(list);
        charge_step<VANISHES>(p, i, slot_at(slots, word & 65535));
        charge_step<VANISHES>(p, i, slot_at(slots, word >> 16));
    }
    if (n_charge & 1) charge_step<VANISHES>(p, i, slot_at(slots, take_word(list) & 65535));
    if (part.warp.y >> 16) all_loop<LJ, MODIFIER, VANISHES, 3>(p, i, lj_i, n_all, list, slots, lj);
    else all_loop<LJ, MODIFIER, VANISHES, 1>(p, i, lj_i, n_all, list, slots, lj);
    for (int k = 0; k < n_tail; k++) {
        uint32_t word = take_word(tail);
        masked_steps<LJ, MODIFIER, false>(p, i, lj_i, word & 65535, word >> 16, slots, lj, unused);
    }
}

/* The same with energies. */
template <int LJ, int MODIFIER>
static __device__ __forceinline__ void lane_energies(const md_unit_view &v,
                                                     const unit_parameters<float> &p,
                                                     lane_part part, const char *slots,
                                                     const char *lj, lane_atoms &i, lane_sums &sum)
{
    float2 lj_i[MD_UNIT];
    lane_list &list = part.list;
    const int n_tail = part.warp.y & 65535, n_charge = part.warp.z, n_all = part.warp.w;
    load_atoms<LJ>(v, p, part.lane, slots, lj, i, lj_i);
    for (int k = 0; k < n_tail; k++) {
        uint32_t word = take_word(list);
        masked_steps<LJ, MODIFIER, true>(p, i, lj_i, word & 65535, word >> 16, slots, lj, sum);
    }
    energy_loop<LJ, MODIFIER, 0>(p, i, lj_i, (n_charge + 1) / 2, list, slots, lj, sum);
    if (part.warp.y >> 16)
        energy_loop<LJ, MODIFIER, 3>(p, i, lj_i, (n_all + 1) / 2, list, slots, lj, sum);
    else energy_loop<LJ, MODIFIER, 1>(p, i, lj_i, (n_all + 1) / 2, list, slots, lj, sum);
}

/* Parts of lanes side by side: component c of lane t at part[c * unit_part_stride() + t]. */
static __device__ __forceinline__ int unit_part_stride(void)
{
    return blockDim.x + 1;
}

/* Between two barriers of the block. */
static __device__ __forceinline__ void put_parts(const lane_atoms &i, float *part)
{
    const int t = threadIdx.x, stride = unit_part_stride();
#pragma unroll
    for (int a = 0; a < MD_UNIT; a++) {
        part[(3 * a) * stride + t] = i.fx[a];
        part[(3 * a + 1) * stride + t] = i.fy[a];
        part[(3 * a + 2) * stride + t] = i.fz[a];
    }
}

/* A component of a unit's force from the parts of its lanes, in their order. lanes: of the view. */
static __device__ __forceinline__ float sum_parts(const float *part, int component, uint32_t lanes)
{
    const float *from = part + component * unit_part_stride() + (lanes & 65535);
    const int n_lanes = lanes >> 16;
    float sum = 0;
    for (int l = 0; l < n_lanes; l += 8) {
#pragma unroll
        for (int m = 0; m < 8; m++)
            if (l + m < n_lanes) sum += from[l + m];
    }
    return sum;
}
#endif
