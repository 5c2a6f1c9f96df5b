/* The options that `run`, `info` and `bench md` share. */
#ifndef RUN_ARGS_H
#define RUN_ARGS_H
#include "args.h"
#include "md/run/run.h"

typedef struct run_args {
    md_run_options options;
    const char *scheme, *ghosts, *device, *gpus, *mpi;
    char text[256]; /* of an error */
    int n_threads;  /* of each process; 0: not given */
    const char *include_dir[ARG_LIST_MAX];
    bool dd_given, nd_given, nt_given, nsteps_given, nstlist_given, replicate_given, maxh_given;
    bool trace_from_given, trace_steps_given;
} run_args;

void run_args_default(run_args *args);
/* The table of one command: inputs and decomposition, and with `running` also what only a run has.
 * table must hold RUN_ARGS_MAX entries. */
enum { RUN_ARGS_MAX = 40 };
void run_args_table(run_args *args, bool running, arg *table);
/* Check combinations and values after parsing; one line on stderr and 2 when they make no sense. */
int run_args_finish(const char *program, run_args *args);
#endif
