/* SETTLE for one water by one thread: the equations of settle_lanes.h, in double. Constraint forces
 * change the old bonds' combinations only, so the whole water is three vectors of nine numbers and
 * nothing is iterated. The arithmetic is about 200 operations in one long chain; each root and its
 * reciprocal come of one rsqrt, for exact divisions and roots would be most of the chain. */
#ifndef MD_SETTLE_CUH
#define MD_SETTLE_CUH
#include "md/core/vec3.cuh"

/* The parts of md_settle_model that a kernel needs. */
typedef struct settle_shape {
    double ra, rb, rc;          /* nm */
    double inv_ra, inv_2rc;     /* 1/nm */
    double wo, wh;              /* mass of O, of H, over the mass of the water */
    double mass_h;              /* u */
} settle_shape;

/* sqrt(x); NaN for x = 0 too, which a water comes to that turns by 90 degrees. */
static __device__ __forceinline__ double settle_root(double x)
{
    return x * rsqrt(x);
}

/* b0, c0      old H1, H2; old O is the origin
 * a, b, c     new O, H1, H2 without constraints
 * da, db, dc  out: the displacements that the constraints make
 * A triangle that no rotation reaches comes out as NaN. */
static __device__ __forceinline__ void settle_displacements(const settle_shape &m, double3 b0,
                                                            double3 c0, double3 a, double3 b,
                                                            double3 c, double3 *da, double3 *db,
                                                            double3 *dc)
{
    const double3 centre =
        vec3_axpy(vec3_scale(m.wo, a), m.wh, vec3_add(b, c));
    const double3 a1 = vec3_sub(a, centre), b1 = vec3_sub(b, centre), c1 = vec3_sub(c, centre);

    double3 z = vec3_cross(b0, c0);
    double3 x = vec3_cross(a1, z);
    z = vec3_scale(rsqrt(vec3_dot(z, z)), z);
    x = vec3_scale(rsqrt(vec3_dot(x, x)), x);
    const double3 y = vec3_cross(z, x);

    const double xb0 = vec3_dot(x, b0), yb0 = vec3_dot(y, b0);
    const double xc0 = vec3_dot(x, c0), yc0 = vec3_dot(y, c0);
    const double xb1 = vec3_dot(x, b1), yb1 = vec3_dot(y, b1), zb1 = vec3_dot(z, b1);
    const double xc1 = vec3_dot(x, c1), yc1 = vec3_dot(y, c1), zc1 = vec3_dot(z, c1);
    const double za1 = vec3_dot(z, a1);

    const double sin_phi = za1 * m.inv_ra, cos2_phi = 1.0 - sin_phi * sin_phi;
    const double inv_cos_phi = rsqrt(cos2_phi), cos_phi = cos2_phi * inv_cos_phi;
    const double sin_psi = (zb1 - zc1) * m.inv_2rc * inv_cos_phi;
    const double cos_psi = settle_root(1.0 - sin_psi * sin_psi);
    const double ya2 = m.ra * cos_phi, xb2 = -m.rc * cos_psi;
    const double yb2 = -m.rb * cos_phi - m.rc * sin_psi * sin_phi;
    const double yc2 = -m.rb * cos_phi + m.rc * sin_psi * sin_phi;

    const double alpha = xb2 * (xb0 - xc0) + yb0 * yb2 + yc0 * yc2;
    const double beta = xb2 * (yc0 - yb0) + xb0 * yb2 + xc0 * yc2;
    const double gamma = xb0 * yb1 - xb1 * yb0 + xc0 * yc1 - xc1 * yc0;
    const double norm = alpha * alpha + beta * beta;
    const double inv_root = rsqrt(norm);
    const double sin_theta =
        (alpha * gamma - beta * settle_root(norm - gamma * gamma)) * inv_root * inv_root;
    const double cos_theta = settle_root(1.0 - sin_theta * sin_theta);

    const double xa3 = -ya2 * sin_theta, ya3 = ya2 * cos_theta;
    const double xb3 = xb2 * cos_theta - yb2 * sin_theta;
    const double yb3 = xb2 * sin_theta + yb2 * cos_theta;
    const double xc3 = -xb2 * cos_theta - yc2 * sin_theta;
    const double yc3 = -xb2 * sin_theta + yc2 * cos_theta;
    const double3 a3 = vec3_axpy(vec3_axpy(vec3_scale(xa3, x), ya3, y), za1, z);
    const double3 b3 = vec3_axpy(vec3_axpy(vec3_scale(xb3, x), yb3, y), zb1, z);
    const double3 c3 = vec3_axpy(vec3_axpy(vec3_scale(xc3, x), yc3, y), zc1, z);

    *da = vec3_sub(a3, a1), *db = vec3_sub(b3, b1), *dc = vec3_sub(c3, c1);
}
#endif
