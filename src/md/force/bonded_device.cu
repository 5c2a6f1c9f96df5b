/* Kernels and launchers of bonded_device.h. Blocks belong to one kind of interaction each, so warps
 * do not diverge; arrays are [place][n], so neighbouring threads read neighbouring words. */
#include "device/block_sum.cuh"
#include "device/upload.h"
extern "C" {
#include "md/force/bonded_device.h"
}
#include "md/core/force_slots.cuh"
#include "md/force/bonded_terms.cuh"

enum { BLOCK = 128, N_BLOCK_SUMS = 2 + 9, MAX_SEGMENTS = MD_N_KINDS };

typedef struct bonded_segment {
    md_kind kind;
    int n, first_block, first_slot;
    const int *row;                     /* [atoms][n] */
    const int *param;                   /* [n] */
    const float *weight;                /* [n] */
    const bonded_table_row *table;
    const md_posres_reference *reference;   /* [n], of position restraints */
} bonded_segment;

typedef struct bonded_view {
    int n_segments, n_blocks;
    bonded_segment segment[MAX_SEGMENTS];
    float coulomb14;
    float (*slot)[4];
    double (*partial)[N_BLOCK_SUMS];    /* [blocks] energy, Coulomb-14, virial */
} bonded_view;

struct md_bonded_device {
    bonded_view view;
    int n_rows;
    md_force_slots slots;
    device_upload tables, lists;
    device_array partial;
    const bonded_table_row *d_table[MD_N_KINDS];
    const md_posres *posres;            /* NULL: none */
    /* host work */
    int *rows_by_place, *start, *index;
    md_posres_reference *reference;
    size_t capacity_rows, capacity_start, capacity_index, capacity_reference;
};

/* ---- device --------------------------------------------------------------------------------- */

static __device__ __forceinline__ void term_compute(const bonded_view &view,
                                                    const bonded_segment &segment, int k,
                                                    const md_device_box &box, const int3 *s,
                                                    const float *charge, const float *p,
                                                    bonded_term *t)
{
    switch (segment.kind) {
    case MD_BOND: term_bond(box, s, p, t); break;
    case MD_BOND_G96: term_g96(box, s, p, t); break;
    case MD_ANGLE: term_angle(box, s, p, t); break;
    case MD_ANGLE_G96: term_angle_g96(box, s, p, t); break;
    case MD_UREY_BRADLEY: term_urey_bradley(box, s, p, t); break;
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER: term_proper(box, s, p, t); break;
    case MD_DIH_RB:
    case MD_DIH_FOURIER: term_rb(box, s, p, t); break;
    case MD_DIH_IMPROPER: term_improper(box, s, p, t); break;
    case MD_PAIR14:
        term_pair14(box, s, p, view.coulomb14 * (charge[0] * charge[1]), t);
        break;
    case MD_POSRES: term_posres(box, s, p, segment.reference[k], t); break;
    default: break;                     /* constraints have no table */
    }
}

static __device__ __forceinline__ int kind_n_atoms(md_kind kind)
{
    switch (kind) {
    case MD_POSRES: return 1;
    case MD_BOND:
    case MD_BOND_G96:
    case MD_PAIR14: return 2;
    case MD_ANGLE:
    case MD_ANGLE_G96:
    case MD_UREY_BRADLEY: return 3;
    default: return 4;
    }
}

static __device__ __forceinline__ void add_sums(const bonded_term &t, double weight, double *sums)
{
    sums[0] += weight * (double)t.energy[0];
    sums[1] += weight * (double)t.energy[1];
#pragma unroll
    for (int a = 0; a < 3; a++) {
        const float d[3] = {t.arm[a].x, t.arm[a].y, t.arm[a].z};
        const float f[3] = {t.pull[a].x, t.pull[a].y, t.pull[a].z};
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++)
                sums[2 + 3 * i + j] -= 0.5 * weight * (double)d[i] * (double)f[j];
    }
}

