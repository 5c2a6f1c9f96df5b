/* The inner loops of the pair search for AVX2: 8 columns, 8 bounding boxes or 8 of the 16 pairs of
 * two clusters a step.
 */
#ifdef __AVX2__
#include "md/pairs/search.h"

#include <immintrin.h>

typedef struct box8 {
    __m256 lo[3], hi[3];
} box8;

static inline __m256 gap8(__m256 lo_i, __m256 hi_i, const float *lo, const float *hi)
{
    __m256 above = _mm256_sub_ps(_mm256_loadu_ps(lo), hi_i);
    __m256 below = _mm256_sub_ps(lo_i, _mm256_loadu_ps(hi));
    return _mm256_max_ps(_mm256_max_ps(above, below), _mm256_setzero_ps());
}

/* The numbers of the bits that are set in a byte, one a byte, lowest first. */
#define BIT(m, k) ((m) >> (k) & 1)
#define BELOW(m, k) /* bits set below bit k < 8 */                                              \
    (((k) > 0 ? BIT(m, 0) : 0) + ((k) > 1 ? BIT(m, 1) : 0) + ((k) > 2 ? BIT(m, 2) : 0) +        \
     ((k) > 3 ? BIT(m, 3) : 0) + ((k) > 4 ? BIT(m, 4) : 0) + ((k) > 5 ? BIT(m, 5) : 0) +        \
     ((k) > 6 ? BIT(m, 6) : 0))
#define PLACE(m, k) ((uint64_t)(BIT(m, k) * (k)) << 8 * BELOW(m, k))
#define PLACES(m)                                                                               \
    (PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) | PLACE(m, 6) |        \
     PLACE(m, 7))
#define PLACES4(m) PLACES(m), PLACES(m + 1), PLACES(m + 2), PLACES(m + 3)
#define PLACES16(m) PLACES4(m), PLACES4(m + 4), PLACES4(m + 8), PLACES4(m + 12)
#define PLACES64(m) PLACES16(m), PLACES16(m + 16), PLACES16(m + 32), PLACES16(m + 48)
static const uint64_t places_of[256] = {PLACES64(0), PLACES64(64), PLACES64(128), PLACES64(192)};

/* Clusters c of [begin, end) whose box comes within sqrt(r2) of `box`, and which begin before
 * `limit` along x. Boxes are read, and clusters written, 8 at a time whatever is found: a loop over
 * hits mispredicts once for every column. */
static inline int test_boxes(const md_pairs *pairs, const box8 *box, int begin, int end, int x,
                             float limit, __m256 r2, int *out)
{
    int n = 0;
    for (int c = begin; c < end && pairs->lo[x][c] <= limit; c += 8) {
        __m256 d[3];
        for (int k = 0; k < 3; k++)
            d[k] = gap8(box->lo[k], box->hi[k], pairs->lo[k] + c, pairs->hi[k] + c);
        __m256 d2 = _mm256_fmadd_ps(
            d[0], d[0], _mm256_fmadd_ps(d[1], d[1], _mm256_mul_ps(d[2], d[2])));
        unsigned hit = (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(d2, r2, _CMP_LE_OQ));
        if (end - c < 8) hit &= (1u << (end - c)) - 1;
        __m128i places = _mm_loadl_epi64((const __m128i *)&places_of[hit]);
        _mm256_storeu_si256((__m256i *)(out + n),
                            _mm256_add_epi32(_mm256_cvtepu8_epi32(places), _mm256_set1_epi32(c)));
        n += __builtin_popcount(hit);
    }
    return n;
}

/* As window_begin for columns that run the same way, without its loop in all but rare cases. */
static inline int move_window(md_pairs *pairs, int k, int x, __m256 bound, float bound1)
{
    md_neighbours *nb = &pairs->neighbours;
    int first = nb->first[k];
    __m256 left = _mm256_cmp_ps(_mm256_loadu_ps(pairs->hi[x] + first), bound, _CMP_LT_OQ);
    first += __builtin_ctz(~(unsigned)_mm256_movemask_ps(left));
    if (first > nb->last[k]) first = nb->last[k];
    if (first == nb->first[k] + 8)
        while (first < nb->last[k] && pairs->hi[x][first] < bound1) first++;
    nb->first[k] = first;
    return first;
}

