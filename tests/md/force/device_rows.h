/* For tests and benchmarks of the device's pair kernels: rows of one domain on the device, with all
 * that the kernels want of them. */
#ifndef DEVICE_ROWS_H
#define DEVICE_ROWS_H
#include "base/alloc.h"
#include "device.h"
#include "md/force/unit_force.h"

#include <string.h>

static inline void *gpu_alloc(size_t n_bytes)
{
    void *d = NULL;
    CHECK_CUDA(cudaMalloc(&d, n_bytes + 16));
    CHECK_CUDA(cudaMemset(d, 0xff, n_bytes + 16));      /* NaN where nothing is written */
    return d;
}

typedef struct device_rows {
    const md_rows *rows;
    md_unit_frame frame;
    md_device_row *host, *d_row;
    md_unit_plan plan;          /* for the kernels without lists */
    md_row_force_rows plain;
    double *d_work, *d_sums;
    void *d_f;
} device_rows;

/* Rows as they stand on the host. box: NULL, or the rows are a periodic box without ghosts. */
static inline void device_rows_create(const md_units *units, const md_topology *topology,
                                   const md_rows *rows, const md_box *box, device_rows *g)
{
    size_t n = (size_t)rows->n_rows;
    md_unit_plan_options options = {1, MD_UNIT_MOST};
    memset(g, 0, sizeof *g);
    g->rows = rows;
    if (box) md_unit_frame_of_box(box, &g->frame);
    else md_unit_frame_of_rows(rows, &g->frame);
    g->host = base_alloc((n + 1) * sizeof *g->host);
    md_unit_frame_encode_rows(&g->frame, rows, g->host);
    g->d_row = upload(g->host, n * sizeof *g->host);
    CHECK_OK(md_unit_plan_make(units, topology, rows, &options, &g->plan));
    g->plain.n_rows = rows->n_rows;
    g->plain.n_owned = rows->n_owned;
    g->plain.scheme = rows->scheme;
    g->plain.d_row = g->d_row;
    g->plain.d_row_word = upload(g->plan.row_word, n * sizeof(uint32_t));
    g->plain.row_bits = g->plan.row_bits;
    g->plain.d_zone = upload(rows->zone, n);
    g->plain.d_exclusion_start = upload(rows->exclusion_start, (n + 1) * sizeof(int));
    g->plain.d_exclusion =
        upload(rows->exclusion, (size_t)rows->exclusion_start[n] * sizeof(int));
    g->plain.n_leaves = g->plan.n_leaves;
    g->plain.d_leaf_row = upload(g->plan.leaf_row, (size_t)g->plan.n_leaves * 32 * sizeof(int));
    memcpy(g->plain.scale, g->frame.scale, sizeof g->plain.scale);
    g->d_work = gpu_alloc((n / 32 + 8) * (MD_N_SUMS + 8) * sizeof(double));
    g->d_sums = gpu_alloc(MD_N_SUMS * sizeof(double));
    g->d_f = gpu_alloc((n + 1) * 4 * sizeof(double));
}

/* Rows of a domain that is the whole box, without its ghosts: exclusions become those of
 * owned rows. */
static inline void cut_ghosts(md_rows *rows)
{
    int n = rows->n_owned, *row_of = base_alloc(((size_t)n + 1) * sizeof *row_of);
    for (int i = 0; i < n; i++) row_of[rows->gid[i]] = i;
    for (int e = 0; e < rows->exclusion_start[n]; e++)
        rows->exclusion[e] = row_of[rows->gid[rows->exclusion[e]]];
    rows->n_rows = n;
    base_free(row_of);
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
