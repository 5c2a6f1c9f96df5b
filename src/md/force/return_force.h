/* Pair forces of the device for scheme return: forces of all rows, from the pairs that rows.h gives
 * to this domain; those of ghosts go home afterwards. Without lists: boxes of 32 rows are tested at
 * every launch. Simple, for the comparison with scheme shell.
 *
 * Every force is written once, by one thread: equal rows give equal bits.
 *
 * Rows may stand in place (md_unit_frame_of_rows) or be wrapped rows of the periodic box
 * (md_unit_frame_of_box), each atom once, with ghosts towards + along the cut axes only. Then cell,
 * reach and groups that stick out must leave a part of the box without rows along each cut axis:
 * it is what tells a pair in place from one across the period, which another domain computes.
 */
#ifndef MD_RETURN_FORCE_H
#define MD_RETURN_FORCE_H
#include "md/force/unit_force.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct md_return_force md_return_force;

/* On the current device. force, units and topology outlive it. d_box: the box of the rows, in
 * device memory; NULL: that of the frame given at a rebuild. */
sundog_status md_return_force_create(const md_unit_force *force, const md_units *units,
                                     const md_topology *topology, const md_device_box *d_box,
                                     md_return_force **out);
void md_return_force_destroy(md_return_force **force);
/* Rows have changed. Host only, but for copies in `stream`; nothing else may use it meanwhile. */
sundog_status md_return_force_rebuild(md_return_force *force, const md_rows *rows,
                                      const md_unit_frame *frame, void *stream);
/* d_f [n_rows][4] is set, the fourth to 0. d_sums [MD_N_SUMS] is set; NULL: not wanted. May be
 * captured. */
sundog_status md_return_force_launch(md_return_force *force, const md_device_row *d_row,
                                     float (*d_f)[4], double *d_sums, void *stream);
/* cut and base of *out, which say what pairs are in place. */
void md_return_force_place(const md_rows *rows, const md_unit_frame *frame,
                           md_row_force_rows *out);
/* Changes when a rebuild has invalidated captured launches: an array had to grow. */
uint64_t md_return_force_generation(const md_return_force *force);

#ifdef __cplusplus
}
#endif
#endif
