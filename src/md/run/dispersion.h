/* Long-range dispersion correction (DispCorr): what the cut-off leaves out of Lennard-Jones, beyond
 * it and within it, for a uniform density of pairs with the mean c6 and c12. */
#ifndef MD_DISPERSION_H
#define MD_DISPERSION_H
#include "md/core/params.h"
#include "md/core/topology.h"

typedef struct md_dispersion {
    bool energy, pressure, repulsion; /* what is corrected; energy false: nothing */
    double n_atoms;
    double c6, c12; /* mean over all pairs that are not excluded */
    /* Of r^-6 and r^-12, in their units of length: I, W and K of dispersion.c */
    double tail6, tail12, virial6, virial12, self6, self12;
} md_dispersion;

md_dispersion md_dispersion_make(const md_topology *topology, const md_params *params);
/* kJ/mol and bar; 0 where not corrected. */
double md_dispersion_energy(const md_dispersion *dispersion, double volume);
double md_dispersion_pressure(const md_dispersion *dispersion, double volume);
#endif
