/* Threads, one domain each, of this process and maybe of others (processes.h). The first fault ends
 * all: the failing rank aborts the team, the others return "aborted", and the text that the user
 * sees is the first one's. */
#include "md/run/run.h"

#include "base/alloc.h"
#include "md/force/bonded.h"
#include "md/force/nonbonded.h"
#include "md/force/posres.h"
#include "md/run/device_choice.h"
#include "md/run/faults.h"
#include "md/run/outputs.h"
#include "md/run/processes.h"
#include "md/run/report.h"
#include "md/run/steep.h"
#include "md/run/trace.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stop_requested;
static _Atomic int n_in_steps; /* runs that have files of theirs open */

bool md_run_request_stop(void)
{
    if (n_in_steps == 0) return false;
    stop_requested = 1;
    return true;
}

bool md_stop_requested(void)
{
    return stop_requested != 0;
}

typedef struct domain_thread {
    pthread_t thread;
    sundog_team *team;
    const md_shared *shared;
    sundog_status status;
    char error[4096];
} domain_thread;

static void *domain_main(void *arg)
{
    domain_thread *self = arg;
    bool minimise = self->shared->system->params.integrator == MD_INTEGRATOR_STEEP;
    self->status = (minimise ? md_steep : md_steps)(self->team, self->shared);
    if (self->status != SUNDOG_OK)
        snprintf(self->error, sizeof self->error, "%s", sundog_last_error());
    return NULL;
}

static sundog_status make_team(const md_run_options *options, int n_here, sundog_team **team)
{
    const md_processes *processes = options->processes;
    return processes ? processes->make_team(processes->arg, n_here, team)
                     : sundog_team_create_threads(n_here, team);
}

static int start_domains(const md_shared *shared, domain_thread *domain, int n,
                         sundog_status *status)
{
    double timeout = shared->options->peer_timeout_s;
    for (int r = 0; r < n; r++) {
        domain_thread *self = &domain[r];
        self->shared = shared;
        sundog_team_set_timeout(self->team, timeout > 0 ? timeout : MD_PEER_TIMEOUT_S);
        int error = pthread_create(&self->thread, NULL, domain_main, self);
        if (error == 0) continue;
        *status = base_fail(SUNDOG_ERR_MEMORY, "cannot start thread %d of %d: %s", r + 1, n,
                            strerror(error));
        sundog_team_abort(self->team, sundog_last_error());
        md_faults_leave(shared->faults, n - r);
        return r;
    }
    return n;
}

/* The cause, not its echoes: a rank that failed by itself before one that was told to stop. */
static sundog_status find_cause(const domain_thread *domain, int n, int *rank)
{
    int first = -1;
    for (int r = 0; r < n; r++) {
        if (domain[r].status == SUNDOG_OK) continue;
        if (first < 0 ||
            (domain[first].status == SUNDOG_ERR_ABORTED && domain[r].status != SUNDOG_ERR_ABORTED))
            first = r;
    }
    if (first < 0) return SUNDOG_OK;
    *rank = sundog_team_rank(domain[first].team);
    return base_fail(domain[first].status, "%s", domain[first].error);
}

/* After a failure: does everybody else know, and what have they left? A process that died does not
 * answer. */
static sundog_status meet_after(const md_shared *shared, sundog_status status, int *rank)
{
    md_processes *processes = shared->options->processes;
    if (!processes) return status;
    if (status != SUNDOG_OK) md_processes_hurry(shared->options);
    status = md_processes_agree(processes, status, rank);
    if (status != SUNDOG_ERR_PHYSICS) return status;
    return md_faults_gather(shared->faults, processes, status);
}

static sundog_status run_domains(const md_shared *shared, int n)
{
    domain_thread *domain = base_alloc_zero((size_t)n * sizeof *domain);
    sundog_team **team = base_alloc_zero((size_t)n * sizeof(sundog_team *));
    sundog_status status = make_team(shared->options, n, team);
    int n_started = 0, cause = 0;
    for (int r = 0; r < n; r++) domain[r].team = team[r];
    if (status == SUNDOG_OK) n_started = start_domains(shared, domain, n, &status);
    for (int r = 0; r < n_started; r++) pthread_join(domain[r].thread, NULL);
    if (status == SUNDOG_OK) status = find_cause(domain, n_started, &cause);
    for (int r = 0; r < n; r++) sundog_team_destroy(&team[r]);
    status = meet_after(shared, status, &cause);
    if (status != SUNDOG_OK && md_processes_is_first(shared->options->processes))
        status = md_faults_write(shared->faults, shared->outputs, shared->system, cause, status);
    base_free(domain);
    base_free(team);
    return status;
}

