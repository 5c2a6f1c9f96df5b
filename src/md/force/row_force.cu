/* The check of the device's pair kernels: double precision, a thread a row, every row against every
 * row. Every pair is computed from both sides, each force is written once, so bits repeat.
 */
#include "md/force/row_force.cuh"
#include "device/cuda.h"

void unit_add_blocks(const double *block_sums, int n, double *sums, cudaStream_t stream);

/*   thread  a row     reads  all rows     writes  f; sums[warp][MD_N_SUMS] */
template <int MODIFIER>
static __global__ void every_row(const __grid_constant__ unit_parameters<double> p,
                                 const __grid_constant__ row_tables<double> t,
                                 const __grid_constant__ md_row_force_rows r, double (*f)[3],
                                 double *sums)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const unit_scale scale = unit_scale_of(r.d_scale);
    const int4 *row = (const int4 *)r.d_row;
    row_sum<double> s = {};
    if (wanted(r, i)) {
        const int4 row_i = row[i];
        for (int j = 0; j < r.n_rows; j++)
            if (j != i || i < r.n_owned)
                visit<double, MODIFIER>(p, t, r, scale, i, row_i, j, row[j], s);
        for (int k = 0; k < 3; k++) f[i][k] = s.f[k];
    }
    warp_sums(s, sums + (size_t)(i >> 5) * MD_N_SUMS);
}

template <int MODIFIER>
static void start_exact(const md_unit_force *force, const md_row_force_rows *r, double (*f)[3],
                        double *work, cudaStream_t stream)
{
    row_tables<double> t = {force->d_charge, force->d_table};
    const int blocks = r->n_rows / 128 + 1;     /* without rows, too */
    every_row<MODIFIER><<<blocks, 128, 0, stream>>>(force->exact, t, *r, f, work);
}

extern "C" sundog_status md_row_force_exact(const md_unit_force *force,
                                            const md_row_force_rows *rows, double (*d_f)[3],
                                            double *d_sums, double *d_work, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    switch (force->modifier) {
    case UNIT_FORCE_SWITCH: start_exact<UNIT_FORCE_SWITCH>(force, rows, d_f, d_work, s); break;
    case UNIT_POTENTIAL_SWITCH:
        start_exact<UNIT_POTENTIAL_SWITCH>(force, rows, d_f, d_work, s);
        break;
    default: start_exact<UNIT_PLAIN>(force, rows, d_f, d_work, s);
    }
    unit_add_blocks(d_work, (rows->n_rows / 128 + 1) * 4, d_sums, s);
    BASE_TRY(DEVICE_CHECK(cudaGetLastError()));
    return SUNDOG_OK;
}
