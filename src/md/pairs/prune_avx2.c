/* Search and pruning for AVX2: 8 bounding boxes a step; 8 of the 16 pairs of two clusters a step. */
#ifdef __AVX2__
#include "md/pairs/lists.h"

#include <immintrin.h>

static inline __m256 gap8(__m256 lo_i, __m256 hi_i, const float *lo, const float *hi)
{
    __m256 above = _mm256_sub_ps(_mm256_loadu_ps(lo), hi_i);
    __m256 below = _mm256_sub_ps(lo_i, _mm256_loadu_ps(hi));
    return _mm256_max_ps(_mm256_max_ps(above, below), _mm256_setzero_ps());
}

/* Boxes are read 8 at a time, up to 7 past `end`; what lies there is dropped. */
static int search_avx2(const md_pairs *pairs, int i, int begin, int end, int axis, float limit,
                       float r2, int *out)
{
    __m256 lo_i[3], hi_i[3];
    for (int k = 0; k < 3; k++) {
        lo_i[k] = _mm256_broadcast_ss(&pairs->lo[k][i]);
        hi_i[k] = _mm256_broadcast_ss(&pairs->hi[k][i]);
    }
    int n = 0;
    for (int c = begin; c < end; c += 8) {
        __m256 x = gap8(lo_i[0], hi_i[0], pairs->lo[0] + c, pairs->hi[0] + c);
        __m256 y = gap8(lo_i[1], hi_i[1], pairs->lo[1] + c, pairs->hi[1] + c);
        __m256 z = gap8(lo_i[2], hi_i[2], pairs->lo[2] + c, pairs->hi[2] + c);
        __m256 d2 = _mm256_fmadd_ps(x, x, _mm256_fmadd_ps(y, y, _mm256_mul_ps(z, z)));
        unsigned hit = (unsigned)_mm256_movemask_ps(
            _mm256_cmp_ps(d2, _mm256_set1_ps(r2), _CMP_LE_OQ));
        if (end - c < 8) hit &= (1u << (end - c)) - 1;
        for (; hit; hit &= hit - 1) out[n++] = c + __builtin_ctz(hit);
        if (pairs->lo[axis][c + 7] > limit) break;
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
    const float *x = pairs->xq + (size_t)i * MD_XQ;
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
            xj[d] = _mm256_broadcast_ps((const __m128 *)(pairs->xq + (size_t)j[k] * MD_XQ + 4 * d));
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

const md_pairs_ops md_pairs_ops_avx2 = {search_avx2, split_avx2};
#endif
