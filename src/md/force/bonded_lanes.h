/* Bonded kernels, written for LANES interactions at a time and compiled once per instruction set
 * (bonded_plain.c, bonded_avx2.c). Not a header to include elsewhere.
 *
 *      gather (scalar)            compute (lanes)                  scatter (scalar, in list order)
 *      d = (float)(xi - xj)  ->   energies, forces of 8 terms  ->  f[row] += ...
 *
 * The loops over lanes hold no branches and no library calls, so compilers turn them into vector
 * code; contraction is off and square root and division are exact, so every variant gives the same
 * bits. Energies and virial are kept per lane in double and added up at the end.
 *
 * The tail of a list is filled with copies of its last interaction, of weight 0, not scattered.
 *
 * Bond lengths: a float distance of 0.1 nm has an error of 1e-8 nm, which a stiff bond turns into
 * several 1e-6 of its force. So r - b0 is taken as (r^2 - b0^2) / (r + b0) with the difference of
 * squares in double; it costs three more multiplications.
 *
 * Dihedrals: with r_ij = xi - xj, r_kj = xk - xj, r_kl = xk - xl, m = r_ij x r_kj, n = r_kj x r_kl
 *      phi = atan2(|r_kj| r_ij.n, m.n)          0 is cis, trans is 180 degrees (IUPAC)
 * The two arguments, normalised, are sin phi and cos phi, good at any angle; only the harmonic
 * improper needs phi itself. Forces: Bekker, Berendsen and van Gunsteren, J. Comput. Chem. 16,
 * 527 (1995). Where three atoms are in line phi has no meaning; the force is then zero.
 */
#ifndef MD_BONDED_LANES_H
#define MD_BONDED_LANES_H
#include "md/force/bonded_internal.h"
#include <float.h>
#include <math.h>

enum { LANES = 8 };

typedef struct lanes3 {
    float x[LANES], y[LANES], z[LANES];
} lanes3;

typedef struct batch {
    int n;                                      /* lanes in use */
    int row[MD_MAX_KIND_ATOMS][LANES];
    float p[BONDED_TABLE_WIDTH][LANES];
    double weight[LANES];
} batch;

typedef struct totals {
    double energy[2][LANES];
    double virial[3][3][LANES];
} totals;

#define FOR_LANES for (int l = 0; l < LANES; l++)

static inline void batch_load(const bonded_job *job, int first, int n_atoms, int n_param, batch *b)
{
    const md_row_interactions *list = job->list;
    b->n = list->n - first < LANES ? list->n - first : LANES;
    FOR_LANES {
        const int k = first + (l < b->n ? l : b->n - 1);
        const float *p = job->table[list->param[k]];
        for (int a = 0; a < n_atoms; a++) b->row[a][l] = list->rows[k * n_atoms + a];
        for (int a = 0; a < n_param; a++) b->p[a][l] = p[a];
        b->weight[l] = l < b->n ? (double)list->weight[k] : 0.0;
    }
}

/* d = x[i] - x[j] */
static inline void gather(const bonded_job *job, const batch *b, int i, int j, lanes3 *d)
{
    const double (*x)[3] = (const double (*)[3])job->rows->x;
    FOR_LANES {
        const double *xi = x[b->row[i][l]], *xj = x[b->row[j][l]];
        d->x[l] = (float)(xi[0] - xj[0]);
        d->y[l] = (float)(xi[1] - xj[1]);
        d->z[l] = (float)(xi[2] - xj[2]);
    }
}

/* As gather, with the difference |d|^2 - b0^2, where b0^2 is p[2] + p[3]. */
static inline void gather_stretch(const bonded_job *job, const batch *b, int i, int j, lanes3 *d,
                                  float excess[LANES])
{
    const double (*x)[3] = (const double (*)[3])job->rows->x;
    double dx[LANES], dy[LANES], dz[LANES];
    FOR_LANES {
        const double *xi = x[b->row[i][l]], *xj = x[b->row[j][l]];
        dx[l] = xi[0] - xj[0];
        dy[l] = xi[1] - xj[1];
        dz[l] = xi[2] - xj[2];
    }
    FOR_LANES {
        const double r2 = dx[l] * dx[l] + dy[l] * dy[l] + dz[l] * dz[l];
        excess[l] = (float)(r2 - (double)b->p[2][l] - (double)b->p[3][l]);
        d->x[l] = (float)dx[l];
        d->y[l] = (float)dy[l];
        d->z[l] = (float)dz[l];
    }
}

