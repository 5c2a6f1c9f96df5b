/* The constraints of one domain: SETTLE for rigid water, LINCS for the rest (docs/constraints.md).
 *
 * Constraint groups are whole on a domain, so the two work on different rows and nothing is
 * communicated. The kernels only say that something went wrong; finding out which atoms is done
 * here, slowly, once.
 */
#include "md/motion/constraints.h"
#include "base/alloc.h"
#include "md/core/atom_text.h"
#include "md/core/units.h"
#include "md/core/vec.h"
#include "md/motion/constraints_internal.h"
#include "md/motion/lincs.h"
#include "md/motion/settle.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WARNING_BYTES = 2048, WARNING_LINES = 10 };

struct md_constrain {
    const md_topology *topology;
    md_constrain_options options;
    md_settle *settle;
    md_lincs lincs;
    const settle_kernels *settle_kernels;
    const lincs_kernels *lincs_kernels;
    double *mass; /* [rows]: all 1 with options.unit_masses, huge of frozen atoms */
    size_t capacity_mass;
    char warning[WARNING_BYTES];
    bool warned; /* warning has not been taken */
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
    BASE_TRY(md_settle_create(topology, options->unit_masses, &settle));

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
    base_free((*constrain)->mass);
    base_free(*constrain);
    *constrain = NULL;
}

sundog_status md_constrain_rebuild(md_constrain *constrain, const md_rows *rows)
{
    md_rows changed = *rows;
    const uint8_t *frozen = constrain->options.frozen;
    bool unit = constrain->options.unit_masses;
    if (unit || frozen) {
        BASE_RESERVE(constrain->mass, constrain->capacity_mass, rows->n_owned + 1);
        for (int row = 0; row < rows->n_owned; row++)
            constrain->mass[row] = unit ? 1 : rows->mass[row];
        changed.mass = constrain->mass;
    }
    BASE_TRY(md_settle_rebuild(constrain->settle, &changed));
    for (int row = 0; row < rows->n_owned && frozen; row++)
        if (frozen[rows->gid[row]] == 7) constrain->mass[row] = MD_IMMOVABLE_MASS;
    return md_lincs_rebuild(&constrain->lincs, constrain->topology, &changed);
}

/* ---- faults --------------------------------------------------------------------------------- */

static sundog_status report_settle(const md_constrain *constrain, const md_rows *rows,
                                   const double (*x)[3], const char *what)
{
    const md_row_interactions *list = &rows->list[MD_SETTLE];
    for (int k = 0; k < list->n; k++) {
        const int *r = &list->rows[3 * k];
        char text[MD_ATOM_TEXT];
        if (r[0] >= rows->n_owned) continue;
        double sum = 0;
        for (int a = 0; a < 3; a++) sum += x[r[a]][0] + x[r[a]][1] + x[r[a]][2];
        if (isfinite(sum)) continue;
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "SETTLE: the rigid water of atoms %lld, %lld, %lld (%s) cannot be "
                         "constrained (%s not finite, or it turned too far in one step): forces "
                         "are too large or the time step is too long",
                         (long long)rows->gid[r[0]] + 1, (long long)rows->gid[r[1]] + 1,
                         (long long)rows->gid[r[2]] + 1,
                         md_atom_text(constrain->topology, rows->gid[r[0]], text), what);
    }
    return base_fail(SUNDOG_ERR_PHYSICS, "SETTLE: %s of a rigid water are not finite", what);
}

/* How a constraint came out of a step. */
typedef struct bond_turn {
    double angle;                          /* degrees */
    double length_old, length_new, wanted; /* nm */
    double deviation;                      /* relative */
} bond_turn;

static bond_turn turn_of(const md_constrain *constrain, const md_rows *rows, int k,
                         const double (*x_old)[3], const double (*x_new)[3])
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    const int i = list->rows[2 * k], j = list->rows[2 * k + 1];
    double old[3], new[3], cross[3];
    vec_sub(x_old[i], x_old[j], old);
    vec_sub(x_new[i], x_new[j], new);
    vec_cross(old, new, cross);
    bond_turn turn = {.angle = atan2(sqrt(vec_norm2(cross)), vec_dot(old, new)) / MD_DEG_TO_RAD,
                      .length_old = sqrt(vec_norm2(old)),
                      .length_new = sqrt(vec_norm2(new)),
                      .wanted = constrain->topology->param[list->param[k]].p[0]};
    turn.deviation = fabs(turn.length_new / turn.wanted - 1);
    return turn;
}

static sundog_status fail_lincs(const md_constrain *constrain, const md_rows *rows, int k,
                                const bond_turn *turn)
{
    const int *r = &rows->list[MD_CONSTRAINT].rows[2 * k];
    char text[2][MD_ATOM_TEXT];
    for (int a = 0; a < 2; a++) md_atom_text(constrain->topology, rows->gid[r[a]], text[a]);
    if (!isfinite(turn->angle) || !isfinite(turn->length_new))
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "LINCS: the constrained atoms %lld and %lld (%s), or others of their "
                         "molecule, turned by more than 90 degrees in one step or are not finite: "
                         "forces are too large or the time step is too long",
                         (long long)rows->gid[r[0]] + 1, (long long)rows->gid[r[1]] + 1, text[0]);
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "LINCS: the bond of %s and %s turned by %.1f degrees in one step, its length "
                     "came out as %.4f instead of %.4f nm: forces are too large or the time step "
                     "is too long",
                     text[0], text[1], turn->angle, turn->length_new, turn->wanted);
}

