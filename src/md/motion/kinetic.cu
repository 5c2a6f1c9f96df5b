/* Kernels of kinetic.h.
 *
 * With several groups a thread runs over its rows once a group and reads no more than the group of
 * those that are not in it; groups are few, and most runs have one. Rejected: an accumulator of
 * each group and thread in shared memory (64 KiB for what two or three passes over bytes do as
 * well).
 */
#include "device/cuda.h"
#include "device/grid_sum.cuh"
extern "C" {
#include "md/motion/kinetic.h"
}
#include "md/core/vec3.cuh"

/* The number of blocks follows from that of rows alone, so bits do not depend on the device. */
enum { BLOCK = 256, MAX_BLOCKS = 256, MAX_VALUES = 4 * MD_MAX_GROUPS };

struct md_kinetic {
    device_array memory;
    grid_sum_scratch scratch;
};

typedef grid_sum_shared<BLOCK, 9 + MD_MAX_GROUPS> kinetic_shared;
typedef grid_sum_shared<BLOCK, MAX_VALUES> momentum_shared;

static __device__ __forceinline__ int first_row(void)
{
    return blockIdx.x * BLOCK + threadIdx.x;
}
static __device__ __forceinline__ int row_step(void)
{
    return gridDim.x * BLOCK;
}

/* ---- kinetic energy ------------------------------------------------------------------------- */

static __device__ void add_tensor(const md_velocities &rows, kinetic_shared *shared)
{
    double sum[3][3] = {{0}};
    for (int r = first_row(); r < rows.n_owned; r += row_step()) {
        const double half_mass = 0.5 * rows.d_mass[r];
        const double v[3] = {rows.d_v[r][0], rows.d_v[r][1], rows.d_v[r][2]};
#pragma unroll
        for (int a = 0; a < 3; a++)
#pragma unroll
            for (int b = 0; b < 3; b++) sum[a][b] += half_mass * v[a] * v[b];
    }
#pragma unroll
    for (int a = 0; a < 3; a++)
#pragma unroll
        for (int b = 0; b < 3; b++) grid_sum_add(shared, 3 * a + b, sum[a][b]);
}

static __device__ void add_group_energies(const md_velocities &rows, kinetic_shared *shared)
{
    const unsigned char *group = rows.d_temperature_group;
    for (int g = 0; g < rows.n_temperature; g++) {
        double sum = 0;
        for (int r = first_row(); r < rows.n_owned; r += row_step()) {
            if ((group ? group[r] : 0) != g) continue;
            const double3 v = vec3_load(rows.d_v, r);
            sum += 0.5 * rows.d_mass[r] * vec3_dot(v, v);
        }
        grid_sum_add(shared, 9 + g, sum);
    }
}

/* Kinetic energy of the owned rows.
 *   grid     blocks of rows                     thread   its rows, one after the other
 *   reads    v, mass, group                     writes   out (the last block)
 *   waits    nothing                            signals  nothing */
__global__ void __launch_bounds__(BLOCK)
    kinetic_kernel(const md_velocities rows, const grid_sum_scratch scratch, double *out)
{
    __shared__ kinetic_shared shared;
    const int n = 9 + rows.n_temperature;
    add_tensor(rows, &shared);
    add_group_energies(rows, &shared);
    if (!grid_sum_finish(&shared, n, scratch)) return;
    for (int i = threadIdx.x / 32; i < 9 + MD_MAX_GROUPS; i += BLOCK / 32) {
        const double sum = i < n ? grid_sum_total(scratch, i) : 0.0;
        if (threadIdx.x % 32 == 0) out[i] = sum;
    }
}

/* ---- momentum ------------------------------------------------------------------------------- */

