#include "md/run/step.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "md/core/units.h"
#include "md/run/coupling.h"
#include "md/run/faults.h"
#include "md/run/freeze.h"
#include "md/run/pressure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef md_worker worker;

/* ---- start ---------------------------------------------------------------------------------- */

/* Start positions and velocities that obey the constraints: positions first; then the velocities
 * along them; then half a step back, so that v(-1/2) leads from a constrained x(-1) to x(0). */
static sundog_status constrain_start(worker *w)
{
    md_rows *rows = w->rows;
    double dt = w->params->dt;
    md_worker_copy_x(w);
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x, NULL,
                                    dt, NULL));
    md_freeze_positions(w);
    BASE_TRY(md_constrain_velocities(w->constrain, rows, (const double(*)[3])rows->x, rows->v));
    md_freeze_velocities(w);
    md_worker_copy_x(w);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) {
            rows->v[row][k] = -rows->v[row][k];
            w->x_old[row][k] += dt * rows->v[row][k];
        }
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])rows->x, w->x_old,
                                    rows->v, dt, NULL));
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->v[row][k] = -rows->v[row][k];
    md_freeze_velocities(w);
    return SUNDOG_OK;
}

static sundog_status begin(worker *w)
{
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    md_freeze_velocities(w);
    if (!w->system->continued && !w->params->continuation) {
        if (w->system->has_constraints) {
            BASE_TRY(md_faults_here(w, constrain_start(w)));
            BASE_TRY(md_faults_warn(w, w->system->state.step));
            /* Ghosts and their choice are those of the positions before. */
            BASE_TRY(md_domain_repartition(w->domain));
            md_coupling_rebuild(w);
        }
        if (w->params->comm_mode == MD_COMM_LINEAR) BASE_TRY(md_remove_com_motion(w));
    }
    return SUNDOG_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

static sundog_status write_checkpoint(worker *w, int64_t step)
{
    BASE_TRY(md_worker_collect(w, step, (const bool[3]){true, true, false}));
    sundog_status status = SUNDOG_OK;
    if (w->root) status = md_outputs_checkpoint(w->shared->outputs, w->system, &w->whole);
    w->last_checkpoint_ns = base_clock_ns();
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return status;
}

/* Where a list interval begins, rank 0 decides for all: stop here? checkpoint now? */
static sundog_status decide(worker *w, int64_t step, bool *checkpoint)
{
    const md_run_options *options = w->shared->options;
    unsigned char word[2] = {0, 0};
    if (w->root) {
        word[0] = step < w->system->last_step && md_worker_out_of_time(w);
        word[1] =
            options->checkpoint_minutes > 0 && step > w->system->state.step &&
            base_clock_seconds_since(w->last_checkpoint_ns) > 60 * options->checkpoint_minutes;
    }
    BASE_TRY(sundog_team_broadcast(w->team, 0, word, sizeof word));
    w->stop = word[0] != 0;
    *checkpoint = word[1] != 0 && !w->stop;
    return SUNDOG_OK;
}

static sundog_status write_frame(worker *w, int64_t step, bool last)
{
    const md_run_options *options = w->shared->options;
    const md_frame_parts parts = md_outputs_due(w->shared->outputs, w->params, step);
    const bool frame = parts.xtc || parts.x || parts.v || parts.f;
    bool want[3] = {parts.xtc || parts.x, parts.v, parts.f};
    bool observed = options->observe && (md_due(options->observe_every, step) || last);
    for (int k = 0; k < 3; k++) want[k] = want[k] || observed || (last && k < 2);
    if (!want[0] && !want[1] && !want[2]) return SUNDOG_OK;
    BASE_TRY(md_worker_collect(w, step, want));
    if (w->root && frame)
        BASE_TRY(
            md_outputs_frame(w->shared->outputs, &parts, &w->whole, (const float(*)[3])w->whole_f));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

/* The end of the run, from what write_frame collected. After the step, not before: a state that
 * cannot be moved must not take the place of the last good one. */
static sundog_status write_last(worker *w)
{
    if (!w->root) return SUNDOG_OK;
    md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
    BASE_TRY(md_outputs_confout(w->shared->outputs, w->system, &w->whole));
    BASE_TRY(md_outputs_checkpoint(w->shared->outputs, w->system, &w->whole));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static void observe(worker *w, int64_t step, bool last, bool has_energy)
{
    const md_run_options *options = w->shared->options;
    if (!w->root || !options->observe || !(md_due(options->observe_every, step) || last)) return;
    md_observation what = {.step = step,
                           .n_atoms = w->whole.n_atoms,
                           .box = &w->whole.box,
                           .x = (const double(*)[3])w->whole.x,
                           .v = (const double(*)[3])w->whole.v,
                           .f = (const float(*)[3])w->whole_f,
                           .energy = has_energy ? &w->report : NULL};
    options->observe(options->observe_arg, &what);
}

static sundog_status report_energy(worker *w, int64_t step, bool last)
{
    if (!w->root) return SUNDOG_OK;
    if (!w->reported_first) w->shared->result->first = w->report;
    w->reported_first = true;
    w->shared->result->last = w->report;
    md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
    sundog_status status = SUNDOG_OK;
    if (md_due(w->params->nstcalcenergy, step))
        md_outputs_sample(w->shared->outputs, w->system, &w->report);
    bool at_ends = last || (step == w->system->state.step && !w->system->continued);
    if (md_due(w->params->nstenergy, step) || at_ends)
        status = md_outputs_energy(w->shared->outputs, w->system, &w->report);
    if (md_due(w->params->nstlog, step) || at_ends)
        md_report_energy(md_outputs_log(w->shared->outputs), w->system, &w->report);
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return status;
}

/* ---- one step ------------------------------------------------------------------------------- */

/* Leap-frog with thermostat and constraints; the kinetic energies of both half steps and the
 * constraint virial go to `sums` when wanted. */
static sundog_status update(worker *w, int64_t step, md_step_sums *sums)
{
    md_rows *rows = w->rows;
    const md_params *params = w->params;
    if (sums) md_coupling_kinetic(w, sums->kinetic_old, 0, sums);
    BASE_TRY(md_couple_temperature(w, step));
    md_timing_enter(&w->timing, MD_PHASE_UPDATE);
    md_worker_copy_x(w);
    w->has_old = true;
    w->step_old = step;
    md_coupled_step(w);
    w->step = step + 1;
    if (w->system->has_constraints) {
        md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
        sundog_status status =
            md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x,
                                   rows->v, params->dt, sums ? sums->terms.virial : NULL);
        if (status != SUNDOG_OK) return md_faults_here(w, status);
        md_freeze_positions(w);
        BASE_TRY(md_faults_warn(w, step));
        if (sums) {
            int64_t n;
            double max;
            md_constrain_deviation(w->constrain, rows, (const double(*)[3])rows->x, &max,
                                   &sums->deviation_square, &n);
            sums->n_constraints = (double)n;
        }
    }
    if (sums) md_coupling_kinetic(w, sums->kinetic_new, 1, sums);
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static sundog_status list_interval(worker *w, int64_t step)
{
    bool checkpoint = false;
    if (step > w->system->state.step) {
        md_timing_enter(&w->timing, MD_PHASE_REPARTITION);
        BASE_TRY(md_domain_repartition(w->domain));
    }
    BASE_TRY(md_worker_rebuild(w));
    w->list_step = step;
    BASE_TRY(decide(w, step, &checkpoint));
    if (w->root) md_outputs_mark(w->shared->outputs);
    if (checkpoint) BASE_TRY(write_checkpoint(w, step));
    return SUNDOG_OK;
}

static sundog_status one_step(worker *w, int64_t step, bool *done)
{
    const md_system *system = w->system;
    bool list =
        step == system->state.step || step % system->nstlist == 0 || md_pressure_wears_lists(w);
    if (list) BASE_TRY(list_interval(w, step));
    bool last = step >= system->last_step || w->stop;
    if (last && !list && w->root) md_outputs_mark(w->shared->outputs);
    bool prune = !list && system->nstprune > 0 && (step - w->list_step) % system->nstprune == 0;
    bool energies = last || step == system->state.step || md_due(w->params->nstcalcenergy, step) ||
                    md_due(w->params->nstenergy, step) || md_due(w->params->nstlog, step);
    bool couple = !last && md_pressure_due(w->params, step), sum = energies || couple;

    md_step_sums sums;
    memset(&sums, 0, sizeof sums);
    BASE_TRY(md_forces(&w->field, prune, sum ? &sums.terms : NULL));
    BASE_TRY(write_frame(w, step, last));
    BASE_TRY(update(w, step, sum ? &sums : NULL));
    if (sum) {
        md_timing_enter(&w->timing, MD_PHASE_SUMS);
        BASE_TRY(md_sums_reduce(w->team, &sums));
        sundog_status status =
            md_sums_report(system, &sums, step, &w->box, md_coupling_work(w), &w->report);
        if (status != SUNDOG_OK) return md_faults_blame(w, status);
        if (energies) BASE_TRY(report_energy(w, step, last));
    }
    if (last) BASE_TRY(write_last(w));
    observe(w, step, last, energies);
    if (w->params->comm_mode == MD_COMM_LINEAR && md_due(w->params->nstcomm, step))
        BASE_TRY(md_remove_com_motion(w));
    if (couple) {
        md_timing_enter(&w->timing, MD_PHASE_UPDATE);
        BASE_TRY(md_pressure_couple(w, step, &sums));
        md_timing_enter(&w->timing, MD_PHASE_REST);
    }
    if (w->root) md_progress_step(&w->progress, system, step, last);
    *done = last;
    return SUNDOG_OK;
}

/* ---- the whole loop ------------------------------------------------------------------------- */

static sundog_status loop(worker *w)
{
    w->step = w->system->state.step;
    sundog_status begun = begin(w);
    if (begun == SUNDOG_ERR_PHYSICS)
        return base_fail(begun, "the start structure: %s", sundog_last_error());
    BASE_TRY(begun);
    BASE_TRY(sundog_team_barrier(w->team));
    int64_t step = w->system->state.step;
    /* Negative: that many steps before the end. */
    int64_t timed_from = w->shared->options->timing_from_step;
    if (timed_from < 0) timed_from += w->system->last_step;
    if (w->root) {
        md_report_start(md_outputs_log(w->shared->outputs), w->system, w->shared->result);
        md_progress_start(&w->progress, w->shared->options->verbose, step);
    }
    w->start_ns = w->timed_start_ns = w->last_checkpoint_ns = base_clock_ns();
    w->timed_from = step;
    md_timing_start(&w->timing);
    for (bool done = false;; step++) {
        if (step == timed_from && step > w->system->state.step) {
            md_timing_start(&w->timing);
            w->timed_start_ns = base_clock_ns();
            w->timed_from = step;
        }
        sundog_status status = one_step(w, step, &done);
        if (status == SUNDOG_ERR_PHYSICS)
            return base_fail(status, "step %" PRId64 ", %s", step, sundog_last_error());
        BASE_TRY(status);
        if (done) break;
    }
    return md_worker_finish(w, step);
}

sundog_status md_steps(sundog_team *team, const md_shared *shared)
{
    return md_worker_run(team, shared, loop);
}
