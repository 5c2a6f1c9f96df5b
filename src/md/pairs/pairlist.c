/* Outer lists: for every i-cluster the j-clusters whose bounding boxes come within rlist.
 *
 * All i-clusters of one column look into the same columns of each partner grid, so these are found
 * once a column. Clusters are sorted along columns: where columns of both grids run along the same
 * axis the window of each partner column only moves forward while i goes up its own column, and the
 * work is proportional to the boxes tested, about one and a half times those kept.
 *
 * Which grids: LOCAL is grid 0 with itself, clusters j >= i. BORDER is grid 0 with every other grid
 * and, in scheme return, those pairs of ghost zones that share no axis.
 *
 * Not done here: exact distances. Pruning has to be fast anyhow, and runs right after.
 */
#include "md/pairs/search.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Coordinates are rounded to float and cut into columns in float; lists are that much larger (nm).
 */
static const float ROUNDING = 2e-5f;

static bool are_partners(const md_pairs *pairs, const md_rows *rows, md_part part, int gi, int gj)
{
    if (part == MD_PART_LOCAL) return gi == 0 && gj == 0;
    if (gi >= gj) return false;
    if (rows->scheme == MD_SCHEME_SHELL) return gi == 0;
    return (pairs->grid[gi].zone & pairs->grid[gj].zone) == 0;
}

static int column_clamped(float x, int n)
{
    return x < 0 ? 0 : x >= (float)n ? n - 1 : (int)x;
}

static void reserve_neighbours(md_neighbours *nb, int n)
{
    if ((size_t)n <= nb->capacity) return;
    size_t capacity[6], now = nb->capacity, need = ((size_t)n + n / 2 + 15) / 8 * 8;
    for (int k = 0; k < 6; k++) capacity[k] = now;
    BASE_RESERVE(nb->first, capacity[0], need);
    BASE_RESERVE(nb->last, capacity[1], need);
    for (int k = 0; k < 2; k++) {
        BASE_RESERVE(nb->lo[k], capacity[2 + k], need);
        BASE_RESERVE(nb->hi[k], capacity[4 + k], need);
    }
    nb->capacity = need;
}

/* Add the columns of one grid that come within r of the box [lo, hi]; those before `first` (this
 * column's own number in a half list, else 0) are left out. */
static void add_neighbours(md_pairs *pairs, const md_columns *grid, const float lo[3],
                           const float hi[3], float r, int first)
{
    md_neighbours *nb = &pairs->neighbours;
    int from[2], to[2], begin = (nb->n + 7) / 8 * 8;
    nb->n = begin;
    for (int k = 0; k < 2; k++) {
        float below = (lo[grid->axis[k]] - r - grid->lo[k]) * grid->inverse[k];
        float above = (hi[grid->axis[k]] + r - grid->lo[k]) * grid->inverse[k];
        if (above < 0 || below > (float)grid->n[k]) return;
        from[k] = column_clamped(below, grid->n[k]);
        to[k] = column_clamped(above, grid->n[k]);
    }
    for (int ca = from[0]; ca <= to[0]; ca++) {
        float side[2][2];       /* lower and upper side of the column, per axis */
        side[0][0] = grid->lo[0] + (float)ca * grid->width[0];
        side[0][1] = side[0][0] + grid->width[0];
        float d0 = gap(lo[grid->axis[0]], hi[grid->axis[0]], side[0][0], side[0][1]);
        for (int cb = from[1]; cb <= to[1]; cb++) {
            int column = ca * grid->n[1] + cb;
            const int *start = pairs->column_start + grid->first_column + column;
            if (column < first || start[0] == start[1]) continue;
            side[1][0] = grid->lo[1] + (float)cb * grid->width[1];
            side[1][1] = side[1][0] + grid->width[1];
            float d1 = gap(lo[grid->axis[1]], hi[grid->axis[1]], side[1][0], side[1][1]);
            if (d0 * d0 + d1 * d1 > r * r) continue;
            reserve_neighbours(nb, nb->n + 8);
            nb->first[nb->n] = start[0];
            nb->last[nb->n] = start[1];
            for (int k = 0; k < 2; k++) {
                nb->lo[k][nb->n] = side[k][0];
                nb->hi[k][nb->n] = side[k][1];
            }
            nb->n++;
        }
    }
    if (nb->n == begin) return;
    int g = nb->n_grids++;
    memcpy(nb->grid[g].axis, grid->axis, sizeof grid->axis);
    nb->grid[g].begin = begin;
    nb->grid[g].end = nb->n;
}

/* Mask of cluster j with the cluster in work: the one being made, or a fresh one. */
static uint32_t *mask_for(md_pairs *pairs, int j, int *n)
{
    if (!pairs->mark[j]) {
        pairs->masked[*n] = j;
        pairs->masked_mask[*n] = MD_MASK_ALL;
        pairs->mark[j] = ++*n;
    }
    return &pairs->masked_mask[pairs->mark[j] - 1];
}

/* Clusters of [first, end) that need a mask with cluster i, into pairs->masked and mark: i itself,
 * whose pairs would count twice, and those with rows excluded from i's. They need not be near. */
