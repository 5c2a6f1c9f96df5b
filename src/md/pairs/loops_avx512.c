/* The inner loops of the pair search for AVX-512 (F, VL): as loops_avx2.c, but all 16 pairs of two
 * clusters in one vector, and hits are written by compressing indices instead of bit by bit. Boxes
 * stay 8 a step: a window along a column holds some 6.
 */
#if defined(__AVX512F__) && defined(__AVX512VL__)
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
 * `limit` along x. Boxes are read, and indices written, 8 at a time. */
static inline int test_boxes(const md_pairs *pairs, const box8 *box, int begin, int end, int x,
                             float limit, __m256 r2, int *out)
{
    const __m256i step = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int n = 0;
    for (int c = begin; c < end && pairs->lo[x][c] <= limit; c += 8) {
        __m256 d[3];
        for (int k = 0; k < 3; k++)
            d[k] = gap8(box->lo[k], box->hi[k], pairs->lo[k] + c, pairs->hi[k] + c);
        __m256 d2 = _mm256_fmadd_ps(
            d[0], d[0], _mm256_fmadd_ps(d[1], d[1], _mm256_mul_ps(d[2], d[2])));
        unsigned hit = _mm256_cmp_ps_mask(d2, r2, _CMP_LE_OQ);
        if (end - c < 8) hit &= (1u << (end - c)) - 1;
        __m256i found = _mm256_maskz_compress_epi32((__mmask8)hit,
                                                    _mm256_add_epi32(_mm256_set1_epi32(c), step));
        _mm256_storeu_si256((__m256i *)(out + n), found);
        n += __builtin_popcount(hit);
    }
    return n;
}

static int find_avx512(md_pairs *pairs, int i, int axis, bool half, float r, int *out)
{
    const md_neighbours *nb = &pairs->neighbours;
    const __m256 r2 = _mm256_set1_ps(r * r);
    box8 box;
    for (int k = 0; k < 3; k++) {
        box.lo[k] = _mm256_set1_ps(pairs->lo[k][i]);
        box.hi[k] = _mm256_set1_ps(pairs->hi[k][i]);
    }
    int n = 0;
    for (int g = 0; g < nb->n_grids; g++) {
        const int *x = nb->grid[g].axis, end = nb->grid[g].end;
        for (int k = nb->grid[g].begin; k < end; k += 8) {
            __m256 a = gap8(box.lo[x[0]], box.hi[x[0]], nb->lo[0] + k, nb->hi[0] + k);
            __m256 b = gap8(box.lo[x[1]], box.hi[x[1]], nb->lo[1] + k, nb->hi[1] + k);
            __m256 left = _mm256_fnmadd_ps(a, a, _mm256_fnmadd_ps(b, b, r2));
            unsigned near = _mm256_cmp_ps_mask(left, _mm256_setzero_ps(), _CMP_GE_OQ);
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

static void split_avx512(const md_pairs *pairs, int i, const int *j, int n, float radius2,
                         int *const out[3], int n_out[3])
{
    const float *xq = pairs->xq, *xi = xq + (size_t)i * MD_XQ;
    const __m512 r2 = _mm512_set1_ps(radius2);
    const __m512i row = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    __m512 x[3];
    for (int k = 0; k < 3; k++)
        x[k] = _mm512_permutexvar_ps(row, _mm512_castps128_ps512(_mm_load_ps(xi + 4 * k)));
    int n_both = 0, n_low = 0, n_high = 0;
    int *both = out[0], *only_low = out[1], *only_high = out[2];
    for (int k = 0; k < n; k++) {
        const float *xj = xq + (size_t)j[k] * MD_XQ;
        __m512 dx = _mm512_sub_ps(x[0], _mm512_broadcast_f32x4(_mm_load_ps(xj)));
        __m512 dy = _mm512_sub_ps(x[1], _mm512_broadcast_f32x4(_mm_load_ps(xj + 4)));
        __m512 dz = _mm512_sub_ps(x[2], _mm512_broadcast_f32x4(_mm_load_ps(xj + 8)));
        __m512 d2 = _mm512_fmadd_ps(dx, dx, _mm512_fmadd_ps(dy, dy, _mm512_mul_ps(dz, dz)));
        unsigned near = _mm512_cmp_ps_mask(d2, r2, _CMP_LE_OQ);
        int l = (near & 0xff) != 0, h = near > 0xff;
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

const md_pairs_ops md_pairs_ops_avx512 = {"avx512", find_avx512, split_avx512,
                                          md_pairs_pack_avx2};
#endif
