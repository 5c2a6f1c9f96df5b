/* Stochastic cell rescaling: a first-order relaxation of the volume towards the reference pressure
 * P0 with a noise that makes the ensemble the isothermal-isobaric one. For e = ln V, over dt
 * (nstpcouple steps), with the compressibility b, tau = tau-p, R Gaussian:
 *
 *      isotropic        de   =   -b/tau (P0 - P) dt       + sqrt(2 kT b dt / (V tau)) R
 *      semi-isotropic   de_xy = -2b_xy/(3 tau) (P0_xy - P_xy) dt
 *                                                         + sqrt(4 kT b_xy dt / (3 V tau)) R1
 *                       de_z  =  -b_z/(3 tau) (P0_z - P_zz) dt
 *                                                         + sqrt(2 kT b_z dt / (3 V tau)) R2
 *
 * Lengths are scaled by exp(de/3), or exp(de_xy/2) and exp(de_z), positions along, momenta
 * inversely: the step then keeps the phase-space volume, and the stationary distribution is exact
 * up to the order of dt. P_xy is the mean of Pxx and Pyy. Atoms are scaled, not molecules: P is the
 * atomic pressure. Constraints are violated by the factor, some 1e-5, and met again at the next
 * step.
 *
 * Work: lengths times (1 + d) change the potential energy by 2 sum d virial, to first order; the
 * constraint part of the virial stands for the change of angular momenta when constraints are met
 * again. The kinetic energy changes by (1 + d)^-2 - 1, exactly. Together that is -P dV.
 */
#include "md/motion/barostat.h"

#include "md/core/units.h"
#include "md/motion/random.h"

#include <math.h>

/* kT in bar nm3. */
static double thermal(double temperature)
{
    return MD_BOLTZ * temperature * MD_BAR_PER_KJ_MOL_NM3;
}

void md_crescale_factors(const md_params *params, const double pressure[3][3], double volume,
                         double temperature, int64_t step, double factor[3])
{
    md_random random = md_random_open(params->ld_seed, MD_RANDOM_BAROSTAT, step, 0);
    const double *b = params->compressibility.value, *p0 = params->ref_p.value;
    double strength = params->dt * params->nstpcouple / params->tau_p;
    double noise = 2 * thermal(temperature) * strength / volume;
    if (params->pcoupltype == MD_PCOUPLTYPE_ISOTROPIC) {
        double p = (pressure[0][0] + pressure[1][1] + pressure[2][2]) / 3;
        double de = -b[0] * strength * (p0[0] - p) +
                    sqrt(noise * b[0]) * md_random_gaussian(&random);
        factor[0] = factor[1] = factor[2] = exp(de / 3);
        return;
    }
    double p_xy = 0.5 * (pressure[0][0] + pressure[1][1]);
    double de_xy = -2 * b[0] * strength / 3 * (p0[0] - p_xy) +
                   sqrt(2 * noise * b[0] / 3) * md_random_gaussian(&random);
    double de_z = -b[1] * strength / 3 * (p0[1] - pressure[2][2]) +
                  sqrt(noise * b[1] / 3) * md_random_gaussian(&random);
    factor[0] = factor[1] = exp(de_xy / 2);
    factor[2] = exp(de_z);
}

void md_barostat_scale_rows(md_rows *rows, const double factor[3])
{
    const double inverse[3] = {1 / factor[0], 1 / factor[1], 1 / factor[2]};
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) {
            rows->x[row][k] *= factor[k];
            rows->v[row][k] *= inverse[k];
        }
}

void md_barostat_scale_box(md_box *box, const double factor[3])
{
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 3; k++) box->m[row][k] *= factor[k];
}

double md_barostat_work(const double virial[3][3], const double kinetic[3][3],
                        const double factor[3])
{
    double work = 0;
    for (int k = 0; k < 3; k++)
        work += 2 * (factor[k] - 1) * virial[k][k] +
                (1 / (factor[k] * factor[k]) - 1) * kinetic[k][k];
    return work;
}
