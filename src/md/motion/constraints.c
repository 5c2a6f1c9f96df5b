/* The constraints of one domain: SETTLE for rigid water, LINCS for the rest (docs/constraints.md).
 *
 * Constraint groups are whole on a domain, so the two work on different rows and nothing is
 * communicated. The kernels only say that something went wrong; finding out which atoms is done
 * here, slowly, once.
 */
#include "md/motion/constraints.h"
#include "base/alloc.h"
#include "md/core/units.h"
#include "md/core/vec.h"
#include "md/motion/constraints_internal.h"
#include "md/motion/lincs.h"
#include "md/motion/settle.h"
#include <math.h>

struct md_constrain {
    const md_topology *topology;
    md_constrain_options options;
    md_settle *settle;
    md_lincs lincs;
    const settle_kernels *settle_kernels;
    const lincs_kernels *lincs_kernels;
};

const md_settle *md_constrain_settle(const md_constrain *constrain)
{
    return constrain->settle;
}

const md_lincs *md_constrain_lincs(const md_constrain *constrain)
{
    return &constrain->lincs;
}

bool md_constrain_variant_runs(md_constrain_variant variant)
{
    if (variant == MD_CONSTRAIN_PLAIN) return true;
#if defined(__x86_64__) || defined(__i386__)
    return md_settle_kernels_avx2.positions != NULL && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

void md_constrain_use_variant(md_constrain *constrain, md_constrain_variant variant)
{
    const bool avx2 = variant == MD_CONSTRAIN_AVX2;
    constrain->settle_kernels = avx2 ? &md_settle_kernels_avx2 : &md_settle_kernels_plain;
    constrain->lincs_kernels = avx2 ? &md_lincs_kernels_avx2 : &md_lincs_kernels_plain;
}

sundog_status md_constrain_create(const md_topology *topology, const md_constrain_options *options,
                                  md_constrain **out)
{
    if (options->lincs_order < 1 || options->lincs_iter < 1)
        return base_fail(SUNDOG_ERR_INPUT,
                         "lincs-order and lincs-iter must be at least 1, are %d and %d",
                         options->lincs_order, options->lincs_iter);
    if (!(options->lincs_warnangle > 0 && options->lincs_warnangle <= 90))
        return base_fail(SUNDOG_ERR_INPUT,
                         "lincs-warnangle must be above 0 and at most 90 degrees, is %g",
                         options->lincs_warnangle);
    BASE_TRY(md_lincs_check(topology));
    md_settle *settle = NULL;
    BASE_TRY(md_settle_create(topology, &settle));

    md_constrain *constrain = base_alloc_zero(sizeof *constrain);
    constrain->topology = topology;
    constrain->options = *options;
    constrain->settle = settle;
    md_constrain_use_variant(constrain, md_constrain_variant_runs(MD_CONSTRAIN_AVX2)
                                            ? MD_CONSTRAIN_AVX2
                                            : MD_CONSTRAIN_PLAIN);
    *out = constrain;
    return SUNDOG_OK;
}

void md_constrain_destroy(md_constrain **constrain)
{
    if (*constrain == NULL) return;
    md_settle_destroy(&(*constrain)->settle);
    md_lincs_free(&(*constrain)->lincs);
    base_free(*constrain);
    *constrain = NULL;
}

sundog_status md_constrain_rebuild(md_constrain *constrain, const md_rows *rows)
{
    BASE_TRY(md_settle_rebuild(constrain->settle, rows));
    return md_lincs_rebuild(&constrain->lincs, constrain->topology, rows);
}

/* ---- faults --------------------------------------------------------------------------------- */

static long long atom_number(const md_rows *rows, int row)
{
    return (long long)rows->gid[row] + 1;
}

static sundog_status report_settle(const md_rows *rows, const double (*x)[3], const char *what)
{
    const md_row_interactions *list = &rows->list[MD_SETTLE];
    for (int k = 0; k < list->n; k++) {
        const int *r = &list->rows[3 * k];
        if (r[0] >= rows->n_owned) continue;
        double sum = 0;
        for (int a = 0; a < 3; a++) sum += x[r[a]][0] + x[r[a]][1] + x[r[a]][2];
        if (isfinite(sum)) continue;
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "SETTLE: the rigid water of atoms %lld, %lld, %lld cannot be constrained "
                         "(%s not finite, or it turned too far in one step): forces "
                         "are too large or the time step is too long",
                         atom_number(rows, r[0]), atom_number(rows, r[1]), atom_number(rows, r[2]),
                         what);
    }
    return base_fail(SUNDOG_ERR_PHYSICS, "SETTLE: %s of a rigid water are not finite", what);
}

