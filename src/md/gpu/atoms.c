/* Arrays of a domain's rows on its GPU. */
#include "md/gpu/gpu_impl.h"

#include "md/gpu/snapshot.h"
#include "md/pairs/unit_plan.h"

static sundog_status put(md_gpu *gpu, gpu_memory name, const void *from, size_t n_bytes)
{
    return DEVICE_CHECK(
        cudaMemcpyAsync(gpu->memory[name].d, from, n_bytes, cudaMemcpyHostToDevice, gpu->stream));
}

static size_t snapshot_bytes(const md_gpu *gpu)
{
    size_t n = (size_t)gpu->n_owned;
    return 2 * n * sizeof(double[3]) + MD_MAX_GROUPS * sizeof(double);
}

static sundog_status reserve(md_gpu *gpu)
{
    size_t owned = (size_t)gpu->n_owned + 1, rows = (size_t)gpu->n_rows + 1;
    const size_t bytes[GPU_BOX] = {[GPU_X] = owned * sizeof(double[3]),
                                   [GPU_V] = owned * sizeof(double[3]),
                                   [GPU_F] = rows * sizeof(float[4]),
                                   [GPU_ROW] = rows * sizeof(md_device_row),
                                   [GPU_INV_MASS] = owned * sizeof(double),
                                   [GPU_MASS] = owned * sizeof(double),
                                   [GPU_TEMPERATURE_GROUP] = owned,
                                   [GPU_COM_GROUP] = owned,
                                   [GPU_FROZEN] = owned,
                                   [GPU_GROUPS] = owned * sizeof(int),
                                   [GPU_SNAPSHOT] = MD_GPU_AHEAD * snapshot_bytes(gpu)};
    for (int k = 0; k < GPU_BOX; k++) BASE_TRY(device_reserve(&gpu->memory[k], bytes[k]));
    return SUNDOG_OK;
}

static sundog_status put_masses(md_gpu *gpu, const md_rows *rows)
{
    size_t n = (size_t)gpu->n_owned;
    double *inv_mass = base_alloc((n + 1) * sizeof *inv_mass);
    for (size_t r = 0; r < n; r++) inv_mass[r] = rows->mass[r] > 0 ? 1 / rows->mass[r] : 0;
    sundog_status status = put(gpu, GPU_INV_MASS, inv_mass, n * sizeof *inv_mass);
    if (status == SUNDOG_OK) status = put(gpu, GPU_MASS, rows->mass, n * sizeof *rows->mass);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
    base_free(inv_mass);
    return status;
}

static sundog_status put_rows(md_gpu *gpu, const md_gpu_rows *from)
{
    size_t n = (size_t)gpu->n_rows;
    md_device_row *row = base_alloc((n + 1) * sizeof *row);
    md_unit_frame frame;
    md_unit_frame_of_box(from->box, &frame);
    md_unit_frame_encode_rows(&frame, from->rows, row);
    sundog_status status = put(gpu, GPU_ROW, row, n * sizeof *row);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
    base_free(row);
    return status;
}

static sundog_status put_groups(md_gpu *gpu, const md_domain *domain)
{
    int *first = base_alloc(((size_t)gpu->n_owned + 1) * sizeof *first);
    gpu->n_groups = md_domain_groups(domain, first);
    sundog_status status = put(gpu, GPU_GROUPS, first, ((size_t)gpu->n_groups + 1) * sizeof *first);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaStreamSynchronize(gpu->stream));
    base_free(first);
    return status;
}

sundog_status gpu_atoms_upload(md_gpu *gpu, const md_gpu_rows *from)
{
    const md_rows *rows = from->rows;
    size_t n = (size_t)rows->n_owned;
    md_device_box box;
    gpu->n_owned = rows->n_owned;
    gpu->n_rows = rows->n_rows;
    md_device_box_set(from->box, &box);
    BASE_TRY(reserve(gpu));
    BASE_TRY(put(gpu, GPU_X, rows->x, n * sizeof *rows->x));
    BASE_TRY(put(gpu, GPU_V, rows->v, n * sizeof *rows->v));
    BASE_TRY(put(gpu, GPU_BOX, &box, sizeof box));
    BASE_TRY(put(gpu, GPU_WORK, from->thermostat_work,
                 (size_t)gpu->options.n_temperature * sizeof(double)));
    if (from->temperature_group)
        BASE_TRY(put(gpu, GPU_TEMPERATURE_GROUP, from->temperature_group, n));
    if (from->frozen) BASE_TRY(put(gpu, GPU_FROZEN, from->frozen, n));
    if (from->com_group) BASE_TRY(put(gpu, GPU_COM_GROUP, from->com_group, n));
    BASE_TRY(put_masses(gpu, rows));
    if (gpu->n_ranks == 1) BASE_TRY(put_groups(gpu, from->domain));
    return put_rows(gpu, from);
}

md_velocities gpu_velocities(md_gpu *gpu)
{
    const md_gpu_options *o = &gpu->options;
    return (md_velocities){
        .n_owned = gpu->n_owned,
        .d_v = GPU_D(gpu, double(*)[3], GPU_V),
        .d_mass = GPU_D(gpu, const double *, GPU_MASS),
        .d_temperature_group =
            o->n_temperature > 1 ? GPU_D(gpu, const unsigned char *, GPU_TEMPERATURE_GROUP) : NULL,
        .d_com_group = o->has_com_groups ? GPU_D(gpu, const unsigned char *, GPU_COM_GROUP) : NULL,
        .d_frozen = o->has_frozen ? GPU_D(gpu, const unsigned char *, GPU_FROZEN) : NULL,
        .n_temperature = o->n_temperature,
        .n_com = o->n_com};
}

/* ---- snapshots --------------------------------------------------------------------------------
 */

static sundog_status copy(md_gpu *gpu, void *to, const void *from, size_t n_bytes)
{
    return DEVICE_CHECK(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToDevice, gpu->stream));
}

sundog_status gpu_snapshot(md_gpu *gpu)
{
    return gpu_snapshot_take(
        3 * gpu->n_owned, GPU_D(gpu, const double *, GPU_X), GPU_D(gpu, const double *, GPU_V),
        GPU_D(gpu, const double *, GPU_WORK), GPU_D(gpu, double *, GPU_SNAPSHOT),
        snapshot_bytes(gpu) / sizeof(double), GPU_D(gpu, const gpu_counts *, GPU_COUNTS),
        gpu->stream);
}

sundog_status gpu_snapshot_restore(md_gpu *gpu, int slot)
{
    size_t n = (size_t)gpu->n_owned * sizeof(double[3]);
    const char *from = GPU_D(gpu, char *, GPU_SNAPSHOT) + (size_t)slot * snapshot_bytes(gpu);
    BASE_TRY(copy(gpu, gpu->memory[GPU_X].d, from, n));
    BASE_TRY(copy(gpu, gpu->memory[GPU_V].d, from + n, n));
    return copy(gpu, gpu->memory[GPU_WORK].d, from + 2 * n, MD_MAX_GROUPS * sizeof(double));
}