int md_pairs_find_avx2(md_pairs *pairs, int i, int axis, bool half, float r, int *out)
{
    const md_neighbours *nb = &pairs->neighbours;
    const __m256 r2 = _mm256_set1_ps(r * r);
    box8 box;
    for (int k = 0; k < 3; k++) {
        box.lo[k] = _mm256_broadcast_ss(&pairs->lo[k][i]);
        box.hi[k] = _mm256_broadcast_ss(&pairs->hi[k][i]);
    }
    int n = 0;
    for (int g = 0; g < nb->n_grids; g++) {
        const int *x = nb->grid[g].axis, end = nb->grid[g].end;
        const float bound1 = pairs->lo[x[2]][i] - r;
        const __m256 bound = _mm256_set1_ps(bound1);
        for (int k = nb->grid[g].begin; k < end; k += 8) {
            __m256 a = gap8(box.lo[x[0]], box.hi[x[0]], nb->lo[0] + k, nb->hi[0] + k);
            __m256 b = gap8(box.lo[x[1]], box.hi[x[1]], nb->lo[1] + k, nb->hi[1] + k);
            __m256 left = _mm256_fnmadd_ps(a, a, _mm256_fnmadd_ps(b, b, r2));
            unsigned near = (unsigned)_mm256_movemask_ps(
                _mm256_cmp_ps(left, _mm256_setzero_ps(), _CMP_GE_OQ));
            if (end - k < 8) near &= (1u << (end - k)) - 1;
            float limit[8];
            _mm256_storeu_ps(limit, _mm256_add_ps(box.hi[x[2]], _mm256_sqrt_ps(left)));
            for (; near; near &= near - 1) {
                int l = __builtin_ctz(near);
                int first = axis == x[2] ? move_window(pairs, k + l, x[2], bound, bound1)
                                         : window_begin(pairs, k + l, i, x[2], false, r);
                if (half && first < i) first = i;
                n += test_boxes(pairs, &box, first, nb->last[k + l], x[2], limit[l], r2,
                                out + n);
            }
        }
    }
    return n;
}

/* Lanes: pairs (a0, b0..b3), (a1, b0..b3) that are near. */
static inline __m256i near2(const __m256 xi[3], const __m256 xj[3], __m256 r2)
{
    __m256 x = _mm256_sub_ps(xi[0], xj[0]);
    __m256 y = _mm256_sub_ps(xi[1], xj[1]);
    __m256 z = _mm256_sub_ps(xi[2], xj[2]);
    __m256 d2 = _mm256_fmadd_ps(x, x, _mm256_fmadd_ps(y, y, _mm256_mul_ps(z, z)));
    return _mm256_castps_si256(_mm256_cmp_ps(d2, r2, _CMP_LE_OQ));
}

/* Which of 4 j-clusters are near the rows 0, 1 (bits 0 .. 3) and the rows 2, 3 (bits 4 .. 7). */
static inline unsigned near_halves(const float *xq, const int *j, const __m256 low[3],
                                   const __m256 high[3], __m256 r2)
{
    __m256i l[4], h[4];
    for (int k = 0; k < 4; k++) {
        __m256 xj[3];
        for (int d = 0; d < 3; d++)
            xj[d] = _mm256_broadcast_ps((const __m128 *)(xq + (size_t)j[k] * MD_XQ + 4 * d));
        l[k] = near2(low, xj, r2);
        h[k] = near2(high, xj, r2);
    }
    /* 4 bytes a cluster: in the low half of the vector its pairs with a0, in the high with a1 */
    __m256i bl = _mm256_packs_epi16(_mm256_packs_epi32(l[0], l[1]), _mm256_packs_epi32(l[2], l[3]));
    __m256i bh = _mm256_packs_epi16(_mm256_packs_epi32(h[0], h[1]), _mm256_packs_epi32(h[2], h[3]));
    __m256i any = _mm256_or_si256(_mm256_permute2x128_si256(bl, bh, 0x20),
                                  _mm256_permute2x128_si256(bl, bh, 0x31));
    __m256i none = _mm256_cmpeq_epi32(any, _mm256_setzero_si256());
    return ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(none)) & 0xff;
}