static inline void scatter_add(const bonded_job *job, const batch *b, int atom, const lanes3 *f)
{
    for (int l = 0; l < b->n; l++) {
        float *out = job->f[b->row[atom][l]];
        out[0] += f->x[l];
        out[1] += f->y[l];
        out[2] += f->z[l];
    }
}

static inline void scatter_subtract(const bonded_job *job, const batch *b, int atom,
                                    const lanes3 *f)
{
    for (int l = 0; l < b->n; l++) {
        float *out = job->f[b->row[atom][l]];
        out[0] -= f->x[l];
        out[1] -= f->y[l];
        out[2] -= f->z[l];
    }
}

static inline void add_energy(const batch *b, const float e[LANES], double sum[LANES])
{
    FOR_LANES sum[l] += b->weight[l] * (double)e[l];
}

/* virial += -1/2 weight d (outer) f */
static inline void add_virial(const batch *b, const lanes3 *d, const lanes3 *f, totals *t)
{
    const float *dc[3] = {d->x, d->y, d->z}, *fc[3] = {f->x, f->y, f->z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            FOR_LANES {
                const double product = (double)dc[i][l] * (double)fc[j][l];
                t->virial[i][j][l] -= 0.5 * b->weight[l] * product;
            }
}

static inline void totals_finish(const totals *t, bonded_job *job)
{
    FOR_LANES {
        for (int i = 0; i < 2; i++) job->energy[i] += t->energy[i][l];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) job->virial[i][j] += t->virial[i][j][l];
    }
}

static inline float lane_dot(const lanes3 *a, const lanes3 *b, int l)
{
    return a->x[l] * b->x[l] + a->y[l] * b->y[l] + a->z[l] * b->z[l];
}

static inline void lanes_cross(const lanes3 *a, const lanes3 *b, lanes3 *c)
{
    FOR_LANES {
        c->x[l] = a->y[l] * b->z[l] - a->z[l] * b->y[l];
        c->y[l] = a->z[l] * b->x[l] - a->x[l] * b->z[l];
        c->z[l] = a->x[l] * b->y[l] - a->y[l] * b->x[l];
    }
}

static inline void lanes_scale(const lanes3 *a, const float s[LANES], lanes3 *out)
{
    FOR_LANES {
        out->x[l] = s[l] * a->x[l];
        out->y[l] = s[l] * a->y[l];
        out->z[l] = s[l] * a->z[l];
    }
}

/* atan(t) / t on [0, 1] as a polynomial in t^2: interpolation at the ten Chebyshev nodes of [0, 1],
 * relative error 3e-9. */
static inline float lane_atan2(float y, float x)
{
    const float ay = fabsf(y), ax = fabsf(x);
    const float high = ay > ax ? ay : ax, low = ay > ax ? ax : ay;
    const float t = low / (high > FLT_MIN ? high : FLT_MIN), z = t * t;
    float p = -1.7011700680776e-3f;
    p = p * z + 1.0487649273873e-2f;
    p = p * z - 3.0351864823124e-2f;
    p = p * z + 5.7089555970237e-2f;
    p = p * z - 8.3497249708090e-2f;
    p = p * z + 1.0932341502240e-1f;
    p = p * z - 1.4260016083022e-1f;
    p = p * z + 1.9998075281171e-1f;
    p = p * z - 3.3333276291984e-1f;
    p = t + t * (z * p);
    p = ay > ax ? 1.57079632679f - p : p;
    p = x < 0.0f ? 3.14159265359f - p : p;
    return y < 0.0f ? -p : p;
}

/* ---- two atoms ------------------------------------------------------------------------------ */

