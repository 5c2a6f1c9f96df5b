/* Where a piece began, kept until the piece has been looked at. */
#ifndef MD_GPU_SNAPSHOT_H
#define MD_GPU_SNAPSHOT_H
#include "md/gpu/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n doubles each of x and v, and the thermostat's work, into place counts->verdicts % MD_GPU_AHEAD
 * of d_to, which are `stride` doubles apart. */
sundog_status gpu_snapshot_take(int n, const double *d_x, const double *d_v, const double *d_work,
                                double *d_to, size_t stride, const gpu_counts *counts,
                                void *stream);

#ifdef __cplusplus
}
#endif
#endif
