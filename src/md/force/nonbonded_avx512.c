/* Pair kernel for AVX-512 (F, VL): 2 i rows against 8 j rows in one vector, on the lists that the
 * AVX2 kernel walks. Quarters of a vector, for i rows m, m + 1 and j-clusters a, b from anywhere:
 *
 *      lane      0 .. 3    4 .. 7    8 .. 11   12 .. 15
 *      i row     m         m + 1     m         m + 1
 *      j rows    a         a         b         b
 *
 * Formulas and the scaling of constants: nonbonded_avx2.c; the variants are its, too.
 *
 * Why 2 x 8 and not 1 x 16: four j-clusters in a vector would pad each segment of a list to four
 * entries, 6 of some 60 on average, and save only the sum over the two rows when forces on j are
 * stored. Bits 4 m .. 4 m + 7 of an entry's mask are the lanes of rows m, m + 1, so masks need no
 * table. What does not interact is left out by predicates instead of bitwise ands.
 *
 * Both pairs of rows of a full segment are in work together: 26 of the 32 registers.
 */
#if defined(__AVX512F__) && defined(__AVX512VL__)
#include "md/force/nonbonded_kernels.h"

#include <immintrin.h>
#include <math.h>

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL "unroll"
#else
#define UNROLL "GCC unroll 2"
#endif
enum { N_PAIRS = 2 };   /* pairs of rows of an i-cluster: 0, 1 and 2, 3 */
typedef enum lj_range { ONE_CUTOFF, TWO_CUTOFFS, SWITCHED, N_RANGES } lj_range;

/* a', b', k' of the file's head, and those of the energy: 2 a', 3/2 b' */
typedef struct power {
    __m512 a, b, k, a2, b15;
} power;

typedef struct constants {
    __m512 rc2, rv2;            /* squared cut-offs; rc2 is both with ONE_CUTOFF */
    __m512 k;                   /* 16 krf */
    __m512 krf2, crf2;          /* 2 krf, 2 crf */
    __m512 sc, sc2;             /* sc, sc^2 */
    __m512 r_switch, s[3];      /* of the switch: S = 1 + s[0] t^3 + s[1] t^4 + s[2] t^5 */
    __m512 slope[3];            /* S'/6 = slope[0] t^2 + slope[1] t^3 + slope[2] t^4 */
    power p6, p12;
} constants;

/* Two j-clusters, each in two quarters. */
typedef struct j_rows {
    __m512 x, y, z, q;
    __m512 lj0, lj1;
    __m512i type2;              /* 2 type: the table has two numbers a pair of types */
} j_rows;

typedef struct forces {
    __m512 x, y, z;
} forces;

/* One pair of i rows. */
typedef struct i_rows {
    __m512 x, y, z, q;          /* q times f / 8 */
    __m512 lj0, lj1;            /* with the constants of c6' and c12', or of e */
    __m512i table;              /* where the row of each i row's type begins */
    forces f;
} i_rows;

typedef struct i_cluster {
    i_rows pair[N_PAIRS];
    const float *table;
    __m512 coulomb, lj;         /* energies before their last factor */
} i_cluster;

INLINE __m512 two(const float *a, const float *b)
{
    return _mm512_mask_broadcast_f32x4(_mm512_broadcast_f32x4(_mm_load_ps(a)), 0xff00,
                                       _mm_load_ps(b));
}

INLINE void load_j(const md_pairs *pairs, const int *j, const md_lj_rule rule, const bool with_lj,
                   j_rows *out)
{
    const float *a = pairs->xq + (size_t)j[0] * MD_XQ, *b = pairs->xq + (size_t)j[1] * MD_XQ;
    out->x = two(a, b);
    out->y = two(a + 4, b + 4);
    out->z = two(a + 8, b + 8);
    out->q = two(a + 12, b + 12);
    if (with_lj && rule != MD_LJ_TABLE) {
        const float *la = pairs->lj + (size_t)j[0] * 8, *lb = pairs->lj + (size_t)j[1] * 8;
        out->lj0 = two(la, lb);
        out->lj1 = two(la + 4, lb + 4);
    } else if (with_lj) {
        const int *ta = pairs->type + (size_t)j[0] * MD_CLUSTER;
        const int *tb = pairs->type + (size_t)j[1] * MD_CLUSTER;
        __m512i type = _mm512_mask_broadcast_i32x4(
            _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)ta)), 0xff00,
            _mm_load_si128((const __m128i *)tb));
        out->type2 = _mm512_add_epi32(type, type);
    }
}

