/* Small vectors on the device by value: double3 for positions, float3 for forces. */
#ifndef MD_VEC3_CUH
#define MD_VEC3_CUH

static __device__ __forceinline__ double3 vec3_load(const double (*x)[3], int row)
{
    return make_double3(x[row][0], x[row][1], x[row][2]);
}
static __device__ __forceinline__ void vec3_store(double (*x)[3], int row, double3 a)
{
    x[row][0] = a.x, x[row][1] = a.y, x[row][2] = a.z;
}
static __device__ __forceinline__ double3 vec3_add(double3 a, double3 b)
{
    return make_double3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static __device__ __forceinline__ double3 vec3_sub(double3 a, double3 b)
{
    return make_double3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static __device__ __forceinline__ double3 vec3_scale(double s, double3 a)
{
    return make_double3(s * a.x, s * a.y, s * a.z);
}
/* a + s b */
static __device__ __forceinline__ double3 vec3_axpy(double3 a, double s, double3 b)
{
    return make_double3(fma(s, b.x, a.x), fma(s, b.y, a.y), fma(s, b.z, a.z));
}
static __device__ __forceinline__ double vec3_dot(double3 a, double3 b)
{
    return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z));
}
static __device__ __forceinline__ double3 vec3_cross(double3 a, double3 b)
{
    return make_double3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static __device__ __forceinline__ float3 vec3f_add(float3 a, float3 b)
{
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static __device__ __forceinline__ float3 vec3f_sub(float3 a, float3 b)
{
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static __device__ __forceinline__ float3 vec3f_scale(float s, float3 a)
{
    return make_float3(s * a.x, s * a.y, s * a.z);
}
static __device__ __forceinline__ float vec3f_dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static __device__ __forceinline__ float3 vec3f_cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
#endif
