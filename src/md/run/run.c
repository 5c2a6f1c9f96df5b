/* Threads, one domain each. The first fault ends all: the failing rank aborts the team, the others
 * return "aborted", and the text that the user sees is the first one's. */
#include "md/run/run.h"

#include "base/alloc.h"
#include "md/force/bonded.h"
#include "md/force/nonbonded.h"
#include "md/force/posres.h"
#include "md/run/device_choice.h"
#include "md/run/faults.h"
#include "md/run/outputs.h"
#include "md/run/report.h"
#include "md/run/steep.h"

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

static sundog_status run_domains(const md_shared *shared, int n)
{
    domain_thread *domain = base_alloc_zero((size_t)n * sizeof *domain);
    sundog_team **team = base_alloc_zero((size_t)n * sizeof(sundog_team *));
    sundog_status status = sundog_team_create_threads(n, team);
    int n_started = 0;
    for (; status == SUNDOG_OK && n_started < n; n_started++) {
        domain_thread *self = &domain[n_started];
        self->team = team[n_started];
        self->shared = shared;
        double timeout = shared->options->peer_timeout_s;
        sundog_team_set_timeout(self->team, timeout > 0 ? timeout : 600);
        int error = pthread_create(&self->thread, NULL, domain_main, self);
        if (error == 0) continue;
        status = base_fail(SUNDOG_ERR_MEMORY, "cannot start thread %d of %d: %s", n_started + 1, n,
                           strerror(error));
        sundog_team_abort(self->team, sundog_last_error());
        md_faults_leave(shared->faults, n - n_started);
        break;
    }
    for (int r = 0; r < n_started; r++) pthread_join(domain[r].thread, NULL);
    for (int r = 0; r < n; r++) sundog_team_destroy(&team[r]);
    /* The cause, not its echoes: a rank that failed by itself before one that was told to stop. */
    int first = -1;
    for (int r = 0; r < n_started; r++) {
        if (domain[r].status == SUNDOG_OK) continue;
        if (first < 0 ||
            (domain[first].status == SUNDOG_ERR_ABORTED && domain[r].status != SUNDOG_ERR_ABORTED))
            first = r;
    }
    if (status == SUNDOG_OK && first >= 0) {
        status = base_fail(domain[first].status, "%s", domain[first].error);
        status = md_faults_write(shared->faults, shared->outputs, shared->system, first, status);
    }
    base_free(domain);
    base_free(team);
    return status;
}

static sundog_status run_system(const md_run_options *options, const md_system *system,
                                md_run_result *result)
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
    if (status == SUNDOG_OK) status = md_outputs_open(options, system, &outputs);
    if (status == SUNDOG_OK) {
        result->n_atoms = system->topology->n_atoms;
        memcpy(result->grid, system->grid.n, sizeof result->grid);
        result->n_domains = result->grid[0] * result->grid[1] * result->grid[2];
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
        md_report_header(md_outputs_log(outputs), options, system);
        md_shared shared = {.options = options,
                            .system = system,
                            .nonbonded = nonbonded,
                            .bonded = bonded,
                            .posres = posres,
                            .j_cluster = j_cluster,
                            .faults = md_faults_create(result->n_domains, result->n_domains),
                            .outputs = outputs,
                            .result = result};
        status = run_domains(&shared, result->n_domains);
        result->n_constraint_warnings = md_faults_n_warnings(shared.faults);
        md_faults_destroy(&shared.faults);
        if (status == SUNDOG_OK) {
            md_outputs_averages(outputs, system);
            md_report_performance(md_outputs_log(outputs), system, result);
        } else if (md_outputs_log(outputs))
            fprintf(md_outputs_log(outputs), "\nError: %s\n", sundog_last_error());
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
    BASE_TRY(md_setup(options, &system));
    if (options->notes) fputs(system.notes, stderr);
    sundog_status status = run_system(options, &system, result);
    md_setup_destroy(&system);
    return status;
}
