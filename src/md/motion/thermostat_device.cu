/* Kernel of thermostat_device.h. A launch of its own, since it needs the sums of all domains. */
#include "device/cuda.h"
extern "C" {
#include "md/motion/thermostat_device.h"
#include "md/motion/vrescale.h"
}

/* Factors and work.
 *   grid     one block                          thread   one group
 *   reads    kinetic, noise                     writes   lambda, work
 *   waits    nothing                            signals  nothing */
__global__ void thermostat_kernel(const md_thermostat_groups groups,
                                  const md_kinetic_sums *kinetic, const double (*noise)[2],
                                  double *lambda, double *work)
{
    const int g = threadIdx.x;
    if (g >= groups.n) return;
    const double ekin = kinetic->group[g];
    const md_vrescale_noise drawn = {noise[g][0], noise[g][1]};
    if (!md_vrescale_can(&groups.coupling[g], ekin)) {
        lambda[g] = 1;
        return;
    }
    const double fresh = md_vrescale_apply(&groups.coupling[g], ekin, drawn);
    lambda[g] = sqrt(fresh / ekin);
    work[g] += fresh - ekin;
}

extern "C" sundog_status md_thermostat_launch(const md_thermostat_groups *groups,
                                              const md_kinetic_sums *d_kinetic,
                                              const double (*d_noise)[2], double *d_lambda,
                                              double *d_work, void *stream)
{
    thermostat_kernel<<<1, MD_MAX_GROUPS, 0, (cudaStream_t)stream>>>(*groups, d_kinetic, d_noise,
                                                                    d_lambda, d_work);
    return DEVICE_CHECK(cudaGetLastError());
}
