/* LINCS on stars, LANES stars of one size at a time (Hess, Bekker, Berendsen, Fraaije, J. Comput.
 * Chem. 18, 1463, 1997), in double. Compiled once per instruction set (lincs_plain.c,
 * lincs_avx2.c), equal bits. Equations: docs/constraints.md; here every coupling goes through the
 * centre, so with B_k the direction from arm k to centre
 *
 *      A_kl = - S_k S_l / m_centre  B_k . B_l          (k != l)
 *
 * The number of arms is a constant of each instance, so the small matrix lives in registers or in
 * the first cache, and nothing is looked up. The centre's old position is the origin.
 */
#ifndef MD_LINCS_LANES_H
#define MD_LINCS_LANES_H
#include "md/motion/lincs.h"
#include <math.h>

enum { LANES = LINCS_LANES, ARMS = LINCS_MAX_STAR };
#define FOR_LANES for (int l = 0; l < LANES; l++)
#define FOR_ARMS(k) for (int k = 0; k < n_arms; k++)
#define INLINE static inline __attribute__((always_inline))

/* One block of stars in work. Vectors: [axis][lane]. */
typedef struct star_block {
    double d[ARMS][3][LANES];           /* arm to centre, at x_old */
    double b[ARMS][3][LANES];           /* its direction */
    double a[ARMS][ARMS][LANES];        /* coupling */
    double centre[3][LANES], arm[ARMS][3][LANES];   /* new positions or velocities */
    double rhs[ARMS][LANES], lambda[ARMS][LANES];
} star_block;

INLINE void load_block(const lincs_stars *stars, int n_arms, int block, const double (*x_old)[3],
                       const double (*x_new)[3], bool relative, star_block *s)
{
    const int(*row)[LANES] = stars->row + (size_t)block * (size_t)(n_arms + 1);
    FOR_LANES {
        const double *o = x_old[row[0][l]], *c = x_new[row[0][l]];
        for (int i = 0; i < 3; i++) s->centre[i][l] = relative ? c[i] - o[i] : c[i];
        FOR_ARMS(k) {
            const double *xo = x_old[row[1 + k][l]], *xn = x_new[row[1 + k][l]];
            for (int i = 0; i < 3; i++) {
                s->d[k][i][l] = o[i] - xo[i];
                s->arm[k][i][l] = relative ? xn[i] - o[i] : xn[i];
            }
        }
    }
}

INLINE void set_up(const lincs_stars *stars, int n_arms, int block, star_block *s)
{
    const double (*inv_mass)[LANES] = stars->inv_mass + (size_t)block * (size_t)(n_arms + 1);
    const double (*scale)[LANES] = stars->scale + (size_t)block * (size_t)n_arms;
    FOR_ARMS(k) FOR_LANES {
        const double x = s->d[k][0][l], y = s->d[k][1][l], z = s->d[k][2][l];
        const double inv = 1.0 / sqrt(x * x + y * y + z * z);
        for (int i = 0; i < 3; i++) s->b[k][i][l] = inv * s->d[k][i][l];
        s->lambda[k][l] = 0;
    }
    FOR_ARMS(k) for (int m = 0; m < k; m++) FOR_LANES {
        const double cosine = s->b[k][0][l] * s->b[m][0][l] + s->b[k][1][l] * s->b[m][1][l] +
                              s->b[k][2][l] * s->b[m][2][l];
        s->a[k][m][l] = s->a[m][k][l] = -scale[k][l] * scale[m][l] * inv_mass[0][l] * cosine;
    }
}

