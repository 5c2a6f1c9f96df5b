/* What one domain holds: its rows, and the interactions that it computes.
 *
 *      row:   0 ........... n_owned | ghosts, pulse by pulse ........ n_rows
 *
 * Ghosts are in place: their periodic shift has been added, so no later code knows about the box.
 * Every axis of the box is exchanged, cut or not (an uncut axis has ghosts of the domain itself),
 * so all interactions are between rows as they stand.
 *
 * Wrapped rows (those of devices, device_row.h): differences are taken to the nearest image, so
 * axes that are not cut are not exchanged, and an atom has one row in a domain at most. x of ghosts
 * is in place along cut axes, at a repartition; along the others it is wrapped group by group.
 *
 * zone[row]: bit k set when the row's cell is not this domain's along axis k. In scheme `return`
 * ghosts are towards + only. Owned rows are zone 0.
 *
 * Which pairs: MD_SCHEME_RETURN  pairs of rows whose zone bits share no axis ((zi & zj) == 0),
 *                                each once; forces on both rows count, ghosts' go home.
 *              MD_SCHEME_SHELL   owned-owned pairs once, owned-ghost pairs; forces on ghosts are
 *                                thrown away, energy and virial of owned-ghost pairs count half.
 */
#ifndef MD_ROWS_H
#define MD_ROWS_H
#include "md/core/box.h"
#include "md/core/topology.h"

typedef enum md_scheme { MD_SCHEME_RETURN, MD_SCHEME_SHELL } md_scheme;

/* Interactions of one kind, in rows. weight: share of energy and virial that this domain counts
 * (1 in scheme return; owned atoms / atoms in scheme shell). Forces always count in full. */
typedef struct md_row_interactions {
    int n;
    int *rows;                      /* [n][md_kind_n_atoms] */
    int *param;                     /* [n] */
    float *weight;                  /* [n] */
    size_t capacity_rows, capacity_param, capacity_weight;
} md_row_interactions;

typedef struct md_rows {
    md_scheme scheme;
    int n_owned, n_rows;
    size_t capacity;                /* of the arrays below, in rows */
    int64_t *gid;                   /* global atom */
    double (*x)[3];                 /* nm */
    double (*v)[3];                 /* nm/ps; owned rows only */
    float (*f)[3];                  /* kJ/mol/nm */
    int *type;                      /* atom type */
    float *charge;                  /* e */
    double *mass;                   /* u; owned rows only */
    uint8_t *zone;
    double cell_lo[3], cell_hi[3];  /* fractional bounds of the cell */
    double origin[3];               /* nm; a point near the cell's centre, for float coordinates */
    md_row_interactions list[MD_N_KINDS];
    /* exclusions as rows: pairs (i, j) of rows that the rule above gives to this domain, j excluded
     * from i and near it (the image closest to i). Symmetric. CSR over rows. */
    int *exclusion_start;           /* [n_rows + 1] */
    int *exclusion;
    size_t capacity_exclusion, capacity_exclusion_start;
} md_rows;

void md_rows_reserve(md_rows *rows, size_t n_rows);     /* keeps contents */
void md_rows_destroy(md_rows *rows);
#endif