__attribute__((format(printf, 2, 3))) static void warn(md_constrain *constrain, const char *format,
                                                       ...)
{
    size_t used = strlen(constrain->warning);
    va_list args;
    va_start(args, format);
    vsnprintf(constrain->warning + used, WARNING_BYTES - used, format, args);
    va_end(args);
}

static void warn_of_turn(md_constrain *constrain, const md_rows *rows, int k, const bond_turn *turn)
{
    const int *r = &rows->list[MD_CONSTRAINT].rows[2 * k];
    char text[2][MD_ATOM_TEXT];
    for (int a = 0; a < 2; a++) md_atom_text(constrain->topology, rows->gid[r[a]], text[a]);
    warn(constrain, "  %s and %s: %.1f degrees, length before %.4f, now %.4f, constraint %.4f nm\n",
         text[0], text[1], turn->angle, turn->length_old, turn->length_new, turn->wanted);
}

/* The kernels found something: an error where it cannot go on, else a warning. */
static sundog_status judge_lincs(md_constrain *constrain, const md_rows *rows,
                                 const double (*x_old)[3], const double (*x_new)[3])
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    const double warn_angle = constrain->options.lincs_warnangle;
    int n_turned = 0, n = 0;
    double sum = 0, most = 0;
    constrain->warning[0] = '\0';
    for (int k = 0; k < list->n; k++) {
        if (list->rows[2 * k] >= rows->n_owned) continue;
        const bond_turn turn = turn_of(constrain, rows, k, x_old, x_new);
        if (!(isfinite(turn.angle) && turn.deviation < MD_LOST_CONSTRAINT))
            return fail_lincs(constrain, rows, k, &turn);
        n_turned += turn.angle > warn_angle;
        sum += turn.deviation * turn.deviation;
        most = fmax(most, turn.deviation);
        n++;
    }
    warn(constrain,
         "LINCS WARNING: %d bond%s turned by more than %g degrees in one step; relative deviation "
         "of lengths: rms %.2g, largest %.2g\n",
         n_turned, n_turned == 1 ? "" : "s", warn_angle, sqrt(sum / n), most);
    int n_named = 0;
    for (int k = 0; k < list->n && n_named < WARNING_LINES; k++) {
        if (list->rows[2 * k] >= rows->n_owned) continue;
        const bond_turn turn = turn_of(constrain, rows, k, x_old, x_new);
        if (!(turn.angle > warn_angle)) continue;
        warn_of_turn(constrain, rows, k, &turn);
        n_named++;
    }
    if (n_named < n_turned) warn(constrain, "  and %d more\n", n_turned - n_named);
    constrain->warned = true;
    return SUNDOG_OK;
}

const char *md_constrain_take_warning(md_constrain *constrain)
{
    if (!constrain->warned) return NULL;
    constrain->warned = false;
    return constrain->warning;
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
        return report_settle(constrain, rows, (const double(*)[3])x_new, "positions");
    if (!lincs_all(constrain, true, &call, virial))
        return judge_lincs(constrain, rows, x_old, (const double(*)[3])x_new);
    return SUNDOG_OK;
}

/* The first constraint with a velocity or force that is not finite. */
static sundog_status fail_velocities(const md_constrain *constrain, const md_rows *rows,
                                     const double (*v)[3], const char *what)
{
    const md_row_interactions *list = &rows->list[MD_CONSTRAINT];
    for (int k = 0; k < list->n; k++) {
        for (int a = 0; a < 2; a++) {
            const int r = list->rows[2 * k + a];
            char text[MD_ATOM_TEXT];
            if (r >= rows->n_owned || isfinite(v[r][0] + v[r][1] + v[r][2])) continue;
            return base_fail(SUNDOG_ERR_PHYSICS, "LINCS: %s of %s are not finite", what,
                             md_atom_text(constrain->topology, rows->gid[r], text));
        }
    }
    return base_fail(SUNDOG_ERR_PHYSICS, "LINCS: %s are not finite", what);
}

sundog_status md_constrain_velocities(md_constrain *constrain, const md_rows *rows,
                                      const double (*x)[3], double (*v)[3])
{
    settle_job job = {.x_old = x, .v = v};
    lincs_call call = {.x_old = x,
                       .v = v,
                       .order = constrain->options.lincs_order,
                       .iter = constrain->options.lincs_iter};
    const char *what = constrain->options.unit_masses ? "forces" : "velocities";
    if (!settle_all(constrain, false, &job, NULL))
        return report_settle(constrain, rows, (const double(*)[3])v, what);
    if (!lincs_all(constrain, false, &call, NULL))
        return fail_velocities(constrain, rows, (const double(*)[3])v, what);
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
