/* Outer lists: for every i-cluster the j-clusters whose bounding boxes come within rlist.
 *
 * All i-clusters of one column look into the same columns of each partner grid, so these are found
 * once a column. Clusters are sorted along columns: where columns of both grids run along the same axis
 * the window of each partner column only moves forward while i goes up its own column, and the work
 * is proportional to the boxes tested, about one and a half times those kept.
 *
 * Which grids: LOCAL is grid 0 with itself, clusters j >= i. BORDER is grid 0 with every other grid and,
 * in scheme return, those pairs of ghost zones that share no axis.
 *
 * Not done here: exact distances. Pruning has to be fast anyhow, and runs right after.
 */
#include "md/pairs/lists.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Coordinates are rounded to float and cut into columns in float; lists are that much larger, nm. */
static const float ROUNDING = 2e-5f;

static bool are_partners(const md_pairs *pairs, const md_rows *rows, md_part part, int gi, int gj)
{
    if (part == MD_PART_LOCAL) return gi == 0 && gj == 0;
    if (gi >= gj) return false;
    if (rows->scheme == MD_SCHEME_SHELL) return gi == 0;
    return (pairs->grid[gi].zone & pairs->grid[gj].zone) == 0;
}

/* Gap between intervals, 0 when they overlap. */
static float gap(float lo_a, float hi_a, float lo_b, float hi_b)
{
    return fmaxf(0, fmaxf(lo_b - hi_a, lo_a - hi_b));
}

static int column_clamped(float x, int n)
{
    return x < 0 ? 0 : x >= (float)n ? n - 1 : (int)x;
}

/* Add the columns of one grid that come within r of the box [lo, hi]; those before `first` (this
 * column's own number in a half list, else 0) are left out. */
static void add_neighbours(md_pairs *pairs, const md_grid *grid, const float lo[3],
                           const float hi[3], float r, int first)
{
    const int a = grid->axis[0], b = grid->axis[1];
    int from[2], to[2];
    for (int k = 0; k < 2; k++) {
        float below = (lo[grid->axis[k]] - r - grid->lo[k]) * grid->inverse[k];
        float above = (hi[grid->axis[k]] + r - grid->lo[k]) * grid->inverse[k];
        if (above < 0 || below > (float)grid->n[k]) return;
        from[k] = column_clamped(below, grid->n[k]);
        to[k] = column_clamped(above, grid->n[k]);
    }
    for (int ca = from[0]; ca <= to[0]; ca++) {
        float lo_a = grid->lo[0] + (float)ca * grid->width[0], hi_a = lo_a + grid->width[0];
        float gap_a = gap(lo[a], hi[a], lo_a, hi_a);
        for (int cb = from[1]; cb <= to[1]; cb++) {
            int column = ca * grid->n[1] + cb;
            const int *start = pairs->column_start + grid->first_column + column;
            if (column < first || start[0] == start[1]) continue;
            float lo_b = grid->lo[1] + (float)cb * grid->width[1], hi_b = lo_b + grid->width[1];
            float gap_b = gap(lo[b], hi[b], lo_b, hi_b);
            if (gap_a * gap_a + gap_b * gap_b > r * r) continue;
            BASE_RESERVE(pairs->neighbour, pairs->capacity_neighbour, pairs->n_neighbours + 1);
            pairs->neighbour[pairs->n_neighbours++] =
                (md_neighbour){start[0], start[1], {a, b, grid->axis[2]}, {lo_a, lo_b}, {hi_a, hi_b}};
        }
    }
}

/* First cluster of a column that can be within r of cluster i. */
static void move_window(const md_pairs *pairs, md_neighbour *nb, int i, float r, bool forward)
{
    const float *hi = pairs->hi[nb->axis[2]];
    float bound = pairs->lo[nb->axis[2]][i] - r;
    if (forward) {
        while (nb->first < nb->end && hi[nb->first] < bound) nb->first++;
        return;
    }
    int low = nb->first, high = nb->end;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (hi[middle] < bound) low = middle + 1;
        else high = middle;
    }
    nb->first = low;
}

/* Candidates of cluster i, whose column runs along `axis`, from all neighbour columns. */
static int find_candidates(md_pairs *pairs, int i, int axis, bool half, float r)
{
    int n = 0;
    for (int k = 0; k < pairs->n_neighbours; k++) {
        md_neighbour *nb = &pairs->neighbour[k], window = *nb;
        const int *x = nb->axis;
        float ga = gap(pairs->lo[x[0]][i], pairs->hi[x[0]][i], nb->lo[0], nb->hi[0]);
        float gb = gap(pairs->lo[x[1]][i], pairs->hi[x[1]][i], nb->lo[1], nb->hi[1]);
        float left = r * r - ga * ga - gb * gb;
        if (left < 0) continue;
        move_window(pairs, axis == x[2] ? nb : &window, i, r, axis == x[2]);
        int first = axis == x[2] ? nb->first : window.first;
        if (half && first < i) first = i;
        if (first >= nb->end) continue;
        float limit = pairs->hi[x[2]][i] + sqrtf(left);
        n += pairs->ops->search(pairs, i, first, nb->end, x[2], limit, r * r, pairs->candidate + n);
    }
    return n;
}

/* Masks of the n candidates of cluster i: pairs of the diagonal cluster once, exclusions. Returns the
 * number of candidates that need one. */
