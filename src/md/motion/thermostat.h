/* Stochastic velocity rescaling (Bussi, Donadio, Parrinello, J. Chem. Phys. 126, 014101, 2007). */
#ifndef MD_THERMOSTAT_H
#define MD_THERMOSTAT_H
#include <stdbool.h>
#include <stdint.h>

/* Which random numbers are drawn: all three decide (counter based), so a restart and any grid draw
 * the same. */
typedef struct md_vrescale_draw {
    int64_t seed, step;
    int group;
} md_vrescale_draw;

/* New kinetic energy (kJ/mol) of n_dof degrees of freedom now at `ekin`, aimed at ekin_ref, after
 * dt ps with time constant tau. tau 0 draws from the canonical distribution at once. Returned
 * as it is: an ekin that cannot be scaled (not above 0), n_dof not above 0, tau below 0 (no
 * coupling). Scale velocities by sqrt(result / ekin); the thermostat's work is result - ekin. */
double md_vrescale_ekin(double ekin, double ekin_ref, double n_dof, double dt, double tau,
                        md_vrescale_draw draw);

/* Its two halves, for who draws in advance: what a coupling does to every kinetic energy, and the
 * random numbers of one step, which do not depend on it (vrescale.h has the formula). */
typedef struct md_vrescale_coupling {
    bool coupled;               /* false: n_dof or tau say that there is none */
    double keep, fresh;         /* c and (1-c) Kref/N */
} md_vrescale_coupling;
typedef struct md_vrescale_noise {
    double first, rest;         /* R1 and S */
} md_vrescale_noise;
md_vrescale_coupling md_vrescale_couple(double ekin_ref, double n_dof, double dt, double tau);
md_vrescale_noise md_vrescale_draw_noise(double n_dof, md_vrescale_draw draw);
#endif
