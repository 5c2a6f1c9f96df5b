/* Small vectors of three doubles. */
#ifndef MD_VEC_H
#define MD_VEC_H
#include <math.h>
static inline void vec_sub(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = a[k] - b[k];
}
static inline double vec_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline void vec_cross(const double a[3], const double b[3], double out[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
    out[0] = x;
    out[1] = y;
}
static inline double vec_norm2(const double a[3])
{
    return vec_dot(a, a);
}
#endif
