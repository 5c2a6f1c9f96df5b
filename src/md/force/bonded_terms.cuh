/* One bonded interaction by one thread: the formulas of bonded_lanes.h, where they are explained.
 *
 * A term fills f[] of its atoms and the energy, and says of which pairs its virial is made:
 * -1/2 sum of arm (outer) pull.
 */
#ifndef MD_BONDED_TERMS_CUH
#define MD_BONDED_TERMS_CUH
#include "md/core/device_row.cuh"
#include "md/core/vec3.cuh"
extern "C" {
#include "md/force/bonded_internal.h"
#include "md/force/posres.h"
}
#include <cfloat>

typedef struct bonded_term {
    float3 f[MD_MAX_KIND_ATOMS];
    float energy[2];                    /* [1]: Coulomb-14 */
    float3 arm[3], pull[3];             /* zero where there are fewer */
} bonded_term;

static __device__ __forceinline__ void term_arm(bonded_term *t, int k, float3 arm, float3 pull)
{
    t->arm[k] = arm;
    t->pull[k] = pull;
}

/* i - j, nearest images along the box vectors, in double */
static __device__ __forceinline__ double3 exact_difference(const md_device_box &box, int3 i,
                                                           int3 j)
{
    const double unit = 1.0 / 4294967296.0;
    const double a = (double)(int)((unsigned)i.x - (unsigned)j.x) * unit;
    const double b = (double)(int)((unsigned)i.y - (unsigned)j.y) * unit;
    const double c = (double)(int)((unsigned)i.z - (unsigned)j.z) * unit;
    return make_double3(a * box.xx + b * box.yx + c * box.zx, b * box.yy + c * box.zy,
                        c * box.zz);
}

/* i - j; and its square less b0^2 (high and low part), in double */
static __device__ __forceinline__ float3 stretch_measure(const md_device_box &box, int3 i, int3 j,
                                                         float square_high, float square_low,
                                                         float *excess)
{
    const double3 d = exact_difference(box, i, j);
    *excess = (float)(d.x * d.x + d.y * d.y + d.z * d.z - (double)square_high -
                      (double)square_low);
    return make_float3((float)d.x, (float)d.y, (float)d.z);
}

/* Force on the first atom of 1/2 k (r - b0)^2. */
static __device__ __forceinline__ float3 stretch_force(float3 d, float excess, float b0, float k,
                                                       float *energy)
{
    const float r = sqrtf(vec3f_dot(d, d));
    const float dr = excess / fmaxf(r + b0, FLT_MIN);
    *energy += 0.5f * k * dr * dr;
    return vec3f_scale(r > 0.0f ? -k * dr / r : 0.0f, d);
}

static __device__ void term_bond(const md_device_box &box, const int3 *s, const float *p,
                                 bonded_term *t)
{
    float excess;
    const float3 d = stretch_measure(box, s[0], s[1], p[2], p[3], &excess);
    t->f[0] = stretch_force(d, excess, p[0], p[1], &t->energy[0]);
    t->f[1] = vec3f_scale(-1.0f, t->f[0]);
    term_arm(t, 0, d, t->f[0]);
}

static __device__ void term_g96(const md_device_box &box, const int3 *s, const float *p,
                                bonded_term *t)
{
    float excess;
    const float3 d = stretch_measure(box, s[0], s[1], p[2], p[3], &excess);
    t->energy[0] = 0.25f * p[1] * excess * excess;
    t->f[0] = vec3f_scale(-p[1] * excess, d);
    t->f[1] = vec3f_scale(-1.0f, t->f[0]);
    term_arm(t, 0, d, t->f[0]);
}

static __device__ void term_pair14(const md_device_box &box, const int3 *s, const float *p,
                                   float qq, bonded_term *t)
{
    const float3 d = row_difference(box, s[0], s[1]);
    const float inv_r2 = 1.0f / vec3f_dot(d, d), inv_r6 = inv_r2 * inv_r2 * inv_r2;
    const float v6 = p[0] * inv_r6, v12 = p[1] * inv_r6 * inv_r6;
    t->energy[0] = v12 - v6;
    t->energy[1] = qq * sqrtf(inv_r2);
    t->f[0] = vec3f_scale((12.0f * v12 - 6.0f * v6 + t->energy[1]) * inv_r2, d);
    t->f[1] = vec3f_scale(-1.0f, t->f[0]);
    term_arm(t, 0, d, t->f[0]);
}

