/* The formula of thermostat.h, for both the host and a kernel; thermostat.c explains it. */
#ifndef MD_VRESCALE_H
#define MD_VRESCALE_H
#include "md/motion/thermostat.h"

#include <math.h>

#ifdef __CUDACC__
#define MD_VRESCALE_INLINE static inline __host__ __device__
#else
#define MD_VRESCALE_INLINE static inline
#endif

/* False: the energy is to be left as it is. */
MD_VRESCALE_INLINE bool md_vrescale_can(const md_vrescale_coupling *coupling, double ekin)
{
    return coupling->coupled && ekin > 0;
}

MD_VRESCALE_INLINE double md_vrescale_apply(const md_vrescale_coupling *coupling, double ekin,
                                            md_vrescale_noise noise)
{
    const double first = sqrt(coupling->keep * ekin) + sqrt(coupling->fresh) * noise.first;
    return first * first + coupling->fresh * noise.rest;
}
#endif