/* f[j] -= sum over the two i rows, both clusters. */
INLINE void subtract_j(float *a, float *b, __m512 f)
{
    f = _mm512_add_ps(f, _mm512_shuffle_f32x4(f, f, 0xb1));
    _mm_store_ps(a, _mm_sub_ps(_mm_load_ps(a), _mm512_castps512_ps128(f)));
    _mm_store_ps(b, _mm_sub_ps(_mm_load_ps(b), _mm512_extractf32x4_ps(f, 2)));
}

/* Lanes of rows 2 p, 2 p + 1 in a pair of 16-bit masks (low half: first j-cluster). */
INLINE __mmask16 lanes(uint32_t bits, const int p)
{
    bits >>= 8 * p;
    return (__mmask16)((bits & 0xff) | (bits >> 8 & 0xff00));
}

/* Lennard-Jones F/r; energy added for lanes in `count`. */
INLINE __m512 berthelot_lj(const constants *c, i_cluster *ic, const i_rows *i, const j_rows *j,
                           __m512 y, __m512 y2, __mmask16 count, const bool energy)
{
    __m512 sigma = _mm512_add_ps(i->lj0, j->lj0), e = _mm512_mul_ps(i->lj1, j->lj1);
    __m512 t = _mm512_mul_ps(sigma, y);
    __m512 t2 = _mm512_mul_ps(t, t), s = _mm512_mul_ps(_mm512_mul_ps(t2, t2), t2);
    if (energy) {
        __m512 u2 = _mm512_mul_ps(sigma, sigma);
        __m512 sc = _mm512_mul_ps(_mm512_mul_ps(u2, u2), _mm512_mul_ps(u2, c->sc));
        __m512 v = _mm512_sub_ps(_mm512_fmsub_ps(s, s, s), _mm512_fmsub_ps(sc, sc, sc));
        ic->lj = _mm512_mask_add_ps(ic->lj, count, ic->lj, _mm512_mul_ps(e, v));
    }
    return _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(e, s), y2),
                         _mm512_sub_ps(_mm512_add_ps(s, s), _mm512_set1_ps(1)));
}

/* c6' and c12' of a pair of i rows. */
INLINE void coefficients(const i_cluster *ic, const i_rows *i, const j_rows *j,
                         const md_lj_rule rule, __m512 *c6, __m512 *c12)
{
    if (rule == MD_LJ_TABLE) {
        __m512i at = _mm512_add_epi32(i->table, j->type2);
        *c6 = _mm512_i32gather_ps(at, ic->table, 4);
        *c12 = _mm512_i32gather_ps(at, ic->table + 1, 4);
        return;
    }
    if (rule == MD_LJ_GEOMETRIC) {
        *c6 = _mm512_mul_ps(i->lj0, j->lj0);
        *c12 = _mm512_mul_ps(i->lj1, j->lj1);
        return;
    }
    __m512 u = _mm512_add_ps(i->lj0, j->lj0), u2 = _mm512_mul_ps(u, u);
    __m512 u6 = _mm512_mul_ps(_mm512_mul_ps(u2, u2), u2);
    *c6 = _mm512_mul_ps(_mm512_mul_ps(i->lj1, j->lj1), u6);
    *c12 = _mm512_mul_ps(_mm512_add_ps(*c6, *c6), u6);
}

