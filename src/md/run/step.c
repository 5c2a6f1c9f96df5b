#include "md/run/step.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "md/core/units.h"
#include "md/motion/constraints.h"
#include "md/motion/leapfrog.h"
#include "md/motion/thermostat.h"
#include "md/run/forces.h"
#include "md/run/report.h"
#include "md/run/sums.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* One domain's side of the run. */
typedef struct worker {
    const md_shared *shared;
    const md_system *system;
    const md_params *params;
    sundog_team *team;
    bool root;
    md_domain *domain;
    md_rows *rows;
    md_force_field field;
    md_constrain *constrain;
    md_timing timing;
    double (*x_old)[3];
    size_t x_old_capacity;
    double thermostat_work;
    md_state whole; /* rank 0: the whole system, for output */
    float (*whole_f)[3];
    md_progress progress;
    int64_t start_ns, timed_start_ns, timed_from, last_checkpoint_ns, list_step;
    bool stop; /* end at this step although more were asked for */
    md_energy_report report;
    bool reported_first;
} worker;

static bool due(int interval, int64_t step)
{
    return interval > 0 && step % interval == 0;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static sundog_status create(worker *w)
{
    const md_run_options *options = w->shared->options;
    const md_system *system = w->system;
    md_domain_options domain_options = {.grid = system->grid,
                                        .reach = system->reach,
                                        .rung = system->rung,
                                        .route = system->route,
                                        .deterministic = options->reproducible};
    BASE_TRY(md_domain_create(w->team, system->topology, &system->state.box, &domain_options,
                              &w->domain));
    md_pairs_options pairs_options = {.j_cluster = w->shared->j_cluster,
                                      .type_has_lj = md_nonbonded_type_has_lj(w->shared->nonbonded),
                                      .rlist = system->rlist,
                                      .rprune = system->nstprune > 0 ? system->rprune : 0};
    md_pairs_create(&pairs_options, &w->field.pairs);
    w->field.nonbonded = w->shared->nonbonded;
    w->field.bonded = w->shared->bonded;
    w->field.domain = w->domain;
    w->field.timing = &w->timing;
    md_constrain_options constrain_options = {.lincs_order = system->params.lincs_order,
                                              .lincs_iter = system->params.lincs_iter,
                                              .lincs_warnangle = system->params.lincs_warnangle};
    BASE_TRY(md_constrain_create(system->topology, &constrain_options, &w->constrain));
    BASE_TRY(md_domain_distribute(w->domain, &system->state));
    w->rows = md_domain_rows(w->domain);
    w->thermostat_work = system->state.thermostat_work;
    if (w->root) {
        md_state_create(system->topology->n_atoms, &w->whole);
        w->whole.box = system->state.box;
        w->whole.has_velocities = true;
        w->whole_f = base_alloc((size_t)w->whole.n_atoms * sizeof *w->whole_f);
        snprintf(w->shared->result->exchange, sizeof w->shared->result->exchange, "%s",
                 md_domain_describe(w->domain));
    }
    return SUNDOG_OK;
}

static void destroy(worker *w)
{
    md_constrain_destroy(&w->constrain);
    md_pairs_destroy(&w->field.pairs);
    md_domain_destroy(&w->domain);
    base_free(w->field.f_border);
    base_free(w->x_old);
    md_state_destroy(&w->whole);
    base_free(w->whole_f);
}

/* Rows may have moved: everything made for them is made anew. */
static sundog_status rebuild(worker *w)
{
    md_timing_enter(&w->timing, MD_PHASE_PAIR_LIST);
    BASE_TRY(md_pairs_rebuild(w->field.pairs, w->rows));
    if (w->system->nstprune > 0) {
        md_timing_enter(&w->timing, MD_PHASE_PRUNE);
        md_pairs_prune(w->field.pairs, w->rows, MD_PART_LOCAL);
        md_pairs_prune(w->field.pairs, w->rows, MD_PART_BORDER);
    }
    md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static void copy_x(worker *w)
{
    BASE_RESERVE(w->x_old, w->x_old_capacity, w->rows->capacity);
    memcpy(w->x_old, w->rows->x, (size_t)w->rows->n_owned * sizeof *w->x_old);
}

/* Start positions and velocities that obey the constraints: positions first; then the velocities
 * along them; then half a step back, so that v(-1/2) leads from a constrained x(-1) to x(0). */
static sundog_status constrain_start(worker *w)
{
    md_rows *rows = w->rows;
    double dt = w->params->dt;
    copy_x(w);
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x, NULL,
                                    dt, NULL));
    BASE_TRY(md_constrain_velocities(w->constrain, rows, (const double(*)[3])rows->x, rows->v));
    copy_x(w);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) {
            rows->v[row][k] = -rows->v[row][k];
            w->x_old[row][k] += dt * rows->v[row][k];
        }
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])rows->x, w->x_old,
                                    rows->v, dt, NULL));
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->v[row][k] = -rows->v[row][k];
    return SUNDOG_OK;
}

