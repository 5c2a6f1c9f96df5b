/* SETTLE for LANES waters at a time (Miyamoto and Kollman, J. Comput. Chem. 13, 952, 1992), in
 * double. Compiled once per instruction set (settle_plain.c, settle_avx2.c), equal bits.
 *
 * Positions. The constrained triangle has the centre of mass of the unconstrained one, and the
 * displacements are combinations of the old bonds (that is what a constraint force is). In the
 * frame  z' = normal of the old triangle,  x' = (new O - centre) x z',  y' = z' x x'  the new
 * triangle is reached from the canonical one
 *
 *              O (0, ra)            by rotations phi (about x'), psi (about y'), theta (about z').
 *      H (-rc,-rb)  H (rc,-rb)      Constraint forces do not change z' of any atom, which gives
 *                                   phi and psi:
 *
 *      sin phi = zO / ra              sin psi = (zH1 - zH2) / (2 rc cos phi)
 *
 * and theta follows from the absence of a torque about z' (alpha, beta, gamma below). Nothing is
 * iterated; the result is good to rounding. Old O is the origin throughout, so that box-sized
 * coordinates cost no digits. The displacements that go into v and the virial are differences of
 * these local coordinates.
 *
 * Velocities. The three multipliers solve a symmetric 3 x 3 system, written out by cofactors.
 *
 * A triangle that moved so far that no solution exists (sin > 1) gives NaN, which the kernel
 * reports. Iterating SHAKE instead was rejected: slower and exact only to its tolerance.
 */
#ifndef MD_SETTLE_LANES_H
#define MD_SETTLE_LANES_H
#include "md/motion/settle.h"
#include <math.h>
#include <string.h>

enum { LANES = 8 };
#define FOR_LANES for (int l = 0; l < LANES; l++)

typedef struct lanes3d {
    double x[LANES], y[LANES], z[LANES];
} lanes3d;

/* out = x[row of atom] - origin */
static inline void load(const double (*x)[3], const int (*row)[LANES], int atom,
                        const lanes3d *origin, lanes3d *out)
{
    FOR_LANES {
        const double *r = x[row[atom][l]];
        out->x[l] = r[0] - origin->x[l];
        out->y[l] = r[1] - origin->y[l];
        out->z[l] = r[2] - origin->z[l];
    }
}

static inline void load_rows(const settle_job *job, int first, int n, int row[3][LANES])
{
    FOR_LANES {
        const int k = first + (l < n ? l : n - 1);
        for (int a = 0; a < 3; a++) row[a][l] = job->row[k][a];
    }
}

/* The new triangle a3, b3, c3 about the centre of mass, from the old one (b0, c0; O at 0) and the
 * unconstrained one a1, b1, c1 about its centre of mass. */
