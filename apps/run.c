/* sundog run: flags to options, then run. */
#include "commands.h"
#include "run_args.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void on_signal(int number)
{
    (void)number;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    md_run_request_stop();
}

/* The first SIGINT or SIGTERM ends the run cleanly; the next, be it the other one, at once. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
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
            "Simulates the system and writes, into the output folder: energy.csv, traj_comp.xtc,\n"
            "traj.trr (as the mdp asks), confout.gro, state.cpt, md.log. SIGINT and SIGTERM "
            "finish\n"
            "the list interval, write a checkpoint and end; -cpi state.cpt goes on.\n\n");
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
        return 1;
    }
    if (result.interrupted)
        fprintf(stderr, "Stopped after %" PRId64 " steps; go on with -cpi %s/state.cpt\n",
                result.n_steps, args.options.out_dir);
    printf("%" PRId64 " atoms, %d x %d x %d domains, %" PRId64
           " steps: %.4f ms/step, %.2f ns/day\n",
           result.n_atoms, result.grid[0], result.grid[1], result.grid[2], result.n_steps,
           result.ms_per_step, result.ns_per_day);
    return 0;
}
