/* From options and files to one read-only md_system. Every choice that the user did not make is put
 * into words in system->notes. */
#include "md/run/setup.h"

#include "base/alloc.h"
#include "md/in/conf.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "md/run/device_choice.h"
#include "md/run/lists.h"
#include "md/run/memory.h"
#include "md/run/processes.h"
#include "md/run/restraints.h"
#include "md/run/velocities.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void md_run_options_default(md_run_options *options)
{
    memset(options, 0, sizeof *options);
    options->out_dir = ".";
    options->checkpoint_minutes = 15;
    options->trace_from = -1;
}

__attribute__((format(printf, 2, 3))) static void note(md_system *system, const char *format, ...)
{
    size_t used = strlen(system->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(system->notes + used, sizeof system->notes - used, format, args);
    va_end(args);
}

/* Each line of a reader's notes. */
static void note_lines(md_system *system, const char *path, const char *line)
{
    while (*line) {
        size_t n = strcspn(line, "\n");
        note(system, "Note: %s: %.*s\n", path, (int)n, line);
        line += n + (line[n] == '\n');
    }
}

static sundog_status read_inputs(const md_run_options *options, md_system *system)
{
    BASE_TRY(md_mdp_read(options->mdp, &system->params));
    note_lines(system, options->mdp, system->params.notes);
    char notes[1024] = "";
    md_top_options top_options = {.define = system->params.define,
                                  .include = system->params.include,
                                  .include_dir = options->include_dir,
                                  .n_include_dirs = options->n_include_dirs,
                                  .notes = notes,
                                  .n_notes = sizeof notes,
                                  .constraints = system->params.constraints};
    BASE_TRY(md_top_read(options->top, &top_options, &system->topology));
    note_lines(system, options->top, notes);

    md_gro gro;
    BASE_TRY(md_conf_read(options->conf, &gro));
    char text[2048] = "";
    int64_t n_mismatch = 0;
    sundog_status status = md_conf_match(&gro, options->conf, system->topology, options->top,
                                         &n_mismatch, text, sizeof text);
    if (status == SUNDOG_OK && n_mismatch > 0)
        note(system,
             "Warning: %" PRId64 " atom name%s in %s not as in %s; the topology's are used:\n%s",
             n_mismatch, n_mismatch > 1 ? "s" : "", options->conf, options->top, text);
    if (status == SUNDOG_OK) {
        system->state = gro.state;
        memset(&gro.state, 0, sizeof gro.state);
    }
    md_gro_destroy(&gro);
    if (status != SUNDOG_OK) return status;

    md_state *state = &system->state;
    status = md_box_check(&state->box);
    if (status != SUNDOG_OK) return base_fail(status, "%s: %s", options->conf, sundog_last_error());
    if (!state->has_velocities && !system->params.gen_vel)
        note(system, "Note: %s has no velocities; the run starts from rest.\n", options->conf);
    state->step = system->params.init_step;
    state->time = system->params.tinit + (double)state->step * system->params.dt;
    if (options->reference && md_topology_count(system->topology, MD_POSRES) == 0)
        note(system, "Note: %s has no position restraints; %s (-r) is not read.\n", options->top,
             options->reference);
    BASE_TRY(md_restraints_read(options, &state->box, system->topology));
    if (md_topology_count(system->topology, MD_POSRES) > 0 &&
        system->params.comm_mode != MD_COMM_NONE && system->params.integrator == MD_INTEGRATOR_MD)
        note(system, "Warning: centre-of-mass motion is removed although there are position "
                     "restraints; comm-mode = none leaves the motion to them.\n");
    return SUNDOG_OK;
}

static sundog_status replicate(const md_run_options *options, md_system *system)
{
    int copies[3], n = 1;
    for (int k = 0; k < 3; k++) {
        copies[k] = options->replicate[k] > 0 ? options->replicate[k] : 1;
        if (copies[k] > INT_MAX / n)
            return base_fail(SUNDOG_ERR_ARGUMENT, "-replicate %d %d %d: too many copies",
                             options->replicate[0], options->replicate[1], options->replicate[2]);
        n *= copies[k];
    }
    if (n == 1) return SUNDOG_OK;
    BASE_TRY(md_memory_check_copies(system, n));
    md_state_make_whole(&system->state, system->topology);
    BASE_TRY(md_state_replicate(&system->state, system->topology, copies));
    return md_topology_replicate(system->topology, copies);
}

/* With -reproducible a function of the system, else from the operating system. */
static int64_t pick_seed(const md_run_options *options, const md_system *system)
{
    if (options->reproducible) return (int64_t)(system->topology_hash >> 33);
    uint32_t random = 0;
    FILE *file = fopen("/dev/urandom", "rb");
    if (!file || fread(&random, sizeof random, 1, file) != 1) random = (uint32_t)getpid();
    if (file) fclose(file);
    return random >> 1;
}

static void choose_seed(const md_run_options *options, md_system *system)
{
    md_params *params = &system->params;
    if (params->ld_seed != -1 || params->tcoupl == MD_TCOUPL_NO) return;
    params->ld_seed = pick_seed(options, system);
    note(system, "Random seed of the coupling: %" PRId64 "\n", params->ld_seed);
}

static void generate_velocities(const md_run_options *options, md_system *system)
{
    md_params *params = &system->params;
    if (!params->gen_vel || system->continued) return;
    if (params->gen_seed == -1) params->gen_seed = pick_seed(options, system);
    md_velocities_generate(system->topology, params->gen_temp, params->gen_seed, &system->state);
    note(system, "Velocities are generated for %g K with gen-seed = %" PRId64 "\n",
         params->gen_temp, params->gen_seed);
}

/* Where a file system has no hard links, a run that is killed while it replaces its checkpoint
 * leaves the one before alone: not to be taken for a run that has not begun. */
static sundog_status check_never_written(const md_run_options *options)
{
    char *previous = md_checkpoint_previous_name(options->cpi);
    sundog_status status = SUNDOG_OK;
    if (access(previous, F_OK) == 0)
        status = base_fail(SUNDOG_ERR_INPUT,
                           "there is no %s, but the checkpoint before it, %s: go on with -cpi %s, "
                           "or start anew without -cpi",
                           options->cpi, previous, previous);
    base_free(previous);
    return status;
}

/* A run goes on where the checkpoint was written. */
static sundog_status read_checkpoint(const md_run_options *options, md_system *system)
{
    for (int i = 0; i < MD_N_OUTPUTS; i++) system->output_offset[i] = -1;
    if (!options->cpi) return SUNDOG_OK;
    if (access(options->cpi, F_OK) != 0) {
        BASE_TRY(check_never_written(options));
        note(system, "Note: there is no checkpoint %s yet; starting from %s.\n", options->cpi,
             options->conf);
        return SUNDOG_OK;
    }
    if (system->params.integrator == MD_INTEGRATOR_STEEP)
        return base_fail(
            SUNDOG_ERR_UNSUPPORTED,
            "-cpi %s: integrator = steep writes and reads no checkpoints. To go on with "
            "a minimisation start from its confout.gro (-c), without -cpi",
            options->cpi);
    md_checkpoint checkpoint;
    BASE_TRY(md_checkpoint_read(options->cpi, &checkpoint));
    sundog_status status = SUNDOG_OK;
    if (checkpoint.state.n_atoms != system->topology->n_atoms)
        status = base_fail(SUNDOG_ERR_INPUT,
                           "%s holds %" PRId64 " atoms, the topology %s has %" PRId64, options->cpi,
                           checkpoint.state.n_atoms, options->top, system->topology->n_atoms);
    else if (checkpoint.topology_hash != system->topology_hash)
        status = base_fail(SUNDOG_ERR_INPUT,
                           "%s was written with another topology than %s; give the same files, or "
                           "start anew without -cpi",
                           options->cpi, options->top);
    else if (checkpoint.params_hash != system->params_hash)
        status = base_fail(SUNDOG_ERR_INPUT,
                           "%s was written with other run parameters than %s (only run length, "
                           "output intervals and list settings may change); give the same file, or "
                           "start anew without -cpi",
                           options->cpi, options->mdp);
    if (status != SUNDOG_OK) {
        md_checkpoint_destroy(&checkpoint);
        return status;
    }
    md_state_destroy(&system->state);
    system->state = checkpoint.state;
    memset(&checkpoint.state, 0, sizeof checkpoint.state);
    memcpy(system->output_offset, checkpoint.output_offset, sizeof system->output_offset);
    memcpy(system->output_tail, checkpoint.output_tail, sizeof system->output_tail);
    system->has_tails = checkpoint.has_tails;
    system->averages = checkpoint.averages;
    system->n_averages = checkpoint.n_averages;
    checkpoint.averages = NULL;
    if (system->params.ld_seed == -1) system->params.ld_seed = checkpoint.seed;
    system->continued = true;
    note(system, "Going on from %s, step %" PRId64 ".\n", options->cpi, system->state.step);
    md_checkpoint_destroy(&checkpoint);
    return SUNDOG_OK;
}

static double total_mass(const md_topology *topology)
{
    double sum = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_moltype *moltype = &topology->moltype[topology->molblock[b].moltype];
        for (int i = 0; i < moltype->n_atoms; i++)
            sum += topology->molblock[b].count * moltype->atom[i].mass;
    }
    return sum;
}