/* Momentum and mass of the owned rows; labels as above. */
__global__ void __launch_bounds__(BLOCK)
    momentum_kernel(const md_velocities rows, const grid_sum_scratch scratch, double *out)
{
    __shared__ momentum_shared shared;
    for (int g = 0; g < rows.n_com; g++) {
        double3 momentum = make_double3(0, 0, 0);
        double mass = 0;
        for (int r = first_row(); r < rows.n_owned; r += row_step()) {
            if ((rows.d_com_group ? rows.d_com_group[r] : 0) != g) continue;
            const double m = rows.d_mass[r];
            momentum = vec3_axpy(momentum, m, vec3_load(rows.d_v, r));
            mass += m;
        }
        grid_sum_add(&shared, 4 * g, momentum.x);
        grid_sum_add(&shared, 4 * g + 1, momentum.y);
        grid_sum_add(&shared, 4 * g + 2, momentum.z);
        grid_sum_add(&shared, 4 * g + 3, mass);
    }
    if (!grid_sum_finish(&shared, 4 * rows.n_com, scratch)) return;
    for (int i = threadIdx.x / 32; i < MAX_VALUES; i += BLOCK / 32) {
        const double sum = i < 4 * rows.n_com ? grid_sum_total(scratch, i) : 0.0;
        if (threadIdx.x % 32 == 0) out[i] = sum;
    }
}

/* Take the drift of its group from every row.
 *   grid     blocks of rows                     thread   one row
 *   reads    v, group, sums                     writes   v
 *   waits    nothing                            signals  nothing */
__global__ void __launch_bounds__(BLOCK)
    remove_drift_kernel(const md_velocities rows, const md_momentum_sums *sums)
{
    const int r = first_row();
    if (r >= rows.n_owned) return;
    const int g = rows.d_com_group ? rows.d_com_group[r] : 0;
    const unsigned frozen = rows.d_frozen ? rows.d_frozen[r] : 0;
    if (g < rows.n_com && sums->sum[g][3] > 0)
        for (int k = 0; k < 3; k++) rows.d_v[r][k] -= sums->sum[g][k] / sums->sum[g][3];
    for (int k = 0; k < 3; k++)
        if (frozen >> k & 1) rows.d_v[r][k] = 0;
}

/* ---- host ----------------------------------------------------------------------------------- */

extern "C" sundog_status md_kinetic_create(md_kinetic **out)
{
    md_kinetic *kinetic = (md_kinetic *)base_alloc_zero(sizeof *kinetic);
    const size_t n_bytes = ((size_t)MAX_VALUES * MAX_BLOCKS + 1) * sizeof(double);
    sundog_status status = device_reserve(&kinetic->memory, n_bytes);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaMemset(kinetic->memory.d, 0, n_bytes));
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaDeviceSynchronize());
    if (status != SUNDOG_OK) {
        md_kinetic_destroy(&kinetic);
        return status;
    }
    kinetic->scratch.arrived = (unsigned *)kinetic->memory.d;
    kinetic->scratch.partial = (double *)kinetic->memory.d + 1;
    *out = kinetic;
    return SUNDOG_OK;
}

extern "C" void md_kinetic_destroy(md_kinetic **kinetic)
{
    if (*kinetic == NULL) return;
    device_free(&(*kinetic)->memory);
    base_free(*kinetic);
    *kinetic = NULL;
}

/* At least one, which writes the zeros of a domain without rows. */
static int blocks_of(const md_velocities *rows)
{
    const int n = (rows->n_owned + BLOCK - 1) / BLOCK;
    return n < 1 ? 1 : n < MAX_BLOCKS ? n : MAX_BLOCKS;
}

extern "C" sundog_status md_kinetic_launch(md_kinetic *kinetic, const md_velocities *rows,
                                           md_kinetic_sums *d_out, void *stream)
{
    kinetic_kernel<<<blocks_of(rows), BLOCK, 0, (cudaStream_t)stream>>>(*rows, kinetic->scratch,
                                                                       (double *)d_out);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status md_momentum_launch(md_kinetic *kinetic, const md_velocities *rows,
                                            md_momentum_sums *d_out, void *stream)
{
    momentum_kernel<<<blocks_of(rows), BLOCK, 0, (cudaStream_t)stream>>>(*rows, kinetic->scratch,
                                                                        (double *)d_out);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status md_remove_drift_launch(const md_velocities *rows,
                                                const md_momentum_sums *d_sums, void *stream)
{
    if (rows->n_owned == 0) return SUNDOG_OK;
    remove_drift_kernel<<<(rows->n_owned + BLOCK - 1) / BLOCK, BLOCK, 0, (cudaStream_t)stream>>>(
        *rows, d_sums);
    return DEVICE_CHECK(cudaGetLastError());
}
