/* The thermostat of thermostat.h on the device: factors for the velocities of a step from kinetic
 * energies that the host never sees.
 *
 *      host, in advance   noise of (seed, step, group)      md_vrescale_draw_noise
 *      device             K of the whole team, noise  ->  lambda[g] = sqrt(K'/K), work[g] += K' - K
 *
 * Every domain computes the same from the same sums; so factor and work need no messages. */
#ifndef MD_THERMOSTAT_DEVICE_H
#define MD_THERMOSTAT_DEVICE_H
#include "md/motion/kinetic.h"
#include "md/motion/thermostat.h"

/* Constants of the run, by value. */
typedef struct md_thermostat_groups {
    int n;
    md_vrescale_coupling coupling[MD_MAX_GROUPS];
} md_thermostat_groups;

/* Device memory: d_kinetic of the whole team; d_noise [n] as md_vrescale_noise; out: d_lambda [n],
 * 1 where the host would not couple either; d_work [n], kJ/mol, ADDED to. */
sundog_status md_thermostat_launch(const md_thermostat_groups *groups,
                                   const md_kinetic_sums *d_kinetic, const double (*d_noise)[2],
                                   double *d_lambda, double *d_work, void *stream);
#endif
