/* Device side of the plain pair kernels: one pair of rows, and which pairs a domain computes.
 *
 * Scheme return in wrapped rows: a row is one place only, but two rows may meet across the period
 * as well as where they stand, and the pair there is another domain's. So along a cut axis a pair
 * counts only if the nearest images are those in place: if none of the two was wrapped, counted
 * from a fraction (`base`) where no row is.
 */
#ifndef MD_ROW_FORCE_CUH
#define MD_ROW_FORCE_CUH
#include "md/force/unit_force.cuh"
#include "md/pairs/unit_device.cuh"

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
static __device__ __forceinline__ void displacement(const unit_scale &scale, int4 i, int4 j,
                                                    real d[3])
{
    real a = (real)(int)((uint32_t)i.x - (uint32_t)j.x);
    real b = (real)(int)((uint32_t)i.y - (uint32_t)j.y);
    real c = (real)(int)((uint32_t)i.z - (uint32_t)j.z);
    const float *m = scale.m;
    d[0] = a * m[0] + b * m[1] + c * m[3];
    d[1] = b * m[2] + c * m[4];
    d[2] = c * m[5];
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

/* Is the nearest image along one axis the one in place? */
static __device__ __forceinline__ bool in_place(int i, int j, int base)
{
    const uint32_t from_i = (uint32_t)i - (uint32_t)base, from_j = (uint32_t)j - (uint32_t)base;
    return (from_i >= from_j) == ((int)((uint32_t)i - (uint32_t)j) >= 0);
}

static __device__ __forceinline__ bool pair_is_here(const md_row_force_rows &r, int i, int4 row_i,
                                                    int j, int4 row_j)
{
    if (r.scheme != MD_SCHEME_RETURN) return true;
    if (r.d_zone[i] & r.d_zone[j]) return false;
    return (!(r.cut & 1) || in_place(row_i.x, row_j.x, r.base[0])) &&
           (!(r.cut & 2) || in_place(row_i.y, row_j.y, r.base[1])) &&
           (!(r.cut & 4) || in_place(row_i.z, row_j.z, r.base[2]));
}

/* Row i with row j, if the pair is this domain's. */
template <typename real, int MODIFIER>
static __device__ __forceinline__ void visit(const unit_parameters<real> &p,
                                             const row_tables<real> &t,
                                             const md_row_force_rows &r, const unit_scale &scale,
                                             int i, int4 row_i, int j, int4 row_j,
                                             row_sum<real> &s)
{
    if (!pair_is_here(r, i, row_i, j, row_j)) return;
    real d[3];
    displacement(scale, row_i, row_j, d);
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
#endif
