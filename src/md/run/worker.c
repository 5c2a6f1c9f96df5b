#include "md/run/worker.h"

#include "md/run/faults.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "md/gpu/gpu.h"
#include "md/run/coupling.h"
#include "md/run/resident.h"
#include "md/run/trace.h"

#include <string.h>

/* Rank 0 keeps the arrays in which the start came, for frames and checkpoints. */
static void take_whole(md_worker *w)
{
    md_state *start = w->shared->start;
    w->whole = *start;
    w->whole.has_velocities = true;
    start->x = start->v = NULL;
    w->whole_f = base_alloc((size_t)w->whole.n_atoms * sizeof *w->whole_f);
}

/* What fails here is the start structure. */
static sundog_status distribute(md_worker *w)
{
    char text[1024];
    sundog_status status = md_domain_distribute(w->domain, w->shared->start);
    if (status == SUNDOG_OK && w->root) take_whole(w);
    if (status != SUNDOG_ERR_PHYSICS) return status;
    snprintf(text, sizeof text, "%s", sundog_last_error());
    return base_fail(status,
                     "the start structure: %s. Structures that are far from their constraints can "
                     "be minimised with integrator = steep, constraints = none and flexible water "
                     "(define = -DFLEXIBLE) first",
                     text);
}

/* On GPUs it is made with the first rows there; the log says before what it will be. */
static void describe_exchange(md_worker *w)
{
    const md_system *system = w->system;
    md_run_result *result = w->shared->result;
    if (system->n_gpus == 0)
        snprintf(result->exchange, sizeof result->exchange, "%s", md_domain_describe(w->domain));
    else if (sundog_team_size(w->team) == 1)
        snprintf(result->exchange, sizeof result->exchange, "none");
    else
        snprintf(result->exchange, sizeof result->exchange, "peer/%s %s%s", system->rung,
                 system->route == SUNDOG_ROUTE_DIRECT ? "direct" : "staged",
                 w->shared->options->reproducible ? " deterministic" : "");
}

static sundog_status create(md_worker *w)
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
    if (system->n_gpus == 0) md_pairs_create(&pairs_options, &w->field.pairs);
    w->field.nonbonded = w->shared->nonbonded;
    w->field.bonded = w->shared->bonded;
    w->field.posres = w->shared->posres;
    w->field.box = &w->box;
    w->field.domain = w->domain;
    w->field.timing = &w->timing;
    md_constrain_options constrain_options = {.lincs_order = system->params.lincs_order,
                                              .lincs_iter = system->params.lincs_iter,
                                              .lincs_warnangle = system->params.lincs_warnangle,
                                              .frozen = system->groups.frozen,
                                              .unit_masses =
                                                  system->params.integrator == MD_INTEGRATOR_STEEP};
    BASE_TRY(md_constrain_create(system->topology, &constrain_options, &w->constrain));
    if (system->n_gpus > 0) BASE_TRY(md_resident_create(w));
    BASE_TRY(distribute(w));
    w->rows = md_domain_rows(w->domain);
    w->box = system->state.box;
    memcpy(w->thermostat_work, system->state.thermostat_work, sizeof w->thermostat_work);
    w->barostat_work = system->state.barostat_work;
    w->most_units = system->state.most_units;
    md_coupling_rebuild(w);
    if (w->root) describe_exchange(w);
    return SUNDOG_OK;
}

static void destroy(md_worker *w)
{
    md_gpu_destroy(&w->gpu);
    md_constrain_destroy(&w->constrain);
    md_pairs_destroy(&w->field.pairs);
    md_domain_destroy(&w->domain);
    md_trace_destroy(&w->trace);
    base_free(w->field.f_border);
    base_free(w->x_old);
    base_free(w->temperature_group);
    base_free(w->com_group);
    base_free(w->frozen_axes);
    base_free(w->frozen);
    base_free(w->gid_old);
    md_state_destroy(&w->whole);
    base_free(w->whole_f);
}

sundog_status md_worker_rebuild(md_worker *w)
{
    md_coupling_rebuild(w);
    size_t n = (size_t)w->rows->n_owned;
    BASE_RESERVE(w->gid_old, w->gid_old_capacity, n + 1);
    memcpy(w->gid_old, w->rows->gid, n * sizeof *w->gid_old);
    w->n_old = w->rows->n_owned;
    w->has_old = false;
    for (int k = 0; k < 3; k++) w->stretch[k] = 1;
    md_timing_enter(&w->timing, MD_PHASE_CONSTRAINTS);
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    md_timing_enter(&w->timing, MD_PHASE_PAIR_LIST);
    BASE_TRY(w->gpu ? md_resident_rebuild(w) : md_pairs_rebuild(w->field.pairs, w->rows));
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

void md_worker_copy_x(md_worker *w)
{
    BASE_RESERVE(w->x_old, w->x_old_capacity, w->rows->capacity);
    memcpy(w->x_old, w->rows->x, (size_t)w->rows->n_owned * sizeof *w->x_old);
}

bool md_worker_out_of_time(const md_worker *w)
{
    double hours = w->shared->options->max_hours;
    bool late = hours > 0 && base_clock_seconds_since(w->start_ns) > 0.99 * 3600 * hours;
    return late || md_stop_requested();
}

sundog_status md_worker_collect(md_worker *w, int64_t step, const bool want[3])
{
    md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
    if (w->root) {
        w->whole.step = step;
        w->whole.time = w->params->tinit + (double)step * w->params->dt;
        w->whole.box = w->box;
        memcpy(w->whole.thermostat_work, w->thermostat_work, sizeof w->thermostat_work);
        w->whole.barostat_work = w->barostat_work;
        w->whole.most_units = w->most_units;
    }
    return md_domain_collect(w->domain, want, w->root && want[0] ? w->whole.x : NULL,
                             w->root && want[1] ? w->whole.v : NULL,
                             w->root && want[2] ? w->whole_f : NULL);
}

sundog_status md_worker_finish(md_worker *w, int64_t step)
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

sundog_status md_worker_run(sundog_team *team, const md_shared *shared,
                            sundog_status (*work)(md_worker *w))
{
    md_worker *w = base_alloc_zero(sizeof *w);
    w->shared = shared;
    w->system = shared->system;
    w->params = &shared->system->params;
    w->team = team;
    w->root = sundog_team_rank(team) == 0;
    sundog_status status = create(w);
    if (status == SUNDOG_OK) status = work(w);
    /* Others may be waiting for this rank: tell them before taking the exchange apart. */
    if (status != SUNDOG_OK) {
        sundog_team_abort(team, sundog_last_error());
        md_faults_keep(w);
    }
    md_faults_leave(shared->faults, 1);
    if (status != SUNDOG_OK && w->gpu) md_faults_meet(shared->faults);
    destroy(w);
    base_free(w);
    return status;
}
