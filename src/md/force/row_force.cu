/* The plain pair kernel of the device: a thread a row, no lists.
 *
 *   exact   double, every row against every row: what the fast kernel is checked by
 *   float   the same with boxes of leaves (32 rows) tested first: scheme return, where forces of
 *           ghosts are wanted too and go home afterwards
 *
 * Every pair is computed from both sides, each force is written once, so bits repeat.
 */
#include "md/force/unit_force.cuh"
#include "device/cuda.h"
#include "md/pairs/unit_device.cuh"

void unit_add_blocks(const double *block_sums, int n, double *sums, cudaStream_t stream);

template <typename real> struct row_tables {
    const real *charge, *table;         /* exact; else the kernel's own */
};

static __device__ bool excluded(const md_row_force_rows &r, int i, int j)
{
    for (int e = r.d_exclusion_start[i]; e < r.d_exclusion_start[i + 1]; e++)
        if (r.d_exclusion[e] == j) return true;
    return false;
}

/* Displacement i - j of two rows, nm, in double from the integers. */
template <typename real>
static __device__ __forceinline__ void displacement(const md_row_force_rows &r, int4 i, int4 j,
                                                    real d[3])
{
    real a = (real)(int)((uint32_t)i.x - (uint32_t)j.x);
    real b = (real)(int)((uint32_t)i.y - (uint32_t)j.y);
    real c = (real)(int)((uint32_t)i.z - (uint32_t)j.z);
    d[0] = a * r.scale[0] + b * r.scale[1] + c * r.scale[3];
    d[1] = b * r.scale[2] + c * r.scale[4];
    d[2] = c * r.scale[5];
}

template <typename real> struct row_sum {
    real f[3], sum[MD_N_SUMS];
};

static __device__ __forceinline__ float charge_of(const unit_parameters<float> &p, const float *,
                                                  int kind)
{
    return p.kind[kind].x;
}
static __device__ __forceinline__ double charge_of(const unit_parameters<double> &,
                                                   const double *charge, int kind)
{
    return charge[kind];
}

/* One pair, or a row with itself, where only the self term of the reaction field is left. */
template <typename real, int MODIFIER>
static __device__ void row_pair(const unit_parameters<real> &p, const row_tables<real> &t,
                                const real d[3], int kind_i, int kind_j, bool interacts,
                                row_sum<real> &s)
{
    const real r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    const real ri = interacts ? rsqrt(r2) : real(0);
    real f = 0;
    if (r2 < p.rc2) {
        real qq = charge_of(p, t.charge, kind_i) * charge_of(p, t.charge, kind_j);
        f += qq * (ri * ri * ri - p.twice_krf);
        s.sum[MD_SUM_COULOMB] += real(.5) * qq * (ri + p.krf * r2 - p.crf);
    }
    if (r2 < p.rv2 && interacts) {
        const real *c = t.table + 2 * ((size_t)kind_i * p.n_kinds + kind_j);
        real energy;
        f += unit_lj_force<real, MODIFIER, true>(p, r2, ri, c[0], c[1], &energy);
        s.sum[MD_SUM_LJ] += real(.5) * energy;
    }
    for (int k = 0; k < 3; k++) s.f[k] += f * d[k];
    s.sum[MD_SUM_XX] -= real(.25) * f * d[0] * d[0];
    s.sum[MD_SUM_YY] -= real(.25) * f * d[1] * d[1];
    s.sum[MD_SUM_ZZ] -= real(.25) * f * d[2] * d[2];
    s.sum[MD_SUM_XY] -= real(.25) * f * d[0] * d[1];
    s.sum[MD_SUM_XZ] -= real(.25) * f * d[0] * d[2];
    s.sum[MD_SUM_YZ] -= real(.25) * f * d[1] * d[2];
}