static int mask_candidates(md_pairs *pairs, const md_rows *rows, int i, int n, bool half)
{
    for (int k = 0; k < n; k++) {
        pairs->mark[pairs->candidate[k]] = k + 1;
        pairs->candidate_mask[k] = MD_MASK_ALL;
    }
    if (half && pairs->mark[i]) {
        uint32_t upper = 0;
        for (int a = 0; a < MD_CLUSTER; a++)
            for (int b = a + 1; b < MD_CLUSTER; b++) upper |= 1u << (4 * a + b);
        pairs->candidate_mask[pairs->mark[i] - 1] = upper | upper << 16;
    }
    for (int a = 0; a < MD_CLUSTER; a++) {
        int row = pairs->row_of_slot[i * MD_CLUSTER + a];
        if (row < 0) continue;
        for (int e = rows->exclusion_start[row]; e < rows->exclusion_start[row + 1]; e++) {
            int slot = pairs->slot_of_row[rows->exclusion[e]];
            int k = pairs->mark[slot / MD_CLUSTER] - 1;
            if (k >= 0) pairs->candidate_mask[k] &= ~(1u << (16 + 4 * a + slot % MD_CLUSTER));
        }
    }
    int n_masked = 0;
    for (int k = 0; k < n; k++) {
        pairs->mark[pairs->candidate[k]] = 0;
        n_masked += pairs->candidate_mask[k] != MD_MASK_ALL;
    }
    return n_masked;
}

static void emit(md_pairs *pairs, md_list *list, int i, int n, int n_masked)
{
    BASE_RESERVE(list->outer, list->capacity_outer, list->n_outer + 1);
    BASE_RESERVE(list->outer_j, list->capacity_outer_j, list->n_outer_j + n);
    BASE_RESERVE(list->outer_mask, list->capacity_outer_mask, list->n_outer_masks + n_masked);
    md_outer *outer = &list->outer[list->n_outer++];
    *outer = (md_outer){i, list->n_outer_j, list->n_outer_j + n, list->n_outer_masks, n_masked};
    int *masked = list->outer_j + list->n_outer_j, *plain = masked + n_masked;
    for (int k = 0; k < n; k++) {
        if (pairs->candidate_mask[k] == MD_MASK_ALL) {
            *plain++ = pairs->candidate[k];
        } else {
            *masked++ = pairs->candidate[k];
            list->outer_mask[list->n_outer_masks++] = pairs->candidate_mask[k];
        }
    }
    list->n_outer_j += n;
}

/* All i-clusters of one column. */
static void search_column(md_pairs *pairs, const md_rows *rows, md_part part, int gi, int column,
                          float r)
{
    const md_grid *grid = &pairs->grid[gi];
    const bool half = part == MD_PART_LOCAL;
    int first = pairs->column_start[grid->first_column + (size_t)column];
    int end = pairs->column_start[grid->first_column + (size_t)column + 1];
    if (first == end) return;
    float lo[3], hi[3];
    for (int k = 0; k < 3; k++) {
        lo[k] = pairs->lo[k][first];
        hi[k] = pairs->hi[k][first];
        for (int c = first + 1; c < end; c++) {
            lo[k] = fminf(lo[k], pairs->lo[k][c]);
            hi[k] = fmaxf(hi[k], pairs->hi[k][c]);
        }
    }
    pairs->n_neighbours = 0;
    for (int gj = 0; gj < pairs->n_grids; gj++)
        if (are_partners(pairs, rows, part, gi, gj))
            add_neighbours(pairs, &pairs->grid[gj], lo, hi, r, half ? column : 0);
    if (pairs->n_neighbours == 0) return;
    for (int i = first; i < end; i++) {
        int n = find_candidates(pairs, i, grid->axis[2], half, r);
        if (n > 0) emit(pairs, &pairs->list[part], i, n, mask_candidates(pairs, rows, i, n, half));
    }
}

void md_pairs_make_outer(md_pairs *pairs, const md_rows *rows, md_part part)
{
    md_list *list = &pairs->list[part];
    list->n_outer = list->n_outer_j = list->n_outer_masks = 0;
    int n_i_grids = part == MD_PART_LOCAL ? 1 : pairs->n_grids;
    for (int gi = 0; gi < n_i_grids; gi++)
        for (int c = 0; c < pairs->grid[gi].n[0] * pairs->grid[gi].n[1]; c++)
            search_column(pairs, rows, part, gi, c, (float)pairs->options.rlist + ROUNDING);
}

/* Clusters c of [begin, end) whose box comes within sqrt(r2) of that of cluster i. */
static int search_c(const md_pairs *pairs, int i, int begin, int end, int axis, float limit,
                    float r2, int *out)
{
    int n = 0;
    for (int c = begin; c < end && pairs->lo[axis][c] <= limit; c++) {
        float d2 = 0;
        for (int k = 0; k < 3; k++) {
            float d = gap(pairs->lo[k][i], pairs->hi[k][i], pairs->lo[k][c], pairs->hi[k][c]);
            d2 += d * d;
        }
        if (d2 <= r2) out[n++] = c;
    }
    return n;
}

static void split_c(const md_pairs *pairs, int i, const int *j, int n, float r2, int *const out[3],
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

const md_pairs_ops md_pairs_ops_c = {search_c, split_c};
