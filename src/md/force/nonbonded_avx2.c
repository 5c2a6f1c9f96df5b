/* Pair kernel for AVX2 and FMA: 4 i rows against 8 j rows, taken from two j-clusters of 4 wherever
 * they are ("4 x (4 + 4)"). A vector holds one i row with 8 j rows.
 *
 * With y = 2/r (what one Newton step on the hardware estimate of 1/sqrt gives without its factor
 * 1/2) and all powers of 2 moved into constants, per pair:
 *
 *   F/r  = qq (y^3 - k) + y^2 s (c12' s - c6')          s = y^6
 *          qq = f qi qj / 8, k = 16 krf, c6' = 6/256 c6, c12' = 12/16384 c12
 *   V_c  = 4 qq (y + 2 krf r^2 - 2 crf)
 *   V_lj = 1/3 c12' (s^2 - sc^2) - 2/3 c6' (s - sc)     sc = 64 / rvdw^6, or 0 without shift
 *
 * With Lorentz-Berthelot rules, e = 3/2 of the product of the rows' 2 sqrt(epsilon) and
 * si = sigma_i / 4:
 *
 *   s = ((si + sj) y)^6 = (sigma/r)^6   F/r = e y^2 s (2 s - 1)   V_lj = 2/3 e (s^2 - s - shift)
 *
 * With a switch (md/core/vdw.h), t = max(r - r_switch, 0), r = y r^2 / 2, w = c12' s^2 - 2 c6' s:
 *
 *   F/r  = y^2 s (c12' s - c6') S + y (t^2 (c12' (a12' + b12' t) - c6' (a6' + b6' t)) - w S'/6)
 *   V_lj = 1/3 (w S - c12' (k12' + t^3 (2 a12' + 3/2 b12' t))
 *                   + c6'  (k6'  + t^3 (2 a6'  + 3/2 b6'  t)))
 *          a12' = 16384/24 a12, a6' = 256/12 a6, b as a; k12' = 4096 k12, k6' = 128 k6
 *
 * and with Lorentz-Berthelot rules c6' = e (si + sj)^6, c12' = 2 e (si + sj)^12.
 *
 * Why this shape. A pair that is listed but out of reach costs as much as one that counts. 4 x 8
 * tiles of neighbours in space would waste more than half; here tiles stay 4 x 4, or 2 x 4 in the
 * segments `low` and `high`, for two more loads and stores per j-cluster. The bound is the
 * multiply-add units: 14 operations a vector without Lennard-Jones, 21 with; adding forces by
 * separate multiplications and additions keeps the adders busy instead.
 *
 * One source, many variants: every `const` flag below is a constant where the function is inlined.
 *   energy     energies wanted, or only forces
 *   range      one cut-off and one comparison, two (rcoulomb != rvdw), or two and a switch
 *   rule       where c6 and c12 come from
 *   masked     exclusions and diagonal
 *   lj         rows 0, 1 and 2, 3 have Lennard-Jones: 0 none, 1 only the first two, 2 all (always 2
 *              where masked: few entries)
 *
 * A pair that does not interact gets y = 0 by a bitwise and, which also removes what r = 0 leaves.
 * Denormals are flushed: pairs with padding produce them, and they would be slow.
 */
#ifdef __AVX2__
#include "md/force/nonbonded_kernels.h"

#include <immintrin.h>
#include <math.h>

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL "unroll"
#else
#define UNROLL "GCC unroll 4"
#endif
enum { N_ROWS = 2 };    /* i rows handled together */
typedef enum lj_range { ONE_CUTOFF, TWO_CUTOFFS, SWITCHED, N_RANGES } lj_range;

/* a', b', k' of the file's head, and those of the energy: 2 a', 3/2 b' */
typedef struct power {
    __m256 a, b, k, a2, b15;
} power;

