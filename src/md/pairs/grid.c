/* Rows into grids, columns and clusters: everything a rebuild does before it looks for pairs.
 *
 * A grid is a set of rows that see the same partners: one zone, and in scheme shell one side of a
 * zone, so that no cluster reaches across the domain. Its bounding box is cut into columns whose
 * width is the edge of a cube that holds 4 rows; within a column rows are sorted along the column
 * and every 4 make a cluster. Columns run along the longest axis of the box, because each column
 * ends with a padded cluster: thin ghost layers would be a third padding otherwise.
 *
 * All sorts are counting sorts, then insertion sort of what is nearly sorted: linear in rows, and
 * rows that compare equal keep their order, so equal rows give equal lists.
 */
#include "md/pairs/lists.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Bins along a column for the counting sort: about two rows each. */
enum { ROWS_PER_BIN = 2 };

static int grid_key(const md_rows *rows, int row, const float x[3])
{
    int key = rows->zone[row];
    if (rows->scheme == MD_SCHEME_SHELL)
        for (int k = 0; k < 3; k++)
            if ((key >> k & 1) && x[k] > 0) key |= 8 << k;
    return key;
}

/* Rows by key into pairs->order; fills zone, first_row and n_rows of the grids. Grid 0 is always
 * the owned rows, be there any or not. */
static void split_rows(md_pairs *pairs, const md_rows *rows)
{
    int count[MD_MAX_GRIDS] = {0}, grid_of_key[MD_MAX_GRIDS];
    for (int row = 0; row < rows->n_rows; row++) {
        float *x = pairs->x_sort[row];
        for (int k = 0; k < 3; k++) x[k] = (float)(rows->x[row][k] - rows->origin[k]);
        pairs->cell[row] = grid_key(rows, row, x);
        count[pairs->cell[row]]++;
    }
    pairs->n_grids = 0;
    int first = 0;
    for (int key = 0; key < MD_MAX_GRIDS; key++) {
        if (!count[key] && key) continue;
        grid_of_key[key] = pairs->n_grids;
        md_columns *grid = &pairs->grid[pairs->n_grids++];
        memset(grid, 0, sizeof *grid);
        grid->zone = key & 7;
        grid->first_row = first;
        first += count[key];
    }
    for (int row = 0; row < rows->n_rows; row++) {
        md_columns *grid = &pairs->grid[grid_of_key[pairs->cell[row]]];
        pairs->order[grid->first_row + grid->n_rows++] = row;
    }
}

/* Columns of one grid: axes, counts and widths from the bounding box of its rows. */
static void lay_columns(const md_pairs *pairs, md_columns *grid)
{
    float lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, length[3];
    for (int n = 0; n < grid->n_rows; n++) {
        const float *x = pairs->x_sort[pairs->order[grid->first_row + n]];
        for (int k = 0; k < 3; k++) {
            if (n == 0 || x[k] < lo[k]) lo[k] = x[k];
            if (n == 0 || x[k] > hi[k]) hi[k] = x[k];
        }
    }
    for (int k = 0; k < 3; k++) length[k] = hi[k] - lo[k] > 1e-3f ? hi[k] - lo[k] : 1e-3f;
    int longest = 2;        /* near-cubes keep z: grids of one domain should agree */
    for (int k = 0; k < 2; k++)
        if (length[k] > 1.1f * length[longest]) longest = k;
    grid->axis[2] = longest;
    grid->axis[0] = longest == 0 ? 1 : 0;
    grid->axis[1] = longest == 2 ? 1 : 2;
    float n_rows = grid->n_rows ? (float)grid->n_rows : 1;
    float area = length[grid->axis[0]] * length[grid->axis[1]];
    float width = cbrtf(MD_CLUSTER * area * length[longest] / n_rows);
    /* never more columns than clusters */
    width = fmaxf(width, sqrtf(MD_CLUSTER * area / n_rows));
    int limit = grid->n_rows / MD_CLUSTER + 1;
    for (int k = 0; k < 2; k++) {
        float l = length[grid->axis[k]], n = floorf(l / width + 0.5f);
        grid->n[k] = n < 1 ? 1 : n > (float)limit ? limit : (int)n;
        grid->lo[k] = lo[grid->axis[k]];
        grid->width[k] = l / (float)grid->n[k];
        grid->inverse[k] = (float)grid->n[k] / l;
    }
    grid->column_lo = lo[longest];
    grid->column_length = length[longest];
    float n_columns = (float)grid->n[0] * (float)grid->n[1];
    grid->n_bins = 1 + (int)(n_rows / (n_columns * ROWS_PER_BIN));
}

static int bin_of(float x, float lo, float inverse, int n)
{
    int bin = (int)((x - lo) * inverse);
    return bin < 0 ? 0 : bin >= n ? n - 1 : bin;
}

/* Sort the rows of a grid by column, along each column by coordinate. Afterwards cell_start[c *
 * n_bins] is where column c begins in order (relative to first_row). */
