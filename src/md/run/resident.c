#include "md/run/resident.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "md/core/units.h"
#include "md/gpu/gpu.h"
#include "md/run/coupling.h"
#include "md/run/device_choice.h"
#include "md/run/faults.h"
#include "md/run/milestones.h"
#include "md/run/pressure.h"

#include <inttypes.h>
#include <string.h>

/* How the lists that a piece begins with were made. */
typedef enum lists_made {
    LISTS_KEPT,     /* they are those of the piece before */
    LISTS_FRESH,    /* by a repartition or what stands for one, before the piece */
    LISTS_SEARCHED, /* by its first step */
    LISTS_FILTERED
} lists_made;

/* A piece that is under way, to begin it again. */
typedef struct begun_piece {
    int64_t step, searched; /* searched: before it */
    lists_made made;
} begun_piece;

/* What the loop knows beside the worker. */
typedef struct resident {
    md_worker *w;
    int64_t step;                 /* the next to be enqueued */
    int64_t last;                 /* the last of the run; earlier when it is stopped */
    int64_t timed_from, searched; /* searched: step of the last outer lists */
    uint8_t what[MD_GPU_PIECE];
    begun_piece begun[MD_GPU_AHEAD]; /* the last, round and round */
    int64_t n_begun;
    int64_t went_back_to;
    int n_backs;
    bool rebuilt; /* not before the first time */
    bool alone;   /* one domain with lists: the GPU makes them anew by itself */
} resident;

/* ---- the GPU --------------------------------------------------------------------------------- */

/* Domains on the GPU of this one. */
static int n_sharing(const md_worker *w)
{
    int mine = md_device_of_domain(w->system, sundog_team_rank(w->team)), n = 0;
    for (int r = 0; r < sundog_team_size(w->team); r++)
        n += md_device_of_domain(w->system, r) == mine;
    return n;
}

sundog_status md_resident_create(md_worker *w)
{
    const md_system *system = w->system;
    const md_groups *groups = &system->groups;
    const md_params *params = w->params;
    md_gpu_options options = {.team = w->team,
                              .gpu = md_device_of_domain(system, sundog_team_rank(w->team)),
                              .n_sharing = n_sharing(w),
                              .topology = system->topology,
                              .params = params,
                              .nonbonded = w->shared->nonbonded,
                              .bonded = w->shared->bonded,
                              .posres = w->shared->posres,
                              .constrain = {.lincs_order = params->lincs_order,
                                            .lincs_iter = params->lincs_iter,
                                            .lincs_warnangle = params->lincs_warnangle,
                                            .frozen = groups->frozen},
                              .scheme = system->reach.scheme,
                              .rlist = system->rlist,
                              .rinner = system->nstprune > 0 ? system->rprune : system->rlist,
                              .rung = system->rung,
                              .route = system->route,
                              .deterministic = w->shared->options->reproducible,
                              .tight_lists = w->shared->options->tight_lists,
                              .n_temperature = groups->n_temperature,
                              .n_com = groups->n_com,
                              .has_com_groups = groups->com_of != NULL,
                              .has_frozen = groups->frozen != NULL};
    options.thermostat.n = groups->n_temperature;
    for (int g = 0; g < groups->n_temperature; g++) {
        const md_temperature_group *group = &groups->temperature[g];
        options.n_dof[g] = group->n_dof;
        options.thermostat.coupling[g] =
            md_vrescale_couple(0.5 * group->n_dof * MD_BOLTZ * group->ref_t, group->n_dof,
                               params->dt * params->nsttcouple, group->tau_t);
    }
    return md_gpu_create(&options, &w->gpu);
}

