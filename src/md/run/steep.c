/* Steepest descent, by gmx's rules, so that the same input takes the same path:
 *
 *      x_try = x + h F / Fmax          all atoms along their forces; the fastest moves by h
 *      E(x_try) < E(x):   x = x_try, h = 1.2 h         else:   h = h / 2
 *
 * begins with h = emstep and ends when Fmax < emtol, after nsteps, or when h falls below 1e-6 nm:
 * the energies are then equal but for rounding. Fmax is the largest force on an atom.
 *
 * Constraints: F is projected on what the constraints leave free, with all masses 1 (what would be
 * a reaction is no force to follow), and x_try is constrained along the directions at x. A step
 * that cannot be constrained is one with infinite energy.
 *
 * What makes it cheap on many domains: owned rows are x and, in place of velocities, F of the
 * minimum so far, so both travel with their atoms when domains exchange them. Lists and ghosts are
 * made with a buffer and serve until some atom is further than half of it from where it was then:
 *
 *      x_try within the buffer                 evaluate; when refused, put x back
 *      beyond, and the lists are not of x      make them for x, try again
 *      beyond even so: the step is a long one  make them for x_try, with x - x_try in place of
 *                                              velocities; when refused, go back, lists and forces
 *                                              of x once more
 *
 * gmx makes them anew for every x_try, which is simpler and several times the work.
 */
#include "md/run/steep.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "md/core/vec.h"
#include "md/run/freeze.h"
#include "md/run/minimum.h"
#include "md/run/sums.h"
#include "md/run/worker.h"

#include <math.h>
#include <string.h>

static const double SMALLEST_STEP = 1e-6; /* nm */

typedef struct descent {
    md_worker *w;
    double (*x_list)[3]; /* owned positions that the lists were made for */
    double (*f)[3];      /* owned forces of the last evaluation, constraints projected out */
    size_t x_list_capacity, f_capacity;
    double reach;  /* nm: as far as an atom may be from x_list */
    bool fresh;    /* the lists are those of the minimum */
    bool far;      /* rows hold x_try with lists of its own, and x - x_try */
    double length; /* h */
    int64_t n_accepted;
    md_minimum minimum, trial;
} descent;

/* ---- lists ----------------------------------------------------------------------------------- */

static sundog_status make_lists(descent *d)
{
    md_worker *w = d->w;
    md_timing_enter(&w->timing, MD_PHASE_REPARTITION);
    BASE_TRY(md_domain_repartition(w->domain));
    BASE_TRY(md_worker_rebuild(w));
    BASE_RESERVE(d->x_list, d->x_list_capacity, w->rows->capacity);
    memcpy(d->x_list, w->rows->x, (size_t)w->rows->n_owned * sizeof *d->x_list);
    return SUNDOG_OK;
}

static void put_back(md_worker *w)
{
    memcpy(w->rows->x, w->x_old, (size_t)w->rows->n_owned * sizeof *w->x_old);
}

/* ---- one evaluation -------------------------------------------------------------------------- */

/* virial += factor * sum over owned rows of x (outer) f */
static void add_virial(const descent *d, double factor, double virial[3][3])
{
    const md_rows *rows = d->w->rows;
    for (int row = 0; row < rows->n_owned; row++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                virial[a][b] += factor * (rows->x[row][a] - rows->origin[a]) * d->f[row][b];
}

/* rows->f without what acts on frozen atoms and along constraints, to d->f; the constraint virial
 * to sums. */
static sundog_status project(descent *d, md_step_sums *sums)
{
    md_worker *w = d->w;
    md_rows *rows = w->rows;
    BASE_RESERVE(d->f, d->f_capacity, rows->capacity);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) d->f[row][k] = (double)rows->f[row][k];
    md_freeze_vectors(w, d->f);
    if (!w->system->has_constraints) return SUNDOG_OK;
    md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
    add_virial(d, 0.5, sums->terms.virial);
    sundog_status status =
        md_constrain_velocities(w->constrain, rows, (const double(*)[3])rows->x, d->f);
    if (status != SUNDOG_OK && status != SUNDOG_ERR_PHYSICS) return status; /* found below, too */
    add_virial(d, -0.5, sums->terms.virial);
    int64_t n;
    double max;
    md_constrain_deviation(w->constrain, rows, (const double(*)[3])rows->x, &max,
                           &sums->deviation_square, &n);
    sums->n_constraints = (double)n;
    return SUNDOG_OK;
}