typedef struct constants {
    __m256 rc2, rv2;            /* squared cut-offs; rc2 is both with ONE_CUTOFF */
    __m256 k;                   /* 16 krf */
    __m256 krf2, crf2;          /* 2 krf, 2 crf */
    __m256 sc, sc2;             /* sc, sc^2 */
    __m256 r_switch, s[3];      /* of the switch: S = 1 + s[0] t^3 + s[1] t^4 + s[2] t^5 */
    __m256 slope[3];            /* S'/6 = slope[0] t^2 + slope[1] t^3 + slope[2] t^4 */
    power p6, p12;
} constants;

/* Two j-clusters in one vector. */
typedef struct j_rows {
    __m256 x, y, z, q;
    __m256 lj0, lj1;
    __m256i type;
} j_rows;

typedef struct i_row {
    __m256 fx, fy, fz;
} i_row;

typedef struct i_cluster {
    float x[4], y[4], z[4], q[4];       /* q times f / 8 */
    float lj0[4], lj1[4];               /* with the constants of c6' and c12', or of e */
    const float (*table[4])[2];
    i_row row[4];
    __m256 coulomb, lj;                 /* energies before their last factor */
} i_cluster;

INLINE __m256 two(const float *low, const float *high)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(low)), _mm_load_ps(high), 1);
}

INLINE void load_j(const md_pairs *pairs, const int *j, const md_lj_rule rule, const int lj,
                   j_rows *out)
{
    const float *a = pairs->xq + (size_t)j[0] * MD_XQ, *b = pairs->xq + (size_t)j[1] * MD_XQ;
    out->x = two(a, b);
    out->y = two(a + 4, b + 4);
    out->z = two(a + 8, b + 8);
    out->q = two(a + 12, b + 12);
    if (lj && rule != MD_LJ_TABLE) {
        const float *la = pairs->lj + (size_t)j[0] * 8, *lb = pairs->lj + (size_t)j[1] * 8;
        out->lj0 = two(la, lb);
        out->lj1 = two(la + 4, lb + 4);
    } else if (lj) {
        out->type = _mm256_set_m128i(
            _mm_load_si128((const __m128i *)(pairs->type + (size_t)j[1] * MD_CLUSTER)),
            _mm_load_si128((const __m128i *)(pairs->type + (size_t)j[0] * MD_CLUSTER)));
    }
}

/* f[j] -= sum, both clusters. */
INLINE void subtract_j(float *a, float *b, __m256 sum)
{
    _mm_store_ps(a, _mm_sub_ps(_mm_load_ps(a), _mm256_castps256_ps128(sum)));
    _mm_store_ps(b, _mm_sub_ps(_mm_load_ps(b), _mm256_extractf128_ps(sum, 1)));
}

/* Lanes of i row m in a pair of 16-bit masks (low half: first j-cluster). */
INLINE __m256 lanes(uint32_t bits, const int m)
{
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 1 << 16, 2 << 16, 4 << 16, 8 << 16);
    __m256i bit = _mm256_slli_epi32(lane, 4 * m);
    __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)bits), bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit));
}

/* Lennard-Jones F/r of i row m; energy added for lanes in `count`. */
INLINE __m256 berthelot_lj(const constants *c, i_cluster *ic, const int m, const j_rows *j,
                           __m256 y, __m256 y2, __m256 count, const bool energy)
{
    __m256 sigma = _mm256_add_ps(_mm256_broadcast_ss(&ic->lj0[m]), j->lj0);
    __m256 e = _mm256_mul_ps(_mm256_broadcast_ss(&ic->lj1[m]), j->lj1);
    __m256 t = _mm256_mul_ps(sigma, y);
    __m256 t2 = _mm256_mul_ps(t, t), s = _mm256_mul_ps(_mm256_mul_ps(t2, t2), t2);
    if (energy) {
        __m256 u2 = _mm256_mul_ps(sigma, sigma);
        __m256 sc = _mm256_mul_ps(_mm256_mul_ps(u2, u2), _mm256_mul_ps(u2, c->sc));
        __m256 v = _mm256_sub_ps(_mm256_fmsub_ps(s, s, s), _mm256_fmsub_ps(sc, sc, sc));
        ic->lj = _mm256_add_ps(ic->lj, _mm256_and_ps(_mm256_mul_ps(e, v), count));
    }
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(e, s), y2),
                         _mm256_sub_ps(_mm256_add_ps(s, s), _mm256_set1_ps(1)));
}

