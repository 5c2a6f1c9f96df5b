/* Scheme return on the device: a warp a leaf of 32 rows, a thread a row.
 *
 * All that a rebuild changes is in device memory, the struct of pointers and numbers too, and the
 * grid is as large as the arrays: so captured launches stay valid until something has to grow.
 */
#include <math.h>
#include <string.h>

#include "device/upload.h"
#include "md/force/return_force.h"
#include "md/force/row_force.cuh"

void unit_add_blocks(const double *block_sums, int n, double *sums, cudaStream_t stream);

/* Box of a leaf: middle (fractions) and half sizes (nm). */
typedef struct leaf_box {
    int4 at;
    float4 half;
} leaf_box;

struct md_return_force {
    const md_unit_force *force;
    const md_units *units;
    const md_topology *topology;
    const md_device_box *d_box;
    md_unit_plan plan;
    device_upload upload;               /* what d_rows points to */
    device_array d_rows, boxes, sums;   /* md_row_force_rows; [capacity]; [capacity][MD_N_SUMS] */
    int leaf_capacity;
    uint64_t generation;
};

/*   warp  a leaf     reads  row, leaves     writes  box */
static __global__ void box_rows(const md_row_force_rows *rows, const int4 *row, leaf_box *box)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf >= rows->n_leaves) return;
    const int *leaf_row = rows->d_leaf_row + (size_t)leaf * MD_UNIT_LEAF;
    const unit_scale scale = unit_scale_of(rows->d_scale);
    int first = leaf_row[0], mine = leaf_row[lane];
    if (first < 0) {                    /* empty: far from everything */
        if (lane == 0) box[leaf] = {make_int4(0, 0, 0, 0), make_float4(-1e9f, -1e9f, -1e9f, 0)};
        return;
    }
    float3 v = unit_offset(row[mine < 0 ? first : mine], row[first], scale);
    float h[3] = {fabsf(v.x), fabsf(v.y), fabsf(v.z)};
    for (int k = 0; k < 3; k++)
        for (int d = 16; d; d >>= 1) h[k] = fmaxf(h[k], __shfl_xor_sync(~0u, h[k], d));
    if (lane == 0) box[leaf] = {row[first], make_float4(h[0], h[1], h[2], 0)};
}

/* Is leaf `other` in reach of `own`? */
static __device__ __forceinline__ bool leaf_near(const unit_planes &planes, const unit_scale &scale,
                                                 const leaf_box &own, const leaf_box &other,
                                                 float reach)
{
    const float3 d = unit_offset(other.at, own.at, scale);
    const float3 h = make_float3(own.half.x + other.half.x, own.half.y + other.half.y,
                                 own.half.z + other.half.z);
    return !unit_far_apart(planes, d, h, reach);
}

/*   warp  a leaf, thread  a row     reads  rows of leaves in reach    writes  f; sums[leaf] */
template <int MODIFIER>
static __global__ void near_rows(const __grid_constant__ unit_parameters<float> p,
                                 const md_row_force_rows *rows, const int4 *row,
                                 const leaf_box *box, int leaf_capacity, float4 *f, double *sums)
{
    const int leaf = (int)((blockIdx.x * blockDim.x + threadIdx.x) >> 5), lane = threadIdx.x & 31;
    if (leaf >= leaf_capacity) return;
    const md_row_force_rows r = *rows;
    const row_tables<float> t = {NULL, (const float *)p.table};
    row_sum<float> s = {};
    if (leaf < r.n_leaves) {
        const unit_scale scale = unit_scale_of(r.d_scale);
        const unit_planes planes = unit_planes_of(scale);
        const int i = r.d_leaf_row[leaf * MD_UNIT_LEAF + lane];
        const bool mine = wanted(r, i);
        const leaf_box own = box[leaf];
        const float reach = sqrtf(fmaxf(p.rc2, p.rv2)) + 1e-4f;
        const int4 row_i = mine ? row[i] : own.at;
        for (int first = 0; first < r.n_leaves; first += 32) {
            const bool near = first + lane < r.n_leaves &&
                              leaf_near(planes, scale, own, box[first + lane], reach);
            for (uint32_t which = __ballot_sync(~0u, near); which; which &= which - 1) {
                const int *row_j = r.d_leaf_row + (first + __ffs(which) - 1) * MD_UNIT_LEAF;
                for (int k = 0; k < MD_UNIT_LEAF; k++) {
                    const int j = row_j[k];
                    if (mine && j >= 0 && (j != i || i < r.n_owned))
                        visit<float, MODIFIER>(p, t, r, scale, i, row_i, j, row[j], s);
                }
            }
        }
        if (mine) f[i] = make_float4(s.f[0], s.f[1], s.f[2], 0);
    }
    warp_sums(s, sums + (size_t)leaf * MD_N_SUMS);
}

