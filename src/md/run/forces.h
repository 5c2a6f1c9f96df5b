/* One force evaluation of one domain. */
#ifndef MD_FORCES_H
#define MD_FORCES_H
#include "md/core/energy.h"
#include "md/domain/domain.h"
#include "md/force/bonded.h"
#include "md/force/nonbonded.h"
#include "md/force/posres.h"
#include "md/run/timing.h"

typedef struct md_force_field {
    const md_nonbonded *nonbonded; /* shared by all domains */
    const md_bonded *bonded;       /* shared by all domains */
    const md_posres *posres;       /* shared by all domains; NULL: none */
    const md_box *box;             /* of the rows, as it is now */
    md_domain *domain;
    md_pairs *pairs;
    md_timing *timing;
    float (*f_border)[3]; /* scheme shell, energy steps */
    size_t f_border_capacity;
} md_force_field;

/* Coordinates out, forces of all rows, forces back: rows->f of owned rows is complete afterwards.
 * prune: refresh the inner lists on the way. energy: NULL, or this domain's share is ADDED. */
sundog_status md_forces(md_force_field *field, bool prune, md_energy *energy);
#endif
