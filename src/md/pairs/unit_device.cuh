/* Device side of units: what the list kernels and the force kernels share. */
#ifndef MD_UNIT_DEVICE_CUH
#define MD_UNIT_DEVICE_CUH
#include <stdint.h>

/* Position of a row relative to a centre, nm: the nearest image, exact but for the
 * last rounding. */
static __device__ __forceinline__ float3 unit_offset(int4 row, int4 centre, const float scale[6])
{
    float a = (float)(int)((uint32_t)row.x - (uint32_t)centre.x);
    float b = (float)(int)((uint32_t)row.y - (uint32_t)centre.y);
    float c = (float)(int)((uint32_t)row.z - (uint32_t)centre.z);
    return make_float3(fmaf(a, scale[0], fmaf(b, scale[1], c * scale[3])),
                       fmaf(b, scale[2], c * scale[4]), c * scale[5]);
}
#endif
