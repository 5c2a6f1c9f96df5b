/* LINCS inside the room; equations in docs/constraints.md.
 *
 * Constraints are sorted into two storages at each repartition:
 *
 *   stars     a centre with 1 to 4 neighbours that have no other constraint (CH3, CH2, OH ...);
 *             eight stars of one size side by side, coupling matrix dense      lincs_lanes.h
 *   network   everything else (chains, rings, triangles), coupling matrix sparse  lincs_network.c
 */
#ifndef MD_LINCS_H
#define MD_LINCS_H
#include "md/core/rows.h"
#include "md/motion/constraints.h"

enum { LINCS_LANES = 8, LINCS_MAX_STAR = 4 };

/* Stars of n_arms constraints. Block b holds stars [b LANES, (b+1) LANES); lanes behind the last
 * star repeat it. */
typedef struct lincs_stars {
    int n_arms, n;
    int (*row)[LINCS_LANES];            /* [n_blocks][1 + n_arms], centre first */
    double (*inv_mass)[LINCS_LANES];    /* [n_blocks][1 + n_arms], 1/u */
    double (*length)[LINCS_LANES];      /* [n_blocks][n_arms], nm */
    double (*scale)[LINCS_LANES];       /* [n_blocks][n_arms], 1 / sqrt(1/m_centre + 1/m_arm) */
    size_t capacity_row, capacity_inv_mass, capacity_length, capacity_scale;
} lincs_stars;

/* Constraint k joins i and j. Its couplings are [start[k], start[k+1]): other[c] shares an atom
 * with k, factor[c] times the cosine of their directions is the element of A. Constraints of
 * components with a triangle stand behind n_plain. */
typedef struct lincs_network {
    int n, n_plain;
    int (*row)[2];
    double *length, *scale;             /* [n] */
    double (*inv_mass)[2];              /* [n] */
    int *start, *other;
    double *factor;
    /* work */
    double *a;                          /* [couplings] elements of A */
    double (*b)[3], (*d)[3];            /* [n] directions and bonds at x_old */
    double *rhs, *rhs_next, *solution, *lambda;
    size_t capacity[14];
} lincs_network;

typedef struct lincs_call {
    const double (*x_old)[3];           /* velocities: x */
    double (*x_new)[3];                 /* velocities: not used */
    double (*v)[3];                     /* positions: may be NULL */
    double inv_dt;
    int order, iter;
    double cos_warn;
    bool want_virial;
    double virial[3][3];                /* added to */
} lincs_call;

/* False when a constraint turned beyond the warn angle or something is not finite. */
typedef struct lincs_kernels {
    bool (*positions)(const lincs_stars *stars, lincs_call *call);
    bool (*velocities)(const lincs_stars *stars, lincs_call *call);
} lincs_kernels;
extern const lincs_kernels md_lincs_kernels_plain, md_lincs_kernels_avx2;

bool md_lincs_network_positions(lincs_network *network, lincs_call *call);
bool md_lincs_network_velocities(lincs_network *network, lincs_call *call);

typedef struct md_lincs {
    lincs_stars stars[LINCS_MAX_STAR + 1];      /* by n_arms */
    lincs_network network;
    /* work of the sorting, per owned row */
    int *degree, *mark, *n_found;
    size_t capacity_degree, capacity_mark, capacity_n_found;
} md_lincs;

sundog_status md_lincs_check(const md_topology *topology);
/* Topology: lengths are its parameters. */
sundog_status md_lincs_rebuild(md_lincs *lincs, const md_topology *topology, const md_rows *rows);
void md_lincs_free(md_lincs *lincs);            /* what it points to */
void md_lincs_network_free(lincs_network *network);
/* n constraints are in row, length, inv_mass: find their couplings, move triangles to the end. */
void md_lincs_network_couple(lincs_network *network, int n_rows);
#endif