extern "C" sundog_status md_return_force_create(const md_unit_force *force, const md_units *units,
                                                const md_topology *topology,
                                                const md_device_box *d_box, md_return_force **out)
{
    md_return_force *r = (md_return_force *)base_alloc_zero(sizeof *r);
    r->force = force;
    r->units = units;
    r->topology = topology;
    r->d_box = d_box;
    sundog_status status =
        device_reserve(&r->d_rows, sizeof(md_row_force_rows) + 6 * sizeof(float));
    if (status != SUNDOG_OK) {
        md_return_force_destroy(&r);
        return status;
    }
    *out = r;
    return SUNDOG_OK;
}

extern "C" void md_return_force_destroy(md_return_force **force)
{
    md_return_force *r = *force;
    if (!r) return;
    device_upload_free(&r->upload);
    device_free(&r->d_rows);
    device_free(&r->boxes);
    device_free(&r->sums);
    md_unit_plan_destroy(&r->plan);
    base_free(r);
    *force = NULL;
}

/* Rows of the cell and beyond it, counted along one axis from the lowest of this cell's layer
 * (owned ones, and ghosts beside them), go up to some fraction of the period. The middle of what is
 * left is where counting may begin. */
static int base_of(const md_rows *rows, const md_unit_frame *frame, int axis)
{
    int32_t origin[3], s[3];
    double low = -0.5 * (rows->cell_hi[axis] - rows->cell_lo[axis]), high = 0;
    md_unit_frame_encode(frame, rows->origin, origin);
    for (int i = 0; i < rows->n_rows; i++) {
        if (rows->zone[i] >> axis & 1) continue;
        md_unit_frame_encode(frame, rows->x[i], s);
        low = fmin(low, (double)(int32_t)((uint32_t)s[axis] - (uint32_t)origin[axis]) * 0x1p-32);
    }
    const uint32_t lowest = (uint32_t)origin[axis] + (uint32_t)(int64_t)floor(low * 0x1p32);
    for (int i = 0; i < rows->n_rows; i++) {
        md_unit_frame_encode(frame, rows->x[i], s);
        high = fmax(high, (double)((uint32_t)s[axis] - lowest) * 0x1p-32);
    }
    return (int)(lowest - (uint32_t)(int64_t)(0.5 * (1 - high) * 0x1p32));
}

extern "C" void md_return_force_place(const md_rows *rows, const md_unit_frame *frame,
                                      md_row_force_rows *out)
{
    out->cut = 0;
    for (int i = 0; i < rows->n_rows; i++) out->cut |= rows->zone[i];
    for (int axis = 0; axis < 3; axis++) out->base[axis] = base_of(rows, frame, axis);
}

static void describe(const md_return_force *r, const md_rows *rows, const md_unit_frame *frame,
                     md_row_force_rows *out)
{
    *out = (md_row_force_rows){};
    out->n_rows = rows->n_rows;
    out->n_owned = rows->n_owned;
    out->scheme = MD_SCHEME_RETURN;
    out->row_bits = r->plan.row_bits;
    out->n_leaves = r->plan.n_leaves;
    md_return_force_place(rows, frame, out);
    out->d_scale = r->d_box ? r->d_box->unit
                            : (const float *)((const md_row_force_rows *)r->d_rows.d + 1);
}

