/* Position restraints: 1/2 sum over axes of k_d (x_d - X_d)^2, x the image nearest to the reference
 * X (GROMACS manual, "Position restraints").
 *
 * Pressure coupling moves the box but not the file that the references came from. With H the box
 * now, H0 that of the file, x0 a reference and c the centre of mass of all references, in the file:
 *
 *      refcoord-scaling   X                        what counts as x in the virial -1/2 x f
 *      no                 x0                       x itself: the references do not move
 *      all                H/H0 x0                  x - X: all of it moves with the box
 *      com                H/H0 c + (x0 - c)        x - X + (x0 - c)
 *
 * The force on the references is the walls' business: momentum is not conserved. */
#ifndef MD_POSRES_H
#define MD_POSRES_H
#include "md/core/energy.h"
#include "md/core/params.h"
#include "md/core/rows.h"

typedef struct md_posres md_posres;

/* NULL in *out when no atom is restrained. topology outlives it. Read-only afterwards: all threads
 * may share one. */
void md_posres_create(const md_topology *topology, md_refcoord_scaling scaling, md_posres **out);
void md_posres_destroy(md_posres **posres);         /* accepts NULL */

/* Reference of an atom: X = H scaled + fixed; the second part does not move with the box. */
typedef struct md_posres_reference {
    double scaled[3];           /* box fractions */
    double fixed[3];            /* nm */
} md_posres_reference;
/* gid: a restrained atom. */
md_posres_reference md_posres_find(const md_posres *posres, int64_t gid);

/* Forces of rows->list[MD_POSRES], ADDED to f; energy: NULL, or bonded[MD_POSRES] and the diagonal
 * of the virial are ADDED to. box: that of rows->x. posres NULL: nothing. */
void md_posres_force(const md_posres *posres, const md_rows *rows, const md_box *box,
                     float (*f)[3], md_energy *energy);
#endif