static inline void solve_triangle(const md_settle_model *m, const lanes3d *b0, const lanes3d *c0,
                                  const lanes3d *a1, const lanes3d *b1, const lanes3d *c1,
                                  lanes3d *a3, lanes3d *b3, lanes3d *c3)
{
    const double ra = m->ra, rb = m->rb, rc = m->rc;
    FOR_LANES {
        /* axes of the frame */
        double zx = b0->y[l] * c0->z[l] - b0->z[l] * c0->y[l];
        double zy = b0->z[l] * c0->x[l] - b0->x[l] * c0->z[l];
        double zz = b0->x[l] * c0->y[l] - b0->y[l] * c0->x[l];
        double xx = a1->y[l] * zz - a1->z[l] * zy;
        double xy = a1->z[l] * zx - a1->x[l] * zz;
        double xz = a1->x[l] * zy - a1->y[l] * zx;
        const double inv_z = 1.0 / sqrt(zx * zx + zy * zy + zz * zz);
        const double inv_x = 1.0 / sqrt(xx * xx + xy * xy + xz * xz);
        zx *= inv_z, zy *= inv_z, zz *= inv_z;
        xx *= inv_x, xy *= inv_x, xz *= inv_x;
        const double yx = zy * xz - zz * xy, yy = zz * xx - zx * xz, yz = zx * xy - zy * xx;

        /* old and unconstrained triangle in the frame */
        const double xb0 = xx * b0->x[l] + xy * b0->y[l] + xz * b0->z[l];
        const double yb0 = yx * b0->x[l] + yy * b0->y[l] + yz * b0->z[l];
        const double xc0 = xx * c0->x[l] + xy * c0->y[l] + xz * c0->z[l];
        const double yc0 = yx * c0->x[l] + yy * c0->y[l] + yz * c0->z[l];
        const double za1 = zx * a1->x[l] + zy * a1->y[l] + zz * a1->z[l];
        const double xb1 = xx * b1->x[l] + xy * b1->y[l] + xz * b1->z[l];
        const double yb1 = yx * b1->x[l] + yy * b1->y[l] + yz * b1->z[l];
        const double zb1 = zx * b1->x[l] + zy * b1->y[l] + zz * b1->z[l];
        const double xc1 = xx * c1->x[l] + xy * c1->y[l] + xz * c1->z[l];
        const double yc1 = yx * c1->x[l] + yy * c1->y[l] + yz * c1->z[l];
        const double zc1 = zx * c1->x[l] + zy * c1->y[l] + zz * c1->z[l];

        /* canonical triangle turned by phi and psi */
        const double sin_phi = za1 / ra, cos_phi = sqrt(1.0 - sin_phi * sin_phi);
        const double sin_psi = (zb1 - zc1) / (2.0 * rc * cos_phi);
        const double cos_psi = sqrt(1.0 - sin_psi * sin_psi);
        const double ya2 = ra * cos_phi, xb2 = -rc * cos_psi;
        const double yb2 = -rb * cos_phi - rc * sin_psi * sin_phi;
        const double yc2 = -rb * cos_phi + rc * sin_psi * sin_phi;

        /* theta */
        const double alpha = xb2 * (xb0 - xc0) + yb0 * yb2 + yc0 * yc2;
        const double beta = xb2 * (yc0 - yb0) + xb0 * yb2 + xc0 * yc2;
        const double gamma = xb0 * yb1 - xb1 * yb0 + xc0 * yc1 - xc1 * yc0;
        const double norm = alpha * alpha + beta * beta;
        const double sin_theta = (alpha * gamma - beta * sqrt(norm - gamma * gamma)) / norm;
        const double cos_theta = sqrt(1.0 - sin_theta * sin_theta);
        const double xa3 = -ya2 * sin_theta, ya3 = ya2 * cos_theta;
        const double xb3 = xb2 * cos_theta - yb2 * sin_theta;
        const double yb3 = xb2 * sin_theta + yb2 * cos_theta;
        const double xc3 = -xb2 * cos_theta - yc2 * sin_theta;
        const double yc3 = -xb2 * sin_theta + yc2 * cos_theta;

        a3->x[l] = xx * xa3 + yx * ya3 + zx * za1;
        a3->y[l] = xy * xa3 + yy * ya3 + zy * za1;
        a3->z[l] = xz * xa3 + yz * ya3 + zz * za1;
        b3->x[l] = xx * xb3 + yx * yb3 + zx * zb1;
        b3->y[l] = xy * xb3 + yy * yb3 + zy * zb1;
        b3->z[l] = xz * xb3 + yz * yb3 + zz * zb1;
        c3->x[l] = xx * xc3 + yx * yc3 + zx * zc1;
        c3->y[l] = xy * xc3 + yy * yc3 + zy * zc1;
        c3->z[l] = xz * xc3 + yz * yc3 + zz * zc1;
    }
}

static inline void store(const settle_job *job, const int (*row)[LANES], int n, int atom,
                         const lanes3d *x, const lanes3d *dx)
{
    for (int l = 0; l < n; l++) {
        double *out = job->x_new[row[atom][l]];
        out[0] = x->x[l], out[1] = x->y[l], out[2] = x->z[l];
        if (job->v == NULL) continue;
        double *v = job->v[row[atom][l]];
        v[0] += dx->x[l] * job->inv_dt;
        v[1] += dx->y[l] * job->inv_dt;
        v[2] += dx->z[l] * job->inv_dt;
    }
}