static void sort_grid(md_pairs *pairs, const md_columns *grid)
{
    int n_bins = grid->n_bins, n_columns = grid->n[0] * grid->n[1], n_cells = n_columns * n_bins;
    float inverse = (float)n_bins / grid->column_length;
    BASE_RESERVE(pairs->cell_start, pairs->capacity_cell, n_cells + 1);
    int *start = pairs->cell_start, *order = pairs->order + grid->first_row;
    memset(start, 0, (size_t)(n_cells + 1) * sizeof *start);
    for (int n = 0; n < grid->n_rows; n++) {
        const float *x = pairs->x_sort[order[n]];
        int a = bin_of(x[grid->axis[0]], grid->lo[0], grid->inverse[0], grid->n[0]);
        int b = bin_of(x[grid->axis[1]], grid->lo[1], grid->inverse[1], grid->n[1]);
        int bin = bin_of(x[grid->axis[2]], grid->column_lo, inverse, n_bins);
        pairs->cell[n] = (a * grid->n[1] + b) * n_bins + bin;
        start[pairs->cell[n]]++;
    }
    int sum = 0;
    for (int c = 0; c <= n_cells; c++) {
        int count = start[c];
        start[c] = sum;
        sum += count;
    }
    for (int n = 0; n < grid->n_rows; n++) pairs->mark[start[pairs->cell[n]]++] = order[n];
    for (int c = n_cells; c > 0; c--) start[c] = start[c - 1];
    start[0] = 0;
    const int axis = grid->axis[2];
    for (int c = 0; c < n_columns; c++) {
        int first = start[c * n_bins], end = start[(c + 1) * n_bins];
        for (int n = first; n < end; n++) {
            int row = pairs->mark[n], m = n;
            float x = pairs->x_sort[row][axis];
            for (; m > first && pairs->x_sort[order[m - 1]][axis] > x; m--) order[m] = order[m - 1];
            order[m] = row;
        }
    }
}

/* Far away from all rows and from each other, exact in float. */
static void pad_slot(md_pairs *pairs, int slot)
{
    float *xq = pairs->xq + (size_t)(slot / MD_CLUSTER) * MD_XQ + slot % MD_CLUSTER;
    xq[0] = 1e6f + 4096.0f * (float)(slot & 1023);
    xq[4] = 1e6f + 4096.0f * (float)(slot >> 10 & 1023);
    xq[8] = 1e6f + 4096.0f * (float)(slot >> 20);
    xq[12] = 0;
    pairs->row_of_slot[slot] = -1;
}

