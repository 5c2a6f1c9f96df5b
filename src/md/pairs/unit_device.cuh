/* Device side of units: what the list kernels and the force kernels share. */
#ifndef MD_UNIT_DEVICE_CUH
#define MD_UNIT_DEVICE_CUH
#include <stdint.h>

/* m / 2^32 of the frame, lower triangle; an earlier kernel may have changed it. Plain loads, for
 * the first cache: all warps asking the second one for the same line took 2 us. */
typedef struct unit_scale {
    float m[6];
} unit_scale;

static __device__ __forceinline__ unit_scale unit_scale_of(const float *scale)
{
    const float2 *pairs = (const float2 *)scale;
    const float2 a = pairs[0], b = pairs[1], c = pairs[2];
    return {{a.x, a.y, b.x, b.y, c.x, c.y}};
}

/* The planes that bound the period: normals, and half the distance of each pair, nm. Points nearer
 * than the least of these are nearest images where they are nearest in fractions. */
typedef struct unit_planes {
    float3 normal[3];
    float half[3];
    bool skewed;
} unit_planes;

static __device__ __forceinline__ unit_planes unit_planes_of(const unit_scale &s)
{
    float m[6];
#pragma unroll
    for (int k = 0; k < 6; k++) m[k] = s.m[k] * 2147483648.f;
    unit_planes p;
    const float x = m[2] * m[5], y = -m[1] * m[5], z = m[1] * m[4] - m[2] * m[3];
    const float a = rsqrtf(x * x + y * y + z * z), b = rsqrtf(m[5] * m[5] + m[4] * m[4]);
    p.normal[0] = make_float3(x * a, y * a, z * a);
    p.normal[1] = make_float3(0, m[5] * b, -m[4] * b);
    p.normal[2] = make_float3(0, 0, 1);
    p.half[0] = m[0] * p.normal[0].x;
    p.half[1] = m[2] * p.normal[1].y;
    p.half[2] = m[5];
    p.skewed = m[1] != 0 || m[3] != 0 || m[4] != 0;
    return p;
}

/* Is every point of one box farther than `reach` from every point of another, whatever their
 * images? d: between the middles, nearest in fractions; h: sum of the half sizes.
 *
 * In a rectangular period each axis wraps by itself, and the gap along it is right also when boxes
 * are as large as the period. In a skewed one a wrap along one vector moves the others' components:
 * there the gap between boxes counts only if no other image could be nearer, and else the gap
 * across each pair of planes, since fractions do wrap each by itself. */
static __device__ __forceinline__ bool unit_far_apart(const unit_planes &p, float3 d, float3 h,
                                                      float reach)
{
    const float x = fmaxf(fabsf(d.x) - h.x, 0), y = fmaxf(fabsf(d.y) - h.y, 0);
    const float z = fmaxf(fabsf(d.z) - h.z, 0);
    const bool gap = x * x + y * y + z * z >= reach * reach;
    if (!p.skewed || !gap) return gap;
    const float most = reach + sqrtf(h.x * h.x + h.y * h.y + h.z * h.z);
    if (most < fminf(p.half[0], fminf(p.half[1], p.half[2]))) return true;
    bool far = false;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float3 n = p.normal[k];
        far |= fabsf(n.x * d.x + n.y * d.y + n.z * d.z) -
                   (fabsf(n.x) * h.x + fabsf(n.y) * h.y + fabsf(n.z) * h.z) >= reach;
    }
    return far;
}

/* Position of a row relative to a centre, nm: the nearest image, exact but for the
 * last rounding. */
static __device__ __forceinline__ float3 unit_offset(int4 row, int4 centre, const unit_scale &s)
{
    const float *scale = s.m;
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