static sundog_status remove_drift(worker *w)
{
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    double sum[4] = {0};
    md_momentum(w->rows, sum, &sum[3]);
    BASE_TRY(sundog_team_sum_double(w->team, sum, 4));
    if (sum[3] > 0) {
        double drift[3] = {sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]};
        md_remove_drift(w->rows, drift);
    }
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static sundog_status begin(worker *w)
{
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    if (!w->system->continued && !w->params->continuation) {
        if (w->system->has_constraints) {
            BASE_TRY(constrain_start(w));
            /* Ghosts and their choice are those of the positions before. */
            BASE_TRY(md_domain_repartition(w->domain));
        }
        if (w->params->comm_mode == MD_COMM_LINEAR) BASE_TRY(remove_drift(w));
    }
    return SUNDOG_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

/* Bring the whole system to rank 0. */
static sundog_status collect(worker *w, int64_t step, const bool want[3])
{
    md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
    if (w->root) {
        w->whole.step = step;
        w->whole.time = w->params->tinit + (double)step * w->params->dt;
        w->whole.thermostat_work = w->thermostat_work;
    }
    return md_domain_collect(w->domain, want, w->root && want[0] ? w->whole.x : NULL,
                             w->root && want[1] ? w->whole.v : NULL,
                             w->root && want[2] ? w->whole_f : NULL);
}

static sundog_status write_checkpoint(worker *w, int64_t step)
{
    BASE_TRY(collect(w, step, (const bool[3]){true, true, false}));
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
        bool late = options->max_hours > 0 &&
                    base_clock_seconds_since(w->start_ns) > 0.99 * 3600 * options->max_hours;
        word[0] = step < w->system->last_step && (md_stop_requested() || late);
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
    bool want[3] = {false, false, false};
    md_outputs_want(w->shared->outputs, w->params, step, want);
    bool frame = want[0] || want[1] || want[2];
    bool observed = options->observe && (due(options->observe_every, step) || last);
    for (int k = 0; k < 3; k++) want[k] = want[k] || observed || (last && k < 2);
    if (!want[0] && !want[1] && !want[2]) return SUNDOG_OK;
    BASE_TRY(collect(w, step, want));
    if (w->root && frame)
        BASE_TRY(md_outputs_frame(w->shared->outputs, w->params, &w->whole,
                                  (const float(*)[3])w->whole_f));
    if (w->root && last) {
        BASE_TRY(md_outputs_confout(w->shared->outputs, w->system, &w->whole));
        BASE_TRY(md_outputs_checkpoint(w->shared->outputs, w->system, &w->whole));
    }
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

static void observe(worker *w, int64_t step, bool last, bool has_energy)
{
    const md_run_options *options = w->shared->options;
    if (!w->root || !options->observe || !(due(options->observe_every, step) || last)) return;
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
    bool at_ends = last || (step == w->system->state.step && !w->system->continued);
    if (due(w->params->nstenergy, step) || at_ends)
        status = md_outputs_energy(w->shared->outputs, w->system, &w->report);
    if (due(w->params->nstlog, step) || at_ends)
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
    double lambda = 1;
    if (sums) md_kinetic_tensor(rows, sums->kinetic_old);
    if (params->tcoupl == MD_TCOUPL_V_RESCALE &&
        (params->nsttcouple == 1 || step % params->nsttcouple == 1)) {
        md_timing_enter(&w->timing, MD_PHASE_SUMS);
        double kinetic[3][3], ekin;
        md_kinetic_tensor(rows, kinetic);
        ekin = kinetic[0][0] + kinetic[1][1] + kinetic[2][2];
        BASE_TRY(sundog_team_sum_double(w->team, &ekin, 1));
        double reference = 0.5 * w->system->n_dof * MD_BOLTZ * params->ref_t;
        if (ekin > 0) {
            double fresh =
                md_vrescale_ekin(ekin, reference, w->system->n_dof, params->dt * params->nsttcouple,
                                 params->tau_t, params->ld_seed, step);
            lambda = sqrt(fresh / ekin);
            w->thermostat_work += fresh - ekin;
        }
    }
    md_timing_enter(&w->timing, MD_PHASE_UPDATE);
    copy_x(w);
    md_leapfrog_step(rows, lambda, params->dt, rows->x);
    if (w->system->has_constraints) {
        md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
        BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x,
                                        rows->v, params->dt, sums ? sums->terms.virial : NULL));
        if (sums) {
            int64_t n;
            double max;
            md_constrain_deviation(w->constrain, rows, (const double(*)[3])rows->x, &max,
                                   &sums->deviation_square, &n);
            sums->n_constraints = (double)n;
        }
    }
    if (sums) md_kinetic_tensor(rows, sums->kinetic_new);
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
    BASE_TRY(rebuild(w));
    w->list_step = step;
    BASE_TRY(decide(w, step, &checkpoint));
    if (w->root) md_outputs_mark(w->shared->outputs);
    if (checkpoint) BASE_TRY(write_checkpoint(w, step));
    return SUNDOG_OK;
}

