/* What acts on the velocities of whole groups of atoms: temperature coupling, and the removal of
 * centre-of-mass motion. */
#ifndef MD_COUPLING_H
#define MD_COUPLING_H
#include "md/run/sums.h"
#include "md/run/worker.h"

/* Groups of the rows, after they have moved. */
void md_coupling_rebuild(md_worker *w);
/* Factors for the velocities of this step in w->lambda; all 1 when nothing is coupled. Collective
 * at the steps that couple. */
sundog_status md_couple_temperature(md_worker *w, int64_t step);
/* Work of thermostat and barostat so far, kJ/mol. */
double md_coupling_work(const md_worker *w);
/* Leap-frog with these factors, from rows->x to itself; w->x_old holds the positions before. */
void md_coupled_step(md_worker *w);
/* Kinetic energy now: the tensor, and with several groups that of each in column `half` (0: half a
 * step before, 1: behind) of sums->kinetic_group. */
void md_coupling_kinetic(const md_worker *w, double tensor[3][3], int half, md_step_sums *sums);
/* Collective. */
sundog_status md_remove_com_motion(md_worker *w);
#endif