static inline void settle_virial(const lanes3d *r, const lanes3d *dx, double factor, int n,
                                 double virial[3][3][LANES])
{
    const double *rc[3] = {r->x, r->y, r->z}, *dc[3] = {dx->x, dx->y, dx->z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            FOR_LANES virial[i][j][l] += l < n ? factor * rc[i][l] * dc[j][l] : 0.0;
}

static bool settle_positions(settle_job *job)
{
    const md_settle_model *m = job->model;
    const double total = m->mass_o + 2.0 * m->mass_h;
    const double wo = m->mass_o / total, wh = m->mass_h / total;
    /* -1/2 r (outer) m dx / dt^2 */
    const double factor = -0.5 * m->mass_h * job->inv_dt * job->inv_dt;
    double virial[3][3][LANES] = {{{0}}}, bad[LANES] = {0};
    for (int first = 0; first < job->n; first += LANES) {
        const int n = job->n - first < LANES ? job->n - first : LANES;
        const lanes3d zero = {{0}, {0}, {0}};
        int row[3][LANES];
        lanes3d o, b0, c0, a1, b1, c1, a3, b3, c3, centre;
        load_rows(job, first, n, row);
        load(job->x_old, (const int (*)[LANES])row, 0, &zero, &o);
        load(job->x_old, (const int (*)[LANES])row, 1, &o, &b0);
        load(job->x_old, (const int (*)[LANES])row, 2, &o, &c0);
        load((const double (*)[3])job->x_new, (const int (*)[LANES])row, 0, &o, &a1);
        load((const double (*)[3])job->x_new, (const int (*)[LANES])row, 1, &o, &b1);
        load((const double (*)[3])job->x_new, (const int (*)[LANES])row, 2, &o, &c1);
#define CENTRE(k)                                                                              \
    FOR_LANES {                                                                                \
        centre.k[l] = wo * a1.k[l] + wh * (b1.k[l] + c1.k[l]);                                 \
        a1.k[l] -= centre.k[l], b1.k[l] -= centre.k[l], c1.k[l] -= centre.k[l];                \
    }
        CENTRE(x) CENTRE(y) CENTRE(z)
#undef CENTRE
        solve_triangle(m, &b0, &c0, &a1, &b1, &c1, &a3, &b3, &c3);
#define DISPLACE(k)                                                                            \
    FOR_LANES {                                                                                \
        a1.k[l] = a3.k[l] - a1.k[l], b1.k[l] = b3.k[l] - b1.k[l];                              \
        c1.k[l] = c3.k[l] - c1.k[l], centre.k[l] += o.k[l];                                    \
        a3.k[l] += centre.k[l], b3.k[l] += centre.k[l], c3.k[l] += centre.k[l];                \
        bad[l] += 0.0 * (a3.k[l] + b3.k[l] + c3.k[l]);                                         \
    }
        DISPLACE(x) DISPLACE(y) DISPLACE(z)
#undef DISPLACE
        store(job, (const int (*)[LANES])row, n, 0, &a3, &a1);
        store(job, (const int (*)[LANES])row, n, 1, &b3, &b1);
        store(job, (const int (*)[LANES])row, n, 2, &c3, &c1);
        if (!job->want_virial) continue;
        settle_virial(&b0, &b1, factor, n, virial);
        settle_virial(&c0, &c1, factor, n, virial);
    }
    double sum = 0;
    FOR_LANES {
        sum += bad[l];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) job->virial[i][j] += virial[i][j][l];
    }
    return sum == 0.0;
}

static inline void unit(lanes3d *e)
{
    FOR_LANES {
        const double inv = 1.0 / sqrt(e->x[l] * e->x[l] + e->y[l] * e->y[l] + e->z[l] * e->z[l]);
        e->x[l] *= inv, e->y[l] *= inv, e->z[l] *= inv;
    }
}

static inline double lane_dot(const lanes3d *a, const lanes3d *b, int l)
{
    return a->x[l] * b->x[l] + a->y[l] * b->y[l] + a->z[l] * b->z[l];
}