/* The constraint that turned most, or the first that is not finite. */
static sundog_status report_lincs(const md_constrain *constrain, const md_rows *rows,
                                  const double (*x_old)[3], const double (*x_new)[3])
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    double worst = -1, length[2] = {0};
    int found = -1, n_turned = 0;
    for (int k = 0; k < list->n; k++) {
        const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
        if (i >= rows->n_owned) continue;
        double old[3], new[3], cross[3];
        vec_sub(x_old[i], x_old[j], old);
        vec_sub(x_new[i], x_new[j], new);
        vec_cross(old, new, cross);
        const double angle = atan2(sqrt(vec_norm2(cross)), vec_dot(old, new)) / MD_DEG_TO_RAD;
        const double r = sqrt(vec_norm2(new));
        if (!isfinite(angle) || !isfinite(r))
            return base_fail(
                SUNDOG_ERR_PHYSICS,
                "LINCS: the constrained atoms %lld and %lld, or others of their molecule, "
                "turned by more than 90 degrees in one step or are not finite: forces "
                "are too large or the time step is too long",
                atom_number(rows, i), atom_number(rows, j));
        n_turned += angle > constrain->options.lincs_warnangle;
        if (angle <= worst) continue;
        worst = angle;
        found = k;
        length[0] = sqrt(vec_norm2(old));
        length[1] = r;
    }
    const double wanted = constrain->topology->param[list->param[found]].p[0];
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "LINCS: the bond of atoms %lld and %lld turned by %.1f degrees in one step "
                     "(lincs-warnangle %g; %d bonds did so), length previous %.4f, current %.4f, "
                     "constraint %.4f nm: forces are too large or the time step is too long",
                     atom_number(rows, list->rows[2 * found]),
                     atom_number(rows, list->rows[2 * found + 1]), worst,
                     constrain->options.lincs_warnangle, n_turned, length[0], length[1], wanted);
}

/* ---- constraining --------------------------------------------------------------------------- */

static bool settle_all(const md_constrain *constrain, bool positions, settle_job *job,
                       double virial[3][3])
{
    const md_settle *settle = constrain->settle;
    bool good = true;
    for (int m = 0; m < settle->n_models; m++) {
        job->model = &settle->model[m];
        job->n = settle->start[m + 1] - settle->start[m];
        job->row = (const int(*)[3])settle->row + settle->start[m];
        good &= positions ? constrain->settle_kernels->positions(job)
                          : constrain->settle_kernels->velocities(job);
    }
    for (int i = 0; i < 3 && virial; i++)
        for (int j = 0; j < 3; j++) virial[i][j] += job->virial[i][j];
    return good;
}

static bool lincs_all(md_constrain *constrain, bool positions, lincs_call *call,
                      double virial[3][3])
{
    bool good = true;
    for (int a = 1; a <= LINCS_MAX_STAR; a++) {
        const lincs_stars *stars = &constrain->lincs.stars[a];
        if (stars->n == 0) continue;
        good &= positions ? constrain->lincs_kernels->positions(stars, call)
                          : constrain->lincs_kernels->velocities(stars, call);
    }
    good &= positions ? md_lincs_network_positions(&constrain->lincs.network, call)
                      : md_lincs_network_velocities(&constrain->lincs.network, call);
    for (int i = 0; i < 3 && virial; i++)
        for (int j = 0; j < 3; j++) virial[i][j] += call->virial[i][j];
    return good;
}

sundog_status md_constrain_positions(md_constrain *constrain, const md_rows *rows,
                                     const double (*x_old)[3], double (*x_new)[3], double (*v)[3],
                                     double dt, double virial[3][3])
{
    settle_job job = {
        .x_old = x_old, .x_new = x_new, .v = v, .inv_dt = 1.0 / dt, .want_virial = virial != NULL};
    lincs_call call = {.x_old = x_old,
                       .x_new = x_new,
                       .v = v,
                       .inv_dt = 1.0 / dt,
                       .order = constrain->options.lincs_order,
                       .iter = constrain->options.lincs_iter,
                       .cos_warn = cos(constrain->options.lincs_warnangle * MD_DEG_TO_RAD),
                       .want_virial = virial != NULL};
    if (!settle_all(constrain, true, &job, virial))
        return report_settle(rows, (const double(*)[3])x_new, "positions");
    if (!lincs_all(constrain, true, &call, virial))
        return report_lincs(constrain, rows, x_old, (const double(*)[3])x_new);
    return SUNDOG_OK;
}

sundog_status md_constrain_velocities(md_constrain *constrain, const md_rows *rows,
                                      const double (*x)[3], double (*v)[3])
{
    settle_job job = {.x_old = x, .v = v};
    lincs_call call = {.x_old = x,
                       .v = v,
                       .order = constrain->options.lincs_order,
                       .iter = constrain->options.lincs_iter};
    if (!settle_all(constrain, false, &job, NULL))
        return report_settle(rows, (const double(*)[3])v, "velocities");
    if (!lincs_all(constrain, false, &call, NULL))
        return report_lincs(constrain, rows, x, (const double(*)[3])v);
    return SUNDOG_OK;
}

void md_constrain_deviation(const md_constrain *constrain, const md_rows *rows,
                            const double (*x)[3], double *max, double *sum_square, int64_t *n)
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    *max = *sum_square = 0;
    *n = 0;
    for (int k = 0; k < list->n; k++) {
        const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
        if (i >= rows->n_owned) continue;
        double d[3];
        vec_sub(x[i], x[j], d);
        const double length = constrain->topology->param[list->param[k]].p[0];
        const double deviation = fabs(sqrt(vec_norm2(d)) / length - 1.0);
        *max = deviation > *max ? deviation : *max;
        *sum_square += deviation * deviation;
        ++*n;
    }
}