/* 1/2 k (r - b0)^2 along d. p: b0, k, b0^2. Gives f on the first atom and the energy. */
static inline void stretch(const lanes3 *d, const float excess[LANES], const float b0[LANES],
                           const float k[LANES], lanes3 *f, float e[LANES])
{
    float scale[LANES];
    FOR_LANES {
        const float r2 = lane_dot(d, d, l), r = sqrtf(r2);
        const float sum = r + b0[l];
        const float dr = excess[l] / (sum > FLT_MIN ? sum : FLT_MIN);
        e[l] = 0.5f * k[l] * dr * dr;
        scale[l] = r > 0.0f ? -k[l] * dr / r : 0.0f;
    }
    lanes_scale(d, scale, f);
}

static void kernel_bond(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 d, f;
        float excess[LANES], e[LANES];
        batch_load(job, first, 2, 4, &b);
        gather_stretch(job, &b, 0, 1, &d, excess);
        stretch(&d, excess, b.p[0], b.p[1], &f, e);
        scatter_add(job, &b, 0, &f);
        scatter_subtract(job, &b, 1, &f);
        if (!job->want_energy) continue;
        add_energy(&b, e, t.energy[0]);
        add_virial(&b, &d, &f, &t);
    }
    totals_finish(&t, job);
}

static void kernel_g96(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 d, f;
        float excess[LANES], e[LANES], scale[LANES];
        batch_load(job, first, 2, 4, &b);
        gather_stretch(job, &b, 0, 1, &d, excess);
        FOR_LANES {
            e[l] = 0.25f * b.p[1][l] * excess[l] * excess[l];
            scale[l] = -b.p[1][l] * excess[l];
        }
        lanes_scale(&d, scale, &f);
        scatter_add(job, &b, 0, &f);
        scatter_subtract(job, &b, 1, &f);
        if (!job->want_energy) continue;
        add_energy(&b, e, t.energy[0]);
        add_virial(&b, &d, &f, &t);
    }
    totals_finish(&t, job);
}

static void kernel_pair14(bonded_job *job)
{
    totals t = {0};
    const float *charge = job->rows->charge;
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 d, f;
        float lj[LANES], coulomb[LANES], scale[LANES], qq[LANES];
        batch_load(job, first, 2, 2, &b);
        gather(job, &b, 0, 1, &d);
        FOR_LANES qq[l] = job->coulomb14 * (charge[b.row[0][l]] * charge[b.row[1][l]]);
        FOR_LANES {
            const float inv_r2 = 1.0f / lane_dot(&d, &d, l);
            const float inv_r6 = inv_r2 * inv_r2 * inv_r2;
            const float v6 = b.p[0][l] * inv_r6, v12 = b.p[1][l] * inv_r6 * inv_r6;
            lj[l] = v12 - v6;
            coulomb[l] = qq[l] * sqrtf(inv_r2);
            scale[l] = (12.0f * v12 - 6.0f * v6 + coulomb[l]) * inv_r2;
        }
        lanes_scale(&d, scale, &f);
        scatter_add(job, &b, 0, &f);
        scatter_subtract(job, &b, 1, &f);
        if (!job->want_energy) continue;
        add_energy(&b, lj, t.energy[0]);
        add_energy(&b, coulomb, t.energy[1]);
        add_virial(&b, &d, &f, &t);
    }
    totals_finish(&t, job);
}

/* ---- three atoms ---------------------------------------------------------------------------- */

/* 1/2 k (theta - theta0)^2 with theta = atan2(|a x b|, a.b), a = xi - xj, b = xk - xj. Good close
 * to 0 and 180 degrees; exactly there the force has no direction and is taken as zero. */
static inline void bend(const lanes3 *a, const lanes3 *b, const float theta0[LANES],
                        const float k[LANES], lanes3 *fi, lanes3 *fk, float e[LANES])
{
    lanes3 c;
    float si[LANES], sk[LANES];
    lanes_cross(a, b, &c);
    FOR_LANES {
        const float c2 = lane_dot(&c, &c, l), norm = sqrtf(c2);
        const float dt = lane_atan2(norm, lane_dot(a, b, l)) - theta0[l];
        const float factor = norm > 0.0f ? -k[l] * dt / norm : 0.0f;
        const float a2 = lane_dot(a, a, l), b2 = lane_dot(b, b, l);
        e[l] = 0.5f * k[l] * dt * dt;
        si[l] = factor / (a2 > FLT_MIN ? a2 : FLT_MIN);
        sk[l] = factor / (b2 > FLT_MIN ? b2 : FLT_MIN);
    }
    lanes_cross(a, &c, fi);
    lanes_scale(fi, si, fi);
    lanes_cross(&c, b, fk);
    lanes_scale(fk, sk, fk);
}