static sundog_status choose_lists(const md_run_options *options, bool may_raise, md_system *system)
{
    md_params *params = &system->params;
    double cutoff = fmax(params->rcoulomb, params->rvdw);
    md_lists lists = {.nstlist = options->nstlist > 0 ? options->nstlist : params->nstlist};
    if (params->integrator == MD_INTEGRATOR_STEEP && params->verlet_buffer_tolerance >= 0) {
        /* Lists are renewed when they must be (steep.c): the buffer is a matter of speed alone. */
        enum { BUFFER_PM = 100 };
        lists.rlist = fmin(cutoff + 1e-3 * BUFFER_PM, md_box_max_range(&system->start_box));
        lists.rlist = fmax(lists.rlist, cutoff);
    } else if (params->verlet_buffer_tolerance < 0) {
        lists.rlist = params->rlist;
    } else {
        if (!(system->temperature > 0)) {
            system->temperature = 300;
            note(system, "Note: no thermostat and no velocities; the pair-list buffer is made for "
                         "300 K.\n");
        }
        BASE_TRY(md_lists_choose(system->topology, &system->start_box, params, system->temperature,
                                 lists.nstlist, may_raise && options->nstlist == 0,
                                 system->n_gpus > 0 ? MD_LISTS_GPU : MD_LISTS_CPU, &lists));
    }
    system->nstlist = lists.nstlist;
    system->nstprune = lists.nstprune;
    system->rlist = lists.rlist;
    system->rprune = lists.rprune;
    if (system->rlist < cutoff)
        return base_fail(SUNDOG_ERR_INPUT,
                         "rlist = %g nm is shorter than the cut-off, %g nm (with "
                         "verlet-buffer-tolerance = -1 rlist is used as given)",
                         system->rlist, cutoff);
    double range = md_box_max_range(&system->start_box);
    if (system->rlist > range)
        return base_fail(
            SUNDOG_ERR_INPUT,
            "the pair list radius %.4g nm (cut-off %.4g nm) is longer than half the "
            "shortest box vector or diagonal (%.4g nm); %s",
            system->rlist, cutoff, range,
            cutoff > range ? "the box is too small for this cut-off"
            : params->verlet_buffer_tolerance < 0
                ? "make rlist smaller"
                : "lower dt or nstlist (the buffer grows with both), or use a larger box");
    return SUNDOG_OK;
}