/* One cluster of n rows: slots, those with Lennard-Jones first, and the bounding box. */
static void fill_cluster(md_pairs *pairs, const md_rows *rows, int cluster, const int *row, int n)
{
    const bool *has_lj = pairs->options.type_has_lj;
    float lo[3], hi[3];
    int slot = cluster * MD_CLUSTER;
    for (int with_lj = 1; with_lj >= 0; with_lj--)
        for (int m = 0; m < n; m++)
            if ((!has_lj || has_lj[rows->type[row[m]]]) == (with_lj == 1)) {
                pairs->xq[(size_t)cluster * MD_XQ + 12 + (size_t)slot % MD_CLUSTER] =
                    rows->charge[row[m]];
                pairs->slot_of_row[row[m]] = slot;
                pairs->row_of_slot[slot++] = row[m];
            }
    for (; slot < (cluster + 1) * MD_CLUSTER; slot++) pad_slot(pairs, slot);
    for (int m = 0; m < n; m++) {
        const float *x = pairs->x_sort[row[m]];
        for (int k = 0; k < 3; k++) {
            lo[k] = m == 0 || x[k] < lo[k] ? x[k] : lo[k];
            hi[k] = m == 0 || x[k] > hi[k] ? x[k] : hi[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        pairs->lo[k][cluster] = lo[k];
        pairs->hi[k][cluster] = hi[k];
    }
}

static void reserve_clusters(md_pairs *pairs, int n_clusters)
{
    size_t n = (size_t)n_clusters + 1;
    if (n <= pairs->capacity_cluster) return;
    n += n / 4;
    pairs->capacity_cluster = n;
    for (int k = 0; k < 3; k++) {
        base_free(pairs->lo[k]);
        base_free(pairs->hi[k]);
        pairs->lo[k] = base_alloc((n + 8) * sizeof *pairs->lo[k]);
        pairs->hi[k] = base_alloc((n + 8) * sizeof *pairs->hi[k]);
    }
    base_free(pairs->masked);
    base_free(pairs->masked_mask);
    pairs->masked = base_alloc((n + 8) * sizeof *pairs->masked);
    pairs->masked_mask = base_alloc((n + 8) * sizeof *pairs->masked_mask);
    for (int k = 0; k < 2; k++) {
        base_free(pairs->segment[k]);
        pairs->segment[k] = base_alloc((n + 8) * sizeof *pairs->segment[k]);
    }
    base_free(pairs->row_of_slot);
    base_free(pairs->xq);
    base_free(pairs->f);
    base_free(pairs->lj);
    base_free(pairs->type);
    base_free(pairs->lj_rows);
    pairs->row_of_slot = base_alloc(n * MD_CLUSTER * sizeof *pairs->row_of_slot);
    pairs->xq = base_alloc(n * MD_XQ * sizeof *pairs->xq);
    pairs->f = base_alloc(n * MD_F * sizeof *pairs->f);
    pairs->lj = base_alloc(n * 2 * MD_CLUSTER * sizeof *pairs->lj);
    pairs->type = base_alloc(n * MD_CLUSTER * sizeof *pairs->type);
    pairs->lj_rows = base_alloc(n * sizeof *pairs->lj_rows);
}

static void reserve_rows(md_pairs *pairs, int n_rows)
{
    size_t n = (size_t)n_rows + 1;
    if (n <= pairs->capacity_row) return;
    n += n / 4;
    pairs->capacity_row = n;
    base_free(pairs->x_sort);
    base_free(pairs->order);
    base_free(pairs->cell);
    base_free(pairs->mark);
    base_free(pairs->slot_of_row);
    pairs->x_sort = base_alloc(n * sizeof *pairs->x_sort);
    pairs->order = base_alloc(n * sizeof *pairs->order);
    pairs->cell = base_alloc(n * sizeof *pairs->cell);
    pairs->mark = base_alloc(n * sizeof *pairs->mark);
    pairs->slot_of_row = base_alloc(n * sizeof *pairs->slot_of_row);
}

/* Columns of a sorted grid: first cluster and first row of each. */
static void number_clusters(md_pairs *pairs, md_columns *grid, size_t *n_columns_total)
{
    int n_columns = grid->n[0] * grid->n[1];
    grid->first_column = *n_columns_total;
    *n_columns_total += (size_t)n_columns + 1;
    BASE_RESERVE(pairs->column_start, pairs->capacity_column, *n_columns_total);
    BASE_RESERVE(pairs->column_row, pairs->capacity_column_row, *n_columns_total);
    int *column = pairs->column_start + grid->first_column;
    int *column_row = pairs->column_row + grid->first_column;
    grid->first_cluster = pairs->n_clusters;
    for (int c = 0; c < n_columns; c++) {
        column_row[c] = pairs->cell_start[c * grid->n_bins];
        int n = pairs->cell_start[(c + 1) * grid->n_bins] - column_row[c];
        column[c] = pairs->n_clusters;
        pairs->n_clusters += (n + MD_CLUSTER - 1) / MD_CLUSTER;
    }
    column[n_columns] = pairs->n_clusters;
    column_row[n_columns] = grid->n_rows;
    grid->n_clusters = pairs->n_clusters - grid->first_cluster;
}

static void fill_grid(md_pairs *pairs, const md_rows *rows, const md_columns *grid)
{
    for (int c = 0; c < grid->n[0] * grid->n[1]; c++) {
        int cluster = pairs->column_start[grid->first_column + (size_t)c];
        int first = pairs->column_row[grid->first_column + (size_t)c];
        int end = pairs->column_row[grid->first_column + (size_t)c + 1];
        for (; first < end; first += MD_CLUSTER, cluster++) {
            int n = end - first < MD_CLUSTER ? end - first : MD_CLUSTER;
            fill_cluster(pairs, rows, cluster, pairs->order + grid->first_row + first, n);
        }
    }
}

void md_pairs_sort(md_pairs *pairs, const md_rows *rows)
{
    reserve_rows(pairs, rows->n_rows);
    split_rows(pairs, rows);
    pairs->n_clusters = 0;
    size_t n_columns = 0;
    for (int g = 0; g < pairs->n_grids; g++) {
        lay_columns(pairs, &pairs->grid[g]);
        sort_grid(pairs, &pairs->grid[g]);
        number_clusters(pairs, &pairs->grid[g], &n_columns);
    }
    pairs->n_owned_clusters = pairs->grid[0].n_clusters;
    reserve_clusters(pairs, pairs->n_clusters);
    for (int g = 0; g < pairs->n_grids; g++) fill_grid(pairs, rows, &pairs->grid[g]);
    for (int k = 0; k < MD_CLUSTER; k++) pad_slot(pairs, pairs->n_clusters * MD_CLUSTER + k);
    for (int k = 0; k < 3; k++)         /* SIMD searches read 8 boxes at a time */
        for (int c = pairs->n_clusters; c < pairs->n_clusters + 8; c++)
            pairs->lo[k][c] = pairs->hi[k][c] = 1e30f;
    pairs->ops->pack(pairs, rows, 0, pairs->n_clusters);
    memset(pairs->mark, 0, (size_t)pairs->n_clusters * sizeof *pairs->mark);
    pairs->parameters_of = NULL;
}
