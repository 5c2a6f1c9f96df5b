/* What a repartition does for a domain that is alone, on the device: groups back into the box, rows
 * from their positions. Rows keep their order. And rows from positions alone, where these have come
 * back from a snapshot or have been scaled. */
#ifndef MD_GPU_RENEW_H
#define MD_GPU_RENEW_H
#include "md/core/device_row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Group g is the rows [d_first[g], d_first[g + 1]); the first is its reference atom, whose image in
 * the box says how the group moves (the twin of md_domain's). x of all rows into d_row; charges
 * stay. */
sundog_status gpu_renew_rows(int n_groups, const int *d_first, const md_device_box *d_box,
                             double (*d_x)[3], md_device_row *d_row, void *stream);
/* Rows of n atoms from where they are: what the move that brought them there wrote. */
sundog_status gpu_rows_from_positions(int n, const md_device_box *d_box, const double (*d_x)[3],
                                      md_device_row *d_row, void *stream);

#ifdef __cplusplus
}
#endif
#endif
