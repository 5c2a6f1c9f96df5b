/* Start velocities drawn from the Maxwell-Boltzmann distribution (gen-vel = yes). */
#ifndef MD_VELOCITIES_H
#define MD_VELOCITIES_H
#include "md/core/state.h"
#include "md/core/topology.h"

/* Sets state->v of all atoms: a function of the seed and the atoms' numbers. */
void md_velocities_generate(const md_topology *topology, double temperature, int64_t seed,
                            md_state *state);
/* Temperature of the velocities in the state with n_dof degrees of freedom, K; 0 when there are
 * none. */
double md_velocities_temperature(const md_topology *topology, const md_state *state, double n_dof);
#endif
