/* Frozen atoms (freezegrps): along their frozen axes they stay where they are. */
#ifndef MD_FREEZE_H
#define MD_FREEZE_H
#include "md/run/worker.h"

/* Bits of an atom in md_groups.frozen: axis k. */
enum { MD_FROZEN_ALL = 7 };

/* What cannot be: rigid water of which a part is frozen, a constrained atom that is frozen along
 * some axes alone. */
sundog_status md_freeze_check(const md_topology *topology, const uint8_t *frozen,
                              const char *mdp_path);
/* Which rows are frozen, after they have moved. */
void md_freeze_rebuild(md_worker *w);
/* Frozen rows back to x_old and at rest. */
void md_freeze_positions(md_worker *w);
void md_freeze_velocities(md_worker *w);
/* Zero along frozen axes; [n_owned] velocities or forces. */
void md_freeze_vectors(const md_worker *w, double (*of_rows)[3]);
#endif
