#include "md/run/milestones.h"

#include "base/clock.h"

sundog_status md_write_checkpoint(md_worker *w, int64_t step)
{
    BASE_TRY(md_worker_collect(w, step, (const bool[3]){true, true, false}));
    sundog_status status = SUNDOG_OK;
    if (w->root) status = md_outputs_checkpoint(w->shared->outputs, w->system, &w->whole);
    w->last_checkpoint_ns = base_clock_ns();
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return status;
}

sundog_status md_decide(md_worker *w, int64_t step, bool *checkpoint)
{
    const md_run_options *options = w->shared->options;
    /* A signal may have come to one process only. */
    double word[2] = {step < w->system->last_step && md_worker_out_of_time(w), 0};
    if (w->root)
        word[1] =
            options->checkpoint_minutes > 0 && step > w->system->state.step &&
            base_clock_seconds_since(w->last_checkpoint_ns) > 60 * options->checkpoint_minutes;
    BASE_TRY(sundog_team_max_double(w->team, word, 2));
    w->stop = word[0] != 0;
    *checkpoint = word[1] != 0 && !w->stop;
    return SUNDOG_OK;
}

bool md_energies_due(const md_worker *w, int64_t step, bool last)
{
    const md_params *params = w->params;
    /* Not at the first step of a run that goes on: the other part had none there, and kernels that
     * add up energies may round forces otherwise. */
    bool first = step == w->system->state.step && !w->system->continued;
    return last || first || md_due(params->nstcalcenergy, step) ||
           md_due(params->nstenergy, step) || md_due(params->nstlog, step);
}

bool md_frame_due(const md_worker *w, int64_t step, bool last, bool want[3])
{
    const md_run_options *options = w->shared->options;
    const md_frame_parts parts = md_outputs_due(w->shared->outputs, w->params, step);
    bool observed = options->observe && (md_due(options->observe_every, step) || last);
    bool kept = last && options->out_dir; /* the end, for confout and checkpoint */
    want[0] = parts.xtc || parts.x || observed || kept;
    want[1] = parts.v || observed || kept;
    want[2] = parts.f || observed;
    return want[0] || want[1] || want[2];
}

sundog_status md_write_frame(md_worker *w, int64_t step, bool last)
{
    const md_frame_parts parts = md_outputs_due(w->shared->outputs, w->params, step);
    const bool frame = parts.xtc || parts.x || parts.v || parts.f;
    bool want[3];
    if (!md_frame_due(w, step, last, want)) return SUNDOG_OK;
    BASE_TRY(md_worker_collect(w, step, want));
    if (w->root && frame)
        BASE_TRY(
            md_outputs_frame(w->shared->outputs, &parts, &w->whole, (const float(*)[3])w->whole_f));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

sundog_status md_write_last(md_worker *w)
{
    if (!w->root) return SUNDOG_OK;
    md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
    BASE_TRY(md_outputs_confout(w->shared->outputs, w->system, &w->whole));
    BASE_TRY(md_outputs_checkpoint(w->shared->outputs, w->system, &w->whole));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

void md_observe(md_worker *w, int64_t step, bool last, bool has_energy)
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

sundog_status md_report_step(md_worker *w, int64_t step, bool last)
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
