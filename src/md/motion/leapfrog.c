/* Leap-frog with a velocity scale factor, and sums over the velocities (leapfrog.h has the
 * equation). The new positions go to an array of their own, since constraints need the old ones.
 * Sums run over rows in order, in double: a domain's part repeats bit for bit. */
#include "md/motion/leapfrog.h"

void md_leapfrog_step(const md_rows *rows, double lambda, double dt, double (*x_new)[3])
{
    const double(*x)[3] = (const double(*)[3])rows->x;
    for (int r = 0; r < rows->n_owned; r++) {
        const double kick = dt / rows->mass[r];
        for (int k = 0; k < 3; k++) {
            const double v = lambda * rows->v[r][k] + kick * (double)rows->f[r][k];
            rows->v[r][k] = v;
            x_new[r][k] = x[r][k] + dt * v;
        }
    }
}

void md_kinetic_tensor(const md_rows *rows, double ekin[3][3])
{
    double xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
    for (int r = 0; r < rows->n_owned; r++) {
        const double *v = rows->v[r], m = 0.5 * rows->mass[r];
        const double px = m * v[0], py = m * v[1], pz = m * v[2];
        xx += px * v[0], yy += py * v[1], zz += pz * v[2];
        xy += px * v[1], xz += px * v[2], yz += py * v[2];
    }
    ekin[0][0] = xx, ekin[1][1] = yy, ekin[2][2] = zz;
    ekin[0][1] = ekin[1][0] = xy;
    ekin[0][2] = ekin[2][0] = xz;
    ekin[1][2] = ekin[2][1] = yz;
}

void md_momentum(const md_rows *rows, double momentum[3], double *mass)
{
    double p[3] = {0}, m = 0;
    for (int r = 0; r < rows->n_owned; r++) {
        for (int k = 0; k < 3; k++) p[k] += rows->mass[r] * rows->v[r][k];
        m += rows->mass[r];
    }
    for (int k = 0; k < 3; k++) momentum[k] = p[k];
    *mass = m;
}

void md_remove_drift(const md_rows *rows, const double drift[3])
{
    for (int r = 0; r < rows->n_owned; r++)
        for (int k = 0; k < 3; k++) rows->v[r][k] -= drift[k];
}
