/* How long pair lists live, how often they are filtered, and the radii that this asks for. */
#ifndef MD_RUN_LISTS_H
#define MD_RUN_LISTS_H
#include "md/core/box.h"
#include "md/core/params.h"
#include "md/core/topology.h"

/* What the lists are for: their costs differ. */
typedef enum md_lists_device { MD_LISTS_CPU, MD_LISTS_GPU } md_lists_device;

/* Parts of the tolerance for the two radii, where lists are filtered. */
#define MD_LISTS_SHARE       0.5
#define MD_LISTS_INNER_SHARE 0.25

typedef struct md_lists {
    int nstlist, nstprune; /* nstprune 0: not filtered */
    double rlist, rprune;  /* nm */
} md_lists;

/* For params->verlet_buffer_tolerance > 0 and a `temperature` > 0. may_raise: nstlist may become
 * larger than given where that is cheaper and the box has room; else it stays. */
sundog_status md_lists_choose(const md_topology *topology, const md_box *box,
                              const md_params *params, double temperature, int nstlist,
                              bool may_raise, md_lists_device device, md_lists *out);
/* The longest radius of lists in this box, nm. */
double md_lists_range(const md_box *box, md_lists_device device);
/* Radius within which ghosts must be known for domains on GPUs that are made anew every `lifetime`
 * steps, nm. */
sundog_status md_lists_ghost_radius(const md_topology *topology, const md_box *box,
                                    const md_params *params, double temperature, int lifetime,
                                    double *radius);
#endif