sundog_status md_resident_rebuild(md_worker *w)
{
    const md_gpu_rows rows = {.domain = w->domain,
                              .rows = w->rows,
                              .box = &w->box,
                              .constrain = w->constrain,
                              .temperature_group = w->temperature_group,
                              .com_group = w->com_group,
                              .frozen = w->frozen_axes,
                              .thermostat_work = w->thermostat_work,
                              .most_units = w->most_units};
    double largest, sum_square;
    int64_t n_constraints;
    md_constrain_deviation(w->constrain, w->rows, (const double(*)[3])w->rows->x, &largest,
                           &sum_square, &n_constraints);
    w->n_constraints = (double)n_constraints;
    BASE_TRY(md_gpu_rebuild(w->gpu, &rows));
    md_run_result *result = w->shared->result;
    if (w->root && sundog_team_size(w->team) > 1)
        snprintf(result->exchange, sizeof result->exchange, "%s", md_gpu_describe(w->gpu));
    return SUNDOG_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static sundog_status take_sums(md_worker *w, int64_t step, const md_gpu_sums *from,
                               md_step_sums *sums)
{
    const md_groups *groups = &w->system->groups;
    memset(sums, 0, sizeof *sums);
    sums->terms = from->terms;
    memcpy(sums->kinetic_old, from->kinetic[0], sizeof sums->kinetic_old);
    memcpy(sums->kinetic_new, from->kinetic[1], sizeof sums->kinetic_new);
    sums->deviation_square = from->deviation_square;
    sums->n_constraints = w->n_constraints;
    for (int g = 0; groups->temperature_of && g < groups->n_temperature; g++)
        for (int half = 0; half < 2; half++)
            sums->kinetic_group[g][half] = from->kinetic_group[g][half];
    for (int g = 0; g < groups->n_temperature; g++)
        w->thermostat_work[g] = from->thermostat_work[g];
    BASE_TRY(md_sums_reduce(w->team, sums));
    return md_sums_report(w->system, sums, step, &w->box, md_coupling_work(w), &w->report);
}

/* For those who look at the wreck: x and v where the piece began, the last forces. Collective. */
static sundog_status bring_back(md_worker *w, const md_gpu_result *result)
{
    BASE_TRY(md_gpu_rewind(w->gpu));
    BASE_TRY(md_gpu_download(w->gpu, w->rows->x, w->rows->v, w->rows->f));
    w->step = result->step;
    return SUNDOG_OK;
}

/* A group of atoms, on some domain, is nowhere any more, or torn apart. */
static sundog_status end_of_run(md_worker *w, const md_gpu_result *result)
{
    char text[256];
    BASE_TRY(bring_back(w, result));
    if (result->n_failed == 0) return sundog_team_barrier(w->team); /* another tells it */
    snprintf(text, sizeof text,
             "within %d steps positions of %d constraint groups became no numbers, or lengths were "
             "off by half, the first near atom %" PRId64 ": the system has blown up",
             result->n_steps, result->n_failed, w->rows->gid[result->fault_row] + 1);
    return md_faults_here(w, base_fail(SUNDOG_ERR_PHYSICS, "%s", text));
}

/* Constraints that turned a lot. */
static sundog_status look_at_warnings(md_worker *w, const md_gpu_result *result)
{
    if (result->fault_row < 0) return SUNDOG_OK;
    int64_t atom = w->rows->gid[result->fault_row] + 1;
    char text[256];
    snprintf(text, sizeof text,
             "within %d steps %d times constraints turned by more than lincs-warnangle (%g "
             "degrees), first near atom %" PRId64 "\n",
             result->n_steps, result->n_turned, w->params->lincs_warnangle, atom);
    /* In how many steps is not known. */
    int n_steps = result->n_turned < result->n_steps ? result->n_turned : result->n_steps;
    return md_faults_add_warning(w, result->step, n_steps, text);
}

/* Lists overflowed: to the start of the piece. Atoms that gather without end would do so for ever.
 */
static sundog_status go_back(resident *r, const md_gpu_result *result)
{
    enum { PATIENCE = 5 };
    md_worker *w = r->w;
    r->n_backs = result->step == r->went_back_to ? r->n_backs + 1 : 1;
    r->went_back_to = result->step;
    if (r->n_backs > PATIENCE) {
        BASE_TRY(bring_back(w, result));
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "pair lists on the GPU ran out of room %d times within %d steps: atoms "
                         "gather in one place, the system is about to blow up",
                         PATIENCE + 1, result->n_steps);
    }
    if (w->root) w->shared->result->n_overflows++;
    BASE_TRY(md_gpu_rewind(w->gpu));
    r->step = result->step;
    return SUNDOG_OK;
}