/* All bonded interactions of a domain.
 *   grid     blocks of interactions, kind by kind       thread   one interaction
 *   reads    rows of its atoms, its parameters          writes   its slots; with SUMS
 *   waits    nothing                                             partial[block]
 *   signals  nothing */
template <bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    bonded_forces(const bonded_view view, const md_device_row *rows, const md_device_box *d_box)
{
    int at = 0;
    while (at + 1 < view.n_segments && (int)blockIdx.x >= view.segment[at + 1].first_block) at++;
    const bonded_segment &segment = view.segment[at];
    const int k = (blockIdx.x - segment.first_block) * BLOCK + threadIdx.x;
    bonded_term t = {};
    float weight = 0;
    if (k < segment.n) {
        const md_device_box box = *d_box;
        const int n_atoms = kind_n_atoms(segment.kind);
        const float4 *entry = (const float4 *)segment.table[segment.param[k]];
        const float4 low = entry[0], high = entry[1];
        const float p[BONDED_TABLE_WIDTH] = {low.x,  low.y,  low.z,  low.w,
                                             high.x, high.y, high.z, high.w};
        int3 s[MD_MAX_KIND_ATOMS];
        float charge[MD_MAX_KIND_ATOMS];
#pragma unroll
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
            if (a >= n_atoms) break;
            const int4 row = *(const int4 *)&rows[segment.row[a * segment.n + k]];
            s[a] = make_int3(row.x, row.y, row.z);
            charge[a] = __int_as_float(row.w);
        }
        term_compute(view, segment, k, box, s, charge, p, &t);
#pragma unroll
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
            if (a >= n_atoms) break;
            *(float4 *)view.slot[segment.first_slot + a * segment.n + k] =
                make_float4(t.f[a].x, t.f[a].y, t.f[a].z, 0.0f);
        }
        weight = segment.weight[k];
    }
    if (SUMS) {
        double sums[N_BLOCK_SUMS];
        for (int i = 0; i < N_BLOCK_SUMS; i++) sums[i] = 0;
        add_sums(t, weight, sums);
        for (int i = 0; i < N_BLOCK_SUMS; i++) {
            const double sum = block_sum<BLOCK>(sums[i]);
            if (threadIdx.x == 0) view.partial[blockIdx.x][i] = sum;
        }
    }
}

/* Blocks' sums to md_bonded_sums: a block a number, in a fixed order. */
__global__ void add_bonded_sums(const bonded_view view, md_bonded_sums *out)
{
    const int what = blockIdx.x;                /* a kind, Coulomb-14, then the virial */
    int first = 0, last = view.n_blocks, value = 0;
    if (what < MD_N_KINDS) {
        last = 0;
        for (int s = 0; s < view.n_segments; s++)
            if (view.segment[s].kind == what) {
                first = view.segment[s].first_block;
                last = s + 1 < view.n_segments ? view.segment[s + 1].first_block : view.n_blocks;
            }
    } else {
        value = 1 + what - MD_N_KINDS;
    }
    double sum = 0;
    for (int b = first + (int)threadIdx.x; b < last; b += BLOCK) sum += view.partial[b][value];
    sum = block_sum<BLOCK>(sum);
    if (threadIdx.x == 0) ((double *)out)[what] = sum;
}

__global__ void gather_slots(const md_force_slots slots, int n_rows, float (*f)[4])
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= n_rows) return;
    const float4 old = *(const float4 *)f[row];
    const float3 sum = force_slots_add(slots, row, make_float3(old.x, old.y, old.z));
    *(float4 *)f[row] = make_float4(sum.x, sum.y, sum.z, old.w);
}

/* ---- host ----------------------------------------------------------------------------------- */