/* Row i with row j, if the pair is this domain's. */
template <typename real, int MODIFIER>
static __device__ __forceinline__ void visit(const unit_parameters<real> &p,
                                             const row_tables<real> &t,
                                             const md_row_force_rows &r, int i, int4 row_i, int j,
                                             row_sum<real> &s)
{
    const bool returns = r.scheme == MD_SCHEME_RETURN;
    if (returns && (r.d_zone[i] & r.d_zone[j])) return;
    real d[3];
    displacement(r, row_i, ((const int4 *)r.d_row)[j], d);
    if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] >= (p.rc2 > p.rv2 ? p.rc2 : p.rv2)) return;
    int kind_i = (int)(r.d_row_word[i] >> r.row_bits);
    int kind_j = (int)(r.d_row_word[j] >> r.row_bits);
    row_pair<real, MODIFIER>(p, t, d, kind_i, kind_j, i != j && !excluded(r, i, j), s);
}

/* Sums of a warp, which all its lanes call. */
template <typename real>
static __device__ void warp_sums(const row_sum<real> &s, double *out)
{
    for (int k = 0; k < MD_N_SUMS; k++) {
        double x = (double)s.sum[k];
        for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
        if ((threadIdx.x & 31) == 0) out[k] = x;
    }
}

/* Is the row one whose force is wanted, and which pairs with itself (owned rows have
 * self terms)? */
static __device__ __forceinline__ bool wanted(const md_row_force_rows &r, int i)
{
    return i >= 0 && i < (r.scheme == MD_SCHEME_RETURN ? r.n_rows : r.n_owned);
}

/*   thread  a row     reads  all rows     writes  f; sums[warp][MD_N_SUMS] */
template <int MODIFIER>
static __global__ void every_row(const __grid_constant__ unit_parameters<double> p,
                                 const __grid_constant__ row_tables<double> t,
                                 const __grid_constant__ md_row_force_rows r, double (*f)[3],
                                 double *sums)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    row_sum<double> s = {};
    if (wanted(r, i)) {
        const int4 row_i = ((const int4 *)r.d_row)[i];
        for (int j = 0; j < r.n_rows; j++)
            if (j != i || i < r.n_owned) visit<double, MODIFIER>(p, t, r, i, row_i, j, s);
        for (int k = 0; k < 3; k++) f[i][k] = s.f[k];
    }
    warp_sums(s, sums + (size_t)(i >> 5) * MD_N_SUMS);
}

/* Box of a leaf: middle (fractions) and half sizes (nm). */
typedef struct leaf_box {
    int4 at;
    float4 half;
} leaf_box;

static __global__ void box_rows(const __grid_constant__ md_row_force_rows r, leaf_box *box)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf >= r.n_leaves) return;
    const int4 *row = (const int4 *)r.d_row;
    int first = r.d_leaf_row[leaf * MD_UNIT_LEAF], mine = r.d_leaf_row[leaf * MD_UNIT_LEAF + lane];
    float3 v = unit_offset(row[mine < 0 ? first : mine], row[first], r.scale);
    float h[3] = {fabsf(v.x), fabsf(v.y), fabsf(v.z)};
    for (int k = 0; k < 3; k++)
        for (int d = 16; d; d >>= 1) h[k] = fmaxf(h[k], __shfl_xor_sync(~0u, h[k], d));
    if (lane == 0) box[leaf] = {row[first], make_float4(h[0], h[1], h[2], 0)};
}

