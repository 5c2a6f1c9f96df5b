/* Pressure coupling's scaling of one domain. */
#ifndef MD_GPU_STRETCH_H
#define MD_GPU_STRETCH_H
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x times factor, v over factor, [n] rows; the twin of md_barostat_scale_rows. */
sundog_status gpu_stretch(int n, double (*d_x)[3], double (*d_v)[3], const double factor[3],
                          void *stream);

#ifdef __cplusplus
}
#endif
#endif
