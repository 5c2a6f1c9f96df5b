/* For tests and benchmarks of the device's pair kernels: rows of one domain on the device, with all
 * that the kernels want of them. */
#ifndef DEVICE_ROWS_H
#define DEVICE_ROWS_H
#include "base/alloc.h"
#include "device.h"
#include "md/force/return_force.h"

#include <string.h>

static inline void *gpu_alloc(size_t n_bytes)
{
    void *d = NULL;
    CHECK_CUDA(cudaMalloc(&d, n_bytes + 16));
    CHECK_CUDA(cudaMemset(d, 0xff, n_bytes + 16)); /* NaN where nothing is written */
    return d;
}

typedef struct device_rows {
    const md_rows *rows;
    md_unit_frame frame;
    md_device_row *host, *d_row;
    md_unit_plan plan; /* for the kernels without lists */
    md_row_force_rows plain;
    double *d_work, *d_sums;
    void *d_f;
} device_rows;

/* Rows as they stand on the host. box: NULL, or the rows are wrapped ones of a periodic box. */
static inline void device_rows_create(const md_units *units, const md_topology *topology,
                                      const md_rows *rows, const md_box *box, device_rows *g)
{
    size_t n = (size_t)rows->n_rows;
    md_unit_plan_options options = {1, MD_UNIT_MOST, &g->frame, false};
    memset(g, 0, sizeof *g);
    g->rows = rows;
    if (box)
        md_unit_frame_of_box(box, &g->frame);
    else
        md_unit_frame_of_rows(rows, &g->frame);
    g->host = base_alloc((n + 1) * sizeof *g->host);
    md_unit_frame_encode_rows(&g->frame, rows, g->host);
    g->d_row = upload(g->host, n * sizeof *g->host);
    CHECK_OK(md_unit_plan_make(units, topology, rows, &options, &g->plan));
    g->plain.n_rows = rows->n_rows;
    g->plain.n_owned = rows->n_owned;
    g->plain.scheme = rows->scheme;
    md_return_force_place(rows, &g->frame, &g->plain);
    g->plain.d_row = g->d_row;
    g->plain.d_row_word = upload(g->plan.row_word, n * sizeof(uint32_t));
    g->plain.row_bits = g->plan.row_bits;
    g->plain.d_zone = upload(rows->zone, n);
    g->plain.d_exclusion_start = upload(rows->exclusion_start, (n + 1) * sizeof(int));
    g->plain.d_exclusion = upload(rows->exclusion, (size_t)rows->exclusion_start[n] * sizeof(int));
    g->plain.n_leaves = g->plan.n_leaves;
    g->plain.d_leaf_row = upload(g->plan.leaf_row, (size_t)g->plan.n_leaves * 32 * sizeof(int));
    g->plain.d_scale = upload(g->frame.scale, sizeof g->frame.scale);
    g->d_work = gpu_alloc((n / 32 + 8) * (MD_N_SUMS + 8) * sizeof(double));
    g->d_sums = gpu_alloc(MD_N_SUMS * sizeof(double));
    g->d_f = gpu_alloc((n + 1) * 4 * sizeof(double));
}

/* Exclusions of rows that have become row now[row] of n; some are named twice then. */
static inline void renumber_exclusions(md_rows *rows, const int *now, int n_old, int n)
{
    int n_excluded = rows->exclusion_start[n_old];
    int *start = base_alloc_zero(((size_t)n + 2) * sizeof *start);
    int *excluded = base_alloc(((size_t)n_excluded + 1) * sizeof *excluded);
    for (int i = 0; i < n_old; i++)
        start[now[i] + 2] += rows->exclusion_start[i + 1] - rows->exclusion_start[i];
    for (int k = 0; k <= n; k++) start[k + 1] += start[k];
    for (int i = 0; i < n_old; i++)
        for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
            excluded[start[now[i] + 1]++] = now[rows->exclusion[e]];
    memcpy(rows->exclusion_start, start, ((size_t)n + 1) * sizeof *start);
    memcpy(rows->exclusion, excluded, (size_t)n_excluded * sizeof *excluded);
    base_free(start);
    base_free(excluded);
}

/* Every atom once: its owned row, or its first ghost. Exclusions follow; zone keeps the bits of
 * `cut`, the axes that have more than one domain. Lists of interactions are left as they are, so
 * of no use afterwards. */
static inline void wrap_rows(md_rows *rows, int cut, int64_t n_atoms)
{
    int n_old = rows->n_rows, n = 0;
    int *row_of = base_alloc(((size_t)n_atoms + 1) * sizeof *row_of);
    int *now = base_alloc(((size_t)n_old + 1) * sizeof *now);
    for (int64_t a = 0; a < n_atoms; a++) row_of[a] = -1;
    for (int i = 0; i < n_old; i++) {
        int64_t gid = rows->gid[i];
        now[i] = row_of[gid] < 0 ? n : row_of[gid];
        if (row_of[gid] >= 0) continue;
        row_of[gid] = n;
        rows->gid[n] = gid;
        memcpy(rows->x[n], rows->x[i], sizeof rows->x[n]);
        rows->type[n] = rows->type[i];
        rows->charge[n] = rows->charge[i];
        rows->zone[n++] = (uint8_t)(rows->zone[i] & cut);
    }
    renumber_exclusions(rows, now, n_old, n);
    rows->n_rows = n;
    base_free(row_of);
    base_free(now);
}

/* Rows on the device as the host's are now. */
static inline void device_rows_move(device_rows *g)
{
    md_unit_frame_encode_rows(&g->frame, g->rows, g->host);
    CHECK_CUDA(cudaMemcpy(g->d_row, g->host, (size_t)g->rows->n_rows * sizeof *g->host,
                          cudaMemcpyHostToDevice));
}

static inline void device_rows_destroy(device_rows *g)
{
    CHECK_CUDA(cudaFree(g->d_row));
    CHECK_CUDA(cudaFree((void *)g->plain.d_row_word));
    CHECK_CUDA(cudaFree((void *)g->plain.d_zone));
    CHECK_CUDA(cudaFree((void *)g->plain.d_scale));
    CHECK_CUDA(cudaFree((void *)g->plain.d_exclusion_start));
    CHECK_CUDA(cudaFree((void *)g->plain.d_exclusion));
    CHECK_CUDA(cudaFree((void *)g->plain.d_leaf_row));
    CHECK_CUDA(cudaFree(g->d_work));
    CHECK_CUDA(cudaFree(g->d_sums));
    CHECK_CUDA(cudaFree(g->d_f));
    base_free(g->host);
    md_unit_plan_destroy(&g->plan);
}
#endif
