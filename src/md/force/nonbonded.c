/* Pair forces: set-up, choice of the kernel, and what surrounds it in a step.
 *
 *   rows->x (double)  -- pack -->  xq (float, clusters)  -- kernel -->  f  -- add -->  f[row]
 *
 * Packing and adding are part of each call. LOCAL packs the owned rows and BORDER the ghosts, which
 * may arrive only while LOCAL runs.
 */
#include "md/force/nonbonded_kernels.h"

#include "base/alloc.h"
#include "md/core/coulomb.h"

#include <math.h>
#include <string.h>

static const md_nonbonded_ops *const kernels[] = {
#ifdef __x86_64__
    &md_nonbonded_avx512,
    &md_nonbonded_avx2,
#endif
    &md_nonbonded_reference,
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

const char *const *md_nonbonded_kernels(int *n)
{
    static const char *const names[] = {
#ifdef __x86_64__
        "avx512",
        "avx2",
#endif
        "reference",
    };
    *n = N_KERNELS;
    return names;
}

static const md_nonbonded_ops *find_kernel(const char *name)
{
    for (int k = 0; k < N_KERNELS; k++)
        if (!strcmp(kernels[k]->name, name)) return kernels[k];
    return NULL;
}

bool md_nonbonded_kernel_runs(const char *kernel)
{
    const md_nonbonded_ops *ops = find_kernel(kernel);
    return ops && ops->runs();
}

/* The first that runs; the last runs anywhere. */
static const md_nonbonded_ops *best_kernel(void)
{
    int k = 0;
    while (k < N_KERNELS - 1 && !kernels[k]->runs()) k++;
    return kernels[k];
}

static sundog_status choose_kernel(const char *name, const md_nonbonded_ops **out)
{
    if (name) {
        *out = find_kernel(name);
        if (!*out)
            return base_fail(SUNDOG_ERR_ARGUMENT, "no pair kernel is called '%s'; there are %s",
                             name, N_KERNELS > 1 ? "avx512, avx2 and reference" : "reference");
        if (!(*out)->runs())
            return base_fail(SUNDOG_ERR_UNSUPPORTED,
                             "this processor cannot run the pair kernel '%s'; the best that runs "
                             "here is '%s', also without -kernel",
                             name, best_kernel()->name);
        return SUNDOG_OK;
    }
    *out = best_kernel();
    return SUNDOG_OK;
}

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static double sigma_of(double c6, double c12)
{
    return c6 > 0 && c12 > 0 ? pow(c12 / c6, 1.0 / 6) : 0;
}

static double epsilon_of(double c6, double c12)
{
    return c6 > 0 && c12 > 0 ? c6 * c6 / (4 * c12) : 0;
}

static bool is_geometric(const md_nonbonded *nb)
{
    int n = nb->n_types;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int ii = i * n + i, ij = i * n + j, jj = j * n + j;
            if (nb->c6[ii] < 0 || nb->c12[ii] < 0) return false;
            if (!same(nb->c6[ij], sqrt(nb->c6[ii] * nb->c6[jj]))) return false;
            if (!same(nb->c12[ij], sqrt(nb->c12[ii] * nb->c12[jj]))) return false;
        }
    return true;
}

static bool is_berthelot(const md_nonbonded *nb)
{
    int n = nb->n_types;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int ii = i * n + i, ij = i * n + j, jj = j * n + j;
            double eps = sqrt(epsilon_of(nb->c6[ii], nb->c12[ii]) *
                              epsilon_of(nb->c6[jj], nb->c12[jj]));
            double sigma = 0.5 * (sigma_of(nb->c6[ii], nb->c12[ii]) +
                                  sigma_of(nb->c6[jj], nb->c12[jj]));
            double s6 = pow(sigma, 6);
            if (!same(nb->c6[ij], 4 * eps * s6) || !same(nb->c12[ij], 4 * eps * s6 * s6))
                return false;
        }
    return true;
}

static void set_lj(md_nonbonded *nb, const md_topology *topology)
{
    int n = topology->n_atomtypes;
    size_t nn = (size_t)n * (size_t)n;
    nb->n_types = n;
    nb->c6 = base_alloc((nn + 1) * sizeof *nb->c6);
    nb->c12 = base_alloc((nn + 1) * sizeof *nb->c12);
    nb->table = base_alloc((nn + 1) * sizeof *nb->table);
    nb->has_lj = base_alloc_zero(((size_t)n + 1) * sizeof *nb->has_lj);
    nb->type_lj = base_alloc(((size_t)n + 1) * sizeof *nb->type_lj);
    for (size_t k = 0; k < nn; k++) {
        nb->c6[k] = topology->c6[k];
        nb->c12[k] = topology->c12[k];
        nb->table[k][0] = (float)(6.0 / 256 * nb->c6[k]);
        nb->table[k][1] = (float)(12.0 / 16384 * nb->c12[k]);
        if (nb->c6[k] != 0 || nb->c12[k] != 0) nb->has_lj[k / (size_t)n] = true;
    }
    nb->rule = is_geometric(nb)    ? MD_LJ_GEOMETRIC
               : is_berthelot(nb) ? MD_LJ_BERTHELOT
                                  : MD_LJ_TABLE;
    for (int i = 0; i < n; i++) {
        double c6 = nb->c6[i * n + i], c12 = nb->c12[i * n + i];
        bool berthelot = nb->rule == MD_LJ_BERTHELOT;
        nb->type_lj[i][0] = (float)(berthelot ? 0.25 * sigma_of(c6, c12) : sqrt(fabs(c6)));
        nb->type_lj[i][1] = (float)(berthelot ? 2 * sqrt(epsilon_of(c6, c12)) : sqrt(fabs(c12)));
    }
}

