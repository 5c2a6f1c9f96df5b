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

/* Clusters c of [begin, end) whose box comes within sqrt(r2) of `box`, and which begin before
 * `limit` along x. Boxes are read 8 at a time, up to 7 past `end`; what lies there is dropped. */
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
        for (; hit; hit &= hit - 1) out[n++] = c + __builtin_ctz(hit);
    }
    return n;
}

static int find_avx2(md_pairs *pairs, int i, int axis, bool half, float r, int *out)
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
                int first = window_begin(pairs, k + l, i, x[2], axis == x[2], r);
                if (half && first < i) first = i;
                n += test_boxes(pairs, &box, first, nb->last[k + l], x[2], limit[l], r2,
                                out + n);
            }
        }
    }
    return n;
}

/* Pairs (a0, b0..b3), (a1, b0..b3) of which any is near. */
static inline int near2(const __m256 xi[3], const __m256 xj[3], __m256 r2)
{
    __m256 x = _mm256_sub_ps(xi[0], xj[0]);
    __m256 y = _mm256_sub_ps(xi[1], xj[1]);
    __m256 z = _mm256_sub_ps(xi[2], xj[2]);
    __m256 d2 = _mm256_fmadd_ps(x, x, _mm256_fmadd_ps(y, y, _mm256_mul_ps(z, z)));
    return _mm256_movemask_ps(_mm256_cmp_ps(d2, r2, _CMP_LE_OQ)) != 0;
}

static void split_avx2(const md_pairs *pairs, int i, const int *j, int n, float radius2,
                       int *const out[3], int n_out[3])
{
    const float *xq = pairs->xq, *x = xq + (size_t)i * MD_XQ;
    const __m256 r2 = _mm256_set1_ps(radius2);
    __m256 low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = _mm256_set_m128(_mm_set1_ps(x[4 * k + 1]), _mm_set1_ps(x[4 * k]));
        high[k] = _mm256_set_m128(_mm_set1_ps(x[4 * k + 3]), _mm_set1_ps(x[4 * k + 2]));
    }
    int n_both = 0, n_low = 0, n_high = 0;
    int *both = out[0], *only_low = out[1], *only_high = out[2];
    for (int k = 0; k < n; k++) {
        __m256 xj[3];
        for (int d = 0; d < 3; d++)
            xj[d] = _mm256_broadcast_ps((const __m128 *)(xq + (size_t)j[k] * MD_XQ + 4 * d));
        int l = near2(low, xj, r2), h = near2(high, xj, r2);
        /* written always, kept by counting: no branch to mispredict */
        both[n_both] = only_low[n_low] = only_high[n_high] = j[k];
        n_both += l & h;
        n_low += l & ~h;
        n_high += h & ~l;
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

const md_pairs_ops md_pairs_ops_avx2 = {"avx2", find_avx2, split_avx2, md_pairs_pack_avx2};
#endif
