#include "md/run/step.h"

#include "base/clock.h"
#include "md/run/coupling.h"
#include "md/run/faults.h"
#include "md/run/freeze.h"
#include "md/run/milestones.h"
#include "md/run/pressure.h"
#include "md/run/resident.h"
#include "md/run/start.h"
#include "md/run/trace.h"

#include <inttypes.h>
#include <string.h>

typedef md_worker worker;

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
    BASE_TRY(md_decide(w, step, &checkpoint));
    if (w->root) md_outputs_mark(w->shared->outputs);
    if (checkpoint) BASE_TRY(md_write_checkpoint(w, step));
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
    bool energies = md_energies_due(w, step, last);
    bool couple = !last && md_pressure_due(w->params, step), sum = energies || couple;

    md_step_sums sums;
    memset(&sums, 0, sizeof sums);
    BASE_TRY(md_forces(&w->field, prune, sum ? &sums.terms : NULL));
    BASE_TRY(md_write_frame(w, step, last));
    BASE_TRY(update(w, step, sum ? &sums : NULL));
    if (sum) {
        md_timing_enter(&w->timing, MD_PHASE_SUMS);
        BASE_TRY(md_sums_reduce(w->team, &sums));
        sundog_status status =
            md_sums_report(system, &sums, step, &w->box, md_coupling_work(w), &w->report);
        if (status != SUNDOG_OK) return md_faults_blame(w, status);
        if (energies) BASE_TRY(md_report_step(w, step, last));
    }
    if (last) BASE_TRY(md_write_last(w));
    md_observe(w, step, last, energies);
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
    sundog_status begun = md_start(w);
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
    BASE_TRY(md_trace_create(w->shared->options, w->system, &w->trace));
    w->timing.trace = w->trace;
    const char *trace_path = w->shared->options->trace_path;
    if (w->gpu) return md_resident(w, timed_from);
    for (bool done = false;; step++) {
        if (step == timed_from && step > w->system->state.step) {
            md_timing_start(&w->timing);
            w->timed_start_ns = base_clock_ns();
            w->timed_from = step;
        }
        BASE_TRY(md_trace_step(w->trace, w->team, trace_path, step));
        sundog_status status = one_step(w, step, &done);
        if (status == SUNDOG_ERR_PHYSICS)
            return base_fail(status, "step %" PRId64 ", %s", step, sundog_last_error());
        BASE_TRY(status);
        if (done) break;
    }
    BASE_TRY(md_trace_finish(w->trace, w->team, trace_path));
    return md_worker_finish(w, step);
}

sundog_status md_steps(sundog_team *team, const md_shared *shared)
{
    return md_worker_run(team, shared, loop);
}
