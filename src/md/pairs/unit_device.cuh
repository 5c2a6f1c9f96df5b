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

/* Whether a point is within reach of any of three others, with few instructions:
 *
 *      |x - o|^2 < R^2   <=>   |o|^2 - 2 o x < R^2 - |x|^2
 *
 * Left: unit_near of the three o; right: unit_room, stored with x, and larger by more than the
 * rounding of both: a list may hold a pair too many, never one too few. */

static __device__ __forceinline__ float4 unit_centre_of(float4 o)
{
    return make_float4(-2 * o.x, -2 * o.y, -2 * o.z, o.x * o.x + o.y * o.y + o.z * o.z);
}

static __device__ __forceinline__ float unit_near(const float4 o[3], float4 x)
{
    float a = fmaf(o[0].x, x.x, fmaf(o[0].y, x.y, fmaf(o[0].z, x.z, o[0].w)));
    float b = fmaf(o[1].x, x.x, fmaf(o[1].y, x.y, fmaf(o[1].z, x.z, o[1].w)));
    float c = fmaf(o[2].x, x.x, fmaf(o[2].y, x.y, fmaf(o[2].z, x.z, o[2].w)));
    return fminf(a, fminf(b, c));
}

static __device__ __forceinline__ float unit_room(float3 x, float reach)
{
    return reach * reach + 1e-5f - 0.999999f * (x.x * x.x + x.y * x.y + x.z * x.z);
}
#endif
