/* Device side of device_row.h. */
#ifndef MD_DEVICE_ROW_CUH
#define MD_DEVICE_ROW_CUH
extern "C" {
#include "md/core/device_row.h"
}

/* Fixed point of a fraction, modulo 1, rounded to nearest; |fraction| below 2^19. Next to 1.5 2^20
 * a double counts in steps of 2^-32, so that its low word is what is wanted: one addition, where
 * conversions to 64-bit integers are slow. */
static __device__ __forceinline__ int row_fixed(double fraction)
{
    return __double2loint(__dadd_rn(fraction, 1572864.0));
}

/* The same bits in every kernel, so operations are written down one by one: a row can be made again
 * from its position. */
static __device__ __forceinline__ int3 row_position(const md_device_box &box, double3 x)
{
    const double c = __dmul_rn(x.z, box.inv_zz);
    const double b = __dmul_rn(__fma_rn(-c, box.zy, x.y), box.inv_yy);
    const double a = __dmul_rn(__fma_rn(-c, box.zx, __fma_rn(-b, box.yx, x.x)), box.inv_xx);
    return make_int3(row_fixed(a), row_fixed(b), row_fixed(c));
}

/* i - j, nearest images, nm */
static __device__ __forceinline__ float3 row_difference(const md_device_box &box, int3 i, int3 j)
{
    const float a = (float)(int)((unsigned)i.x - (unsigned)j.x);
    const float b = (float)(int)((unsigned)i.y - (unsigned)j.y);
    const float c = (float)(int)((unsigned)i.z - (unsigned)j.z);
    return make_float3(a * box.unit[0] + b * box.unit[1] + c * box.unit[3],
                       b * box.unit[2] + c * box.unit[4], c * box.unit[5]);
}
#endif