/* As lennard_jones, for both switches. */
INLINE __m512 switched_lj(const constants *c, i_cluster *ic, const i_rows *i, const j_rows *j,
                          __m512 r2, __m512 y, __m512 y2, __mmask16 count, const bool energy,
                          const md_lj_rule rule)
{
    const power *p6 = &c->p6, *p12 = &c->p12;
    __m512 c6, c12;
    coefficients(ic, i, j, rule, &c6, &c12);
    __m512 s = _mm512_mul_ps(_mm512_mul_ps(y2, y2), y2);
    __m512 r = _mm512_mul_ps(_mm512_mul_ps(r2, _mm512_set1_ps(0.5f)), y);
    __m512 t = _mm512_max_ps(_mm512_sub_ps(r, c->r_switch), _mm512_setzero_ps());
    __m512 t2 = _mm512_mul_ps(t, t), t3 = _mm512_mul_ps(t2, t);
    __m512 share = _mm512_fmadd_ps(_mm512_fmadd_ps(c->s[2], t, c->s[1]), t, c->s[0]);
    share = _mm512_fmadd_ps(share, t3, _mm512_set1_ps(1));
    __m512 slope = _mm512_fmadd_ps(_mm512_fmadd_ps(c->slope[2], t, c->slope[1]), t, c->slope[0]);
    __m512 c12s = _mm512_mul_ps(c12, s), g = _mm512_sub_ps(c12s, c6);
    __m512 w = _mm512_mul_ps(s, _mm512_sub_ps(g, c6));
    if (energy) {
        __m512 v12 = _mm512_fmadd_ps(t3, _mm512_fmadd_ps(p12->b15, t, p12->a2), p12->k);
        __m512 v6 = _mm512_fmadd_ps(t3, _mm512_fmadd_ps(p6->b15, t, p6->a2), p6->k);
        __m512 v = _mm512_fmadd_ps(c6, v6, _mm512_fnmadd_ps(c12, v12, _mm512_mul_ps(w, share)));
        ic->lj = _mm512_mask_add_ps(ic->lj, count, ic->lj, v);
    }
    __m512 more = _mm512_mul_ps(c12, _mm512_fmadd_ps(p12->b, t, p12->a));
    more = _mm512_fnmadd_ps(c6, _mm512_fmadd_ps(p6->b, t, p6->a), more);
    more = _mm512_mul_ps(_mm512_fnmadd_ps(w, slope, more), t2);
    g = _mm512_mul_ps(_mm512_mul_ps(g, share), _mm512_mul_ps(s, y2));
    return _mm512_fmadd_ps(more, y, g);
}

INLINE __m512 lennard_jones(const constants *c, i_cluster *ic, const i_rows *i, const j_rows *j,
                            __m512 y, __m512 y2, __mmask16 count, const bool energy,
                            const md_lj_rule rule)
{
    if (rule == MD_LJ_BERTHELOT) return berthelot_lj(c, ic, i, j, y, y2, count, energy);
    __m512 c6, c12;
    coefficients(ic, i, j, rule, &c6, &c12);
    __m512 s = _mm512_mul_ps(_mm512_mul_ps(y2, y2), y2);
    if (energy) {
        __m512 v12 = _mm512_mul_ps(c12, _mm512_fmsub_ps(s, s, c->sc2));
        __m512 v6 = _mm512_mul_ps(c6, _mm512_sub_ps(s, c->sc));
        ic->lj = _mm512_mask_add_ps(ic->lj, count, ic->lj,
                                    _mm512_sub_ps(_mm512_sub_ps(v12, v6), v6));
    }
    return _mm512_mul_ps(_mm512_fmsub_ps(c12, s, c6), _mm512_mul_ps(s, y2));
}

/* Pair p of i rows with 8 j rows; fj collects the force on i. `list` and `interacts`: lanes, if
 * masked. */