/* 1/2 k (cos theta - cos theta0)^2; nothing is singular in it. */
static inline void bend_g96(const lanes3 *a, const lanes3 *b, const float cos0[LANES],
                            const float k[LANES], lanes3 *fi, lanes3 *fk, float e[LANES])
{
    FOR_LANES {
        const float a2 = lane_dot(a, a, l), b2 = lane_dot(b, b, l);
        const float inv_a2 = 1.0f / (a2 > FLT_MIN ? a2 : FLT_MIN);
        const float inv_b2 = 1.0f / (b2 > FLT_MIN ? b2 : FLT_MIN);
        const float inv_ab = sqrtf(inv_a2) * sqrtf(inv_b2);
        const float c = lane_dot(a, b, l) * inv_ab, dc = c - cos0[l];
        const float s = -k[l] * dc * inv_ab;
        const float sa = -k[l] * dc * c * inv_a2, sb = -k[l] * dc * c * inv_b2;
        e[l] = 0.5f * k[l] * dc * dc;
        fi->x[l] = s * b->x[l] - sa * a->x[l];
        fi->y[l] = s * b->y[l] - sa * a->y[l];
        fi->z[l] = s * b->z[l] - sa * a->z[l];
        fk->x[l] = s * a->x[l] - sb * b->x[l];
        fk->y[l] = s * a->y[l] - sb * b->y[l];
        fk->z[l] = s * a->z[l] - sb * b->z[l];
    }
}

static inline void bend_finish(const bonded_job *job, const batch *b, const lanes3 *a,
                               const lanes3 *c, const lanes3 *fi, const lanes3 *fk,
                               const float e[LANES], totals *t)
{
    lanes3 fj;
    FOR_LANES {
        fj.x[l] = fi->x[l] + fk->x[l];
        fj.y[l] = fi->y[l] + fk->y[l];
        fj.z[l] = fi->z[l] + fk->z[l];
    }
    scatter_add(job, b, 0, fi);
    scatter_subtract(job, b, 1, &fj);
    scatter_add(job, b, 2, fk);
    if (!job->want_energy) return;
    add_energy(b, e, t->energy[0]);
    add_virial(b, a, fi, t);
    add_virial(b, c, fk, t);
}

static void kernel_angle(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 a, c, fi, fk;
        float e[LANES];
        batch_load(job, first, 3, 2, &b);
        gather(job, &b, 0, 1, &a);
        gather(job, &b, 2, 1, &c);
        bend(&a, &c, b.p[0], b.p[1], &fi, &fk, e);
        bend_finish(job, &b, &a, &c, &fi, &fk, e, &t);
    }
    totals_finish(&t, job);
}

static void kernel_angle_g96(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 a, c, fi, fk;
        float e[LANES];
        batch_load(job, first, 3, 2, &b);
        gather(job, &b, 0, 1, &a);
        gather(job, &b, 2, 1, &c);
        bend_g96(&a, &c, b.p[0], b.p[1], &fi, &fk, e);
        bend_finish(job, &b, &a, &c, &fi, &fk, e, &t);
    }
    totals_finish(&t, job);
}

static void kernel_urey_bradley(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        lanes3 a, c, d, fi, fk, fd;
        float e[LANES], e13[LANES], excess[LANES];
        batch_load(job, first, 3, 6, &b);
        gather(job, &b, 0, 1, &a);
        gather(job, &b, 2, 1, &c);
        bend(&a, &c, b.p[4], b.p[5], &fi, &fk, e);
        gather_stretch(job, &b, 0, 2, &d, excess);
        stretch(&d, excess, b.p[0], b.p[1], &fd, e13);
        bend_finish(job, &b, &a, &c, &fi, &fk, e, &t);
        scatter_add(job, &b, 0, &fd);
        scatter_subtract(job, &b, 2, &fd);
        if (!job->want_energy) continue;
        add_energy(&b, e13, t.energy[0]);
        add_virial(&b, &d, &fd, &t);
    }
    totals_finish(&t, job);
}