/* The oldest piece: *again if it must be repeated. sums: of its last step with any. */
static sundog_status finish(resident *r, bool *again, md_step_sums *sums)
{
    md_worker *w = r->w;
    md_gpu_result result;
    md_timing_enter(&w->timing, MD_PHASE_DEVICE);
    BASE_TRY(md_gpu_finish(w->gpu, &result));
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    double worst[2] = {result.overflow, result.n_failed > 0};
    BASE_TRY(sundog_team_max_double(w->team, worst, 2));
    *again = worst[0] > 0;
    if (*again) return go_back(r, &result);
    if (worst[1] > 0) return end_of_run(w, &result);
    BASE_TRY(look_at_warnings(w, &result));
    int64_t end = result.step + result.n_steps;
    for (int64_t step = result.step, k = 0; step < end && k < result.n_sums; step++) {
        bool last = step == r->last, energies = md_energies_due(w, step, last);
        if (!energies && !md_pressure_due(w->params, step)) continue;
        sundog_status status = take_sums(w, step, &result.sums[k++], sums);
        if (status == SUNDOG_ERR_PHYSICS) {
            BASE_TRY(bring_back(w, &result));
            return md_faults_blame(w, status);
        }
        BASE_TRY(status);
        if (energies) BASE_TRY(md_report_step(w, step, last));
    }
    md_timing_enter(&w->timing, MD_PHASE_REST);
    w->step = end;
    if (w->root) md_progress_step(&w->progress, w->system, end - 1, end - 1 == r->last);
    return SUNDOG_OK;
}

static sundog_status drain(resident *r, bool *again)
{
    md_step_sums sums;
    *again = false;
    while (md_gpu_n_under_way(r->w->gpu) > 0 && !*again) BASE_TRY(finish(r, again, &sums));
    return SUNDOG_OK;
}

/* ---- repartition ----------------------------------------------------------------------------- */

/* Where a run may stop. */
static sundog_status decide(resident *r)
{
    md_worker *w = r->w;
    bool checkpoint = false;
    BASE_TRY(md_decide(w, r->step, &checkpoint));
    if (w->stop) r->last = r->step;
    if (w->root) md_outputs_mark(w->shared->outputs);
    /* Lists of one domain have not been begun anew here; those of several have, with what all had
     * found to fit before, and a restart begins them with the same. */
    if (r->alone) w->most_units = md_gpu_most_units(w->gpu);
    if (!checkpoint) return SUNDOG_OK;
    if (r->alone) BASE_TRY(md_gpu_download(w->gpu, w->rows->x, w->rows->v, NULL));
    return md_write_checkpoint(w, r->step);
}

/* Blocks of lists are cut for what fits on every domain: one number, for a checkpoint. */
static sundog_status agree_on_units(md_worker *w)
{
    double fewest = -md_gpu_most_units(w->gpu);
    BASE_TRY(sundog_team_max_double(w->team, &fewest, 1));
    w->most_units = (int)-fewest;
    return SUNDOG_OK;
}

