/* Bonded forces and 1-4 pairs. Displacements are taken in double from x and rounded to float; the
 * rest is float, sums are double. */
#ifndef MD_BONDED_H
#define MD_BONDED_H
#include "md/core/energy.h"
#include "md/core/params.h"
#include "md/core/rows.h"

typedef struct md_bonded md_bonded;

/* Parameters in the form that the kernels read. Uses params->epsilon_r (1-4 Coulomb interactions
 * are divided by it, as in GROMACS). Read-only afterwards: all threads may share one. topology
 * may be destroyed before it. */
sundog_status md_bonded_create(const md_topology *topology, const md_params *params,
                               md_bonded **out);
void md_bonded_destroy(md_bonded **bonded);         /* accepts NULL */

/* Forces of all rows->list[] kinds except MD_POSRES, MD_CONSTRAINT and MD_SETTLE, ADDED to
 * f [n_rows][3].
 * energy: NULL when not wanted; else bonded[], coulomb14 and virial are ADDED to, times weight. */
void md_bonded_force(const md_bonded *bonded, const md_rows *rows, float (*f)[3],
                     md_energy *energy);
#endif