/* lambda = S (1 + A + ... + A^order) rhs; moves centre and arms by it. */
INLINE void expand(const lincs_stars *stars, int n_arms, int block, int order, star_block *s)
{
    const double (*inv_mass)[LANES] = stars->inv_mass + (size_t)block * (size_t)(n_arms + 1);
    const double (*scale)[LANES] = stars->scale + (size_t)block * (size_t)n_arms;
    double sum[ARMS][LANES], next[ARMS][LANES];
    FOR_ARMS(k) FOR_LANES sum[k][l] = s->rhs[k][l];
    for (int n = 0; n < order && n_arms > 1; n++) {
        FOR_ARMS(k) {
            FOR_LANES next[k][l] = 0;
            FOR_ARMS(m) if (m != k) FOR_LANES next[k][l] += s->a[k][m][l] * s->rhs[m][l];
        }
        FOR_ARMS(k) FOR_LANES {
            s->rhs[k][l] = next[k][l];
            sum[k][l] += next[k][l];
        }
    }
    FOR_ARMS(k) FOR_LANES {
        const double lambda = scale[k][l] * sum[k][l];
        s->lambda[k][l] += lambda;
        for (int i = 0; i < 3; i++) {
            s->centre[i][l] -= inv_mass[0][l] * lambda * s->b[k][i][l];
            s->arm[k][i][l] += inv_mass[1 + k][l] * lambda * s->b[k][i][l];
        }
    }
}

/* Projection of the new bond on the old direction; for positions minus the length. A bond that
 * points backwards would be turned round without a sign in the result, so it is spoilt: NaN. */
INLINE void project(const lincs_stars *stars, int n_arms, int block, bool positions,
                    star_block *s)
{
    const double (*length)[LANES] = stars->length + (size_t)block * (size_t)n_arms;
    const double (*scale)[LANES] = stars->scale + (size_t)block * (size_t)n_arms;
    FOR_ARMS(k) FOR_LANES {
        double p = 0;
        for (int i = 0; i < 3; i++)
            p += s->b[k][i][l] * (s->centre[i][l] - s->arm[k][i][l]);
        if (positions) p = p > 0 ? p - length[k][l] : (double)NAN;
        s->rhs[k][l] = scale[k][l] * p;
    }
}

/* A bond that turned is too long when its projection is right: what to aim at instead. */
INLINE void lengthen(const lincs_stars *stars, int n_arms, int block, star_block *s)
{
    const double (*length)[LANES] = stars->length + (size_t)block * (size_t)n_arms;
    const double (*scale)[LANES] = stars->scale + (size_t)block * (size_t)n_arms;
    FOR_ARMS(k) FOR_LANES {
        double r2 = 0;
        for (int i = 0; i < 3; i++) {
            const double d = s->centre[i][l] - s->arm[k][i][l];
            r2 += d * d;
        }
        const double p2 = 2.0 * length[k][l] * length[k][l] - r2;
        s->rhs[k][l] = scale[k][l] * (length[k][l] - sqrt(p2 > 0 ? p2 : 0));
    }
}

/* Adds zero where all is well: a constraint within the warn angle, everything finite. */
INLINE void judge(int n_arms, double cos_warn, const star_block *s, double bad[LANES])
{
    FOR_ARMS(k) FOR_LANES {
        double r2 = 0, p = 0;
        for (int i = 0; i < 3; i++) {
            const double d = s->centre[i][l] - s->arm[k][i][l];
            r2 += d * d;
            p += s->b[k][i][l] * d;
        }
        bad[l] += 0.0 * r2 + (p < cos_warn * sqrt(r2) ? 1.0 : 0.0);
    }
}

INLINE void store_block(const lincs_stars *stars, int n_arms, int block, int n, lincs_call *call,
                        const star_block *s)
{
    const int(*row)[LANES] = stars->row + (size_t)block * (size_t)(n_arms + 1);
    const double (*inv_mass)[LANES] = stars->inv_mass + (size_t)block * (size_t)(n_arms + 1);
    for (int l = 0; l < n; l++) {
        const double *o = call->x_old[row[0][l]];
        double origin[3] = {o[0], o[1], o[2]}, pull[3] = {0};
        FOR_ARMS(k) {
            double *x = call->x_new[row[1 + k][l]];
            for (int i = 0; i < 3; i++) {
                const double push = s->lambda[k][l] * s->b[k][i][l];
                x[i] = origin[i] + s->arm[k][i][l];
                pull[i] += push;
                if (call->v) call->v[row[1 + k][l]][i] += inv_mass[1 + k][l] * call->inv_dt * push;
            }
        }
        for (int i = 0; i < 3; i++) {
            call->x_new[row[0][l]][i] = origin[i] + s->centre[i][l];
            if (call->v) call->v[row[0][l]][i] -= inv_mass[0][l] * call->inv_dt * pull[i];
        }
    }
}