/* Largest force and norm over all domains, the same on all of them. */
static sundog_status measure(descent *d, md_minimum *out)
{
    md_worker *w = d->w;
    double sum = 0, most = -1, mine, number;
    int64_t atom = -1;
    for (int row = 0; row < w->rows->n_owned; row++) {
        double f2 = vec_norm2(d->f[row]);
        sum += f2;
        if (!isfinite(f2)) f2 = INFINITY;
        if (f2 < most || (f2 == most && w->rows->gid[row] > atom)) continue;
        most = f2;
        atom = w->rows->gid[row];
    }
    mine = most;
    BASE_TRY(sundog_team_max_double(w->team, &most, 1));
    number = mine == most && atom >= 0 ? (double)atom : INFINITY;
    BASE_TRY(sundog_team_min_double(w->team, &number, 1));
    BASE_TRY(sundog_team_sum_double(w->team, &sum, 1));
    out->f_max = sqrt(most);
    out->atom = (int64_t)number;
    out->f_norm = sqrt(sum / (double)w->system->topology->n_atoms);
    return SUNDOG_OK;
}

static sundog_status evaluate(descent *d, int64_t step, md_minimum *out)
{
    md_worker *w = d->w;
    md_step_sums sums;
    memset(&sums, 0, sizeof sums);
    BASE_TRY(md_forces(&w->field, false, &sums.terms));
    BASE_TRY(project(d, &sums));
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    BASE_TRY(md_sums_reduce(w->team, &sums));
    sundog_status status = md_sums_report(w->system, &sums, step, &w->box, 0, &out->report);
    if (status != SUNDOG_OK && status != SUNDOG_ERR_PHYSICS) return status;
    BASE_TRY(measure(d, out));
    out->finite = status == SUNDOG_OK && isfinite(out->f_max);
    out->step = step;
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Move to x_try; x_old keeps x. valid and moved (largest distance from x_list) are the same on all
 * domains. */
static sundog_status move(descent *d, bool *valid, double *moved)
{
    md_worker *w = d->w;
    md_rows *rows = w->rows;
    md_timing_enter(&w->timing, MD_PHASE_UPDATE);
    md_worker_copy_x(w);
    double scale = d->length / d->minimum.f_max;
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->x[row][k] += scale * rows->v[row][k];
    md_freeze_positions(w);
    sundog_status status = SUNDOG_OK;
    if (w->system->has_constraints) {
        md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
        status = md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x,
                                        NULL, 1, NULL);
        if (status != SUNDOG_OK && status != SUNDOG_ERR_PHYSICS) return status;
        md_freeze_positions(w); /* rigid water knows nothing of it */
    }
    double worst[2] = {status != SUNDOG_OK, 0};
    for (int row = 0; row < rows->n_owned; row++) {
        double away[3];
        vec_sub(rows->x[row], d->x_list[row], away);
        worst[1] = fmax(worst[1], vec_norm2(away));
    }
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    BASE_TRY(sundog_team_max_double(w->team, worst, 2));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    *valid = worst[0] == 0;
    *moved = sqrt(worst[1]);
    return SUNDOG_OK;
}

/* Rows at x_try with what is needed to evaluate it there, or back at x and *valid false. */
static sundog_status go(descent *d, bool *valid)
{
    md_worker *w = d->w;
    double moved;
    d->far = false;
    BASE_TRY(move(d, valid, &moved));
    if (*valid && moved > d->reach && !d->fresh) {
        put_back(w);
        BASE_TRY(make_lists(d));
        d->fresh = true;
        BASE_TRY(move(d, valid, &moved));
    }
    if (!*valid) put_back(w);
    if (!*valid || moved <= d->reach) return SUNDOG_OK;
    for (int row = 0; row < w->rows->n_owned; row++)
        vec_sub(w->x_old[row], w->rows->x[row], w->rows->v[row]);
    d->far = true;
    return make_lists(d);
}

