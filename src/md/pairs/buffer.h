/* Verlet buffer: the smallest list radius whose energy drift stays below a tolerance. */
#ifndef MD_BUFFER_H
#define MD_BUFFER_H
#include "md/core/box.h"
#include "md/core/params.h"
#include "md/core/topology.h"

/* List radius (nm) for lists that live `lifetime` steps, so that pairs which enter the cut-off
 * unseen change the energy by at most params->verlet_buffer_tolerance (kJ/mol/ps per atom) at
 * `temperature`. Derivation: docs/verlet-buffer.md. */
sundog_status md_verlet_buffer(const md_topology *topology, const md_box *box,
                               const md_params *params, double temperature, int lifetime,
                               double *rlist);
/* The estimate under it: variance of one coordinate of an atom (its number in the kind of molecule)
 * `age` ps after the list was made, nm^2. */
double md_verlet_variance(const md_topology *topology, const md_box *box, double temperature,
                          double age, int moltype, int atom);
#endif
