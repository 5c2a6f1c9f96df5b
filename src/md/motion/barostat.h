/* Stochastic cell rescaling (Bernetti and Bussi, J. Chem. Phys. 153, 114107, 2020), the barostat
 * that GROMACS calls C-rescale. */
#ifndef MD_BAROSTAT_H
#define MD_BAROSTAT_H
#include "md/core/box.h"
#include "md/core/params.h"
#include "md/core/rows.h"

/* Factors of lengths along x, y, z for one coupling step, from the instantaneous pressure tensor
 * (bar), the present volume (nm3) and the temperature (K) of the ensemble. Random numbers depend on
 * (params->ld_seed, step) alone. params->pcoupl is C-rescale. */
void md_crescale_factors(const md_params *params, const double pressure[3][3], double volume,
                         double temperature, int64_t step, double factor[3]);
/* x *= factor, v /= factor of the owned rows. */
void md_barostat_scale_rows(md_rows *rows, const double factor[3]);
void md_barostat_scale_box(md_box *box, const double factor[3]);
/* Energy (kJ/mol) that such a scaling gives to the system: virial and kinetic tensors are those of
 * the step, the kinetic one that of the velocities which are scaled. */
double md_barostat_work(const double virial[3][3], const double kinetic[3][3],
                        const double factor[3]);
#endif