/* The force on the centre is -lambda B / dt^2, on the arm the opposite. */
INLINE void star_virial(int n_arms, int n, const star_block *s, double virial[3][3][LANES])
{
    FOR_ARMS(k) for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) FOR_LANES virial[i][j][l] +=
        l < n ? s->lambda[k][l] * s->d[k][i][l] * s->b[k][j][l] : 0.0;
}

INLINE bool star_positions(const lincs_stars *stars, int n_arms, lincs_call *call)
{
    double virial[3][3][LANES] = {{{0}}}, bad[LANES] = {0}, sum = 0;
    const double (*x_new)[3] = (const double (*)[3])call->x_new;
    for (int block = 0; block * LANES < stars->n; block++) {
        const int n = stars->n - block * LANES < LANES ? stars->n - block * LANES : LANES;
        star_block s;
        load_block(stars, n_arms, block, call->x_old, x_new, true, &s);
        set_up(stars, n_arms, block, &s);
        project(stars, n_arms, block, true, &s);
        expand(stars, n_arms, block, call->order, &s);
        for (int i = 0; i < call->iter; i++) {
            lengthen(stars, n_arms, block, &s);
            expand(stars, n_arms, block, call->order, &s);
        }
        judge(n_arms, call->cos_warn, &s, bad);
        store_block(stars, n_arms, block, n, call, &s);
        if (call->want_virial) star_virial(n_arms, n, &s, virial);
    }
    FOR_LANES {
        sum += bad[l];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                call->virial[i][j] += 0.5 * call->inv_dt * call->inv_dt * virial[i][j][l];
    }
    return sum == 0.0;
}

INLINE bool star_velocities(const lincs_stars *stars, int n_arms, lincs_call *call)
{
    double bad[LANES] = {0}, sum = 0;
    for (int block = 0; block * LANES < stars->n; block++) {
        const int n = stars->n - block * LANES < LANES ? stars->n - block * LANES : LANES;
        const int(*row)[LANES] = stars->row + (size_t)block * (size_t)(n_arms + 1);
        star_block s;
        load_block(stars, n_arms, block, call->x_old, (const double (*)[3])call->v, false, &s);
        set_up(stars, n_arms, block, &s);
        for (int i = 0; i <= call->iter; i++) {
            project(stars, n_arms, block, false, &s);
            expand(stars, n_arms, block, call->order, &s);
        }
        FOR_ARMS(k) FOR_LANES bad[l] += 0.0 * s.lambda[k][l];
        for (int l = 0; l < n; l++)
            for (int i = 0; i < 3; i++) {
                call->v[row[0][l]][i] = s.centre[i][l];
                FOR_ARMS(k) call->v[row[1 + k][l]][i] = s.arm[k][i][l];
            }
    }
    FOR_LANES sum += bad[l];
    return sum == 0.0;
}

static bool lincs_positions(const lincs_stars *stars, lincs_call *call)
{
    switch (stars->n_arms) {
    case 1: return star_positions(stars, 1, call);
    case 2: return star_positions(stars, 2, call);
    case 3: return star_positions(stars, 3, call);
    default: return star_positions(stars, 4, call);
    }
}

static bool lincs_velocities(const lincs_stars *stars, lincs_call *call)
{
    switch (stars->n_arms) {
    case 1: return star_velocities(stars, 1, call);
    case 2: return star_velocities(stars, 2, call);
    case 3: return star_velocities(stars, 3, call);
    default: return star_velocities(stars, 4, call);
    }
}
#endif