/* Append those of j[8] whose bits are set. */
static inline int keep(int *out, __m256i j, unsigned bits)
{
    __m128i places = _mm_loadl_epi64((const __m128i *)&places_of[bits]);
    _mm256_storeu_si256((__m256i *)out,
                        _mm256_permutevar8x32_epi32(j, _mm256_cvtepu8_epi32(places)));
    return __builtin_popcount(bits);
}

/* 8 entries a time; what is left over is filled up with the dummy cluster, near to nothing. */
static void split_avx2(const md_pairs *pairs, int i, const int *j, int n, float radius2,
                       int *const out[3], int n_out[3])
{
    const float *x = pairs->xq + (size_t)i * MD_XQ;
    const __m256 r2 = _mm256_set1_ps(radius2);
    __m256 low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = _mm256_set_m128(_mm_set1_ps(x[4 * k + 1]), _mm_set1_ps(x[4 * k]));
        high[k] = _mm256_set_m128(_mm_set1_ps(x[4 * k + 3]), _mm_set1_ps(x[4 * k + 2]));
    }
    int n_both = 0, n_low = 0, n_high = 0, rest[8];
    for (int k = 0; k < n; k += 8) {
        const int *eight = j + k;
        if (n - k < 8) {
            for (int l = 0; l < 8; l++) rest[l] = k + l < n ? j[k + l] : pairs->n_clusters;
            eight = rest;
        }
        unsigned a = near_halves(pairs->xq, eight, low, high, r2);
        unsigned b = near_halves(pairs->xq, eight + 4, low, high, r2);
        unsigned l = (a & 15) | (b & 15) << 4, h = a >> 4 | (b & 0xf0);
        __m256i clusters = _mm256_loadu_si256((const __m256i *)eight);
        n_both += keep(out[0] + n_both, clusters, l & h);
        n_low += keep(out[1] + n_low, clusters, l & ~h);
        n_high += keep(out[2] + n_high, clusters, h & ~l);
    }
    n_out[0] = n_both;
    n_out[1] = n_low;
    n_out[2] = n_high;
}

static inline __m128 load_row(const md_rows *rows, int row, __m256d origin)
{
    const __m256i xyz = _mm256_setr_epi64x(-1, -1, -1, 0);      /* the last row ends its array */
    return _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_maskload_pd(rows->x[row], xyz), origin));
}

void md_pairs_pack_avx2(md_pairs *pairs, const md_rows *rows, int first, int end)
{
    const double *o = rows->origin;
    const __m256d origin = _mm256_setr_pd(o[0], o[1], o[2], 0);
    for (int c = first; c < end; c++) {
        const int *row = pairs->row_of_slot + (size_t)c * MD_CLUSTER;
        float *xq = pairs->xq + (size_t)c * MD_XQ;
        if (row[3] < 0) {               /* padding comes last in a cluster */
            md_pairs_ops_c.pack(pairs, rows, c, c + 1);
            continue;
        }
        __m128 a = load_row(rows, row[0], origin), b = load_row(rows, row[1], origin);
        __m128 d = load_row(rows, row[2], origin), e = load_row(rows, row[3], origin);
        _MM_TRANSPOSE4_PS(a, b, d, e);
        _mm_store_ps(xq, a);
        _mm_store_ps(xq + 4, b);
        _mm_store_ps(xq + 8, d);
    }
}

const md_pairs_ops md_pairs_ops_avx2 = {"avx2", md_pairs_find_avx2, split_avx2, md_pairs_pack_avx2};
#endif