INLINE void pair_rows(const constants *c, i_cluster *ic, const int p, const j_rows *j, forces *fj,
                      uint32_t list, uint32_t interacts, const bool energy, const lj_range range,
                      const md_lj_rule rule, const bool masked, const bool with_lj)
{
    const bool uneven = range != ONE_CUTOFF;
    i_rows *i = &ic->pair[p];
    __m512 dx = _mm512_sub_ps(i->x, j->x);
    __m512 dy = _mm512_sub_ps(i->y, j->y);
    __m512 dz = _mm512_sub_ps(i->z, j->z);
    __m512 r2 = _mm512_fmadd_ps(dz, dz, _mm512_fmadd_ps(dy, dy, _mm512_mul_ps(dx, dx)));
    __mmask16 in_c = _mm512_cmp_ps_mask(r2, c->rc2, _CMP_LT_OQ), in_v = in_c;
    if (uneven) in_v = _mm512_cmp_ps_mask(r2, c->rv2, _CMP_LT_OQ);
    /* 2 / sqrt(r2): one Newton step on an estimate that is good to 2^-14 */
    __m512 y = _mm512_rsqrt14_ps(r2);
    __m512 t = _mm512_fnmadd_ps(_mm512_mul_ps(r2, y), y, _mm512_set1_ps(3));
    if (masked) {
        __mmask16 both = lanes(interacts, p);
        y = _mm512_maskz_mul_ps(both, y, t);
        in_c &= lanes(list, p);
        in_v &= both;
    } else {
        y = _mm512_mul_ps(y, t);
    }
    __m512 qq = _mm512_mul_ps(i->q, j->q), y2 = _mm512_mul_ps(y, y);
    __m512 f = _mm512_fmsub_ps(y, y2, c->k);
    if (energy) {
        __m512 v = _mm512_sub_ps(_mm512_fmadd_ps(c->krf2, r2, y), c->crf2);
        ic->coulomb = _mm512_mask_add_ps(ic->coulomb, in_c, ic->coulomb, _mm512_mul_ps(qq, v));
    }
    f = _mm512_maskz_mul_ps(in_c, f, qq);
    if (with_lj) {
        __m512 g = range == SWITCHED
                       ? switched_lj(c, ic, i, j, r2, y, y2, in_v, energy, rule)
                       : lennard_jones(c, ic, i, j, y, y2, in_v, energy, rule);
        f = _mm512_mask_add_ps(f, in_v, f, g);
    }
    dx = _mm512_mul_ps(f, dx);
    dy = _mm512_mul_ps(f, dy);
    dz = _mm512_mul_ps(f, dz);
    i->f = (forces){_mm512_add_ps(i->f.x, dx), _mm512_add_ps(i->f.y, dy),
                    _mm512_add_ps(i->f.z, dz)};
    *fj = (forces){_mm512_add_ps(fj->x, dx), _mm512_add_ps(fj->y, dy), _mm512_add_ps(fj->z, dz)};
}

/* One segment of a working list, pairs first .. end_pair - 1 of the i rows. lj: how many pairs of
 * rows have Lennard-Jones. */
INLINE void segment(const constants *c, md_pairs *pairs, i_cluster *ic, const int *j,
                    const int *end, const uint32_t *mask, const int first, const int end_pair,
                    const bool energy, const lj_range range, const md_lj_rule rule,
                    const bool masked, const int lj)
{
    for (; j < end; j += 2) {
        j_rows jr;
        load_j(pairs, j, rule, first < lj, &jr);
        const __m512 zero = _mm512_setzero_ps();
        forces fj = {zero, zero, zero};
        uint32_t list = 0, interacts = 0;
        if (masked) {
            list = (mask[0] & 0xffff) | mask[1] << 16;
            interacts = mask[0] >> 16 | (mask[1] & 0xffff0000u);
            mask += 2;
        }
        _Pragma(UNROLL) for (int p = first; p < end_pair; p++)
            pair_rows(c, ic, p, &jr, &fj, list, interacts, energy, range, rule, masked, p < lj);
        float *a = pairs->f + (size_t)j[0] * MD_F, *b = pairs->f + (size_t)j[1] * MD_F;
        subtract_j(a, b, fj.x);
        subtract_j(a + 4, b + 4, fj.y);
        subtract_j(a + 8, b + 8, fj.z);
    }
}