static void set_coulomb(md_nonbonded *nb, const md_params *params)
{
    md_coulomb_form form = md_coulomb_form_of(params);
    nb->factor = form.factor;
    nb->krf = form.krf;
    nb->crf = form.crf;
}

sundog_status md_nonbonded_create(const md_topology *topology, const md_params *params,
                                  const char *kernel, md_nonbonded **out, int *j_cluster)
{
    const md_nonbonded_ops *ops = NULL;
    BASE_TRY(choose_kernel(kernel, &ops));
    if (!(params->rcoulomb > 0) || !(params->rvdw > 0))
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "rcoulomb is %g and rvdw %g nm, both must be positive",
                         params->rcoulomb, params->rvdw);
    if (md_vdw_is_switched(params->vdw_modifier) &&
        !(params->rvdw_switch >= 0 && params->rvdw_switch < params->rvdw))
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "rvdw_switch is %g and rvdw %g nm; a switch needs room between them",
                         params->rvdw_switch, params->rvdw);
    md_nonbonded *nb = base_alloc_zero(sizeof *nb);
    nb->ops = ops;
    nb->rcoulomb = params->rcoulomb;
    nb->rvdw = params->rvdw;
    nb->vdw = md_vdw_make(params);
    set_lj(nb, topology);
    set_coulomb(nb, params);
    *out = nb;
    *j_cluster = ops->j_cluster;
    return SUNDOG_OK;
}

void md_nonbonded_destroy(md_nonbonded **nonbonded)
{
    md_nonbonded *nb = *nonbonded;
    if (!nb) return;
    base_free(nb->c6);
    base_free(nb->c12);
    base_free(nb->table);
    base_free(nb->has_lj);
    base_free(nb->type_lj);
    base_free(nb);
    *nonbonded = NULL;
}

const char *md_nonbonded_kernel(const md_nonbonded *nonbonded)
{
    return nonbonded->ops->name;
}

const bool *md_nonbonded_type_has_lj(const md_nonbonded *nonbonded)
{
    return nonbonded->has_lj;
}

/* What the types of the slots mean, once a rebuild. Padding is of type 0 and never within reach. */
static void set_parameters(const md_nonbonded *nb, md_pairs *pairs, const md_rows *rows)
{
    for (int c = 0; c <= pairs->n_clusters; c++) {
        int last = -1;
        for (int k = 0; k < MD_CLUSTER; k++) {
            int row = pairs->row_of_slot[c * MD_CLUSTER + k];
            int type = row < 0 ? 0 : rows->type[row];
            pairs->type[c * MD_CLUSTER + k] = type;
            for (int p = 0; p < 2; p++)
                pairs->lj[(size_t)c * 8 + 4 * (size_t)p + (size_t)k] =
                    row < 0 ? 0 : nb->type_lj[type][p];
            if (row >= 0 && nb->has_lj[type]) last = k;
        }
        pairs->lj_rows[c] = last < 0 ? 0 : last < 2 ? 1 : 2;
    }
    pairs->parameters_of = nb;
}

static void add_forces(const md_pairs *pairs, int n_clusters, float (*f)[3])
{
    for (int c = 0; c < n_clusters; c++) {
        const float *fc = pairs->f + (size_t)c * MD_F;
        for (int k = 0; k < MD_CLUSTER; k++) {
            int row = pairs->row_of_slot[c * MD_CLUSTER + k];
            if (row < 0) continue;
            f[row][0] += fc[k];
            f[row][1] += fc[4 + k];
            f[row][2] += fc[8 + k];
        }
    }
}

void md_nonbonded_force(const md_nonbonded *nonbonded, md_pairs *pairs, const md_rows *rows,
                        md_part part, float (*f)[3], md_pair_energy *energy)
{
    if (pairs->parameters_of != nonbonded) set_parameters(nonbonded, pairs, rows);
    const bool local = part == MD_PART_LOCAL;
    int n = local ? pairs->n_owned_clusters : pairs->n_clusters;
    pairs->ops->pack(pairs, rows, local ? 0 : pairs->n_owned_clusters, n);
    memset(pairs->f, 0, (size_t)n * MD_F * sizeof(float));
    memset(pairs->f + (size_t)pairs->n_clusters * MD_F, 0, MD_F * sizeof(float));
    nonbonded->ops->force(nonbonded, pairs, part, energy);
    add_forces(pairs, n, f);
    if (!energy) return;
    if (!local && rows->scheme == MD_SCHEME_SHELL) {
        energy->lj *= 0.5;
        energy->coulomb *= 0.5;
    }
    if (!local) return;
    double q2 = 0;
    for (int row = 0; row < rows->n_owned; row++)
        q2 += (double)rows->charge[row] * (double)rows->charge[row];
    energy->coulomb -= 0.5 * nonbonded->factor * nonbonded->crf * q2;
}
