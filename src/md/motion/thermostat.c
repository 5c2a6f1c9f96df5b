/* Stochastic velocity rescaling: one random step of the kinetic energy K of N degrees of freedom,
 * whose stationary distribution is the canonical one, exp(-K/kT) K^(N/2-1). Equation A7 of Bussi,
 * Donadio and Parrinello (J. Chem. Phys. 126, 014101, 2007), exact for any dt: with c =
 * exp(-dt/tau)
 *
 *      K' = K + (1-c) (Kref (R1^2 + S)/N - K) + 2 R1 sqrt(c (1-c) K Kref/N)
 *         = (sqrt(c K) + R1 sqrt((1-c) Kref/N))^2 + (1-c) Kref/N S
 *
 * R1 is Gaussian, S the sum of N - 1 squared Gaussians (chi-square). The second form is used, it
 * cannot become negative. S is drawn as twice a gamma deviate of shape (N-1)/2: constant time for
 * any N, and N need not be whole, as it seldom is for one group of several. For N < 1 there is no
 * S, and R1 alone stands for them all.
 *
 * The work of the thermostat is K' - K; the caller sums it up. Groups are independent: each has
 * its K, N, Kref and random numbers.
 */
#include "md/motion/random.h"
#include "md/motion/vrescale.h"

md_vrescale_coupling md_vrescale_couple(double ekin_ref, double n_dof, double dt, double tau)
{
    if (n_dof <= 0 || tau < 0) return (md_vrescale_coupling){.coupled = false};
    const double keep = tau > 0 ? exp(-dt / tau) : 0.0;
    return (md_vrescale_coupling){
        .coupled = true, .keep = keep, .fresh = (1.0 - keep) * ekin_ref / n_dof};
}

md_vrescale_noise md_vrescale_draw_noise(double n_dof, md_vrescale_draw draw)
{
    md_random random = md_random_open(draw.seed, MD_RANDOM_THERMOSTAT, draw.step, draw.group);
    md_vrescale_noise noise = {.first = md_random_gaussian(&random)};
    if (n_dof > 1) noise.rest = 2.0 * md_random_gamma(&random, 0.5 * (n_dof - 1.0));
    return noise;
}

double md_vrescale_ekin(double ekin, double ekin_ref, double n_dof, double dt, double tau,
                        md_vrescale_draw draw)
{
    const md_vrescale_coupling coupling = md_vrescale_couple(ekin_ref, n_dof, dt, tau);
    if (!md_vrescale_can(&coupling, ekin)) return ekin;
    return md_vrescale_apply(&coupling, ekin, md_vrescale_draw_noise(n_dof, draw));
}