INLINE void segments(const constants *c, md_pairs *pairs, i_cluster *ic, const md_list *list,
                     const md_work *work, const bool energy, const lj_range range,
                     const md_lj_rule rule, const int lj)
{
    const int *j = list->j, *s = work->start;
    const uint32_t *mask = list->mask + work->mask_start;
    segment(c, pairs, ic, j + s[0], j + s[1], mask, 0, 2, energy, range, rule, true, 2);
    segment(c, pairs, ic, j + s[1], j + s[2], NULL, 0, 2, energy, range, rule, false, lj);
    segment(c, pairs, ic, j + s[2], j + s[3], NULL, 0, 1, energy, range, rule, false, lj);
    segment(c, pairs, ic, j + s[3], j + s[4], NULL, 1, 2, energy, range, rule, false, lj);
}

/* v[0] in the quarters of the first row, v[1] in those of the second. */
INLINE __m512 spread(const float *v, float factor)
{
    return _mm512_mask_blend_ps(0xf0f0, _mm512_set1_ps(factor * v[0]),
                                _mm512_set1_ps(factor * v[1]));
}

INLINE void begin_i(const md_nonbonded *nb, const md_pairs *pairs, int cluster,
                    const md_lj_rule rule, i_cluster *ic)
{
    const float *xq = pairs->xq + (size_t)cluster * MD_XQ, *lj = pairs->lj + (size_t)cluster * 8;
    const int *type = pairs->type + (size_t)cluster * MD_CLUSTER;
    const __m512 zero = _mm512_setzero_ps();
    const bool berthelot = rule == MD_LJ_BERTHELOT;
    for (int p = 0; p < N_PAIRS; p++) {
        i_rows *i = &ic->pair[p];
        i->x = spread(xq + 2 * p, 1);
        i->y = spread(xq + 4 + 2 * p, 1);
        i->z = spread(xq + 8 + 2 * p, 1);
        i->q = spread(xq + 12 + 2 * p, (float)(nb->factor / 8));
        i->lj0 = spread(lj + 2 * p, berthelot ? 1 : 6.0f / 256);
        i->lj1 = spread(lj + 4 + 2 * p, berthelot ? 1.5f : 12.0f / 16384);
        i->table = _mm512_mask_blend_epi32(0xf0f0, _mm512_set1_epi32(2 * nb->n_types * type[2 * p]),
                                           _mm512_set1_epi32(2 * nb->n_types * type[2 * p + 1]));
        i->f = (forces){zero, zero, zero};
    }
    ic->table = nb->table[0];
    ic->coulomb = ic->lj = zero;
}

/* Sums over the lanes of the four rows, in the order of the rows. */
INLINE __m128 row_sums(__m512 low, __m512 high)
{
    /* quarters: rows 0, 1, 2, 3 */
    __m512 t = _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x44),
                             _mm512_shuffle_f32x4(low, high, 0xee));
    __m128 a = _mm512_castps512_ps128(t), b = _mm512_extractf32x4_ps(t, 1);
    __m128 d = _mm512_extractf32x4_ps(t, 2), e = _mm512_extractf32x4_ps(t, 3);
    return _mm_hadd_ps(_mm_hadd_ps(a, b), _mm_hadd_ps(d, e));
}

INLINE void end_i(float *f, const i_cluster *ic)
{
    const forces *low = &ic->pair[0].f, *high = &ic->pair[1].f;
    _mm_store_ps(f, _mm_add_ps(_mm_load_ps(f), row_sums(low->x, high->x)));
    _mm_store_ps(f + 4, _mm_add_ps(_mm_load_ps(f + 4), row_sums(low->y, high->y)));
    _mm_store_ps(f + 8, _mm_add_ps(_mm_load_ps(f + 8), row_sums(low->z, high->z)));
}

static double sum_double(__m512 a)
{
    float v[16];
    double sum = 0;
    _mm512_storeu_ps(v, a);
    for (int k = 0; k < 16; k++) sum += (double)v[k];
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
        int lj_pairs = pairs->lj_rows[work->cluster];
        if (range == TWO_CUTOFFS || rule == MD_LJ_TABLE) lj_pairs = 2;
        switch (lj_pairs) {
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

static __m512 all(double a)
{
    return _mm512_set1_ps((float)a);
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

static void force_avx512(const md_nonbonded *nb, md_pairs *pairs, md_part part,
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
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const md_nonbonded_ops md_nonbonded_avx512 = {"avx512", 8, runs, force_avx512};
#endif