/* ---- four atoms ----------------------------------------------------------------------------- */

typedef struct dihedral {
    lanes3 ij, kj, kl, m, n;
    float cos_phi[LANES], sin_phi[LANES];
    float slope[LANES];                     /* dV / dphi, filled by the kind */
} dihedral;

static inline void dihedral_measure(const bonded_job *job, const batch *b, dihedral *d)
{
    gather(job, b, 0, 1, &d->ij);
    gather(job, b, 2, 1, &d->kj);
    gather(job, b, 2, 3, &d->kl);
    lanes_cross(&d->ij, &d->kj, &d->m);
    lanes_cross(&d->kj, &d->kl, &d->n);
    FOR_LANES {
        const float y = sqrtf(lane_dot(&d->kj, &d->kj, l)) * lane_dot(&d->ij, &d->n, l);
        const float x = lane_dot(&d->m, &d->n, l);
        const float r = sqrtf(x * x + y * y);
        const float inv = 1.0f / (r > FLT_MIN ? r : FLT_MIN);
        d->cos_phi[l] = r > FLT_MIN ? x * inv : 1.0f;
        d->sin_phi[l] = r > FLT_MIN ? y * inv : 0.0f;
    }
}

/* Forces from the slope. Atoms i, j, k and k, l, j are taken to be in line when the sine of their
 * angle is below 1e-6: its rounding error is then as large as itself. */
static inline void dihedral_finish(const bonded_job *job, const batch *b, const dihedral *d,
                                   const float e[LANES], totals *t)
{
    lanes3 fi, fj, fk, fl, lj;
    FOR_LANES {
        const float kj2 = lane_dot(&d->kj, &d->kj, l), norm = sqrtf(kj2);
        const float m2 = lane_dot(&d->m, &d->m, l), n2 = lane_dot(&d->n, &d->n, l);
        const bool good = m2 > 1e-12f * kj2 * lane_dot(&d->ij, &d->ij, l) &&
                          n2 > 1e-12f * kj2 * lane_dot(&d->kl, &d->kl, l);
        const float slope = good ? d->slope[l] * norm : 0.0f;
        const float si = -slope / (good ? m2 : 1.0f), sl = slope / (good ? n2 : 1.0f);
        const float inv_kj2 = 1.0f / (good ? kj2 : 1.0f);
        const float p = lane_dot(&d->ij, &d->kj, l) * inv_kj2;
        const float q = lane_dot(&d->kl, &d->kj, l) * inv_kj2;
        fi.x[l] = si * d->m.x[l], fi.y[l] = si * d->m.y[l], fi.z[l] = si * d->m.z[l];
        fl.x[l] = sl * d->n.x[l], fl.y[l] = sl * d->n.y[l], fl.z[l] = sl * d->n.z[l];
        const float ux = p * fi.x[l] - q * fl.x[l];
        const float uy = p * fi.y[l] - q * fl.y[l];
        const float uz = p * fi.z[l] - q * fl.z[l];
        fj.x[l] = fi.x[l] - ux, fj.y[l] = fi.y[l] - uy, fj.z[l] = fi.z[l] - uz;
        fk.x[l] = fl.x[l] + ux, fk.y[l] = fl.y[l] + uy, fk.z[l] = fl.z[l] + uz;
    }
    scatter_add(job, b, 0, &fi);
    scatter_subtract(job, b, 1, &fj);
    scatter_subtract(job, b, 2, &fk);
    scatter_add(job, b, 3, &fl);
    if (!job->want_energy) return;
    add_energy(b, e, t->energy[0]);
    /* seen from j: r_ij f_i + r_kj (-f_k) + (r_kj - r_kl) f_l */
    FOR_LANES {
        lj.x[l] = d->kj.x[l] - d->kl.x[l];
        lj.y[l] = d->kj.y[l] - d->kl.y[l];
        lj.z[l] = d->kj.z[l] - d->kl.z[l];
        fk.x[l] = -fk.x[l], fk.y[l] = -fk.y[l], fk.z[l] = -fk.z[l];
    }
    add_virial(b, &d->ij, &fi, t);
    add_virial(b, &d->kj, &fk, t);
    add_virial(b, &lj, &fl, t);
}