static sundog_status place(md_return_force *r, const md_rows *rows, md_row_force_rows *out,
                           cudaStream_t stream)
{
    const md_unit_plan *plan = &r->plan;
    const size_t n = (size_t)rows->n_rows;
    device_upload *up = &r->upload;
    while (device_upload_pass(up)) {
        out->d_row_word = DEVICE_PLACE(up, const uint32_t *, plan->row_word, n);
        out->d_zone = DEVICE_PLACE(up, const uint8_t *, rows->zone, n);
        out->d_exclusion_start = DEVICE_PLACE(up, const int *, rows->exclusion_start, n + 1);
        out->d_leaf_row = DEVICE_PLACE(up, const int *, plan->leaf_row,
                                       (size_t)plan->n_leaves * MD_UNIT_LEAF);
        out->d_exclusion =
            DEVICE_PLACE(up, const int *, rows->exclusion, rows->exclusion_start[n]);
    }
    return device_upload_finish(up, stream);
}

static sundog_status reserve(md_return_force *r)
{
    if (r->plan.n_leaves <= r->leaf_capacity) return SUNDOG_OK;
    const size_t n = (size_t)(r->plan.n_leaves + r->plan.n_leaves / 8);
    BASE_TRY(device_reserve(&r->boxes, n * sizeof(leaf_box)));
    BASE_TRY(device_reserve(&r->sums, n * MD_N_SUMS * sizeof(double)));
    r->leaf_capacity = (int)n;
    r->generation++;
    return SUNDOG_OK;
}

extern "C" sundog_status md_return_force_rebuild(md_return_force *force, const md_rows *rows,
                                                 const md_unit_frame *frame, void *stream)
{
    md_return_force *r = force;
    cudaStream_t s = (cudaStream_t)stream;
    md_unit_plan_options options = {1, MD_UNIT_MOST, frame, false};
    md_row_force_rows out;
    BASE_TRY(md_unit_plan_make(r->units, r->topology, rows, &options, &r->plan));
    BASE_TRY(reserve(r));
    describe(r, rows, frame, &out);
    BASE_TRY(place(r, rows, &out, s));
    char *to = (char *)r->d_rows.d;
    BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(to, &out, sizeof out, cudaMemcpyHostToDevice, s)));
    return DEVICE_CHECK(cudaMemcpyAsync(to + sizeof out, frame->scale, sizeof frame->scale,
                                        cudaMemcpyHostToDevice, s));
}

template <int MODIFIER>
static void start(const md_return_force *r, const int4 *row, float4 *f, cudaStream_t stream)
{
    enum { WARPS = 4 };
    const int blocks = (r->leaf_capacity + WARPS - 1) / WARPS;
    const md_row_force_rows *rows = (const md_row_force_rows *)r->d_rows.d;
    leaf_box *box = (leaf_box *)r->boxes.d;
    box_rows<<<blocks, 32 * WARPS, 0, stream>>>(rows, row, box);
    near_rows<MODIFIER><<<blocks, 32 * WARPS, 0, stream>>>(r->force->p, rows, row, box,
                                                           r->leaf_capacity, f,
                                                           (double *)r->sums.d);
}

extern "C" sundog_status md_return_force_launch(md_return_force *force, const md_device_row *d_row,
                                                float (*d_f)[4], double *d_sums, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    const int4 *row = (const int4 *)d_row;
    float4 *f = (float4 *)d_f;
    if (force->leaf_capacity > 0) switch (force->force->modifier) {
        case UNIT_FORCE_SWITCH: start<UNIT_FORCE_SWITCH>(force, row, f, s); break;
        case UNIT_POTENTIAL_SWITCH: start<UNIT_POTENTIAL_SWITCH>(force, row, f, s); break;
        default: start<UNIT_PLAIN>(force, row, f, s);
        }
    if (d_sums) unit_add_blocks((const double *)force->sums.d, force->leaf_capacity, d_sums, s);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" uint64_t md_return_force_generation(const md_return_force *force)
{
    return force->generation;
}
