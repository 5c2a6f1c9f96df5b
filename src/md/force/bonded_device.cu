/* Kernels and launchers of bonded_device.h. Arrays of a block are [place][lane], so neighbouring
 * threads read neighbouring words; what one thread finds for several rows goes through the block's
 * shared memory, and leaves it as one sum a row. */
#include "device/early.cuh"
#include "device/grid_sum.cuh"
#include "device/upload.h"
#include "md/core/force_slots.cuh"
#include "md/force/bonded_blocks.cuh"

enum { BLOCK = BONDED_BLOCK, GATHER_BLOCK = 128, N_SUMS = sizeof(md_bonded_sums) / sizeof(double) };
enum { SUM_COULOMB14 = MD_N_KINDS, SUM_VIRIAL = MD_N_KINDS + 1 };

struct md_bonded_device {
    bonded_view view;
    int n_rows;
    md_force_slots slots;
    device_upload tables, lists;
    device_array scratch;               /* of sums over the grid */
    grid_sum_scratch grid_sum;
    const md_topology *topology;
    const md_posres *posres;            /* NULL: none */
    bool used[MD_N_KINDS];
    bool starts_early;
    /* host work */
    md_bonded_blocks blocks;
    bonded_restraint *restraint;
    size_t capacity_restraint;
};

typedef grid_sum_shared<BLOCK, N_SUMS> shared_sums;

/* ---- device --------------------------------------------------------------------------------- */

/* Its places into its slot. */
static __device__ __forceinline__ void
row_add(const bonded_view &view, const float (*force)[MD_MAX_KIND_ATOMS * BLOCK],
        const bonded_row_sum &sum)
{
    const float3 f = row_sum(force, sum);
    *(float4 *)view.slot[sum.slot] = make_float4(f.x, f.y, f.z, 0.0f);
}

/* Energy and virial of this lane; a warp has one kind, MD_N_KINDS when it has no interactions. */
static __device__ __forceinline__ void add_sums(const bonded_term &t, md_kind kind, double weight,
                                                shared_sums *shared)
{
    for (int i = threadIdx.x; i < N_SUMS * BLOCK / 32; i += BLOCK) shared->warp_sum[0][i] = 0;
    __syncthreads();
    if (kind == MD_N_KINDS) return;
    grid_sum_add(shared, kind, weight * (double)t.energy[0]);
    grid_sum_add(shared, SUM_COULOMB14, weight * (double)t.energy[1]);
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            double virial = 0;
#pragma unroll
            for (int a = 0; a < 3; a++) {
                const float d[3] = {t.arm[a].x, t.arm[a].y, t.arm[a].z};
                const float f[3] = {t.pull[a].x, t.pull[a].y, t.pull[a].z};
                virial -= 0.5 * weight * (double)d[i] * (double)f[j];
            }
            grid_sum_add(shared, SUM_VIRIAL + 3 * i + j, virial);
        }
}

/* All bonded interactions of a domain.
 *   grid     blocks of interactions         thread   one interaction, then one row or more
 *   reads    rows of its atoms, its parameters       writes   a slot for each row of the block;
 *   waits    early, at its end                                with SUMS out (the last block)
 *   signals  nothing
 * Launched early behind pair forces: those have waited for what made the rows, and for who read the
 * slots last. */
