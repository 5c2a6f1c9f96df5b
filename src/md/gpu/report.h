/* Numbers for the host, written by kernels into pinned memory, so that a graph that is replayed
 * needs to know no address that changes: places on the board are counted on the device. */
#ifndef MD_GPU_REPORT_H
#define MD_GPU_REPORT_H
#include "md/gpu/gpu.h"
#include "md/motion/kinetic.h"
#include "md/motion/move.h"
#include "md/force/bonded_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_BOARD = MD_GPU_AHEAD * MD_GPU_PIECE };

typedef struct gpu_verdict {
    md_move_fault fault;
    int overflow;
} gpu_verdict;

typedef struct gpu_board {
    md_gpu_sums sums[GPU_BOARD];       /* step by step, round and round */
    gpu_verdict verdict[MD_GPU_AHEAD]; /* piece by piece */
} gpu_board;

typedef struct gpu_counts { /* on the device */
    unsigned sums, verdicts;
} gpu_counts;

/* Device pointers; NULL: nothing of that kind. */
typedef struct gpu_report_from {
    const double *pair; /* [MD_N_SUMS] */
    const md_bonded_sums *bonded;
    const md_move_sums *move;
    const md_kinetic_sums *kinetic_old, *kinetic_new;
    const double *work;
    int n_temperature;
    gpu_counts *counts;
    gpu_board *board;
} gpu_report_from;

sundog_status gpu_report_sums(const gpu_report_from *from, void *stream);
/* The word of overflow as a number that domains can add, and back: 1 where the sum is not 0. */
sundog_status gpu_overflow_put(const int *overflow, double *d_row, void *stream);
sundog_status gpu_overflow_take(const double *d_sum, int *overflow, void *stream);
/* At the end of a piece. The move's fault is cleared. */
sundog_status gpu_report_verdict(md_move_fault *fault, const int *overflow, gpu_counts *counts,
                                 gpu_board *board, void *stream);

#ifdef __cplusplus
}
#endif
#endif
