/* Constraint groups of a molecule: what must live on one domain. Part of md_topology_finish. */
#ifndef MD_GROUPS_H
#define MD_GROUPS_H
#include "md/core/topology.h"

/* Fill n_groups, group_* and group_radius of `moltype`, replacing what is there. Refuses atoms that
 * are in two settles, or in a settle and a constraint. */
sundog_status md_moltype_find_groups(const md_topology *topology, md_moltype *moltype);
/* That refusal alone, for those who know where the molecule was read. */
sundog_status md_moltype_check_settles(const md_moltype *moltype);
#endif