/* a = i - j, b = k - j */
static __device__ void bend(float3 a, float3 b, float theta0, float k, bonded_term *t)
{
    const float3 c = vec3f_cross(a, b);
    const float norm = sqrtf(vec3f_dot(c, c));
    const float dt = atan2f(norm, vec3f_dot(a, b)) - theta0;
    const float factor = norm > 0.0f ? -k * dt / norm : 0.0f;
    t->energy[0] += 0.5f * k * dt * dt;
    t->f[0] = vec3f_scale(factor / fmaxf(vec3f_dot(a, a), FLT_MIN), vec3f_cross(a, c));
    t->f[2] = vec3f_scale(factor / fmaxf(vec3f_dot(b, b), FLT_MIN), vec3f_cross(c, b));
    t->f[1] = vec3f_scale(-1.0f, vec3f_add(t->f[0], t->f[2]));
    term_arm(t, 0, a, t->f[0]);
    term_arm(t, 1, b, t->f[2]);
}

static __device__ void term_angle(const md_device_box &box, const int3 *s, const float *p,
                                  bonded_term *t)
{
    bend(row_difference(box, s[0], s[1]), row_difference(box, s[2], s[1]), p[0], p[1], t);
}

/* 1/2 k (cos theta - cos theta0)^2 */
static __device__ void term_angle_g96(const md_device_box &box, const int3 *s, const float *p,
                                      bonded_term *t)
{
    const float3 a = row_difference(box, s[0], s[1]), b = row_difference(box, s[2], s[1]);
    const float inv_a2 = 1.0f / fmaxf(vec3f_dot(a, a), FLT_MIN);
    const float inv_b2 = 1.0f / fmaxf(vec3f_dot(b, b), FLT_MIN);
    const float inv_ab = sqrtf(inv_a2) * sqrtf(inv_b2);
    const float c = vec3f_dot(a, b) * inv_ab, dc = c - p[0], push = -p[1] * dc;
    t->energy[0] = 0.5f * p[1] * dc * dc;
    t->f[0] = vec3f_sub(vec3f_scale(push * inv_ab, b), vec3f_scale(push * c * inv_a2, a));
    t->f[2] = vec3f_sub(vec3f_scale(push * inv_ab, a), vec3f_scale(push * c * inv_b2, b));
    t->f[1] = vec3f_scale(-1.0f, vec3f_add(t->f[0], t->f[2]));
    term_arm(t, 0, a, t->f[0]);
    term_arm(t, 1, b, t->f[2]);
}

static __device__ void term_urey_bradley(const md_device_box &box, const int3 *s, const float *p,
                                         bonded_term *t)
{
    float excess;
    bend(row_difference(box, s[0], s[1]), row_difference(box, s[2], s[1]), p[4], p[5], t);
    const float3 d = stretch_measure(box, s[0], s[2], p[2], p[3], &excess);
    const float3 f = stretch_force(d, excess, p[0], p[1], &t->energy[0]);
    t->f[0] = vec3f_add(t->f[0], f);
    t->f[2] = vec3f_sub(t->f[2], f);
    term_arm(t, 2, d, f);
}

typedef struct dihedral {
    float3 ij, kj, kl, m, n;
    float cos_phi, sin_phi;
} dihedral;

static __device__ __forceinline__ dihedral dihedral_measure(const md_device_box &box,
                                                            const int3 *s)
{
    dihedral d;
    d.ij = row_difference(box, s[0], s[1]);
    d.kj = row_difference(box, s[2], s[1]);
    d.kl = row_difference(box, s[2], s[3]);
    d.m = vec3f_cross(d.ij, d.kj);
    d.n = vec3f_cross(d.kj, d.kl);
    const float y = sqrtf(vec3f_dot(d.kj, d.kj)) * vec3f_dot(d.ij, d.n);
    const float x = vec3f_dot(d.m, d.n), r = sqrtf(x * x + y * y);
    d.cos_phi = r > FLT_MIN ? x / r : 1.0f;
    d.sin_phi = r > FLT_MIN ? y / r : 0.0f;
    return d;
}

/* Forces from slope = dV / dphi; zero where three atoms are in line. */
static __device__ void dihedral_finish(const dihedral &d, float slope, bonded_term *t)
{
    const float kj2 = vec3f_dot(d.kj, d.kj);
    const float m2 = vec3f_dot(d.m, d.m), n2 = vec3f_dot(d.n, d.n);
    const bool good = m2 > 1e-12f * kj2 * vec3f_dot(d.ij, d.ij) &&
                      n2 > 1e-12f * kj2 * vec3f_dot(d.kl, d.kl);
    const float push = good ? slope * sqrtf(kj2) : 0.0f;
    const float inv_kj2 = 1.0f / (good ? kj2 : 1.0f);
    const float p = vec3f_dot(d.ij, d.kj) * inv_kj2, q = vec3f_dot(d.kl, d.kj) * inv_kj2;
    t->f[0] = vec3f_scale(-push / (good ? m2 : 1.0f), d.m);
    t->f[3] = vec3f_scale(push / (good ? n2 : 1.0f), d.n);
    const float3 u = vec3f_sub(vec3f_scale(p, t->f[0]), vec3f_scale(q, t->f[3]));
    const float3 fj = vec3f_sub(t->f[0], u), fk = vec3f_add(t->f[3], u);
    t->f[1] = vec3f_scale(-1.0f, fj);
    t->f[2] = vec3f_scale(-1.0f, fk);
    /* seen from j: i, k, l */
    term_arm(t, 0, d.ij, t->f[0]);
    term_arm(t, 1, d.kj, t->f[2]);
    term_arm(t, 2, vec3f_sub(d.kj, d.kl), t->f[3]);
}

