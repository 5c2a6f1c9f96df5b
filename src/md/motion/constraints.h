/* SETTLE and LINCS over the constraints that a domain owns (groups are whole, so nothing is
 * communicated). Positions and velocities are double. */
#ifndef MD_CONSTRAINTS_H
#define MD_CONSTRAINTS_H
#include "md/core/rows.h"

typedef struct md_constrain_options {
    int lincs_order, lincs_iter;
    double lincs_warnangle;         /* degrees: bonds that turn more in a step are reported */
    bool unit_masses;               /* all masses 1: a minimiser moves atoms along their forces,
                                       light and heavy ones alike */
    const uint8_t *frozen;          /* [global atoms]; 7: LINCS moves the partners of this atom
                                       alone. NULL: none. Outlives the constraints */
} md_constrain_options;

/* u: of frozen atoms in LINCS, on the device too */
#define MD_IMMOVABLE_MASS 1e15
/* A constraint whose length is off by this, relative, after LINCS is an error; below, as gmx has
 * it, the next steps may mend it. */
#define MD_LOST_CONSTRAINT 0.5

typedef struct md_constrain md_constrain;

/* SUNDOG_ERR_INPUT for constraints that cannot be: lengths or masses not positive, a rigid water
 * with two different hydrogens or a triangle that does not close. */
sundog_status md_constrain_create(const md_topology *topology,
                                  const md_constrain_options *options, md_constrain **out);
void md_constrain_destroy(md_constrain **constrain);
/* Rows have changed. SUNDOG_ERR_PHYSICS when a constraint reaches from an owned row to a ghost (its
 * group was torn apart). */
sundog_status md_constrain_rebuild(md_constrain *constrain, const md_rows *rows);
/* Move x_new [n_owned] so that constraints hold, along their directions in x_old.
 *   v       [n_owned] += (x_constrained - x_new) / dt; may be NULL
 *   virial  += -1/2 sum r (outer) G of the constraint forces, kJ/mol; may be NULL
 * SUNDOG_ERR_PHYSICS (atoms by global number) when a result is not finite, a constraint turned by
 * more than 90 degrees, or a length is wrong by half or more afterwards. */
sundog_status md_constrain_positions(md_constrain *constrain, const md_rows *rows,
                                     const double (*x_old)[3], double (*x_new)[3],
                                     double (*v)[3], double dt, double virial[3][3]);
/* Remove from v what would change the constrained distances at x. Forces in place of velocities,
 * with unit masses, become the direction of steepest descent within the constraints. */
sundog_status md_constrain_velocities(md_constrain *constrain, const md_rows *rows,
                                      const double (*x)[3], double (*v)[3]);
/* NULL, or which bonds turned beyond the warn angle in the last md_constrain_positions: lines of
 * text, valid until the next call. Taken once. */
const char *md_constrain_take_warning(md_constrain *constrain);
/* Relative deviation of the distances that LINCS holds, on this domain, at x: the largest, the sum
 * of squares, their number (max and sum_square are 0 when there is none). SETTLE's are left out, as
 * in GROMACS's "Constr. rmsd": they hold to rounding. */
void md_constrain_deviation(const md_constrain *constrain, const md_rows *rows,
                            const double (*x)[3], double *max, double *sum_square, int64_t *n);
#endif
