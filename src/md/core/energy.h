/* Energies of one step, and their names. Sums over domains are plain sums of all doubles here, so
 * the struct is an array with names. */
#ifndef MD_ENERGY_H
#define MD_ENERGY_H
#include "md/core/topology.h"

typedef struct md_energy {
    double bonded[MD_N_KINDS];      /* kJ/mol; MD_PAIR14 holds LJ-14, Coulomb-14 is below */
    double coulomb14;
    double lj, coulomb;             /* LJ (SR), Coulomb (SR) with excluded-pair and self terms */
    double virial[3][3];            /* kJ/mol, -1/2 sum r x F, constraint part included */
} md_energy;
#define MD_ENERGY_N ((int)(sizeof(md_energy) / sizeof(double)))
#endif