/* "1 2 1" into n positive numbers. */
static sundog_status parse_sizes(const char *text, int axis, int n, double *sizes)
{
    const char *at = text;
    for (int i = 0; i < n; i++) {
        char *end;
        sizes[i] = strtod(at, &end);
        if (end == at || !(sizes[i] > 0))
            return base_fail(SUNDOG_ERR_ARGUMENT,
                             "-ddcs%c \"%s\": %d positive cell sizes are needed, one a domain",
                             'x' + axis, text, n);
        at = end;
    }
    if (at[strspn(at, " \t")] != '\0')
        return base_fail(SUNDOG_ERR_ARGUMENT, "-ddcs%c \"%s\": more than %d cell sizes", 'x' + axis,
                         text, n);
    return SUNDOG_OK;
}

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Processes of one machine share its cores; one that is bound to some has these. */
static int cores_of_process(const md_run_options *options)
{
    int cores = usable_cores();
    if (!options->processes || options->processes->n_on_machine < 2) return cores;
    int share = (int)sysconf(_SC_NPROCESSORS_ONLN) / options->processes->n_on_machine;
    return share < cores ? share : cores;
}

static sundog_status choose_grid(const md_run_options *options, md_system *system)
{
    int n[3] = {options->dd[0], options->dd[1], options->dd[2]};
    const md_box *box = &system->start_box;
    const int n_processes = system->n_processes = md_processes_count(options->processes);
    if (n[0] == 0) {
        /* Below some hundred atoms a domain spends its time in the exchange. */
        enum { LEAST_ATOMS_A_DOMAIN = 500 };
        int64_t sensible = system->topology->n_atoms / LEAST_ATOMS_A_DOMAIN;
        int wanted = system->n_gpus > 0 ? system->n_gpus : cores_of_process(options);
        if (sensible / n_processes < wanted) wanted = (int)(sensible / n_processes);
        wanted = wanted > 1 ? wanted * n_processes : n_processes;
        if (options->n_domains > 0) wanted = options->n_domains;
        sundog_status status = md_grid_choose(wanted, box, &system->reach, n);
        /* Not asked for by number: fewer will do. */
        while (status != SUNDOG_OK && options->n_domains == 0 && wanted > n_processes) {
            wanted -= n_processes;
            status = md_grid_choose(wanted, box, &system->reach, n);
        }
        if (status != SUNDOG_OK) return status;
    }
    if ((int64_t)n[0] * n[1] * n[2] % n_processes != 0)
        return base_fail(
            SUNDOG_ERR_ARGUMENT,
            "%d x %d x %d domains cannot be shared evenly by %d processes; -nt T makes "
            "T in each",
            n[0], n[1], n[2], n_processes);
    double *sizes[3] = {NULL, NULL, NULL};
    sundog_status status = SUNDOG_OK;
    for (int k = 0; k < 3 && status == SUNDOG_OK; k++) {
        if (!options->dd_sizes[k]) continue;
        sizes[k] = base_alloc((size_t)n[k] * sizeof(double));
        status = parse_sizes(options->dd_sizes[k], k, n[k], sizes[k]);
    }
    const double *const relative[3] = {sizes[0], sizes[1], sizes[2]};
    if (status == SUNDOG_OK) status = md_grid_create(n, relative, &system->grid);
    if (status == SUNDOG_OK) status = md_grid_check(&system->grid, box, &system->reach);
    if (status == SUNDOG_OK) md_grid_pulses(&system->grid, box, &system->reach, system->n_pulses);
    for (int k = 0; k < 3; k++) base_free(sizes[k]);
    return status;
}

