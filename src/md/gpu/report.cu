#include "device/cuda.h"
#include "md/gpu/report.h"
#include "md/force/unit_force.h"

#include <limits.h>

/* One thread: some hundred words, once in a hundred steps. */
static __global__ void report_sums(const gpu_report_from from)
{
    md_gpu_sums *to = &from.board->sums[from.counts->sums % GPU_BOARD];
    static const __device__ int place[3][3] = {{MD_SUM_XX, MD_SUM_XY, MD_SUM_XZ},
                                               {MD_SUM_XY, MD_SUM_YY, MD_SUM_YZ},
                                               {MD_SUM_XZ, MD_SUM_YZ, MD_SUM_ZZ}};
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        to->terms.bonded[kind] = from.bonded->bonded[kind];
    to->terms.coulomb14 = from.bonded->coulomb14;
    to->terms.lj = from.pair[MD_SUM_LJ];
    to->terms.coulomb = from.pair[MD_SUM_COULOMB];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            to->terms.virial[a][b] = from.pair[place[a][b]] + from.bonded->virial[a][b] +
                                     from.move->virial[a][b];
            to->kinetic[0][a][b] = from.kinetic_old->tensor[a][b];
            to->kinetic[1][a][b] = from.kinetic_new->tensor[a][b];
        }
    for (int g = 0; g < from.n_temperature; g++) {
        to->kinetic_group[g][0] = from.kinetic_old->group[g];
        to->kinetic_group[g][1] = from.kinetic_new->group[g];
        to->thermostat_work[g] = from.work[g];
    }
    to->deviation_square = from.move->deviation_square;
    from.counts->sums++;
}

static __global__ void report_verdict(md_move_fault *fault, const int *overflow, gpu_counts *counts,
                                      gpu_board *board)
{
    gpu_verdict *to = &board->verdict[counts->verdicts % MD_GPU_AHEAD];
    to->fault = *fault;
    to->overflow = overflow ? *overflow : 0;
    fault->n_turned = 0;
    fault->n_failed = 0;
    fault->row = INT_MAX;
    counts->verdicts++;
}

static __global__ void overflow_put(const int *overflow, double *row)
{
    *row = *overflow;
}

static __global__ void overflow_take(const double *sum, int *overflow)
{
    if (*sum > 0) *overflow = 1;
}

extern "C" sundog_status gpu_overflow_put(const int *overflow, double *d_row, void *stream)
{
    overflow_put<<<1, 1, 0, (cudaStream_t)stream>>>(overflow, d_row);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status gpu_overflow_take(const double *d_sum, int *overflow, void *stream)
{
    overflow_take<<<1, 1, 0, (cudaStream_t)stream>>>(d_sum, overflow);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status gpu_report_sums(const gpu_report_from *from, void *stream)
{
    report_sums<<<1, 1, 0, (cudaStream_t)stream>>>(*from);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" sundog_status gpu_report_verdict(md_move_fault *fault, const int *overflow,
                                            gpu_counts *counts, gpu_board *board, void *stream)
{
    report_verdict<<<1, 1, 0, (cudaStream_t)stream>>>(fault, overflow, counts, board);
    return DEVICE_CHECK(cudaGetLastError());
}
