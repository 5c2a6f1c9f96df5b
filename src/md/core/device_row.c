#include "md/core/device_row.h"

void md_device_box_set(const md_box *box, md_device_box *out)
{
    const double(*v)[3] = (const double (*)[3])box->m;
    *out = (md_device_box){.xx = v[0][0],
                           .yx = v[1][0],
                           .yy = v[1][1],
                           .zx = v[2][0],
                           .zy = v[2][1],
                           .zz = v[2][2],
                           .inv_xx = 1 / v[0][0],
                           .inv_yy = 1 / v[1][1],
                           .inv_zz = 1 / v[2][2]};
    const double *side = &out->xx;
    for (int k = 0; k < 6; k++) out->unit[k] = (float)(side[k] * 0x1p-32);
}