/* c6' and c12' of i row m. */
INLINE void coefficients(const i_cluster *ic, const int m, const j_rows *j, const md_lj_rule rule,
                         __m256 *c6, __m256 *c12)
{
    if (rule == MD_LJ_TABLE) {
        const float *row = ic->table[m][0];
        *c6 = _mm256_i32gather_ps(row, j->type, 8);
        *c12 = _mm256_i32gather_ps(row + 1, j->type, 8);
        return;
    }
    __m256 i0 = _mm256_broadcast_ss(&ic->lj0[m]), i1 = _mm256_broadcast_ss(&ic->lj1[m]);
    if (rule == MD_LJ_GEOMETRIC) {
        *c6 = _mm256_mul_ps(i0, j->lj0);
        *c12 = _mm256_mul_ps(i1, j->lj1);
        return;
    }
    __m256 u = _mm256_add_ps(i0, j->lj0), u2 = _mm256_mul_ps(u, u);
    __m256 u6 = _mm256_mul_ps(_mm256_mul_ps(u2, u2), u2);
    *c6 = _mm256_mul_ps(_mm256_mul_ps(i1, j->lj1), u6);
    *c12 = _mm256_mul_ps(_mm256_add_ps(*c6, *c6), u6);
}

/* As lennard_jones, for both switches. */
INLINE __m256 switched_lj(const constants *c, i_cluster *ic, const int m, const j_rows *j,
                          __m256 r2, __m256 y, __m256 y2, __m256 count, const bool energy,
                          const md_lj_rule rule)
{
    const power *p6 = &c->p6, *p12 = &c->p12;
    __m256 c6, c12, half = _mm256_set1_ps(0.5f);
    coefficients(ic, m, j, rule, &c6, &c12);
    __m256 s = _mm256_mul_ps(_mm256_mul_ps(y2, y2), y2);
    __m256 r = _mm256_mul_ps(_mm256_mul_ps(r2, half), y);
    __m256 t = _mm256_max_ps(_mm256_sub_ps(r, c->r_switch), _mm256_setzero_ps());
    __m256 t2 = _mm256_mul_ps(t, t), t3 = _mm256_mul_ps(t2, t);
    __m256 share = _mm256_fmadd_ps(_mm256_fmadd_ps(c->s[2], t, c->s[1]), t, c->s[0]);
    share = _mm256_fmadd_ps(share, t3, _mm256_set1_ps(1));
    __m256 slope = _mm256_fmadd_ps(_mm256_fmadd_ps(c->slope[2], t, c->slope[1]), t, c->slope[0]);
    __m256 c12s = _mm256_mul_ps(c12, s), g = _mm256_sub_ps(c12s, c6);
    __m256 w = _mm256_mul_ps(s, _mm256_sub_ps(g, c6));
    if (energy) {
        __m256 v12 = _mm256_fmadd_ps(t3, _mm256_fmadd_ps(p12->b15, t, p12->a2), p12->k);
        __m256 v6 = _mm256_fmadd_ps(t3, _mm256_fmadd_ps(p6->b15, t, p6->a2), p6->k);
        __m256 v = _mm256_fmadd_ps(c6, v6, _mm256_fnmadd_ps(c12, v12, _mm256_mul_ps(w, share)));
        ic->lj = _mm256_add_ps(ic->lj, _mm256_and_ps(v, count));
    }
    __m256 more = _mm256_mul_ps(c12, _mm256_fmadd_ps(p12->b, t, p12->a));
    more = _mm256_fnmadd_ps(c6, _mm256_fmadd_ps(p6->b, t, p6->a), more);
    more = _mm256_mul_ps(_mm256_fnmadd_ps(w, slope, more), t2);
    g = _mm256_mul_ps(_mm256_mul_ps(g, share), _mm256_mul_ps(s, y2));
    return _mm256_fmadd_ps(more, y, g);
}

