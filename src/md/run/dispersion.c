/* Manual, section "Dispersion correction". With phi_n the power r^-n as the modifier has it
 * (core/vdw.h), C the mean coefficient of all pairs that are not excluded, N atoms at density rho,
 *
 *      E = N/2 (rho I C - K C)    I = 4 pi integral (r^-n - phi_n) r^2 dr,  K = (r^-n - phi_n) at 0
 *      P = -rho^2/6 W C           W = 4 pi integral d(r^-n - phi_n)/dr r^3 dr
 *
 * with -c6 for n = 6 and, with All..., c12 for n = 12. Up to r_switch r^-n and phi_n differ by the
 * constant k_n, beyond rvdw phi_n is 0. K: rho I takes the density near an atom for the mean one,
 * and so counts the atom itself. W follows from I by parts, the jump of a plain cut-off left out.
 */
#include "md/run/dispersion.h"

#include "base/alloc.h"
#include "md/core/units.h"
#include "md/core/vdw.h"

#include <math.h>
#include <string.h>

/* Integral of (r^-n - phi_n) r^2 from r_switch to rvdw by Simpson's rule. */
static double switched_part(const md_vdw *vdw, int n)
{
    enum { N_STEPS = 1000 };
    double h = (vdw->rvdw - vdw->r_switch) / N_STEPS, sum = 0;
    for (int i = 0; i <= N_STEPS; i++) {
        double r = vdw->r_switch + i * h, weight = i % N_STEPS == 0 ? 1 : i % 2 == 1 ? 4 : 2;
        sum += weight * (pow(r, -n) - md_vdw_potential(vdw, n, r)) * r * r;
    }
    return sum * h / 3;
}

static void integrate(const md_vdw *vdw, int n, double *tail, double *virial, double *self)
{
    double four_pi = 4 * acos(-1), rc = vdw->rvdw, r1 = vdw->r_switch;
    *self = n == 6 ? vdw->p6.k : vdw->p12.k;
    double inside = *self * r1 * r1 * r1 / 3;
    if (vdw->switched) inside += switched_part(vdw, n);
    double outside = pow(rc, 3 - n) / (n - 3);
    double at_rc = pow(rc, -n) - md_vdw_potential(vdw, n, rc);
    *tail = four_pi * (inside + outside);
    *virial = four_pi * (rc * rc * rc * at_rc - 3 * inside - n * outside);
}

/* Number of atoms of each type. */
static double *count_types(const md_topology *topology)
{
    double *count = base_alloc_zero(((size_t)topology->n_atomtypes + 1) * sizeof *count);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_moltype *mol = &topology->moltype[topology->molblock[b].moltype];
        for (int a = 0; a < mol->n_atoms; a++)
            count[mol->atom[a].type] += topology->molblock[b].count;
    }
    return count;
}

static void find_means(const md_topology *topology, md_dispersion *out)
{
    size_t n = (size_t)topology->n_atomtypes;
    double *count = count_types(topology), pairs = 0, c6 = 0, c12 = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            double here = i == j ? count[i] * (count[i] - 1) / 2 : count[i] * count[j];
            pairs += here;
            c6 += here * topology->c6[i * n + j];
            c12 += here * topology->c12[i * n + j];
        }
    base_free(count);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_moltype *mol = &topology->moltype[topology->molblock[b].moltype];
        for (int a = 0; a < mol->n_atoms; a++)
            for (int e = mol->exclusion_start[a]; e < mol->exclusion_start[a + 1]; e++) {
                if (mol->exclusion[e] <= a) continue;
                double here = topology->molblock[b].count;
                size_t ij =
                    (size_t)mol->atom[a].type * n + (size_t)mol->atom[mol->exclusion[e]].type;
                pairs -= here;
                c6 -= here * topology->c6[ij];
                c12 -= here * topology->c12[ij];
            }
    }
    out->c6 = pairs > 0 ? c6 / pairs : 0;
    out->c12 = pairs > 0 ? c12 / pairs : 0;
}

md_dispersion md_dispersion_make(const md_topology *topology, const md_params *params)
{
    md_dispersion out;
    memset(&out, 0, sizeof out);
    md_disp_corr what = params->disp_corr;
    if (what == MD_DISP_CORR_NO) return out;
    out.energy = true;
    out.pressure = what == MD_DISP_CORR_ENER_PRES || what == MD_DISP_CORR_ALL_ENER_PRES;
    out.repulsion = what == MD_DISP_CORR_ALL_ENER || what == MD_DISP_CORR_ALL_ENER_PRES;
    out.n_atoms = (double)topology->n_atoms;
    find_means(topology, &out);
    md_vdw vdw = md_vdw_make(params);
    integrate(&vdw, 6, &out.tail6, &out.virial6, &out.self6);
    integrate(&vdw, 12, &out.tail12, &out.virial12, &out.self12);
    return out;
}

double md_dispersion_energy(const md_dispersion *d, double volume)
{
    if (!d->energy) return 0;
    double density = d->n_atoms / volume;
    double sum = -d->c6 * (density * d->tail6 - d->self6);
    if (d->repulsion) sum += d->c12 * (density * d->tail12 - d->self12);
    return 0.5 * d->n_atoms * sum;
}

double md_dispersion_pressure(const md_dispersion *d, double volume)
{
    if (!d->pressure) return 0;
    double density = d->n_atoms / volume, sum = -d->c6 * d->virial6;
    if (d->repulsion) sum += d->c12 * d->virial12;
    return -density * density / 6 * sum * MD_BAR_PER_KJ_MOL_NM3;
}
