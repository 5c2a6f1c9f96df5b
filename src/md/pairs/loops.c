/* The inner loops of the pair search in plain C: what other processors run, and what the SIMD ones
 * are tested against.
 */
#include "md/pairs/search.h"

#include <math.h>

/* Clusters c of [begin, end) whose box comes within sqrt(r2) of that of cluster i, and which begin
 * before `limit` along x. */
static int test_boxes(const md_pairs *pairs, int i, int begin, int end, int x, float limit,
                      float r2, int *out)
{
    int n = 0;
    for (int c = begin; c < end && pairs->lo[x][c] <= limit; c++) {
        float d2 = 0;
        for (int k = 0; k < 3; k++) {
            float d = gap(pairs->lo[k][i], pairs->hi[k][i], pairs->lo[k][c], pairs->hi[k][c]);
            d2 += d * d;
        }
        if (d2 <= r2) out[n++] = c;
    }
    return n;
}

static int find(md_pairs *pairs, int i, int axis, bool half, float r, int *out)
{
    const md_neighbours *nb = &pairs->neighbours;
    int n = 0;
    for (int g = 0; g < nb->n_grids; g++) {
        const int *x = nb->grid[g].axis;
        for (int k = nb->grid[g].begin; k < nb->grid[g].end; k++) {
            float ga = gap(pairs->lo[x[0]][i], pairs->hi[x[0]][i], nb->lo[0][k], nb->hi[0][k]);
            float gb = gap(pairs->lo[x[1]][i], pairs->hi[x[1]][i], nb->lo[1][k], nb->hi[1][k]);
            float left = r * r - ga * ga - gb * gb;
            if (left < 0) continue;
            int first = window_begin(pairs, k, i, x[2], axis == x[2], r);
            if (half && first < i) first = i;
            float limit = pairs->hi[x[2]][i] + sqrtf(left);
            n += test_boxes(pairs, i, first, nb->last[k], x[2], limit, r * r, out + n);
        }
    }
    return n;
}

static void split(const md_pairs *pairs, int i, const int *j, int n, float r2, int *const out[3],
                  int n_out[3])
{
    const float *xi = pairs->xq + (size_t)i * MD_XQ;
    n_out[0] = n_out[1] = n_out[2] = 0;
    for (int k = 0; k < n; k++) {
        const float *xj = pairs->xq + (size_t)j[k] * MD_XQ;
        bool near[2] = {false, false};
        for (int a = 0; a < MD_CLUSTER; a++)
            for (int b = 0; b < MD_CLUSTER; b++) {
                float dx = xi[a] - xj[b], dy = xi[4 + a] - xj[4 + b], dz = xi[8 + a] - xj[8 + b];
                if (dx * dx + dy * dy + dz * dz <= r2) near[a / 2] = true;
            }
        int segment = near[0] && near[1] ? 0 : near[0] ? 1 : 2;
        if (near[0] || near[1]) out[segment][n_out[segment]++] = j[k];
    }
}

static void pack(md_pairs *pairs, const md_rows *rows, int first, int end)
{
    const double *o = rows->origin;
    for (int slot = first * MD_CLUSTER; slot < end * MD_CLUSTER; slot++) {
        int row = pairs->row_of_slot[slot];
        if (row < 0) continue;
        float *xq = pairs->xq + (size_t)(slot / MD_CLUSTER) * MD_XQ + slot % MD_CLUSTER;
        const double *x = rows->x[row];
        xq[0] = (float)(x[0] - o[0]);
        xq[4] = (float)(x[1] - o[1]);
        xq[8] = (float)(x[2] - o[2]);
    }
}

const md_pairs_ops md_pairs_ops_c = {"plain", find, split, pack};

const md_pairs_ops *const *md_pairs_ops_known(int *n)
{
    static const md_pairs_ops *const all[] = {
#ifdef __x86_64__
        &md_pairs_ops_avx512, &md_pairs_ops_avx2,
#endif
        &md_pairs_ops_c};
    enum { N_ALL = sizeof all / sizeof all[0] };
    int first = 0;
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")) first = 1;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) first = N_ALL - 1;
#endif
    *n = N_ALL - first;
    return all + first;
}