INLINE __m256 lennard_jones(const constants *c, i_cluster *ic, const int m, const j_rows *j,
                            __m256 y, __m256 y2, __m256 count, const bool energy,
                            const md_lj_rule rule)
{
    if (rule == MD_LJ_BERTHELOT) return berthelot_lj(c, ic, m, j, y, y2, count, energy);
    __m256 c6, c12;
    coefficients(ic, m, j, rule, &c6, &c12);
    __m256 s = _mm256_mul_ps(_mm256_mul_ps(y2, y2), y2);
    if (energy) {
        __m256 v12 = _mm256_mul_ps(c12, _mm256_fmsub_ps(s, s, c->sc2));
        __m256 v6 = _mm256_mul_ps(c6, _mm256_sub_ps(s, c->sc));
        __m256 v = _mm256_sub_ps(_mm256_sub_ps(v12, v6), v6);
        ic->lj = _mm256_add_ps(ic->lj, _mm256_and_ps(v, count));
    }
    return _mm256_mul_ps(_mm256_fmsub_ps(c12, s, c6), _mm256_mul_ps(s, y2));
}

/* i rows first .. first + n - 1 with 8 j rows, step by step together: a row alone is a chain of 50
 * cycles, and the processor does not look far enough ahead to overlap chains by itself. fj collects
 * the force on i. `list` and `interacts`: lanes, if masked. */
INLINE void pair_rows(const constants *c, i_cluster *ic, const int first, const int n,
                      const j_rows *j, i_row *fj, uint32_t list, uint32_t interacts,
                      const bool energy, const lj_range range, const md_lj_rule rule,
                      const bool masked, const bool with_lj)
{
    const bool uneven = range != ONE_CUTOFF;
    __m256 dx[N_ROWS], dy[N_ROWS], dz[N_ROWS], r2[N_ROWS], y[N_ROWS], y2[N_ROWS];
    __m256 in_c[N_ROWS], in_v[N_ROWS], qq[N_ROWS], f[N_ROWS];
#define EACH _Pragma(UNROLL) for (int m = 0; m < n; m++)
    EACH dx[m] = _mm256_sub_ps(_mm256_broadcast_ss(&ic->x[first + m]), j->x);
    EACH dy[m] = _mm256_sub_ps(_mm256_broadcast_ss(&ic->y[first + m]), j->y);
    EACH dz[m] = _mm256_sub_ps(_mm256_broadcast_ss(&ic->z[first + m]), j->z);
    EACH r2[m] = _mm256_mul_ps(dx[m], dx[m]);
    EACH r2[m] = _mm256_fmadd_ps(dy[m], dy[m], r2[m]);
    EACH r2[m] = _mm256_fmadd_ps(dz[m], dz[m], r2[m]);
    EACH y[m] = _mm256_rsqrt_ps(r2[m]);
    EACH in_v[m] = in_c[m] = _mm256_cmp_ps(r2[m], c->rc2, _CMP_LT_OQ);
    if (uneven) EACH in_v[m] = _mm256_cmp_ps(r2[m], c->rv2, _CMP_LT_OQ);
    /* 2 / sqrt(r2), relative error below 3e-7 */
    EACH y2[m] = _mm256_mul_ps(r2[m], y[m]);
    EACH y2[m] = _mm256_fnmadd_ps(y2[m], y[m], _mm256_set1_ps(3));
    EACH y[m] = _mm256_mul_ps(y[m], y2[m]);
    if (masked) EACH {
        __m256 both = lanes(interacts, first + m);
        y[m] = _mm256_and_ps(y[m], both);
        in_c[m] = _mm256_and_ps(in_c[m], lanes(list, first + m));
        in_v[m] = _mm256_and_ps(in_v[m], both);
    }
    EACH qq[m] = _mm256_mul_ps(_mm256_broadcast_ss(&ic->q[first + m]), j->q);
    EACH y2[m] = _mm256_mul_ps(y[m], y[m]);
    EACH f[m] = _mm256_fmsub_ps(y[m], y2[m], c->k);
    EACH f[m] = _mm256_mul_ps(f[m], qq[m]);
    if (energy) EACH {
        __m256 v = _mm256_sub_ps(_mm256_fmadd_ps(c->krf2, r2[m], y[m]), c->crf2);
        ic->coulomb = _mm256_add_ps(ic->coulomb, _mm256_and_ps(_mm256_mul_ps(qq[m], v), in_c[m]));
    }
    if (with_lj) EACH {
        __m256 g = range == SWITCHED
                       ? switched_lj(c, ic, first + m, j, r2[m], y[m], y2[m], in_v[m], energy, rule)
                       : lennard_jones(c, ic, first + m, j, y[m], y2[m], in_v[m], energy, rule);
        if (uneven) f[m] = _mm256_add_ps(_mm256_and_ps(f[m], in_c[m]), _mm256_and_ps(g, in_v[m]));
        else f[m] = _mm256_add_ps(f[m], g);
    }
    if (!with_lj || !uneven) EACH f[m] = _mm256_and_ps(f[m], in_c[m]);
    EACH dx[m] = _mm256_mul_ps(f[m], dx[m]);
    EACH dy[m] = _mm256_mul_ps(f[m], dy[m]);
    EACH dz[m] = _mm256_mul_ps(f[m], dz[m]);
    EACH {
        i_row *fi = &ic->row[first + m];
        fi->fx = _mm256_add_ps(fi->fx, dx[m]);
        fi->fy = _mm256_add_ps(fi->fy, dy[m]);
        fi->fz = _mm256_add_ps(fi->fz, dz[m]);
        fj->fx = _mm256_add_ps(fj->fx, dx[m]);
        fj->fy = _mm256_add_ps(fj->fy, dy[m]);
        fj->fz = _mm256_add_ps(fj->fz, dz[m]);
    }
#undef EACH
}