/* Rows of GPUs ask for a larger box than those of the CPU. */
static sundog_status choose_device_and_lists(const md_run_options *options, md_system *system)
{
    BASE_TRY(md_device_choose(options, system));
    BASE_TRY(choose_lists(options, true, system));
    if (md_device_allows_lists(system, system->rlist)) return SUNDOG_OK;
    BASE_TRY(choose_lists(options, false, system));
    if (md_device_allows_lists(system, system->rlist)) return SUNDOG_OK;
    BASE_TRY(md_device_refuse_lists(options, system));
    return choose_lists(options, true, system);
}

static int multiple_near(int n, int of)
{
    return of * ((n + of - 1) / of);
}

/* Do all atoms as ghosts pay? Up to some size the bandwidth is cheaper than repartitions. */
static bool wants_all_ghosts(const md_run_options *options, const md_system *system)
{
    enum { MOST_ATOMS = 2000000 };
    if (system->reach.scheme != MD_SCHEME_SHELL) return false;
    if (options->ghosts != MD_GHOSTS_AUTO) return options->ghosts == MD_GHOSTS_ALL;
    return system->topology->n_atoms <= MOST_ATOMS;
}

/* How long domains stay as they are, and how far their ghosts reach.
 *
 *      CPU                      as long as a list
 *      one domain on a GPU      for good; it renews the blocks of its lists by itself
 *      several, all ghosts      ghosts stay right, but owners drift apart
 *      several, near ghosts     as long as the box has room for ghosts that move
 */
