/* The pair kernel to read first, and to measure the others by: one pair at a time, branches for
 * what the fast ones do with masks, parameters from the table, any list shape.
 *
 *   V = c12 phi_12 - c6 phi_6 + f qi qj (1/r + krf r^2 - crf)     F = -dV/dr (xi - xj) / r
 *
 * phi_n is r^-n as vdw-modifier has it (core/vdw.h).
 * A segment's rows and masks are explained in pairs/lists.h. Displacements are single precision, as
 * everywhere; what follows is double.
 */
#include "md/force/nonbonded_kernels.h"

#include <math.h>

typedef struct pair_sum {
    double lj, coulomb;
} pair_sum;

/* F / r of c12 phi_12 - c6 phi_6 (core/vdw.h); adds the energy. */
static double lennard_jones(const md_vdw *vdw, double inverse2, double r, double c6, double c12,
                            double *energy)
{
    const md_vdw_power *p6 = &vdw->p6, *p12 = &vdw->p12;
    double r6 = inverse2 * inverse2 * inverse2, full = (c12 * r6 - c6) * r6;
    double f = (12 * c12 * r6 - 6 * c6) * r6 * inverse2;
    *energy -= c12 * p12->k - c6 * p6->k;
    double t = r - vdw->r_switch, t2 = t * t, t3 = t2 * t;
    if (!vdw->switched || t <= 0) {
        *energy += full;
        return f;
    }
    double s = 1 + t3 * (vdw->s3 + t * (vdw->s4 + t * vdw->s5));
    double slope = t2 * (3 * vdw->s3 + t * (4 * vdw->s4 + t * 5 * vdw->s5));
    double a = c12 * p12->a - c6 * p6->a, b = c12 * p12->b - c6 * p6->b;
    *energy += full * s - t3 * (a / 3 + b / 4 * t);
    return f * s + (t2 * (a + b * t) - full * slope) / r;
}

/* F / r of one pair within reach; adds its energies. */
static double one_pair(const md_nonbonded *nb, double r2, double qq, int type_i, int type_j,
                       bool interacts, pair_sum *sum)
{
    double f = 0;
    double inverse2 = interacts ? 1 / r2 : 0, inverse = sqrt(inverse2);
    if (r2 < nb->rcoulomb * nb->rcoulomb) {
        f += qq * (inverse * inverse2 - 2 * nb->krf);
        sum->coulomb += qq * (inverse + nb->krf * r2 - nb->crf);
    }
    if (r2 < nb->rvdw * nb->rvdw && interacts) {
        double c6 = nb->c6[type_i * nb->n_types + type_j];
        double c12 = nb->c12[type_i * nb->n_types + type_j];
        f += lennard_jones(&nb->vdw, inverse2, r2 * inverse, c6, c12, &sum->lj);
    }
    return f;
}

/* Rows [first, end) of cluster i with all rows of cluster j. */
static void cluster_pair(const md_nonbonded *nb, md_pairs *pairs, int i, int j, int first, int end,
                         uint32_t mask, pair_sum *sum)
{
    const float *xi = pairs->xq + (size_t)i * MD_XQ, *xj = pairs->xq + (size_t)j * MD_XQ;
    float *fi = pairs->f + (size_t)i * MD_F, *fj = pairs->f + (size_t)j * MD_F;
    double reach = fmax(nb->rcoulomb, nb->rvdw);
    for (int a = first; a < end; a++)
        for (int b = 0; b < MD_CLUSTER; b++) {
            if (!(mask >> (4 * a + b) & 1)) continue;
            float d[3] = {xi[a] - xj[b], xi[4 + a] - xj[4 + b], xi[8 + a] - xj[8 + b]};
            double r2 = (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
            if (r2 >= reach * reach) continue;
            double qq = nb->factor * (double)xi[12 + a] * (double)xj[12 + b];
            double f = one_pair(nb, r2, qq, pairs->type[4 * i + a], pairs->type[4 * j + b],
                                mask >> (16 + 4 * a + b) & 1, sum);
            for (int k = 0; k < 3; k++) {
                float part = (float)(f * (double)d[k]);
                fi[4 * k + a] += part;
                fj[4 * k + b] -= part;
            }
        }
}

static void force_reference(const md_nonbonded *nb, md_pairs *pairs, md_part part,
                            md_pair_energy *energy)
{
    static const int first[MD_N_SEGMENTS] = {0, 0, 0, 2}, end[MD_N_SEGMENTS] = {4, 4, 2, 4};
    const md_list *list = &pairs->list[part];
    pair_sum sum = {0, 0};
    for (int w = 0; w < list->n_work; w++) {
        const md_work *work = &list->work[w];
        for (int s = 0; s < MD_N_SEGMENTS; s++)
            for (int k = work->start[s]; k < work->start[s + 1]; k++) {
                uint32_t mask = MD_MASK_ALL;
                if (s == MD_SEGMENT_MASKED)
                    mask = list->mask[work->mask_start + k - work->start[0]];
                cluster_pair(nb, pairs, work->cluster, list->j[k], first[s], end[s], mask, &sum);
            }
    }
    if (energy) *energy = (md_pair_energy){sum.lj, sum.coulomb};
}

static bool runs(void)
{
    return true;
}

const md_nonbonded_ops md_nonbonded_reference = {"reference", MD_CLUSTER, runs, force_reference};