/* One segment of a working list, rows first_row .. end_row - 1 of the i-cluster. */
INLINE void segment(const constants *c, md_pairs *pairs, i_cluster *ic, const int *j,
                    const int *end, const uint32_t *mask, const int first_row, const int end_row,
                    const bool energy, const lj_range range, const md_lj_rule rule,
                    const bool masked, const int lj)
{
    for (; j < end; j += 2) {
        j_rows jr;
        load_j(pairs, j, rule, first_row < 2 * lj ? lj : 0, &jr);
        const __m256 zero = _mm256_setzero_ps();
        i_row fj = {zero, zero, zero};
        uint32_t list = 0, interacts = 0;
        if (masked) {
            list = (mask[0] & 0xffff) | mask[1] << 16;
            interacts = mask[0] >> 16 | (mask[1] & 0xffff0000u);
            mask += 2;
        }
        for (int row = first_row; row < end_row; row += N_ROWS)
            pair_rows(c, ic, row, N_ROWS, &jr, &fj, list, interacts, energy, range, rule, masked,
                      row < 2 * lj);
        float *a = pairs->f + (size_t)j[0] * MD_F, *b = pairs->f + (size_t)j[1] * MD_F;
        subtract_j(a, b, fj.fx);
        subtract_j(a + 4, b + 4, fj.fy);
        subtract_j(a + 8, b + 8, fj.fz);
    }
}

INLINE void segments(const constants *c, md_pairs *pairs, i_cluster *ic, const md_list *list,
                     const md_work *work, const bool energy, const lj_range range,
                     const md_lj_rule rule, const int lj)
{
    const int *j = list->j, *s = work->start;
    const uint32_t *mask = list->mask + work->mask_start;
    segment(c, pairs, ic, j + s[0], j + s[1], mask, 0, 4, energy, range, rule, true, 2);
    segment(c, pairs, ic, j + s[1], j + s[2], NULL, 0, 4, energy, range, rule, false, lj);
    segment(c, pairs, ic, j + s[2], j + s[3], NULL, 0, 2, energy, range, rule, false, lj);
    segment(c, pairs, ic, j + s[3], j + s[4], NULL, 2, 4, energy, range, rule, false, lj);
}

