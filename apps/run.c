/* sundog run: flags to options, then run. */
#include "commands.h"
#include "run_args.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

static _Atomic int64_t first_signal_ns;

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
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) { /* nobody reads it */
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

int command_run(int argc, char **argv)
{
    run_args args;
    arg table[RUN_ARGS_MAX];
    run_args_default(&args);
    run_args_table(&args, true, table);
    int code = args_parse("sundog run", argc, argv, table, NULL, 0, NULL);
    if (code == -1) {
        printf(
            "usage: sundog run -f FILE.mdp -c FILE.gro -p FILE.top [options]\n\n"
            "Simulates the system and writes, into the output folder: energy.csv, ener.edr,\n"
            "traj_comp.xtc, traj.trr (as the mdp asks), confout.gro, state.cpt, md.log.\n\n"
            "SIGINT, SIGTERM and SIGHUP finish the list interval, write a checkpoint and end; a\n"
            "second signal ends at once. -cpi state.cpt goes on. The environment variable\n"
            "SUNDOG_PEER_TIMEOUT limits how many seconds a domain waits for another (600).\n\n");
        args_print(stdout, table);
        return 0;
    }
    if (code == 0) code = run_args_finish("sundog run", &args);
    if (code != 0) return code;

    const char *timeout = getenv("SUNDOG_PEER_TIMEOUT");
    if (timeout) args.options.peer_timeout_s = strtod(timeout, NULL);
    char *line = join(argc, argv);
    args.options.command_line = line;
    args.options.notes = true;
    catch_signals();
    md_run_result result;
    sundog_status status = md_run(&args.options, &result);
    free(line);
    if (status != SUNDOG_OK) {
        fprintf(stderr, "sundog run: error: %s\n", sundog_last_error());
        return status == SUNDOG_ERR_ARGUMENT ? 2 : 1;
    }
    if (result.interrupted)
        fprintf(stderr, "Stopped after %" PRId64 " steps; go on with -cpi %s/state.cpt\n",
                result.n_steps, args.options.out_dir);
    printf("%" PRId64 " atoms, %d x %d x %d domains, %" PRId64 " steps: %.4f ms/step",
           result.n_atoms, result.grid[0], result.grid[1], result.grid[2], result.n_steps,
           result.ms_per_step);
    if (result.minimisation[0] == '\0')
        printf(", %.2f ns/day\n", result.ns_per_day);
    else
        printf("\n%s", result.minimisation);
    return 0;
}
