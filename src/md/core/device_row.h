/* The row of an atom on a device: 16 bytes that the exchange copies as they are and that every
 * kernel reads.
 *
 *      | s[0] | s[1] | s[2] | charge |         s[k] = 2^32 times the fraction of box vector k
 *
 * Fixed point, modulo 2^32: the difference of two rows, taken in integers, is that of the nearest
 * images. So there are no periodic shifts, a domain alone has no ghosts, and all holders of a row
 * hold the same bits. The difference is exact before it is rounded to float; with float coordinates
 * of a box of 8 nm each position is off by up to 2.4e-7 nm, and a stiff bond turns that into 0.1
 * kJ/mol/nm. A row's own resolution is the box length / 2^32 (2e-9 nm of 8 nm). Scaling the box
 * leaves the rows as they are.
 *
 * Holds when no difference that matters reaches half the box along any vector: reach below half of
 * each perpendicular width, as gmx demands of rlist.
 */
#ifndef MD_DEVICE_ROW_H
#define MD_DEVICE_ROW_H
#include "md/core/box.h"

typedef struct md_device_row {
    int s[3];
    float charge;               /* e; a flit on its way carries its epoch here */
} md_device_row;

/* Box as kernels want it; lives in device memory, since pressure coupling changes it there.
 * Vectors are the rows of md_box, lower triangle: a = (xx 0 0), b = (yx yy 0), c = (zx zy zz). */
typedef struct md_device_box {
    double xx, yx, yy, zx, zy, zz;      /* nm */
    double inv_xx, inv_yy, inv_zz;      /* 1/nm */
    float unit[6];                      /* xx yx yy zx zy zz over 2^32 */
} md_device_box;

void md_device_box_set(const md_box *box, md_device_box *out);
#endif
