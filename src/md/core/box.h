/* The periodic box: rows are the box vectors a, b, c (nm), lower triangular as in GROMACS:
 *
 *      a = (m[0][0], 0, 0)    b = (m[1][0], m[1][1], 0)    c = (m[2][0], m[2][1], m[2][2])
 *
 * Fractional coordinates s: x = s0 a + s1 b + s2 c. Along axis k the box is bounded by two planes
 * that hold the other two vectors; md_box_thickness is their distance.
 */
#ifndef MD_BOX_H
#define MD_BOX_H
#include "base/status.h"

typedef struct md_box {
    double m[3][3];
} md_box;

double md_box_volume(const md_box *box);
bool md_box_is_orthogonal(const md_box *box);
void md_box_to_fractional(const md_box *box, const double x[3], double s[3]);
void md_box_from_fractional(const md_box *box, const double s[3], double x[3]);
/* Distance of the two bounding planes of `axis`, nm. */
double md_box_thickness(const md_box *box, int axis);
/* Unit normal of the bounding planes of `axis`, pointing towards + . */
void md_box_normal(const md_box *box, int axis, double normal[3]);
/* Shortest image of a - b. Right for boxes that pass md_box_check when |result| is below half the
 * smallest thickness; otherwise the shortest over all 27 neighbours is searched. */
void md_box_nearest(const md_box *box, const double a[3], const double b[3], double d[3]);
/* x += whole box vectors, so that all fractional coordinates are in [0, 1). `moved` counts box
 * vectors added per axis; may be NULL. */
void md_box_wrap(const md_box *box, double x[3], int moved[3]);
/* GROMACS's conditions: lower triangular, positive diagonal, not too skewed. */
sundog_status md_box_check(const md_box *box);
/* Largest interaction range that the minimum image convention allows, nm. */
double md_box_max_range(const md_box *box);
#endif