/* Multipliers of the bonds e1 = O-H1, e2 = O-H2, e3 = H1-H2 from the rates g of their lengths. */
static inline void solve_rates(double io, double ih, const lanes3d *e1, const lanes3d *e2,
                               const lanes3d *e3, const double g[3][LANES],
                               double lambda[3][LANES])
{
    FOR_LANES {
        const double d = io + ih, d3 = 2.0 * ih;
        const double m12 = io * lane_dot(e1, e2, l);
        const double m13 = -ih * lane_dot(e1, e3, l), m23 = ih * lane_dot(e2, e3, l);
        const double c11 = d * d3 - m23 * m23, c12 = m13 * m23 - m12 * d3;
        const double c13 = m12 * m23 - m13 * d, c22 = d * d3 - m13 * m13;
        const double c23 = m12 * m13 - d * m23, c33 = d * d - m12 * m12;
        const double inv = 1.0 / (d * c11 + m12 * c12 + m13 * c13);
        lambda[0][l] = inv * (c11 * g[0][l] + c12 * g[1][l] + c13 * g[2][l]);
        lambda[1][l] = inv * (c12 * g[0][l] + c22 * g[1][l] + c23 * g[2][l]);
        lambda[2][l] = inv * (c13 * g[0][l] + c23 * g[1][l] + c33 * g[2][l]);
    }
}

static bool settle_velocities(settle_job *job)
{
    const double io = 1.0 / job->model->mass_o, ih = 1.0 / job->model->mass_h;
    double bad[LANES] = {0};
    for (int first = 0; first < job->n; first += LANES) {
        const int n = job->n - first < LANES ? job->n - first : LANES;
        const lanes3d zero = {{0}, {0}, {0}};
        int row[3][LANES];
        double g[3][LANES], lambda[3][LANES];
        lanes3d o, e1, e2, e3, vo, v1, v2;
        load_rows(job, first, n, row);
        load(job->x_old, (const int (*)[LANES])row, 0, &zero, &o);
        load(job->x_old, (const int (*)[LANES])row, 1, &o, &e1);
        load(job->x_old, (const int (*)[LANES])row, 2, &o, &e2);
        load((const double (*)[3])job->v, (const int (*)[LANES])row, 0, &zero, &vo);
        load((const double (*)[3])job->v, (const int (*)[LANES])row, 1, &vo, &v1);
        load((const double (*)[3])job->v, (const int (*)[LANES])row, 2, &vo, &v2);
        FOR_LANES {
            e3.x[l] = e2.x[l] - e1.x[l];
            e3.y[l] = e2.y[l] - e1.y[l];
            e3.z[l] = e2.z[l] - e1.z[l];
        }
        unit(&e1), unit(&e2), unit(&e3);
        FOR_LANES {
            g[0][l] = lane_dot(&e1, &v1, l);
            g[1][l] = lane_dot(&e2, &v2, l);
            g[2][l] = lane_dot(&e3, &v2, l) - lane_dot(&e3, &v1, l);
        }
        solve_rates(io, ih, &e1, &e2, &e3, (const double (*)[LANES])g, lambda);
        FOR_LANES bad[l] += 0.0 * (lambda[0][l] + lambda[1][l] + lambda[2][l]);
        for (int l = 0; l < n; l++) {
            double *v[3] = {job->v[row[0][l]], job->v[row[1][l]], job->v[row[2][l]]};
            const double b1[3] = {e1.x[l], e1.y[l], e1.z[l]}, b2[3] = {e2.x[l], e2.y[l], e2.z[l]};
            const double b3[3] = {e3.x[l], e3.y[l], e3.z[l]};
            for (int k = 0; k < 3; k++) {
                const double p1 = lambda[0][l] * b1[k], p2 = lambda[1][l] * b2[k];
                const double p3 = lambda[2][l] * b3[k];
                v[0][k] += io * (p1 + p2);
                v[1][k] += ih * (p3 - p1);
                v[2][k] -= ih * (p3 + p2);
            }
        }
    }
    double sum = 0;
    FOR_LANES sum += bad[l];
    return sum == 0.0;
}
#endif
