/* The periodic box (box.h). Lower triangular, so fractions come by back substitution. */
#include "md/core/box.h"

#include "md/core/vec.h"

#include <float.h>

double md_box_volume(const md_box *box)
{
    return box->m[0][0] * box->m[1][1] * box->m[2][2];
}

bool md_box_is_orthogonal(const md_box *box)
{
    return box->m[1][0] == 0 && box->m[2][0] == 0 && box->m[2][1] == 0;
}

void md_box_to_fractional(const md_box *box, const double x[3], double s[3])
{
    double s2 = x[2] / box->m[2][2];
    double s1 = (x[1] - s2 * box->m[2][1]) / box->m[1][1];
    s[0] = (x[0] - s1 * box->m[1][0] - s2 * box->m[2][0]) / box->m[0][0];
    s[1] = s1;
    s[2] = s2;
}

void md_box_from_fractional(const md_box *box, const double s[3], double x[3])
{
    double s0 = s[0], s1 = s[1], s2 = s[2];
    x[0] = s0 * box->m[0][0] + s1 * box->m[1][0] + s2 * box->m[2][0];
    x[1] = s1 * box->m[1][1] + s2 * box->m[2][1];
    x[2] = s2 * box->m[2][2];
}

void md_box_normal(const md_box *box, int axis, double normal[3])
{
    vec_cross(box->m[(axis + 1) % 3], box->m[(axis + 2) % 3], normal);
    double length = sqrt(vec_norm2(normal));
    for (int k = 0; k < 3; k++) normal[k] /= length;
}

double md_box_thickness(const md_box *box, int axis)
{
    double normal[3];
    md_box_normal(box, axis, normal);
    return vec_dot(normal, box->m[axis]);
}

/* Bring d close to the origin by the triangular reduction: c first, then b, then a. */
static void reduce(const md_box *box, double d[3])
{
    for (int axis = 2; axis >= 0; axis--) {
        double n = rint(d[axis] / box->m[axis][axis]);
        for (int k = 0; k <= axis; k++) d[k] -= n * box->m[axis][k];
    }
}

void md_box_nearest(const md_box *box, const double a[3], const double b[3], double d[3])
{
    vec_sub(a, b, d);
    reduce(box, d);
    if (md_box_is_orthogonal(box)) return;
    double best[3] = { d[0], d[1], d[2] };
    double best2 = vec_norm2(d);
    for (int i = 0; i < 27; i++) {
        double s[3] = { i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 }, shift[3], trial[3];
        md_box_from_fractional(box, s, shift);
        for (int k = 0; k < 3; k++) trial[k] = d[k] + shift[k];
        double norm2 = vec_norm2(trial);
        if (norm2 < best2) {
            best2 = norm2;
            for (int k = 0; k < 3; k++) best[k] = trial[k];
        }
    }
    for (int k = 0; k < 3; k++) d[k] = best[k];
}

void md_box_wrap(const md_box *box, double x[3], int moved[3])
{
    int sum[3] = { 0, 0, 0 };
    for (int axis = 2; axis >= 0; axis--) {
        /* Twice at most: -1e-17 is lifted to exactly 1.0 by rounding and comes back as 0. */
        for (int pass = 0; pass < 2; pass++) {
            double s[3];
            md_box_to_fractional(box, x, s);
            double n = floor(s[axis]);
            if (!(fabs(n) >= 1)) break;
            for (int k = 0; k <= axis; k++) x[k] -= n * box->m[axis][k];
            if (fabs(n) < 1e9) sum[axis] -= (int)n;
        }
    }
    if (moved)
        for (int k = 0; k < 3; k++) moved[k] = sum[k];
}

double md_box_max_range(const md_box *box)
{
    double smallest = DBL_MAX;
    for (int axis = 0; axis < 3; axis++)
        smallest = fmin(smallest, fmin(0.5 * sqrt(vec_norm2(box->m[axis])), box->m[axis][axis]));
    /* A short diagonal may be closer than any box vector in a skewed box. */
    if (!md_box_is_orthogonal(box))
        for (int i = 0; i < 27; i++) {
            double s[3] = { i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 }, shift[3];
            if (i == 13) continue;
            md_box_from_fractional(box, s, shift);
            smallest = fmin(smallest, 0.5 * sqrt(vec_norm2(shift)));
        }
    return smallest;
}

sundog_status md_box_check(const md_box *box)
{
    const double(*m)[3] = box->m;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            if (!isfinite(m[i][k]))
                return base_fail(SUNDOG_ERR_INPUT, "box vector %c is not a number", 'a' + i);
    for (int i = 0; i < 3; i++)
        if (!(m[i][i] > 0))
            return base_fail(SUNDOG_ERR_INPUT,
                             "box vector %c has length %g along its axis; a periodic box is needed",
                             'a' + i, m[i][i]);
    if (m[0][1] != 0 || m[0][2] != 0 || m[1][2] != 0)
        return base_fail(SUNDOG_ERR_INPUT,
                         "the box must have vector a along x and b in the x-y plane");
    const double slack = 1.0005; /* three decimals in a .gro file */
    if (fabs(m[1][0]) > 0.5 * slack * m[0][0] || fabs(m[2][0]) > 0.5 * slack * m[0][0] ||
        fabs(m[2][1]) > 0.5 * slack * m[1][1])
        return base_fail(SUNDOG_ERR_INPUT,
                         "the triclinic box is too skewed: off-diagonal elements may be at most "
                         "half of the diagonal element of their column");
    return SUNDOG_OK;
}