static void keep_forces(descent *d)
{
    memcpy(d->w->rows->v, d->f, (size_t)d->w->rows->n_owned * sizeof *d->f);
}

static sundog_status go_back(descent *d)
{
    md_rows *rows = d->w->rows;
    if (!d->far) {
        put_back(d->w);
        return SUNDOG_OK;
    }
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->x[row][k] += rows->v[row][k];
    BASE_TRY(make_lists(d));
    md_minimum same;
    BASE_TRY(evaluate(d, d->minimum.step, &same));
    keep_forces(d);
    d->fresh = true;
    return SUNDOG_OK;
}

static sundog_status try_step(descent *d, int64_t step, bool *better)
{
    bool valid = true;
    *better = false;
    if (step > 0) BASE_TRY(go(d, &valid));
    d->trial = (md_minimum){
        .step = step, .report.potential = INFINITY, .f_max = INFINITY, .atom = d->minimum.atom};
    if (!valid) return SUNDOG_OK;
    BASE_TRY(evaluate(d, step, &d->trial));
    if (step == 0) {
        *better = true;
        return d->trial.finite ? SUNDOG_OK : md_minimum_not_finite(d->w->system, &d->trial);
    }
    *better = d->trial.finite && d->trial.report.potential < d->minimum.report.potential;
    if (!*better) return go_back(d);
    d->fresh = d->far;
    return SUNDOG_OK;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Frames count accepted steps. The last one comes in any case, and once. */
static md_frame_parts parts_of_frame(const descent *d, bool last)
{
    const md_outputs *outputs = d->w->shared->outputs;
    md_frame_parts parts = md_outputs_due(outputs, d->w->params, d->n_accepted);
    if (!last) return parts;
    const md_frame_parts any = md_outputs_due(outputs, d->w->params, 0);
    return (md_frame_parts){
        .xtc = any.xtc && !parts.xtc, .x = any.x && !parts.x, .f = any.f && !parts.f};
}

static sundog_status write_frame(descent *d, bool last)
{
    md_worker *w = d->w;
    const md_run_options *options = w->shared->options;
    const md_frame_parts parts = parts_of_frame(d, last);
    const bool observed =
        options->observe && (last || md_due(options->observe_every, d->n_accepted));
    const bool want[3] = {parts.xtc || parts.x || last || observed, false, parts.f || observed};
    if (!want[0] && !want[2]) return SUNDOG_OK;
    for (int row = 0; want[2] && row < w->rows->n_owned; row++)
        for (int k = 0; k < 3; k++) w->rows->f[row][k] = (float)w->rows->v[row][k];
    BASE_TRY(md_worker_collect(w, d->minimum.step, want));
    if (!w->root) return SUNDOG_OK;
    BASE_TRY(
        md_outputs_frame(w->shared->outputs, &parts, &w->whole, (const float(*)[3])w->whole_f));
    if (last) BASE_TRY(md_outputs_confout(w->shared->outputs, w->system, &w->whole));
    if (observed) {
        md_observation what = {.step = d->minimum.step,
                               .n_atoms = w->whole.n_atoms,
                               .box = &w->whole.box,
                               .x = (const double(*)[3])w->whole.x,
                               .v = (const double(*)[3])w->whole.v,
                               .f = (const float(*)[3])w->whole_f,
                               .energy = &d->minimum.report};
        options->observe(options->observe_arg, &what);
    }
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static sundog_status accept(descent *d, int64_t step)
{
    md_worker *w = d->w;
    d->minimum = d->trial;
    keep_forces(d);
    if (step > 0) {
        d->length *= 1.2;
        d->n_accepted++;
    }
    if (w->root) {
        if (step == 0) w->shared->result->first = d->minimum.report;
        w->shared->result->last = d->minimum.report;
        BASE_TRY(md_outputs_energy(w->shared->outputs, w->system, &d->minimum.report));
        if (step == 0 || md_due(w->params->nstlog, d->n_accepted))
            md_report_energy(md_outputs_log(w->shared->outputs), w->system, &d->minimum.report);
    }
    return write_frame(d, false);
}

/* ---- the whole descent ----------------------------------------------------------------------- */

static sundog_status begin(descent *d)
{
    md_worker *w = d->w;
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    if (w->system->has_constraints && !w->params->continuation) {
        md_worker_copy_x(w);
        BASE_TRY(md_constrain_positions(w->constrain, w->rows, (const double(*)[3])w->x_old,
                                        w->rows->x, NULL, 1, NULL));
    }
    BASE_TRY(make_lists(d));
    d->fresh = true;
    d->reach = 0.5 * (w->system->rlist - fmax(w->params->rcoulomb, w->params->rvdw));
    d->length = w->params->emstep;
    if (!w->root) return SUNDOG_OK;
    w->whole.has_velocities = false;
    memset(w->whole.v, 0, (size_t)w->whole.n_atoms * sizeof *w->whole.v);
    md_report_start(md_outputs_log(w->shared->outputs), w->system, w->shared->result);
    md_progress_start(&w->progress, w->shared->options->verbose, 0);
    md_minimum_log_start(md_outputs_log(w->shared->outputs), w->params);
    return SUNDOG_OK;
}

/* Signals and -maxh, on whichever rank. */
static sundog_status is_stopped(md_worker *w, bool *stopped)
{
    double word = md_worker_out_of_time(w);
    BASE_TRY(sundog_team_max_double(w->team, &word, 1));
    *stopped = word != 0;
    return SUNDOG_OK;
}

static sundog_status end(descent *d, int64_t step, md_minimum_end how)
{
    md_worker *w = d->w;
    if (w->root && w->progress.on && w->progress.terminal) fputc('\n', stderr);
    BASE_TRY(write_frame(d, true));
    BASE_TRY(md_worker_finish(w, step));
    if (!w->root) return SUNDOG_OK;
    md_run_result *result = w->shared->result;
    md_report_energy(md_outputs_log(w->shared->outputs), w->system, &d->minimum.report);
    md_minimum_summary(w->system, &d->minimum, step, how, result->minimisation,
                       sizeof result->minimisation);
    return SUNDOG_OK;
}

static sundog_status descend(descent *d)
{
    md_worker *w = d->w;
    BASE_TRY(begin(d));
    w->start_ns = w->timed_start_ns = base_clock_ns();
    md_timing_start(&w->timing);
    for (int64_t step = 0;; step++) {
        bool better, stopped;
        double length = d->length;
        BASE_TRY(try_step(d, step, &better));
        if (w->root) {
            md_minimum_log_step(md_outputs_log(w->shared->outputs), w->system, &d->trial,
                                step > 0 ? length : 0, better);
            md_minimum_progress(&w->progress, w->system, better ? &d->trial : &d->minimum, step);
        }
        if (better)
            BASE_TRY(accept(d, step));
        else
            d->length *= 0.5;
        if (d->minimum.f_max < w->params->emtol) return end(d, step, MD_MINIMUM_CONVERGED);
        if (step >= w->system->last_step) return end(d, step, MD_MINIMUM_OUT_OF_STEPS);
        if (d->length < SMALLEST_STEP) return end(d, step, MD_MINIMUM_PRECISION);
        BASE_TRY(is_stopped(w, &stopped));
        if (stopped) return end(d, step, MD_MINIMUM_STOPPED);
    }
}

static sundog_status work(md_worker *w)
{
    descent d = {.w = w};
    sundog_status status = descend(&d);
    base_free(d.x_list);
    base_free(d.f);
    return status;
}

sundog_status md_steep(sundog_team *team, const md_shared *shared)
{
    return md_worker_run(team, shared, work);
}