/* Force constants of restraints, which bonded.c leaves to posres.c; NULL when there are none. */
static bonded_table_row *restraint_table(const md_posres *posres, const md_topology *topology)
{
    if (posres == NULL) return NULL;
    bonded_table_row *table =
        (bonded_table_row *)base_alloc_zero((size_t)topology->n_params * sizeof *table);
    for (int n = 0; n < topology->n_params; n++)
        for (int a = 0; a < 3; a++) table[n][a] = (float)topology->param[n].p[a];
    return table;
}

extern "C" sundog_status md_bonded_device_create(const md_bonded *bonded, const md_posres *posres,
                                                 const md_topology *topology,
                                                 md_bonded_device **out)
{
    md_bonded_device *device = (md_bonded_device *)base_alloc_zero(sizeof *device);
    bonded_table_row *restraints = restraint_table(posres, topology);
    device->view.coulomb14 = md_bonded_coulomb14(bonded);
    device->posres = posres;
    while (device_upload_pass(&device->tables))
        for (int kind = 0; kind < MD_N_KINDS; kind++) {
            const bonded_table_row *table =
                kind == MD_POSRES ? restraints : md_bonded_table(bonded, (md_kind)kind);
            if (table == NULL) continue;
            device->d_table[kind] = DEVICE_PLACE(&device->tables, const bonded_table_row *, table,
                                                 topology->n_params);
        }
    sundog_status status = device_upload_finish(&device->tables, 0);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaDeviceSynchronize());
    base_free(restraints);
    if (status != SUNDOG_OK) {
        md_bonded_device_destroy(&device);
        return status;
    }
    *out = device;
    return SUNDOG_OK;
}

extern "C" void md_bonded_device_destroy(md_bonded_device **device)
{
    if (*device == NULL) return;
    device_upload_free(&(*device)->tables);
    device_upload_free(&(*device)->lists);
    device_free(&(*device)->partial);
    base_free((*device)->rows_by_place);
    base_free((*device)->start);
    base_free((*device)->index);
    base_free((*device)->reference);
    base_free(*device);
    *device = NULL;
}

/* Segments of the kinds that have interactions here; their rows turned to [atoms][n]. The number of
 * slots is returned. */
static int make_segments(md_bonded_device *device, const md_rows *rows)
{
    bonded_view *view = &device->view;
    int n_slots = 0;
    view->n_segments = view->n_blocks = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_row_interactions *list = &rows->list[kind];
        if (device->d_table[kind] == NULL || list->n == 0) continue;
        const int n_atoms = md_kind_n_atoms((md_kind)kind);
        bonded_segment *segment = &view->segment[view->n_segments++];
        *segment = bonded_segment{};
        segment->kind = (md_kind)kind;
        segment->n = list->n;
        segment->first_block = view->n_blocks;
        segment->first_slot = n_slots;
        segment->table = device->d_table[kind];
        view->n_blocks += (list->n + BLOCK - 1) / BLOCK;
        BASE_RESERVE(device->rows_by_place, device->capacity_rows, n_slots + n_atoms * list->n);
        for (int a = 0; a < n_atoms; a++)
            for (int k = 0; k < list->n; k++)
                device->rows_by_place[n_slots + a * list->n + k] = list->rows[n_atoms * k + a];
        n_slots += n_atoms * list->n;
    }
    return n_slots;
}

/* Reference positions of this domain's restraints. */
static const md_posres_reference *find_references(md_bonded_device *device, const md_rows *rows)
{
    const md_row_interactions *list = &rows->list[MD_POSRES];
    BASE_RESERVE(device->reference, device->capacity_reference, list->n);
    for (int k = 0; k < list->n; k++)
        device->reference[k] = md_posres_find(device->posres, rows->gid[list->rows[k]]);
    return device->reference;
}