/* k (1 + cos(n phi - phi0)) */
static __device__ void term_proper(const md_device_box &box, const int3 *s, const float *p,
                                   bonded_term *t)
{
    const dihedral d = dihedral_measure(box, s);
    float c = 1.0f, sine = 0.0f;
    for (int n = (int)(p[0] + 0.5f); n > 0; n--) {
        const float next = c * d.cos_phi - sine * d.sin_phi;
        sine = sine * d.cos_phi + c * d.sin_phi;
        c = next;
    }
    t->energy[0] = p[1] * (1.0f + (c * p[3] + sine * p[4]));
    dihedral_finish(d, -p[2] * (sine * p[3] - c * p[4]), t);
}

/* sum C_n cos^n(phi - 180 degrees) */
static __device__ void term_rb(const md_device_box &box, const int3 *s, const float *p,
                               bonded_term *t)
{
    const dihedral d = dihedral_measure(box, s);
    const float c = -d.cos_phi;
    float v = p[5], dv = 0.0f;
#pragma unroll
    for (int n = 4; n >= 0; n--) {
        dv = dv * c + v;
        v = v * c + p[n];
    }
    t->energy[0] = v;
    dihedral_finish(d, dv * d.sin_phi, t);
}

/* 1/2 k (xi - xi0)^2, the difference in (-pi, pi] */
static __device__ void term_improper(const md_device_box &box, const int3 *s, const float *p,
                                     bonded_term *t)
{
    const float pi = 3.14159265359f, two_pi = 6.28318530718f;
    const dihedral d = dihedral_measure(box, s);
    float dx = atan2f(d.sin_phi, d.cos_phi) - p[0];
    dx = dx > pi ? dx - two_pi : dx;
    dx = dx <= -pi ? dx + two_pi : dx;
    t->energy[0] = 0.5f * p[1] * dx * dx;
    dihedral_finish(d, p[1] * dx, t);
}
/* ---- position restraints -------------------------------------------------------------------- */

/* The shortest image of d, among those next to it where the box is skewed (md_box_nearest). A call
 * of its own: restraints are few and must not cost the other kinds registers. */
static __device__ __noinline__ double3 shortest_image(const md_device_box &box, double3 d)
{
    if (box.yx == 0 && box.zx == 0 && box.zy == 0) return d;
    double3 best = d;
#pragma unroll 1
    for (int i = 0; i < 27; i++) {
        const double a = i % 3 - 1, b = i / 3 % 3 - 1, c = i / 9 - 1;
        const double3 trial =
            make_double3(d.x + a * box.xx + b * box.yx + c * box.zx,
                         d.y + b * box.yy + c * box.zy, d.z + c * box.zz);
        if (vec3_dot(trial, trial) < vec3_dot(best, best)) best = trial;
    }
    return best;
}

/* 1/2 sum of k_d (x_d - X_d)^2; the virial is -1/2 (x - X + fixed) f, axis by axis (posres.h). */
static __device__ void term_posres(const md_device_box *d_box, const int3 *s, const float *p,
                                   const md_posres_reference &reference, bonded_term *t)
{
    const md_device_box &box = *d_box;
    const double *scaled = reference.scaled, *fixed = reference.fixed;
    const int3 f = row_position(box, make_double3(fixed[0], fixed[1], fixed[2]));
    const int3 x = make_int3((int)((unsigned)f.x + (unsigned)row_fixed(scaled[0])),
                             (int)((unsigned)f.y + (unsigned)row_fixed(scaled[1])),
                             (int)((unsigned)f.z + (unsigned)row_fixed(scaled[2])));
    const double3 d = shortest_image(box, exact_difference(box, s[0], x));
    const float3 force = make_float3((float)(-p[0] * d.x), (float)(-p[1] * d.y),
                                     (float)(-p[2] * d.z));
    t->f[0] = force;
    t->energy[0] = (float)(0.5 * (p[0] * d.x * d.x + p[1] * d.y * d.y + p[2] * d.z * d.z));
    term_arm(t, 0, make_float3((float)(d.x + fixed[0]), 0, 0), make_float3(force.x, 0, 0));
    term_arm(t, 1, make_float3(0, (float)(d.y + fixed[1]), 0), make_float3(0, force.y, 0));
    term_arm(t, 2, make_float3(0, 0, (float)(d.z + fixed[2])), make_float3(0, 0, force.z));
}
#endif
