/* Groups of atoms in the step and in its sums (groups.h). A second version beside leapfrog.c, which
 * has no look-up of a group and is what nearly every run uses. */
#include "md/motion/groups.h"

#include <string.h>

void md_leapfrog_step_groups(const md_rows *rows, const uint8_t *group, const double *lambda,
                             double dt, double (*x_new)[3])
{
    const double(*x)[3] = (const double(*)[3])rows->x;
    for (int r = 0; r < rows->n_owned; r++) {
        const double kick = dt / rows->mass[r], factor = lambda[group[r]];
        for (int k = 0; k < 3; k++) {
            const double v = factor * rows->v[r][k] + kick * (double)rows->f[r][k];
            rows->v[r][k] = v;
            x_new[r][k] = x[r][k] + dt * v;
        }
    }
}

void md_kinetic_groups(const md_rows *rows, const uint8_t *group, int n, double *ekin)
{
    memset(ekin, 0, (size_t)n * sizeof *ekin);
    for (int r = 0; r < rows->n_owned; r++) {
        const double *v = rows->v[r];
        ekin[group[r]] += 0.5 * rows->mass[r] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
}

void md_momentum_groups(const md_rows *rows, const uint8_t *group, int n, double (*sum)[4])
{
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int r = 0; r < rows->n_owned; r++) {
        if (group[r] >= n) continue;
        double *p = sum[group[r]];
        for (int k = 0; k < 3; k++) p[k] += rows->mass[r] * rows->v[r][k];
        p[3] += rows->mass[r];
    }
}

void md_remove_drift_groups(const md_rows *rows, const uint8_t *group, int n,
                            const double (*drift)[3])
{
    for (int r = 0; r < rows->n_owned; r++)
        for (int k = 0; k < 3 && group[r] < n; k++) rows->v[r][k] -= drift[group[r]][k];
}
