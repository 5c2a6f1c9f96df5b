/* Reference positions of position restraints, from the file of -r. */
#ifndef MD_RESTRAINTS_H
#define MD_RESTRAINTS_H
#include "md/core/topology.h"
#include "md/run/run.h"

/* Fills posres_x of the molecules that are restrained; without them, does nothing. `box` is that of
 * the start structure. Before md_topology_replicate. */
sundog_status md_restraints_read(const md_run_options *options, const md_box *box,
                                 md_topology *topology);
#endif