/* Slots of each row in ascending order. */
static void make_index(md_bonded_device *device, int n_slots)
{
    const int n_rows = device->n_rows;
    BASE_RESERVE(device->start, device->capacity_start, n_rows + 2);
    BASE_RESERVE(device->index, device->capacity_index, n_slots);
    for (int r = 0; r < n_rows + 2; r++) device->start[r] = 0;
    for (int s = 0; s < n_slots; s++)
        if (device->rows_by_place[s] < n_rows) device->start[device->rows_by_place[s] + 2]++;
    for (int r = 0; r < n_rows; r++) device->start[r + 2] += device->start[r + 1];
    for (int s = 0; s < n_slots; s++)
        if (device->rows_by_place[s] < n_rows)
            device->index[device->start[device->rows_by_place[s] + 1]++] = s;
}

extern "C" sundog_status md_bonded_device_rebuild(md_bonded_device *device, const md_rows *rows,
                                                  int n_rows_wanted, void *stream)
{
    bonded_view *view = &device->view;
    device_upload *up = &device->lists;
    device->n_rows = n_rows_wanted;
    const int n_slots = make_segments(device, rows);
    device->slots = md_force_slots{};
    if (n_slots == 0) return SUNDOG_OK;
    make_index(device, n_slots);
    const md_posres_reference *references =
        device->posres != NULL ? find_references(device, rows) : NULL;
    while (device_upload_pass(up)) {
        const int *d_rows = DEVICE_PLACE(up, const int *, device->rows_by_place, n_slots);
        for (int s = 0; s < view->n_segments; s++) {
            bonded_segment *segment = &view->segment[s];
            const md_row_interactions *list = &rows->list[segment->kind];
            segment->row = d_rows + segment->first_slot;
            segment->param = DEVICE_PLACE(up, const int *, list->param, list->n);
            segment->weight = DEVICE_PLACE(up, const float *, list->weight, list->n);
            if (segment->kind == MD_POSRES)
                segment->reference =
                    DEVICE_PLACE(up, const md_posres_reference *, references, list->n);
        }
        device->slots.d_start =
            DEVICE_PLACE(up, const int *, device->start, device->n_rows + 1);
        device->slots.d_index =
            DEVICE_PLACE(up, const int *, device->index, device->start[device->n_rows]);
        view->slot = DEVICE_PLACE_EMPTY(up, float(*)[4], n_slots);
    }
    BASE_TRY(device_upload_finish(up, (cudaStream_t)stream));
    device->slots.d_slot = (const float(*)[4])view->slot;
    BASE_TRY(device_reserve(&device->partial, (size_t)view->n_blocks * sizeof *view->partial));
    view->partial = (double(*)[N_BLOCK_SUMS])device->partial.d;
    return SUNDOG_OK;
}

extern "C" md_force_slots md_bonded_device_slots(const md_bonded_device *device)
{
    return device->slots;
}

extern "C" sundog_status md_bonded_device_launch(md_bonded_device *device,
                                                 const md_device_row *d_row,
                                                 const md_device_box *d_box,
                                                 md_bonded_sums *d_sums, void *stream)
{
    const bonded_view *view = &device->view;
    const cudaStream_t queue = (cudaStream_t)stream;
    if (view->n_blocks > 0) {
        if (d_sums == NULL)
            bonded_forces<false><<<view->n_blocks, BLOCK, 0, queue>>>(*view, d_row, d_box);
        else
            bonded_forces<true><<<view->n_blocks, BLOCK, 0, queue>>>(*view, d_row, d_box);
    }
    if (d_sums != NULL) {
        const int n_sums = (int)(sizeof *d_sums / sizeof(double));
        add_bonded_sums<<<n_sums, BLOCK, 0, queue>>>(*view, d_sums);
    }
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status md_bonded_device_gather(md_bonded_device *device, float (*d_f)[4],
                                                 void *stream)
{
    if (device->slots.d_start == NULL || device->n_rows == 0) return SUNDOG_OK;
    gather_slots<<<(device->n_rows + BLOCK - 1) / BLOCK, BLOCK, 0, (cudaStream_t)stream>>>(
        device->slots, device->n_rows, d_f);
    return DEVICE_CHECK(cudaGetLastError());
}
