/* Small pieces of the search that plain C and SIMD share. */
#ifndef MD_SEARCH_H
#define MD_SEARCH_H
#include "md/pairs/lists.h"

/* Gap between intervals, 0 when they overlap. */
static inline float gap(float lo_a, float hi_a, float lo_b, float hi_b)
{
    float above = lo_b - hi_a, below = lo_a - hi_b;
    float larger = above > below ? above : below;
    return larger > 0 ? larger : 0;
}

/* First cluster of neighbour column k that can be within r of cluster i along its axis x. If the
 * columns of both run along it, i only moves forward and so does the window; else it is searched
 * for. */
static inline int window_begin(md_pairs *pairs, int k, int i, int x, bool forward, float r)
{
    const float *hi = pairs->hi[x], bound = pairs->lo[x][i] - r;
    int low = pairs->neighbours.first[k], high = pairs->neighbours.last[k];
    if (forward) {
        while (low < high && hi[low] < bound) low++;
        pairs->neighbours.first[k] = low;
        return low;
    }
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (hi[middle] < bound) low = middle + 1;
        else high = middle;
    }
    return low;
}
#endif