static int find_masks(md_pairs *pairs, const md_rows *rows, int i, int first, int end, bool half)
{
    int n = 0;
    if (half) {
        uint32_t upper = 0;
        for (int a = 0; a < MD_CLUSTER; a++)
            for (int b = a + 1; b < MD_CLUSTER; b++) upper |= 1u << (4 * a + b);
        *mask_for(pairs, i, &n) = upper | upper << 16;
    }
    for (int a = 0; a < MD_CLUSTER; a++) {
        int row = pairs->row_of_slot[i * MD_CLUSTER + a];
        if (row < 0) continue;
        for (int e = rows->exclusion_start[row]; e < rows->exclusion_start[row + 1]; e++) {
            int slot = pairs->slot_of_row[rows->exclusion[e]];
            if (slot < first * MD_CLUSTER || slot >= end * MD_CLUSTER) continue;
            *mask_for(pairs, slot / MD_CLUSTER, &n) &= ~(1u << (16 + 4 * a + slot % MD_CLUSTER));
        }
    }
    return n;
}

/* Finish the entry of cluster i, whose n partners lie at the end of the list: masked ones to the
 * front. Partners come from behind i, in a border list from behind its grid, so most masks are
 * found and the walk ends before the list does. */
static void emit(md_pairs *pairs, const md_rows *rows, md_list *list, int i, int n,
                 const md_columns *grid, bool half)
{
    const int first = half ? i : grid->first_cluster + grid->n_clusters;
    const int end = half ? grid->first_cluster + grid->n_clusters : pairs->n_clusters;
    int n_masks = find_masks(pairs, rows, i, first, end, half), front = 0;
    int *j = list->outer_j + list->n_outer_j;
    BASE_RESERVE(list->outer, list->capacity_outer, list->n_outer + 1);
    BASE_RESERVE(list->outer_mask, list->capacity_outer_mask, list->n_outer_masks + n_masks);
    for (int k = 0; k < n && front < n_masks; k++) {
        int c = j[k];
        if (!pairs->mark[c]) continue;
        list->outer_mask[list->n_outer_masks + front] = pairs->masked_mask[pairs->mark[c] - 1];
        j[k] = j[front];
        j[front++] = c;
    }
    for (int k = 0; k < n_masks; k++) pairs->mark[pairs->masked[k]] = 0;
    list->outer[list->n_outer++] =
        (md_outer){i, list->n_outer_j, list->n_outer_j + n, list->n_outer_masks, front};
    list->n_outer_masks += front;
    list->n_outer_j += n;
}

/* Is there room for the entries of one more i-cluster? Numbers of entries are int, also in the
 * working list, whose segments are filled up to whole vectors of at most 4 entries. */
static sundog_status check_room(const md_pairs *pairs, const md_list *list)
{
    const int64_t padding = 3 * MD_N_SEGMENTS * ((int64_t)list->n_outer + 1);
    if (list->n_outer_j + padding + pairs->n_clusters + 8 <= INT32_MAX) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_ARGUMENT,
                     "the pair list of one domain (%d clusters) has more than %d entries, the most "
                     "that is possible: use more domains", pairs->n_clusters, list->n_outer_j);
}

/* All i-clusters of one column. */
static sundog_status search_column(md_pairs *pairs, const md_rows *rows, md_part part, int gi,
                                   int column, float r)
{
    const md_columns *grid = &pairs->grid[gi];
    const bool half = part == MD_PART_LOCAL;
    int first = pairs->column_start[grid->first_column + (size_t)column];
    int end = pairs->column_start[grid->first_column + (size_t)column + 1];
    if (first == end) return SUNDOG_OK;
    float lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
        lo[k] = pairs->lo[k][first];
        hi[k] = pairs->hi[k][first];
        for (int c = first + 1; c < end; c++) {
            lo[k] = fminf(lo[k], pairs->lo[k][c]);
            hi[k] = fmaxf(hi[k], pairs->hi[k][c]);
        }
    }
    pairs->neighbours.n = pairs->neighbours.n_grids = 0;
    for (int gj = 0; gj < pairs->n_grids; gj++)
        if (are_partners(pairs, rows, part, gi, gj))
            add_neighbours(pairs, &pairs->grid[gj], lo, hi, r, half ? column : 0);
    if (pairs->neighbours.n_grids == 0) return SUNDOG_OK;
    md_list *list = &pairs->list[part];
    for (int i = first; i < end; i++) {
        BASE_TRY(check_room(pairs, list));
        BASE_RESERVE(list->outer_j, list->capacity_outer_j,
                     list->n_outer_j + pairs->n_clusters + 8);
        int n = pairs->ops->find(pairs, i, grid->axis[2], half, r, list->outer_j + list->n_outer_j);
        if (n > 0) emit(pairs, rows, list, i, n, grid, half);
    }
    return SUNDOG_OK;
}

sundog_status md_pairs_make_outer(md_pairs *pairs, const md_rows *rows, md_part part)
{
    md_list *list = &pairs->list[part];
    list->n_outer = list->n_outer_j = list->n_outer_masks = 0;
    int n_i_grids = part == MD_PART_LOCAL ? 1 : pairs->n_grids;
    for (int gi = 0; gi < n_i_grids; gi++)
        for (int c = 0; c < pairs->grid[gi].n[0] * pairs->grid[gi].n[1]; c++)
            BASE_TRY(search_column(pairs, rows, part, gi, c,
                                   (float)pairs->options.rlist + ROUNDING));
    return SUNDOG_OK;
}
