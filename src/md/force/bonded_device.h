/* Bonded forces, 1-4 pairs and position restraints on the device, all kinds in one launch.
 *
 *      interaction  -- a thread each -->  place in shared memory  -- added by row -->  slot[row]
 *
 * A block of interactions adds up what they do to each of its rows and writes one slot a row
 * (bonded_blocks.h); who needs the force of a row adds its few slots (the move kernel does, so that
 * it costs no launch). Nothing is zeroed, nothing is added atomically, results repeat bit for bit.
 *
 * Rejected: a slot for each atom of each interaction, which made the move of an ethanol wait for a
 * dozen slots an atom; integer atomics, three operations in the second cache for each force.
 *
 * The twins on the host: bonded.h, posres.h.
 */
#ifndef MD_BONDED_DEVICE_H
#define MD_BONDED_DEVICE_H
#include "md/core/device_row.h"
#include "md/core/energy.h"
#include "md/core/force_slots.h"
#include "md/core/rows.h"
#include "md/force/bonded.h"
#include "md/force/posres.h"

typedef struct md_bonded_device md_bonded_device;

/* Energies of one launch; what md_bonded_force and md_posres_force add to md_energy. */
typedef struct md_bonded_sums {
    double bonded[MD_N_KINDS], coulomb14, virial[3][3];
} md_bonded_sums;

/* On the current device. posres (may be NULL) and topology outlive the object; `bonded` may be
 * destroyed. */
sundog_status md_bonded_device_create(const md_bonded *bonded, const md_posres *posres,
                                      const md_topology *topology, md_bonded_device **out);
void md_bonded_device_destroy(md_bonded_device **device);
/* Lists after a repartition; slots of rows [0, n_rows_wanted): n_owned in scheme shell, n_rows in
 * scheme return. Ordered on `stream`; `rows` may change when the call returns. */
sundog_status md_bonded_device_rebuild(md_bonded_device *device, const md_rows *rows,
                                       int n_rows_wanted, void *stream);
md_force_slots md_bonded_device_slots(const md_bonded_device *device);
/* Fill the slots. d_sums: NULL, or where the energies go, in device memory. */
sundog_status md_bonded_device_launch(md_bonded_device *device, const md_device_row *d_row,
                                      const md_device_box *d_box, md_bonded_sums *d_sums,
                                      void *stream);
/* The same without sums, right behind pair forces that were launched on the same rows: begins when
 * all their blocks have seen the rows, and fills multiprocessors that they leave. */
sundog_status md_bonded_device_launch_early(md_bonded_device *device, const md_device_row *d_row,
                                            const md_device_box *d_box, void *stream);
/* f[row] += slots, rows [0, n_rows_wanted): for who does not add them by itself. */
sundog_status md_bonded_device_gather(md_bonded_device *device, float (*d_f)[4], void *stream);
#endif