static void describe(const md_system *system, const md_nonbonded *nonbonded, md_run_result *result)
{
    result->n_atoms = system->topology->n_atoms;
    memcpy(result->grid, system->grid.n, sizeof result->grid);
    result->n_domains = result->grid[0] * result->grid[1] * result->grid[2];
    result->n_processes = system->n_processes;
    result->rlist = system->rlist;
    result->nstlist = system->nstlist;
    result->nstpartition = system->nstpartition;
    result->scheme = system->reach.scheme;
    result->n_gpus = system->n_gpus;
    md_device_names(system, result->gpus, sizeof result->gpus, result->driver,
                    sizeof result->driver);
    bool shell = system->reach.scheme == MD_SCHEME_SHELL;
    snprintf(result->kernel, sizeof result->kernel, "%s",
             system->n_gpus == 0 ? md_nonbonded_kernel(nonbonded)
             : shell             ? "units (GPU)"
                                 : "rows (GPU)");
}

/* The domains of this process, from the first step to the last. */
static sundog_status run_steps(md_shared *shared)
{
    const md_system *system = shared->system;
    md_run_result *result = shared->result;
    FILE *log = md_outputs_log(shared->outputs);
    int n_here = result->n_domains / system->n_processes;
    md_report_header(log, shared->options, system);
    shared->faults = md_faults_create(result->n_domains, n_here);
    sundog_status status = run_domains(shared, n_here);
    result->n_constraint_warnings = md_faults_n_warnings(shared->faults);
    md_faults_destroy(&shared->faults);
    if (status == SUNDOG_OK && shared->options->processes)
        status = sundog_team_sum_int64(shared->options->processes->team,
                                       &result->n_constraint_warnings, 1);
    if (status == SUNDOG_OK) {
        md_outputs_averages(shared->outputs, system);
        md_report_performance(log, system, result);
    } else if (log)
        fprintf(log, "\nError: %s\n", sundog_last_error());
    return status;
}

static sundog_status run_system(const md_run_options *options, const md_system *system,
                                md_state *start, md_run_result *result)
{
    md_nonbonded *nonbonded = NULL;
    md_bonded *bonded = NULL;
    md_posres *posres = NULL;
    md_outputs *outputs = NULL;
    int j_cluster = 4;
    sundog_status status = md_nonbonded_create(system->topology, &system->params, options->kernel,
                                               &nonbonded, &j_cluster);
    if (status == SUNDOG_OK) status = md_bonded_create(system->topology, &system->params, &bonded);
    if (status == SUNDOG_OK)
        md_posres_create(system->topology, system->params.refcoord_scaling, &posres);
    n_in_steps++;
    if (status == SUNDOG_OK) status = md_trace_check(options, system);
    if (status == SUNDOG_OK) status = md_outputs_open(options, system, &outputs);
    status = md_processes_agree(options->processes, status, NULL);
    if (status == SUNDOG_OK) {
        describe(system, nonbonded, result);
        md_shared shared = {.options = options,
                            .system = system,
                            .nonbonded = nonbonded,
                            .bonded = bonded,
                            .posres = posres,
                            .j_cluster = j_cluster,
                            .start = start,
                            .outputs = outputs,
                            .result = result};
        status = run_steps(&shared);
    }
    char error[4096];
    snprintf(error, sizeof error, "%s", sundog_last_error());
    sundog_status closed = md_outputs_close(&outputs);
    n_in_steps--;
    if (status == SUNDOG_OK)
        status = closed;
    else
        base_fail(status, "%s", error);
    md_nonbonded_destroy(&nonbonded);
    md_bonded_destroy(&bonded);
    md_posres_destroy(&posres);
    return status;
}

sundog_status md_run(const md_run_options *options, md_run_result *result)
{
    memset(result, 0, sizeof *result);
    md_system system;
    BASE_TRY(md_processes_setup(options, &system));
    if (options->notes && md_processes_is_first(options->processes)) fputs(system.notes, stderr);
    /* Whoever has the whole system hands it on to rank 0: it is there once. */
    md_state start = system.state;
    system.state.x = system.state.v = NULL;
    sundog_status status = run_system(options, &system, &start, result);
    md_state_destroy(&start);
    md_setup_destroy(&system);
    return status;
}