static sundog_status one_step(worker *w, int64_t step, bool *done)
{
    const md_system *system = w->system;
    bool list = step == system->state.step || step % system->nstlist == 0;
    if (list) BASE_TRY(list_interval(w, step));
    bool last = step >= system->last_step || w->stop;
    if (last && !list && w->root) md_outputs_mark(w->shared->outputs);
    bool prune = !list && system->nstprune > 0 && (step - w->list_step) % system->nstprune == 0;
    bool energies = last || step == system->state.step || due(w->params->nstcalcenergy, step);

    md_step_sums sums;
    memset(&sums, 0, sizeof sums);
    BASE_TRY(md_forces(&w->field, prune, energies ? &sums.terms : NULL));
    BASE_TRY(write_frame(w, step, last));
    BASE_TRY(update(w, step, energies ? &sums : NULL));
    if (energies) {
        md_timing_enter(&w->timing, MD_PHASE_SUMS);
        BASE_TRY(md_sums_reduce(w->team, &sums));
        BASE_TRY(md_sums_report(system, &sums, step, w->thermostat_work, &w->report));
        BASE_TRY(report_energy(w, step, last));
    }
    observe(w, step, last, energies);
    if (w->params->comm_mode == MD_COMM_LINEAR && due(w->params->nstcomm, step))
        BASE_TRY(remove_drift(w));
    if (w->root) md_progress_step(&w->progress, system, step, last);
    *done = last;
    return SUNDOG_OK;
}

/* ---- the whole loop ------------------------------------------------------------------------- */

static sundog_status finish(worker *w, int64_t step)
{
    md_timing_enter(&w->timing, MD_PHASE_REST);
    double seconds = base_clock_seconds_since(w->timed_start_ns);
    double phases[MD_N_PHASES + 1];
    memcpy(phases, w->timing.seconds, sizeof w->timing.seconds);
    double force =
        phases[MD_PHASE_FORCE_LOCAL] + phases[MD_PHASE_FORCE_BORDER] + phases[MD_PHASE_BONDED];
    double slowest = force;
    BASE_TRY(sundog_team_sum_double(w->team, phases, MD_N_PHASES));
    BASE_TRY(sundog_team_sum_double(w->team, &force, 1));
    BASE_TRY(sundog_team_max_double(w->team, &slowest, 1));
    if (!w->root) return SUNDOG_OK;

    md_run_result *result = w->shared->result;
    int n = sundog_team_size(w->team);
    result->timing = w->timing;
    for (int p = 0; p < MD_N_PHASES; p++) result->timing.seconds[p] = phases[p] / n;
    result->slowest_rank_force = force > 0 ? slowest * n / force : 1;
    result->n_steps = step - w->system->state.step;
    result->n_timed_steps = step - w->timed_from;
    result->interrupted = w->stop;
    result->seconds = seconds;
    if (result->n_timed_steps > 0) {
        result->ms_per_step = 1e3 * seconds / (double)result->n_timed_steps;
        result->ns_per_day =
            86400.0 * 1e-3 * w->params->dt * (double)result->n_timed_steps / seconds;
    }
    return SUNDOG_OK;
}

static sundog_status loop(worker *w)
{
    BASE_TRY(create(w));
    BASE_TRY(begin(w));
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
            return base_fail(status, "step %" PRId64 ": %s", step, sundog_last_error());
        BASE_TRY(status);
        if (done) break;
    }
    return finish(w, step);
}

sundog_status md_steps(sundog_team *team, const md_shared *shared)
{
    worker *w = base_alloc_zero(sizeof *w);
    w->shared = shared;
    w->system = shared->system;
    w->params = &shared->system->params;
    w->team = team;
    w->root = sundog_team_rank(team) == 0;
    sundog_status status = loop(w);
    /* Others may be waiting for this rank: tell them before taking the exchange apart. */
    if (status != SUNDOG_OK) sundog_team_abort(team, sundog_last_error());
    destroy(w);
    base_free(w);
    return status;
}