template <bool SUMS>
__global__ void __launch_bounds__(BLOCK)
    bonded_forces(const bonded_view view, const md_device_row *rows, const md_device_box *d_box,
                  const grid_sum_scratch scratch, double *out)
{
    __shared__ float force[3][MD_MAX_KIND_ATOMS * BLOCK];
    early_let_next();
    const size_t lane = (size_t)blockIdx.x * BLOCK + threadIdx.x;
    const md_kind kind = (md_kind)view.kind[blockIdx.x * BONDED_WARPS + threadIdx.x / 32];
    const int param = view.param[lane];
    const int first = view.first_sum[blockIdx.x] + (int)threadIdx.x;
    const int last = view.first_sum[blockIdx.x + 1];
    bonded_row_sum sum = {};
    if (first < last) sum = view.sum[first];        /* here already when it is needed */
    bonded_term t = {};
    const bonded_rows_at_rest at_rest = {rows};
    if (param >= 0)
        lane_compute(view, at_rest, d_box, blockIdx.x, threadIdx.x, kind, param, force, &t);
    __syncthreads();
    if (first < last) row_add(view, force, sum);
    for (int i = first + BLOCK; i < last; i += BLOCK) row_add(view, force, view.sum[i]);
    early_wait();
    if (SUMS) {
        __shared__ shared_sums shared;
        add_sums(t, kind, (double)view.weight[lane], &shared);
        if (!grid_sum_finish(&shared, N_SUMS, scratch)) return;
        for (int i = threadIdx.x / 32; i < N_SUMS; i += BLOCK / 32) {
            const double sum = grid_sum_total(scratch, i);
            if (threadIdx.x % 32 == 0) out[i] = sum;
        }
    }
}

__global__ void gather_slots(const md_force_slots slots, int n_rows, float (*f)[4])
{
    const int row = blockIdx.x * GATHER_BLOCK + threadIdx.x;
    if (row >= n_rows) return;
    const float4 old = *(const float4 *)f[row];
    const float3 sum = force_slots_add(slots, row, make_float3(old.x, old.y, old.z));
    *(float4 *)f[row] = make_float4(sum.x, sum.y, sum.z, old.w);
}

/* ---- host ----------------------------------------------------------------------------------- */

extern "C" sundog_status md_bonded_device_create(const md_bonded *bonded, const md_posres *posres,
                                                 const md_topology *topology,
                                                 md_bonded_device **out)
{
    md_bonded_device *device = (md_bonded_device *)base_alloc_zero(sizeof *device);
    device->view.coulomb14 = md_bonded_coulomb14(bonded);
    device->topology = topology;
    device->starts_early = early_is_possible();
    device->posres = posres;
    device->used[MD_POSRES] = posres != NULL;
    while (device_upload_pass(&device->tables))
        for (int kind = 0; kind < MD_N_KINDS; kind++) {
            const bonded_table_row *table = md_bonded_table(bonded, (md_kind)kind);
            if (table == NULL) continue;
            device->used[kind] = true;
            device->view.table[kind] = DEVICE_PLACE(&device->tables, const bonded_table_row *,
                                                    table, topology->n_params);
        }
    sundog_status status = device_upload_finish(&device->tables, 0);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaDeviceSynchronize());
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
    device_free(&(*device)->scratch);
    md_bonded_blocks_free(&(*device)->blocks);
    base_free((*device)->restraint);
    base_free(*device);
    *device = NULL;
}

/* Reference positions and force constants of this domain's restraints; how many. */
static int find_restraints(md_bonded_device *device, const md_rows *rows)
{
    const md_row_interactions *list = &rows->list[MD_POSRES];
    if (device->posres == NULL) return 0;
    BASE_RESERVE(device->restraint, device->capacity_restraint, list->n);
    for (int n = 0; n < list->n; n++) {
        const double *k = device->topology->param[list->param[n]].p;
        bonded_restraint *to = &device->restraint[n];
        to->reference = md_posres_find(device->posres, rows->gid[list->rows[n]]);
        for (int a = 0; a < 3; a++) to->k[a] = (float)k[a];
        to->k[3] = 0;
    }
    return list->n;
}

static void place_blocks(device_upload *up, const md_bonded_blocks *blocks, bonded_view *view)
{
    const size_t n = (size_t)blocks->n_blocks;
    view->n_blocks = blocks->n_blocks;
    view->row = DEVICE_PLACE(up, const int *, blocks->row, n * MD_MAX_KIND_ATOMS * BLOCK);
    view->param = DEVICE_PLACE(up, const int *, blocks->param, n * BLOCK);
    view->weight = DEVICE_PLACE(up, const float *, blocks->weight, n * BLOCK);
    view->place =
        DEVICE_PLACE(up, const uint16_t(*)[MD_MAX_KIND_ATOMS], blocks->place, n * BLOCK);
    view->kind = DEVICE_PLACE(up, const uint8_t *, blocks->kind, n * BONDED_WARPS);
    view->first_sum = DEVICE_PLACE(up, const int *, blocks->first_sum, n + 1);
    view->sum = DEVICE_PLACE(up, const bonded_row_sum *, blocks->sum, blocks->n_sums);
}