/* k (1 + cos(n phi - phi0)): cos and sin of n phi as the n-th power of (cos phi, sin phi). */
static void kernel_proper(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        dihedral d;
        float e[LANES], c[LANES], s[LANES], n_max = 0.0f;
        batch_load(job, first, 4, 5, &b);
        dihedral_measure(job, &b, &d);
        FOR_LANES {
            c[l] = 1.0f;
            s[l] = 0.0f;
            n_max = b.p[0][l] > n_max ? b.p[0][l] : n_max;
        }
        for (float power = 0.5f; power < n_max; power += 1.0f) {
            FOR_LANES {
                const float c1 = c[l] * d.cos_phi[l] - s[l] * d.sin_phi[l];
                const float s1 = s[l] * d.cos_phi[l] + c[l] * d.sin_phi[l];
                c[l] = power < b.p[0][l] ? c1 : c[l];
                s[l] = power < b.p[0][l] ? s1 : s[l];
            }
        }
        FOR_LANES {
            e[l] = b.p[1][l] * (1.0f + (c[l] * b.p[3][l] + s[l] * b.p[4][l]));
            d.slope[l] = -b.p[2][l] * (s[l] * b.p[3][l] - c[l] * b.p[4][l]);
        }
        dihedral_finish(job, &b, &d, e, &t);
    }
    totals_finish(&t, job);
}

/* sum C_n cos^n(psi), psi = phi - 180 degrees */
static void kernel_rb(bonded_job *job)
{
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        dihedral d;
        float e[LANES];
        batch_load(job, first, 4, 6, &b);
        dihedral_measure(job, &b, &d);
        FOR_LANES {
            const float c = -d.cos_phi[l];
            float v = b.p[5][l], dv = 0.0f;
            for (int n = 4; n >= 0; n--) {
                dv = dv * c + v;
                v = v * c + b.p[n][l];
            }
            e[l] = v;
            d.slope[l] = dv * d.sin_phi[l];
        }
        dihedral_finish(job, &b, &d, e, &t);
    }
    totals_finish(&t, job);
}

/* 1/2 k (xi - xi0)^2, the difference brought into (-pi, pi] */
static void kernel_improper(bonded_job *job)
{
    const float pi = 3.14159265359f, two_pi = 6.28318530718f;
    totals t = {0};
    for (int first = 0; first < job->list->n; first += LANES) {
        batch b;
        dihedral d;
        float e[LANES];
        batch_load(job, first, 4, 2, &b);
        dihedral_measure(job, &b, &d);
        FOR_LANES {
            float dx = lane_atan2(d.sin_phi[l], d.cos_phi[l]) - b.p[0][l];
            dx = dx > pi ? dx - two_pi : dx;
            dx = dx <= -pi ? dx + two_pi : dx;
            e[l] = 0.5f * b.p[1][l] * dx * dx;
            d.slope[l] = b.p[1][l] * dx;
        }
        dihedral_finish(job, &b, &d, e, &t);
    }
    totals_finish(&t, job);
}

#define BONDED_KERNEL_LIST                                                                     \
    {                                                                                          \
        [MD_BOND] = kernel_bond, [MD_BOND_G96] = kernel_g96, [MD_ANGLE] = kernel_angle,        \
        [MD_ANGLE_G96] = kernel_angle_g96, [MD_UREY_BRADLEY] = kernel_urey_bradley,            \
        [MD_DIH_PROPER] = kernel_proper, [MD_DIH_RB] = kernel_rb,                              \
        [MD_DIH_FOURIER] = kernel_rb, [MD_DIH_IMPROPER] = kernel_improper,                     \
        [MD_DIH_PER_IMPROPER] = kernel_proper, [MD_PAIR14] = kernel_pair14                     \
    }
#endif
