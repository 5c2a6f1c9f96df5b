/* Which waters there are: models from the topology, rows sorted by model at each repartition. The
 * arithmetic is in settle_lanes.h.
 *
 * Waters of one model are contiguous, so a kernel has its lengths and masses as constants. There is
 * nearly always one model.
 */
#include "md/motion/settle.h"
#include "base/alloc.h"
#include <math.h>

static sundog_status model_make(const md_moltype *moltype, const int *atoms, int param,
                                const double *p, bool unit_masses, md_settle_model *model)
{
    double mass[3];
    for (int a = 0; a < 3; a++) mass[a] = unit_masses ? 1.0 : moltype->atom[atoms[a]].mass;
    const double rc = 0.5 * p[1];
    if (!(mass[0] > 0 && mass[1] > 0) || mass[1] != mass[2])
        return base_fail(SUNDOG_ERR_INPUT,
                         "molecule type %s: [ settles ] needs masses above zero and two equal "
                         "hydrogens, has %g, %g, %g u",
                         moltype->name, mass[0], mass[1], mass[2]);
    if (!(rc > 0 && p[0] > rc))
        return base_fail(
            SUNDOG_ERR_INPUT,
            "molecule type %s: [ settles ] distances doh %g, dhh %g nm form no triangle",
            moltype->name, p[0], p[1]);
    const double height = sqrt(p[0] * p[0] - rc * rc);
    const double ra = 2.0 * mass[1] * height / (mass[0] + 2.0 * mass[1]);
    *model = (md_settle_model){.param = param,
                               .mass_o = mass[0],
                               .mass_h = mass[1],
                               .d_oh = p[0],
                               .d_hh = p[1],
                               .ra = ra,
                               .rb = height - ra,
                               .rc = rc};
    return SUNDOG_OK;
}

static int model_find(const md_settle *settle, int param, double mass_o, double mass_h)
{
    for (int k = 0; k < settle->n_models; k++) {
        const md_settle_model *m = &settle->model[k];
        if (m->param == param && m->mass_o == mass_o && m->mass_h == mass_h) return k;
    }
    return -1;
}

sundog_status md_settle_create(const md_topology *topology, bool unit_masses, md_settle **out)
{
    md_settle *settle = base_alloc_zero(sizeof *settle);
    size_t capacity = 0;
    *out = settle;
    for (int t = 0; t < topology->n_moltypes; t++) {
        const md_moltype *moltype = &topology->moltype[t];
        const md_interactions *list = &moltype->list[MD_SETTLE];
        for (int k = 0; k < list->n; k++) {
            const int param = list->param[k];
            md_settle_model model;
            sundog_status status =
                model_make(moltype, &list->atoms[3 * k], param, topology->param[param].p,
                           unit_masses, &model);
            if (status != SUNDOG_OK) {
                md_settle_destroy(out);
                return status;
            }
            if (model_find(settle, param, model.mass_o, model.mass_h) >= 0) continue;
            BASE_RESERVE(settle->model, capacity, settle->n_models + 1);
            settle->model[settle->n_models++] = model;
        }
    }
    settle->start = base_alloc_zero(((size_t)settle->n_models + 1) * sizeof *settle->start);
    return SUNDOG_OK;
}

void md_settle_destroy(md_settle **settle)
{
    if (*settle == NULL) return;
    base_free((*settle)->model);
    base_free((*settle)->start);
    base_free((*settle)->row);
    base_free(*settle);
    *settle = NULL;
}

/* Waters of one model appended to row; how many were of it. */
static int collect(md_settle *settle, int model, const md_rows *rows, int n)
{
    const md_row_interactions *list = &rows->list[MD_SETTLE];
    int count = 0;
    for (int k = 0; k < list->n; k++) {
        const int *r = &list->rows[3 * k];
        if (r[0] >= rows->n_owned) continue;
        if (settle->n_models > 1 &&
            model_find(settle, list->param[k], rows->mass[r[0]], rows->mass[r[1]]) != model)
            continue;
        for (int a = 0; a < 3; a++) settle->row[n + count][a] = r[a];
        count++;
    }
    return count;
}

sundog_status md_settle_rebuild(md_settle *settle, const md_rows *rows)
{
    const md_row_interactions *list = &rows->list[MD_SETTLE];
    for (int k = 0; k < list->n; k++) {
        const int *r = &list->rows[3 * k];
        const int owned = (r[0] < rows->n_owned) + (r[1] < rows->n_owned) + (r[2] < rows->n_owned);
        if (owned != 0 && owned != 3)
            return base_fail(SUNDOG_ERR_PHYSICS,
                             "the rigid water of atom %lld is not whole on its domain",
                             (long long)rows->gid[r[0]] + 1);
    }
    BASE_RESERVE(settle->row, settle->capacity, list->n);
    for (int m = 0; m < settle->n_models; m++)
        settle->start[m + 1] = settle->start[m] + collect(settle, m, rows, settle->start[m]);
    return SUNDOG_OK;
}