/*   warp  a leaf, thread  a row     reads  rows of leaves in reach    writes  f; sums[leaf] */
template <int MODIFIER>
static __global__ void near_rows(const __grid_constant__ unit_parameters<float> p,
                                 const __grid_constant__ row_tables<float> t,
                                 const __grid_constant__ md_row_force_rows r, const leaf_box *box,
                                 float (*f)[3], double *sums)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf >= r.n_leaves) return;
    const int i = r.d_leaf_row[leaf * MD_UNIT_LEAF + lane];
    const bool mine = wanted(r, i);
    const leaf_box own = box[leaf];
    const float reach = sqrtf(fmaxf(p.rc2, p.rv2)) + 1e-4f;
    row_sum<float> s = {};
    int4 row_i = own.at;
    if (mine) row_i = ((const int4 *)r.d_row)[i];
    for (int first = 0; first < r.n_leaves; first += 32) {
        bool near = false;
        if (first + lane < r.n_leaves) {
            leaf_box other = box[first + lane];
            float3 d = unit_offset(other.at, own.at, r.scale);
            float x = fmaxf(fabsf(d.x) - own.half.x - other.half.x, 0);
            float y = fmaxf(fabsf(d.y) - own.half.y - other.half.y, 0);
            float z = fmaxf(fabsf(d.z) - own.half.z - other.half.z, 0);
            near = x * x + y * y + z * z < reach * reach;
        }
        for (uint32_t which = __ballot_sync(~0u, near); which; which &= which - 1) {
            const int *row_j = r.d_leaf_row + (first + __ffs(which) - 1) * MD_UNIT_LEAF;
            for (int k = 0; k < MD_UNIT_LEAF; k++) {
                int j = row_j[k];
                if (mine && j >= 0 && (j != i || i < r.n_owned))
                    visit<float, MODIFIER>(p, t, r, i, row_i, j, s);
            }
        }
    }
    if (mine)
        for (int k = 0; k < 3; k++) f[i][k] = s.f[k];
    warp_sums(s, sums + (size_t)leaf * MD_N_SUMS);
}

template <int MODIFIER>
static void start_exact(const md_unit_force *force, const md_row_force_rows *r, double (*f)[3],
                        double *work, cudaStream_t stream)
{
    row_tables<double> t = {force->d_charge, force->d_table};
    const int blocks = r->n_rows / 128 + 1;     /* without rows, too */
    every_row<MODIFIER><<<blocks, 128, 0, stream>>>(force->exact, t, *r, f, work);
}

template <int MODIFIER>
static void start_float(const md_unit_force *force, const md_row_force_rows *r, float (*f)[3],
                        double *work, cudaStream_t stream)
{
    const int blocks = r->n_leaves / 4 + 1;
    leaf_box *box = (leaf_box *)work;
    double *sums = (double *)(box + r->n_leaves);
    row_tables<float> t = {NULL, (const float *)force->p.table};
    box_rows<<<blocks, 128, 0, stream>>>(*r, box);
    near_rows<MODIFIER><<<blocks, 128, 0, stream>>>(force->p, t, *r, box, f, sums);
}

extern "C" sundog_status md_row_force_exact(const md_unit_force *force,
                                            const md_row_force_rows *rows, double (*d_f)[3],
                                            double *d_sums, double *d_work, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    switch (force->modifier) {
    case UNIT_FORCE_SWITCH: start_exact<UNIT_FORCE_SWITCH>(force, rows, d_f, d_work, s); break;
    case UNIT_POTENTIAL_SWITCH:
        start_exact<UNIT_POTENTIAL_SWITCH>(force, rows, d_f, d_work, s);
        break;
    default: start_exact<UNIT_PLAIN>(force, rows, d_f, d_work, s);
    }
    unit_add_blocks(d_work, (rows->n_rows / 128 + 1) * 4, d_sums, s);
    BASE_TRY(DEVICE_CHECK(cudaGetLastError()));
    return SUNDOG_OK;
}

extern "C" sundog_status md_row_force_float(const md_unit_force *force,
                                            const md_row_force_rows *rows, float (*d_f)[3],
                                            double *d_sums, double *d_work, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    switch (force->modifier) {
    case UNIT_FORCE_SWITCH: start_float<UNIT_FORCE_SWITCH>(force, rows, d_f, d_work, s); break;
    case UNIT_POTENTIAL_SWITCH:
        start_float<UNIT_POTENTIAL_SWITCH>(force, rows, d_f, d_work, s);
        break;
    default: start_float<UNIT_PLAIN>(force, rows, d_f, d_work, s);
    }
    leaf_box *box = (leaf_box *)d_work;
    unit_add_blocks((const double *)(box + rows->n_leaves), rows->n_leaves, d_sums, s);
    BASE_TRY(DEVICE_CHECK(cudaGetLastError()));
    return SUNDOG_OK;
}
