/* Bonded forces, 1-4 pairs and position restraints. Displacements are taken in double from x and
 * rounded to float; the rest is float, sums are double. */
#ifndef MD_BONDED_H
#define MD_BONDED_H
#include "md/core/energy.h"
#include "md/core/rows.h"

/* Forces of all rows->list[] kinds except MD_CONSTRAINT and MD_SETTLE, ADDED to f [n_rows][3].
 * energy: NULL when not wanted; else bonded[], coulomb14 and virial are ADDED to, times weight. */
void md_bonded_force(const md_topology *topology, const md_rows *rows, float (*f)[3],
                     md_energy *energy);
#endif
