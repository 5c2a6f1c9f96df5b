/* Filtering for AVX-512 (F, VL): all 16 pairs of two clusters in one vector, and what is kept is
 * compressed. The search and the rest are those of loops_avx2.c: windows along columns hold some 8
 * boxes, so wider vectors would be half empty.
 */
#if defined(__AVX512F__) && defined(__AVX512VL__)
#include "md/pairs/search.h"

#include <immintrin.h>

/* Pairs of 4 j-clusters that are near, 16 bits a cluster, those of rows 0, 1 in the lower byte. */
static inline uint64_t near_pairs(const float *xq, const int *j, const __m512 x[3], __m512 r2)
{
    uint64_t bits = 0;
    for (int k = 0; k < 4; k++) {
        const float *xj = xq + (size_t)j[k] * MD_XQ;
        __m512 dx = _mm512_sub_ps(x[0], _mm512_broadcast_f32x4(_mm_load_ps(xj)));
        __m512 dy = _mm512_sub_ps(x[1], _mm512_broadcast_f32x4(_mm_load_ps(xj + 4)));
        __m512 dz = _mm512_sub_ps(x[2], _mm512_broadcast_f32x4(_mm_load_ps(xj + 8)));
        __m512 d2 = _mm512_fmadd_ps(dx, dx, _mm512_fmadd_ps(dy, dy, _mm512_mul_ps(dz, dz)));
        bits |= (uint64_t)_mm512_cmp_ps_mask(d2, r2, _CMP_LE_OQ) << 16 * k;
    }
    return bits;
}

/* Append those of j[8] whose bits are set. */
static inline int keep(int *out, __m256i j, unsigned bits)
{
    _mm256_storeu_si256((__m256i *)out, _mm256_maskz_compress_epi32((__mmask8)bits, j));
    return __builtin_popcount(bits);
}

/* 8 entries a time, as split_avx2. */
static void split_avx512(const md_pairs *pairs, int i, const int *j, int n, float radius2,
                         int *const out[3], int n_out[3])
{
    const float *xi = pairs->xq + (size_t)i * MD_XQ;
    const __m512 r2 = _mm512_set1_ps(radius2);
    const __m512i row = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m128i halves = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    __m512 x[3];
    for (int k = 0; k < 3; k++)
        x[k] = _mm512_permutexvar_ps(row, _mm512_castps128_ps512(_mm_load_ps(xi + 4 * k)));
    int n_both = 0, n_low = 0, n_high = 0, rest[8];
    for (int k = 0; k < n; k += 8) {
        const int *eight = j + k;
        if (n - k < 8) {
            for (int l = 0; l < 8; l++) rest[l] = k + l < n ? j[k + l] : pairs->n_clusters;
            eight = rest;
        }
        uint64_t a = near_pairs(pairs->xq, eight, x, r2);
        uint64_t b = near_pairs(pairs->xq, eight + 4, x, r2);
        __m128i none = _mm_cmpeq_epi8(_mm_set_epi64x((long long)b, (long long)a),
                                      _mm_setzero_si128());
        unsigned near = ~(unsigned)_mm_movemask_epi8(_mm_shuffle_epi8(none, halves));
        unsigned l = near & 0xff, h = near >> 8 & 0xff;
        __m256i clusters = _mm256_loadu_si256((const __m256i *)eight);
        n_both += keep(out[0] + n_both, clusters, l & h);
        n_low += keep(out[1] + n_low, clusters, l & ~h);
        n_high += keep(out[2] + n_high, clusters, h & ~l);
    }
    n_out[0] = n_both;
    n_out[1] = n_low;
    n_out[2] = n_high;
}

const md_pairs_ops md_pairs_ops_avx512 = {"avx512", md_pairs_find_avx2, split_avx512,
                                          md_pairs_pack_avx2};
#endif
