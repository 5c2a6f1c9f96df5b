/* The groups of atoms that a run uses, and the degrees of freedom of each. */
#ifndef MD_RUN_GROUPS_H
#define MD_RUN_GROUPS_H
#include "md/core/params.h"
#include "md/core/topology.h"

typedef struct md_temperature_group {
    char name[64];
    double n_dof;
    double tau_t, ref_t; /* tau_t < 0: not coupled */
} md_temperature_group;

/* A byte an atom, and only where there is more than one group. */
typedef struct md_groups {
    int n_temperature; /* 1 without coupling */
    md_temperature_group temperature[MD_MAX_GROUPS];
    uint8_t *temperature_of; /* [n_atoms]; NULL: all atoms are of group 0 */
    int n_com;
    uint8_t *com_of; /* the same for centre-of-mass motion; n_com: of no group */
    uint8_t *frozen; /* [n_atoms] bit k: along axis k; NULL: none */
    int64_t n_compressed;
    int64_t *compressed; /* [n_compressed], rising: atoms in the .xtc; NULL: all of them */
} md_groups;

/* Names to atoms, as grompp does; index_path NULL: the default groups of the topology. Notes, a
 * line each, are appended to notes. */
sundog_status md_groups_create(const md_topology *topology, const md_params *params,
                               const char *mdp_path, const char *index_path, char *notes,
                               size_t notes_size, md_groups *out);
void md_groups_destroy(md_groups *groups);
/* Degrees of freedom of each temperature group, after constraints and centre-of-mass removal. */
void md_groups_count_freedom(md_groups *groups, const md_topology *topology,
                             md_comm_mode comm_mode);
double md_groups_total_freedom(const md_groups *groups);
/* Largest reference temperature of a group that is coupled, K; 0: none is. */
double md_groups_temperature(const md_groups *groups);
/* Which atom is in which group, for a fingerprint of the parameters. */
uint64_t md_groups_hash(uint64_t hash, const md_groups *groups, int64_t n_atoms);
#endif
