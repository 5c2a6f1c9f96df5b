/* sundog run: flags to options, then run. */
#include "commands.h"
#include "launch.h"
#include "processes.h"
#include "run_args.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

static _Atomic int64_t first_signal_ns;
static volatile sig_atomic_t is_silent; /* another process says it */

/* timeout(1) and batch systems signal a process and then its group, which is one request: what
 * comes within a fifth of a second is the same signal. All calls here are async-signal-safe. */
static void on_signal(int number)
{
    static const char text[] = "\nStopping: this list interval is finished, then a checkpoint is "
                               "written. Another signal ends at once.\n";
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int64_t first = 0; /* any thread may be here, two at a time */
    bool again = !atomic_compare_exchange_strong(&first_signal_ns, &first, now_ns);
    if (again && now_ns - first < 200000000) return;
    if (again || !md_run_request_stop()) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (!is_silent && write(STDERR_FILENO, text, sizeof text - 1) < 0) { /* nobody reads it */
    }
}

/* The first SIGINT, SIGTERM or SIGHUP ends the run cleanly, or at once while input is read; the
 * next, whichever it is, at once. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        struct sigaction before;
        sigaction(caught[i], &action, &before);
        /* nohup stays nohup */
        if (caught[i] == SIGHUP && before.sa_handler == SIG_IGN) sigaction(SIGHUP, &before, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* file size limit: the write reports it */
    signal(SIGPIPE, SIG_IGN);
}

static char *join(int argc, char **argv)
{
    size_t n = 1;
    for (int i = 0; i < argc; i++) n += strlen(argv[i]) + 1;
    char *line = calloc(n + 8, 1);
    if (!line) abort();
    strcpy(line, "sundog");
    for (int i = 0; i < argc; i++) {
        strcat(line, " ");
        strcat(line, argv[i]);
    }
    return line;
}

static void print_usage(const arg *table)
{
    printf("usage: sundog run -f FILE.mdp -c FILE.gro -p FILE.top [options]\n\n"
           "Simulates the system and writes, into the output folder: energy.csv, ener.edr,\n"
           "traj_comp.xtc, traj.trr (as the mdp asks), confout.gro, state.cpt, md.log.\n\n"
           "SIGINT, SIGTERM and SIGHUP finish the list interval, write a checkpoint and end; a\n"
           "second signal ends at once. -cpi state.cpt goes on. The environment variable\n"
           "SUNDOG_PEER_TIMEOUT limits how many seconds a domain waits for another (600).\n\n"
           "mpirun -n N sundog run ... runs in N processes, -nt of each.\n\n");
    args_print(stdout, table);
}

/* 0, or the exit code; help is the code -1. */
static int read_args(int argc, char **argv, run_args *args)
{
    arg table[RUN_ARGS_MAX];
    run_args_default(args);
    run_args_table(args, true, table);
    int muted = launch_mute();
    int code = args_parse("sundog run", argc, argv, table, NULL, 0, NULL);
    if (code == 0) code = run_args_finish("sundog run", args);
    launch_unmute(muted);
    if (code == -1 && muted < 0) print_usage(table);
    if (code > 0) launch_wait_for_first();
    return code;
}

/* -nt is each process's; a grid that is given must agree. */
static sundog_status count_domains(run_args *args)
{
    md_run_options *o = &args->options;
    int64_t n = (int64_t)args->n_threads * md_processes_count(o->processes);
    if (!args->nt_given) return SUNDOG_OK;
    if (!args->dd_given) {
        o->n_domains = n < INT_MAX ? (int)n : INT_MAX;
        return SUNDOG_OK;
    }
    if ((int64_t)o->dd[0] * o->dd[1] * o->dd[2] == n) return SUNDOG_OK;
    snprintf(args->text, sizeof args->text,
             "-dd %d %d %d is not the %" PRId64 " domains of %d process%s with -nt %d", o->dd[0],
             o->dd[1], o->dd[2], n, md_processes_count(o->processes), o->processes ? "es" : "",
             args->n_threads);
    return SUNDOG_ERR_ARGUMENT;
}

static void print_result(const run_args *args, const md_run_result *result)
{
    if (result->interrupted)
        fprintf(stderr, "Stopped after %" PRId64 " steps; go on with -cpi %s/state.cpt\n",
                result->n_steps, args->options.out_dir);
    printf("%" PRId64 " atoms, %d x %d x %d domains, %" PRId64 " steps: %.4f ms/step",
           result->n_atoms, result->grid[0], result->grid[1], result->grid[2], result->n_steps,
           result->ms_per_step);
    if (result->minimisation[0] == '\0')
        printf(", %.2f ns/day\n", result->ns_per_day);
    else
        printf("\n%s", result->minimisation);
}

int command_run(int argc, char **argv)
{
    run_args args;
    md_processes *processes;
    int code = read_args(argc, argv, &args);
    if (code != 0) return code == -1 ? 0 : code;
    code = processes_begin(args.mpi, &processes);
    if (code != 0) return code;
    args.options.processes = processes;
    is_silent = !md_processes_is_first(processes);

    const char *timeout = getenv("SUNDOG_PEER_TIMEOUT");
    if (timeout) args.options.peer_timeout_s = strtod(timeout, NULL);
    char *line = join(argc, argv);
    args.options.command_line = line;
    args.options.notes = true;
    catch_signals();
    md_run_result result;
    sundog_status status = count_domains(&args);
    const char *error = status == SUNDOG_OK ? "" : args.text;
    if (status == SUNDOG_OK) {
        status = md_run(&args.options, &result);
        error = sundog_last_error();
    }
    free(line);
    code = status == SUNDOG_OK ? 0 : status == SUNDOG_ERR_ARGUMENT ? 2 : 1;
    if (code != 0 && (!is_silent || processes->split))
        fprintf(stderr, "sundog run: error: %s\n", error);
    else if (code == 0 && !is_silent)
        print_result(&args, &result);
    processes_end(&processes, code);
    return code;
}
