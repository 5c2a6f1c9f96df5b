/* Parameters of the device's pair kernels, and Lennard-Jones of one pair. */
#ifndef MD_UNIT_FORCE_CUH
#define MD_UNIT_FORCE_CUH
#include "md/force/unit_force.h"

/* Lennard-Jones of a pair of kinds: the product of what each has, or looked up. */
typedef enum unit_lj { UNIT_LJ_PRODUCT, UNIT_LJ_TABLE } unit_lj;
typedef enum unit_switch { UNIT_PLAIN, UNIT_FORCE_SWITCH, UNIT_POTENTIAL_SWITCH } unit_switch;

/* core/vdw.h with 6 c6 and 12 c12 in place of c6 and c12: a, b, k are divided by 6 and 12. */
template <typename real> struct unit_parameters {
    real rc2, rv2;              /* rcoulomb^2, rvdw^2 */
    real twice_krf, krf, crf;
    real r_switch, s3, s4, s5, a6, b6, k6, a12, b12, k12;
    real charge_only;           /* of the kind of that name; charges are times sqrt(factor) */
    int n_kinds;
    const float4 *kind;         /* charge, sqrt(6 c6), sqrt(12 c12), the kind as an integer */
    const float2 *table;        /* [n_kinds][n_kinds] 6 c6, 12 c12 */
};

struct md_unit_force {
    unit_parameters<float> p;
    unit_parameters<double> exact;
    double *d_charge;           /* [n_kinds], exact */
    double *d_table;            /* [n_kinds][n_kinds][2] 6 c6, 12 c12, exact */
    unit_lj lj;
    unit_switch modifier;
    bool vanishes;              /* Coulomb's force at rcoulomb is 0, and rvdw equals it */
    double *d_block_sums;
    size_t block_sums_capacity;
    bool starts_early;          /* the device knows programmatic dependent launch */
};

#ifdef __CUDACC__
/* F / r of Lennard-Jones, from 1/r and r^2; *energy set if wanted. */
template <typename real, int MODIFIER, bool ENERGY>
static __device__ __forceinline__ real unit_lj_force(const unit_parameters<real> &p, real r2,
                                                     real ri, real c6, real c12, real *energy)
{
    const real r2i = ri * ri, r6 = r2i * r2i * r2i;
    real f = (c12 * r6 - c6) * (r6 * r2i);
    if (MODIFIER == UNIT_PLAIN) {
        if (ENERGY)
            *energy = (c12 * r6 * real(1. / 12) - c6 * real(1. / 6)) * r6 -
                      (c12 * p.k12 - c6 * p.k6);
        return f;
    }
    const real full = (c12 * r6 * real(1. / 12) - c6 * real(1. / 6)) * r6;
    const real beyond = r2 * ri - p.r_switch, t = beyond > 0 ? beyond : real(0), t2 = t * t;
    if (MODIFIER == UNIT_FORCE_SWITCH) {
        const real a = c12 * p.a12 - c6 * p.a6, b = c12 * p.b12 - c6 * p.b6;
        if (ENERGY)
            *energy = full - t2 * t * (a * real(1. / 3) + b * real(.25) * t) -
                      (c12 * p.k12 - c6 * p.k6);
        return f + t2 * (a + b * t) * ri;
    }
    const real s = 1 + t2 * t * (p.s3 + t * (p.s4 + t * p.s5));
    const real slope = t2 * (3 * p.s3 + t * (4 * p.s4 + t * 5 * p.s5));
    if (ENERGY) *energy = full * s - (c12 * p.k12 - c6 * p.k6);
    return f * s - full * slope * ri;
}
#endif
#endif