static sundog_status choose_partition(bool alone, bool all_ghosts, md_system *system)
{
    enum { RENEW = 200, ALL_GHOSTS = 10000, NEAR_GHOSTS = 100 };
    const md_params *params = &system->params;
    system->nstpartition = system->nstlist;
    system->nstrenew = 0;
    system->reach.rlist = system->rlist;
    system->reach.wrapped = system->n_gpus > 0;
    system->reach.complete = false;
    if (system->n_gpus == 0) return SUNDOG_OK;
    if (alone || all_ghosts) {
        int renew = multiple_near(RENEW, system->nstlist);
        system->nstpartition = alone ? renew : multiple_near(ALL_GHOSTS, renew);
        system->nstrenew = system->reach.scheme == MD_SCHEME_SHELL ? renew : 0;
        system->reach.complete = !alone;
        return SUNDOG_OK;
    }
    if (params->verlet_buffer_tolerance < 0) return SUNDOG_OK;
    for (int n = NEAR_GHOSTS / system->nstlist; n > 1; n /= 2) {
        double radius;
        BASE_TRY(md_lists_ghost_radius(system->topology, &system->start_box, params,
                                       system->temperature, n * system->nstlist, &radius));
        if (!md_device_allows_lists(system, radius)) continue;
        system->nstpartition = n * system->nstlist;
        system->reach.rlist = fmax(radius, system->rlist);
        break;
    }
    return SUNDOG_OK;
}

static bool allows_all_ghosts(const md_system *system)
{
    const int *n = system->grid.n;
    for (int k = 0; k < 3; k++)
        if (n[k] > MD_MAX_PULSES_PER_AXIS + 1) return false;
    return true;
}

static sundog_status choose_partition_and_grid(const md_run_options *options, md_system *system)
{
    const int *n = system->grid.n;
    bool all_ghosts = wants_all_ghosts(options, system);
    bool alone = options->n_domains == 1 || (options->n_domains == 0 && system->n_gpus == 1 &&
                                             options->dd[0] * options->dd[1] * options->dd[2] <= 1);
    BASE_TRY(choose_partition(alone, all_ghosts, system));
    sundog_status status = choose_grid(options, system);
    /* Too small for more than one: known only now, and its grid asks for no reach. */
    if (status == SUNDOG_OK && !alone && n[0] * n[1] * n[2] == 1)
        return choose_partition(true, all_ghosts, system);
    if (status == SUNDOG_OK && (!system->reach.complete || allows_all_ghosts(system)))
        return status;
    if (!system->reach.complete) return status;
    md_grid_destroy(&system->grid);
    BASE_TRY(choose_partition(false, false, system));
    return choose_grid(options, system);
}

/* Longer lists need more room: where no grid works with them, those asked for are kept. */
static sundog_status choose_lists_and_grid(const md_run_options *options, md_system *system)
{
    double group_radius = md_topology_group_radius(system->topology);
    BASE_TRY(choose_device_and_lists(options, system));
    system->reach = (md_reach){.scheme = md_device_scheme(options, system),
                               .rlist = system->rlist,
                               .group_radius = group_radius};
    sundog_status status = choose_partition_and_grid(options, system);
    if (status != SUNDOG_OK && system->nstlist != system->params.nstlist && options->nstlist == 0) {
        md_grid_destroy(&system->grid);
        BASE_TRY(choose_lists(options, false, system));
        status = choose_partition_and_grid(options, system);
    }
    BASE_TRY(status);
    if (options->nstlist == 0 && system->nstlist > system->params.nstlist)
        note(system,
             "Note: nstlist raised from %d to %d, pair-list radius %.3f nm; -nstlist %d "
             "keeps it.\n",
             system->params.nstlist, system->nstlist, system->rlist, system->params.nstlist);
    return SUNDOG_OK;
}