INLINE void begin_i(const md_nonbonded *nb, const md_pairs *pairs, int cluster,
                    const md_lj_rule rule, i_cluster *ic)
{
    const float *xq = pairs->xq + (size_t)cluster * MD_XQ, *lj = pairs->lj + (size_t)cluster * 8;
    const __m256 zero = _mm256_setzero_ps();
    const float factor = (float)(nb->factor / 8);
    for (int m = 0; m < MD_CLUSTER; m++) {
        ic->x[m] = xq[m];
        ic->y[m] = xq[4 + m];
        ic->z[m] = xq[8 + m];
        ic->q[m] = factor * xq[12 + m];
        ic->lj0[m] = rule == MD_LJ_BERTHELOT ? lj[m] : 6.0f / 256 * lj[m];
        ic->lj1[m] = rule == MD_LJ_BERTHELOT ? 1.5f * lj[4 + m] : 12.0f / 16384 * lj[4 + m];
        ic->table[m] = (const float (*)[2])nb->table +
                       pairs->type[cluster * MD_CLUSTER + m] * nb->n_types;
        ic->row[m] = (i_row){zero, zero, zero};
    }
    ic->coulomb = ic->lj = zero;
}

/* Sums of four vectors, one a lane. */
INLINE __m128 sum4(__m256 a, __m256 b, __m256 c, __m256 d)
{
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
}

INLINE void end_i(float *f, const i_cluster *ic)
{
    const i_row *r = ic->row;
    __m128 x = sum4(r[0].fx, r[1].fx, r[2].fx, r[3].fx);
    __m128 y = sum4(r[0].fy, r[1].fy, r[2].fy, r[3].fy);
    __m128 z = sum4(r[0].fz, r[1].fz, r[2].fz, r[3].fz);
    _mm_store_ps(f, _mm_add_ps(_mm_load_ps(f), x));
    _mm_store_ps(f + 4, _mm_add_ps(_mm_load_ps(f + 4), y));
    _mm_store_ps(f + 8, _mm_add_ps(_mm_load_ps(f + 8), z));
}

static double sum_double(__m256 a)
{
    float v[8];
    double sum = 0;
    _mm256_storeu_ps(v, a);
    for (int k = 0; k < 8; k++) sum += (double)v[k];
    return sum;
}

/* All i-clusters of one working list. */
INLINE void walk(const md_nonbonded *nb, md_pairs *pairs, const md_list *list, const constants *c,
                 md_pair_energy *out, const bool energy, const lj_range range,
                 const md_lj_rule rule)
{
    double coulomb = 0, lj = 0;
    for (int w = 0; w < list->n_work; w++) {
        const md_work *work = &list->work[w];
        i_cluster ic;
        begin_i(nb, pairs, work->cluster, rule, &ic);
        /* rare variants are not worth three times the code: Lennard-Jones of nothing is 0 */
        int lj_rows = pairs->lj_rows[work->cluster];
        if (range == TWO_CUTOFFS || rule == MD_LJ_TABLE) lj_rows = 2;
        switch (lj_rows) {
        case 0:
            if (range != SWITCHED) {
                segments(c, pairs, &ic, list, work, energy, range, rule, 0);
                break;
            } /* fall through */
        case 1: segments(c, pairs, &ic, list, work, energy, range, rule, 1); break;
        default: segments(c, pairs, &ic, list, work, energy, range, rule, 2); break;
        }
        end_i(pairs->f + (size_t)work->cluster * MD_F, &ic);
        if (energy) {
            coulomb += sum_double(ic.coulomb);
            lj += sum_double(ic.lj);
        }
    }
    const bool in_e = rule == MD_LJ_BERTHELOT && range != SWITCHED;
    if (energy) *out = (md_pair_energy){lj * (in_e ? 2.0 / 3 : 1.0 / 3), 4 * coulomb};
}