static sundog_status repartition(resident *r)
{
    md_worker *w = r->w;
    md_timing_enter(&w->timing, MD_PHASE_REPARTITION);
    if (r->rebuilt) BASE_TRY(agree_on_units(w));
    r->rebuilt = true;
    if (r->step > w->system->state.step) {
        BASE_TRY(md_gpu_download(w->gpu, w->rows->x, w->rows->v, NULL));
        BASE_TRY(md_domain_repartition(w->domain));
    }
    BASE_TRY(md_worker_rebuild(w));
    r->searched = r->step;
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool lists_due(const resident *r, int64_t step)
{
    return step % r->w->system->nstlist == 0;
}

static bool decision_due(const resident *r, int64_t step)
{
    return step == r->w->system->state.step || step % r->w->system->nstpartition == 0;
}

static bool renewal_due(const resident *r, int64_t step)
{
    int nstrenew = r->w->system->nstrenew;
    return nstrenew > 0 && step % nstrenew == 0;
}

static bool filter_due(const resident *r, int64_t step)
{
    int nstprune = r->w->system->nstprune;
    return nstprune > 0 && (step - r->searched) % nstprune == 0;
}

static uint8_t what_of(const resident *r, int64_t step)
{
    const md_worker *w = r->w;
    const md_params *params = w->params;
    bool last = step == r->last;
    unsigned what = 0;
    if (md_energies_due(w, step, last) || (!last && md_pressure_due(params, step)))
        what |= MD_GPU_SUMS;
    if (params->tcoupl != MD_TCOUPL_NO &&
        (params->nsttcouple == 1 || step % params->nsttcouple == 1))
        what |= MD_GPU_THERMOSTAT;
    if (params->comm_mode == MD_COMM_LINEAR && md_due(params->nstcomm, step)) what |= MD_GPU_STILL;
    return (uint8_t)what;
}

/* A step before which the host has something to do, or that begins new lists. */
static bool begins_piece(const resident *r, int64_t step)
{
    bool want[3];
    return decision_due(r, step) || renewal_due(r, step) || lists_due(r, step) ||
           filter_due(r, step) || step == r->timed_from ||
           md_frame_due(r->w, step, step == r->last, want);
}

/* Steps from r->step on as one piece. alone: one step. */
static int make_piece(resident *r, bool alone)
{
    const md_worker *w = r->w;
    begun_piece *begun = &r->begun[r->n_begun++ % MD_GPU_AHEAD]; /* of those under way */
    int n = 0;
    *begun = (begun_piece){.step = r->step, .searched = r->searched};
    for (int64_t step = r->step; n < MD_GPU_PIECE; step++) {
        if (n > 0 && begins_piece(r, step)) break;
        r->what[n++] = what_of(r, step);
        if (alone || step == r->last || md_pressure_due(w->params, step)) break;
    }
    if (r->searched == r->step) {
        begun->made = LISTS_FRESH;
    } else if (lists_due(r, r->step)) {
        begun->made = LISTS_SEARCHED;
        r->what[0] |= MD_GPU_SEARCH;
        r->searched = r->step;
    } else if (filter_due(r, r->step)) {
        begun->made = LISTS_FILTERED;
        r->what[0] |= MD_GPU_FILTER;
    }
    return n;
}

static bool partition_due(const resident *r)
{
    return r->step == r->w->system->state.step || (!r->alone && decision_due(r, r->step)) ||
           md_pressure_wears_lists(r->w);
}

/* One piece, with the frame of its first step if one is due. *again: lists overflowed, r->step has
 * gone back to the start of a piece that must be begun again. */
static sundog_status piece(resident *r, bool *again)
{
    md_worker *w = r->w;
    bool want[3], last = r->step == r->last;
    bool frame = md_frame_due(w, r->step, last, want);
    md_step_sums sums;
    double work[MD_MAX_GROUPS] = {0};
    int64_t step = r->step;
    if (frame) {
        BASE_TRY(drain(r, again));
        if (*again) return SUNDOG_OK;
        /* All before this step is written, and nothing of it: where a restart goes on. */
        if (last && w->root) md_outputs_mark(w->shared->outputs);
        md_timing_enter(&w->timing, MD_PHASE_OUTPUT);
        BASE_TRY(md_gpu_download(w->gpu, want[0] ? w->rows->x : NULL, want[1] ? w->rows->v : NULL,
                                 NULL));
        BASE_TRY(md_gpu_thermostat_work(w->gpu, work));
    }
    md_timing_enter(&w->timing, MD_PHASE_UPDATE);
    int n = make_piece(r, frame);
    BASE_TRY(md_gpu_enqueue(w->gpu, step, n, r->what));
    r->step += n;
    bool couple = md_pressure_due(w->params, r->step - 1) && r->step - 1 != r->last;
    int ahead = frame || couple || r->step > r->last ? 0 : MD_GPU_AHEAD - 1;
    while (md_gpu_n_under_way(w->gpu) > ahead) {
        BASE_TRY(finish(r, again, &sums));
        if (*again) return SUNDOG_OK;
    }
    if (frame && want[2]) BASE_TRY(md_gpu_download(w->gpu, NULL, NULL, w->rows->f));
    /* The state of the end is that before its step, the work too. */
    if (last && frame)
        memcpy(w->thermostat_work, work, sizeof(double) * (size_t)w->system->groups.n_temperature);
    if (frame) BASE_TRY(md_write_frame(w, step, last));
    if (last) BASE_TRY(md_write_last(w));
    if (frame) md_observe(w, step, last, md_energies_due(w, step, last));
    if (couple) BASE_TRY(md_pressure_couple(w, r->step - 1, &sums));
    return SUNDOG_OK;
}

static void start_timing(resident *r)
{
    md_worker *w = r->w;
    md_timing_start(&w->timing);
    w->timed_start_ns = base_clock_ns();
    w->timed_from = r->step;
}

static sundog_status measure(md_worker *w)
{
    double us[MD_GPU_N_PARTS];
    if (!w->shared->options->measure_parts) return SUNDOG_OK;
    BASE_TRY(md_gpu_measure(w->gpu, us));
    BASE_TRY(sundog_team_max_double(w->team, us, MD_GPU_N_PARTS));
    if (w->root) memcpy(w->shared->result->part_us, us, sizeof us);
    return SUNDOG_OK;
}

/* What is uploaded again, or written: later than the last sums. */
static sundog_status fetch_work(resident *r)
{
    md_worker *w = r->w;
    if (r->step == w->system->state.step) return SUNDOG_OK;
    return md_gpu_thermostat_work(w->gpu, w->thermostat_work);
}

/* Before the piece at r->step. *again: as in piece(). */
static sundog_status prepare(resident *r, bool *again)
{
    md_worker *w = r->w;
    if (partition_due(r) || decision_due(r, r->step) || r->step == r->timed_from) {
        BASE_TRY(drain(r, again));
        if (*again) return SUNDOG_OK;
        BASE_TRY(fetch_work(r));
        if (r->step == r->timed_from && r->step > w->system->state.step) start_timing(r);
    }
    if (partition_due(r)) {
        BASE_TRY(repartition(r));
    } else if (renewal_due(r, r->step)) {
        BASE_TRY(md_gpu_renew(w->gpu));
        r->searched = r->step;
        for (int k = 0; k < 3; k++) w->stretch[k] = 1;
    }
    return decision_due(r, r->step) ? decide(r) : SUNDOG_OK;
}

/* The piece at r->step was begun, and its lists overflowed: all as it was then, with room. Where no
 * room would do blocks of the lists must be cut smaller, which is a matter of where atoms are and
 * not of what was allocated: any run comes to it here. */
static sundog_status begin_again(resident *r)
{
    md_worker *w = r->w;
    const begun_piece *begun = &r->begun[(r->n_begun - 1) % MD_GPU_AHEAD];
    if (begun->step != r->step) begun = &r->begun[(r->n_begun - 2) % MD_GPU_AHEAD];
    unsigned what = begun->made == LISTS_SEARCHED   ? MD_GPU_SEARCH
                    : begun->made == LISTS_FILTERED ? MD_GPU_FILTER
                                                    : 0;
    bool enough = false;
    md_timing_enter(&w->timing, MD_PHASE_PAIR_LIST);
    BASE_TRY(md_gpu_make_room(w->gpu, what, &enough));
    double fails = !enough;
    BASE_TRY(sundog_team_max_double(w->team, &fails, 1));
    r->searched = begun->searched;
    if (fails == 0) return SUNDOG_OK;
    BASE_TRY(fetch_work(r));
    return repartition(r);
}

sundog_status md_resident(md_worker *w, int64_t timed_from)
{
    resident r = {.w = w,
                  .step = w->step,
                  .last = w->system->last_step,
                  .timed_from = timed_from,
                  .alone =
                      sundog_team_size(w->team) == 1 && w->system->reach.scheme == MD_SCHEME_SHELL};
    bool again = false;
    while (r.step <= r.last) {
        bool begun = again;
        again = false;
        sundog_status status = begun ? begin_again(&r) : prepare(&r, &again);
        if (status == SUNDOG_OK && !again) status = piece(&r, &again);
        if (status == SUNDOG_ERR_PHYSICS)
            return base_fail(status, "step %" PRId64 ", %s", w->step, sundog_last_error());
        BASE_TRY(status);
    }
    BASE_TRY(md_worker_finish(w, r.last));
    return measure(w);
}