static sundog_status choose_route(const md_run_options *options, md_system *system)
{
    system->rung = options->rung;
    if (!options->route) {
        bool one_hop = !options->rung || strcmp(options->rung, "direct") == 0;
        system->route = one_hop ? SUNDOG_ROUTE_DIRECT : SUNDOG_ROUTE_STAGED;
        return SUNDOG_OK;
    }
    if (strcmp(options->route, "staged") == 0)
        system->route = SUNDOG_ROUTE_STAGED;
    else if (strcmp(options->route, "direct") == 0)
        system->route = SUNDOG_ROUTE_DIRECT;
    else
        return base_fail(SUNDOG_ERR_ARGUMENT, "-route %s: known routes are staged and direct",
                         options->route);
    return SUNDOG_OK;
}

static sundog_status setup(const md_run_options *options, md_system *system)
{
    BASE_TRY(read_inputs(options, system));
    BASE_TRY(replicate(options, system));
    md_params *params = &system->params;
    if (options->nsteps_given) params->nsteps = options->nsteps;
    system->topology_hash = md_topology_hash(system->topology);
    system->params_hash = md_params_hash(params);
    system->start_box = system->state.box;
    system->mass = total_mass(system->topology);
    BASE_TRY(md_groups_create(system->topology, params, options->mdp, options->index, system->notes,
                              sizeof system->notes, &system->groups));
    md_groups_count_freedom(&system->groups, system->topology, params->comm_mode);
    system->n_dof = md_groups_total_freedom(&system->groups);
    system->params_hash =
        md_groups_hash(system->params_hash, &system->groups, system->topology->n_atoms);
    /* Before a checkpoint takes the place of the start structure: a run that goes on must have the
     * lists of the one that it continues. */
    system->temperature = md_groups_temperature(&system->groups);
    if (!(system->temperature > 0))
        system->temperature =
            params->gen_vel
                ? params->gen_temp
                : md_velocities_temperature(system->topology, &system->state, system->n_dof);
    BASE_TRY(read_checkpoint(options, system));
    choose_seed(options, system);
    generate_velocities(options, system);

    bool endless = params->nsteps < 0 || params->nsteps > INT64_MAX - params->init_step;
    system->last_step = endless ? INT64_MAX : params->init_step + params->nsteps;
    if (system->continued && system->state.step >= system->last_step)
        note(system,
             "Note: the checkpoint is at step %" PRId64 ", the run ends at step %" PRId64
             ": nothing is left to do but the last step.\n",
             system->state.step, system->last_step);
    if (system->last_step < system->state.step) system->last_step = system->state.step;
    double charge = md_topology_total_charge(system->topology);
    if (fabs(charge - rint(charge)) > 0.01)
        note(system, "Warning: the total charge of %s is %.4f e, not a whole number.\n",
             options->top, charge);
    else if (fabs(charge) > 0.5)
        note(system, "Note: the system has a total charge of %.0f e.\n", charge);
    system->has_constraints = md_topology_count(system->topology, MD_CONSTRAINT) > 0 ||
                              md_topology_count(system->topology, MD_SETTLE) > 0;
    system->dispersion = md_dispersion_make(system->topology, params);
    BASE_TRY(choose_lists_and_grid(options, system));
    BASE_TRY(md_memory_check(options, system));
    BASE_TRY(choose_route(options, system));
    BASE_TRY(md_device_finish(options, system));
    return md_memory_check_gpus(system);
}

sundog_status md_setup(const md_run_options *options, md_system *system)
{
    memset(system, 0, sizeof *system);
    sundog_status status = setup(options, system);
    if (status != SUNDOG_OK) md_setup_destroy(system);
    return status;
}

void md_setup_destroy(md_system *system)
{
    md_state_destroy(&system->state);
    md_topology_destroy(&system->topology);
    md_grid_destroy(&system->grid);
    md_groups_destroy(&system->groups);
    base_free(system->averages);
}