/* What adds up the blocks' sums; its counter starts at 0. */
static sundog_status reserve_scratch(md_bonded_device *device, cudaStream_t stream)
{
    const size_t n_bytes = (1 + (size_t)device->view.n_blocks * N_SUMS) * sizeof(double);
    BASE_TRY(device_reserve(&device->scratch, n_bytes));
    device->grid_sum.arrived = (unsigned *)device->scratch.d;
    device->grid_sum.partial = (double *)device->scratch.d + 1;
    return DEVICE_CHECK(cudaMemsetAsync(device->scratch.d, 0, sizeof(double), stream));
}

extern "C" sundog_status md_bonded_device_rebuild(md_bonded_device *device, const md_rows *rows,
                                                  int n_rows_wanted, void *stream)
{
    bonded_view *view = &device->view;
    md_bonded_blocks *blocks = &device->blocks;
    device_upload *up = &device->lists;
    device->n_rows = n_rows_wanted;
    md_bonded_blocks_build(blocks, rows, device->used, n_rows_wanted);
    device->slots = md_force_slots{};
    view->n_blocks = 0;
    if (blocks->n_blocks == 0) return SUNDOG_OK;
    const int n_restraints = find_restraints(device, rows);
    while (device_upload_pass(up)) {
        view->restraint =
            DEVICE_PLACE(up, const bonded_restraint *, device->restraint, n_restraints);
        place_blocks(up, blocks, view);
        device->slots.d_start = DEVICE_PLACE(up, const int *, blocks->start, n_rows_wanted + 1);
        view->slot = DEVICE_PLACE_EMPTY(up, float(*)[4], blocks->n_sums);
    }
    BASE_TRY(device_upload_finish(up, (cudaStream_t)stream));
    device->slots.d_slot = (const float(*)[4])view->slot;
    return reserve_scratch(device, (cudaStream_t)stream);
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
    if (view->n_blocks == 0)
        return d_sums == NULL ? SUNDOG_OK
                              : DEVICE_CHECK(cudaMemsetAsync(d_sums, 0, sizeof *d_sums, queue));
    if (d_sums == NULL)
        bonded_forces<false><<<view->n_blocks, BLOCK, 0, queue>>>(*view, d_row, d_box,
                                                                  device->grid_sum, NULL);
    else
        bonded_forces<true><<<view->n_blocks, BLOCK, 0, queue>>>(
            *view, d_row, d_box, device->grid_sum, (double *)d_sums);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status md_bonded_device_launch_early(md_bonded_device *device,
                                                       const md_device_row *d_row,
                                                       const md_device_box *d_box, void *stream)
{
    const bonded_view *view = &device->view;
    if (view->n_blocks == 0) return SUNDOG_OK;
    return DEVICE_CHECK(early_launch(bonded_forces<false>, view->n_blocks, BLOCK,
                                     device->starts_early, (cudaStream_t)stream, *view, d_row,
                                     d_box, device->grid_sum, (double *)NULL));
}

extern "C" sundog_status md_bonded_device_gather(md_bonded_device *device, float (*d_f)[4],
                                                 void *stream)
{
    if (device->slots.d_start == NULL || device->n_rows == 0) return SUNDOG_OK;
    gather_slots<<<(device->n_rows + GATHER_BLOCK - 1) / GATHER_BLOCK, GATHER_BLOCK, 0,
                   (cudaStream_t)stream>>>(device->slots, device->n_rows, d_f);
    return DEVICE_CHECK(cudaGetLastError());
}
