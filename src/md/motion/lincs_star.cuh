/* LINCS for one star by one thread: the equations of lincs_lanes.h, in double. The number of arms
 * is a constant of each instance, so everything stays in registers. */
#ifndef MD_LINCS_STAR_CUH
#define MD_LINCS_STAR_CUH
#include "md/core/vec3.cuh"

template <int N_ARMS> struct lincs_star {
    double3 d[N_ARMS];                  /* old bonds, arm to centre */
    double3 centre, arm[N_ARMS];        /* new positions, seen from the old centre */
    double inv_mass_centre, inv_mass[N_ARMS];
    double length[N_ARMS], scale[N_ARMS];
    double lambda[N_ARMS];              /* out: multipliers; with `b` the displacements */
    double3 b[N_ARMS];                  /* out: directions of the old bonds */
};

template <int N_ARMS>
static __device__ __forceinline__ void lincs_star_expand(lincs_star<N_ARMS> *s,
                                                         const double (*a)[N_ARMS], double *rhs,
                                                         int order)
{
    double sum[N_ARMS];
#pragma unroll
    for (int k = 0; k < N_ARMS; k++) sum[k] = rhs[k];
    for (int n = 0; n < order && N_ARMS > 1; n++) {
        double next[N_ARMS];
#pragma unroll
        for (int k = 0; k < N_ARMS; k++) {
            next[k] = 0;
#pragma unroll
            for (int m = 0; m < N_ARMS; m++)
                if (m != k) next[k] += a[k][m] * rhs[m];
        }
#pragma unroll
        for (int k = 0; k < N_ARMS; k++) rhs[k] = next[k], sum[k] += next[k];
    }
#pragma unroll
    for (int k = 0; k < N_ARMS; k++) {
        const double lambda = s->scale[k] * sum[k];
        s->lambda[k] += lambda;
        s->centre = vec3_axpy(s->centre, -s->inv_mass_centre * lambda, s->b[k]);
        s->arm[k] = vec3_axpy(s->arm[k], s->inv_mass[k] * lambda, s->b[k]);
    }
}

/* centre and arm: without constraints; out: with them. True when a bond turned beyond the warn
 * angle; a bond that points backwards gives NaN. deviation += squares of the relative errors, of
 * which the largest goes to *largest. */
template <int N_ARMS>
static __device__ __forceinline__ bool lincs_star_positions(lincs_star<N_ARMS> *s, int order,
                                                            int iter, double cos_warn,
                                                            double *deviation, double *largest)
{
    double a[N_ARMS][N_ARMS], rhs[N_ARMS];
#pragma unroll
    for (int k = 0; k < N_ARMS; k++) {
        s->b[k] = vec3_scale(rsqrt(vec3_dot(s->d[k], s->d[k])), s->d[k]);
        s->lambda[k] = 0;
        const double p = vec3_dot(s->b[k], vec3_sub(s->centre, s->arm[k]));
        rhs[k] = s->scale[k] * (p > 0 ? p - s->length[k] : nan(""));
    }
#pragma unroll
    for (int k = 0; k < N_ARMS; k++)
#pragma unroll
        for (int m = 0; m < k; m++)
            a[k][m] = a[m][k] = -s->scale[k] * s->scale[m] * s->inv_mass_centre *
                                vec3_dot(s->b[k], s->b[m]);
    lincs_star_expand<N_ARMS>(s, a, rhs, order);
    for (int i = 0; i < iter; i++) {
#pragma unroll
        for (int k = 0; k < N_ARMS; k++) {
            const double3 d = vec3_sub(s->centre, s->arm[k]);
            const double p2 = 2.0 * s->length[k] * s->length[k] - vec3_dot(d, d);
            rhs[k] = s->scale[k] * (s->length[k] - (p2 > 0 ? p2 * rsqrt(p2) : 0.0));
        }
        lincs_star_expand<N_ARMS>(s, a, rhs, order);
    }
    bool turned = false;
    *largest = 0;
#pragma unroll
    for (int k = 0; k < N_ARMS; k++) {
        const double3 d = vec3_sub(s->centre, s->arm[k]);
        const double r2 = vec3_dot(d, d), r = r2 * rsqrt(r2), error = r / s->length[k] - 1.0;
        turned |= vec3_dot(s->b[k], d) < cos_warn * r;
        *deviation += error * error;
        *largest = fmax(*largest, fabs(error));
    }
    return turned;
}
#endif