#define VARIANT(name, energy, range, rule)                                                      \
    static void name(const md_nonbonded *nb, md_pairs *pairs, const md_list *list,              \
                     const constants *c, md_pair_energy *out)                                   \
    {                                                                                           \
        walk(nb, pairs, list, c, out, energy, range, rule);                                     \
    }
#define VARIANTS(name, rule)                                                                    \
    VARIANT(name##_f, false, ONE_CUTOFF, rule)                                                  \
    VARIANT(name##_f_uneven, false, TWO_CUTOFFS, rule)                                          \
    VARIANT(name##_f_switched, false, SWITCHED, rule)                                           \
    VARIANT(name##_e, true, ONE_CUTOFF, rule)                                                   \
    VARIANT(name##_e_uneven, true, TWO_CUTOFFS, rule)                                           \
    VARIANT(name##_e_switched, true, SWITCHED, rule)
VARIANTS(geometric, MD_LJ_GEOMETRIC)
VARIANTS(berthelot, MD_LJ_BERTHELOT)
VARIANTS(table, MD_LJ_TABLE)

typedef void variant(const md_nonbonded *, md_pairs *, const md_list *, const constants *,
                     md_pair_energy *);
static variant *const variants[3][2][N_RANGES] = {      /* [rule][energy][range] */
    [MD_LJ_GEOMETRIC] = {{geometric_f, geometric_f_uneven, geometric_f_switched},
                         {geometric_e, geometric_e_uneven, geometric_e_switched}},
    [MD_LJ_BERTHELOT] = {{berthelot_f, berthelot_f_uneven, berthelot_f_switched},
                         {berthelot_e, berthelot_e_uneven, berthelot_e_switched}},
    [MD_LJ_TABLE] = {{table_f, table_f_uneven, table_f_switched},
                     {table_e, table_e_uneven, table_e_switched}},
};

static __m256 all(double a)
{
    return _mm256_set1_ps((float)a);
}

static power power_of(const md_vdw_power *p, double ab, double k)
{
    return (power){all(ab * p->a), all(ab * p->b), all(k * p->k), all(2 * ab * p->a),
                   all(1.5 * ab * p->b)};
}

static constants constants_of(const md_nonbonded *nb)
{
    const md_vdw *vdw = &nb->vdw;
    double sc = 64 * vdw->p6.k;         /* without a switch k_12 = k_6^2 */
    return (constants){
        .rc2 = all(nb->rcoulomb * nb->rcoulomb),
        .rv2 = all(nb->rvdw * nb->rvdw),
        .k = all(16 * nb->krf),
        .krf2 = all(2 * nb->krf),
        .crf2 = all(2 * nb->crf),
        .sc = all(sc),
        .sc2 = all(sc * sc),
        .r_switch = all(vdw->r_switch),
        .s = {all(vdw->s3), all(vdw->s4), all(vdw->s5)},
        .slope = {all(vdw->s3 / 2), all(vdw->s4 * 2 / 3), all(vdw->s5 * 5 / 6)},
        .p6 = power_of(&vdw->p6, 256.0 / 12, 128),
        .p12 = power_of(&vdw->p12, 16384.0 / 24, 4096),
    };
}

static void force_avx2(const md_nonbonded *nb, md_pairs *pairs, md_part part,
                       md_pair_energy *energy)
{
    const constants c = constants_of(nb);
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040);       /* results and operands: denormals are 0 */
    lj_range range = nb->rcoulomb != nb->rvdw ? TWO_CUTOFFS : ONE_CUTOFF;
    if (nb->vdw.switched) range = SWITCHED;
    variants[nb->rule][energy != NULL][range](nb, pairs, &pairs->list[part], &c, energy);
    _mm_setcsr(control);
}

static bool runs(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const md_nonbonded_ops md_nonbonded_avx2 = {"avx2", 8, runs, force_avx2};
#endif
