/* A program that was built without MPI: copies of it cannot work together. */
#include "processes.h"

#include <stdio.h>
#include <string.h>

int processes_begin(const char *how, md_processes **out)
{
    launch by = launch_find();
    *out = NULL;
    if (how && strcmp(how, "no") == 0) return 0;
    bool asked = how && strcmp(how, "yes") == 0;
    if (by.n == 1 && !asked) return 0;
    if (by.rank == 0 && asked)
        fprintf(stderr, "sundog run: error: -mpi yes: this program was built without MPI\n");
    else if (by.rank == 0)
        fprintf(stderr,
                "sundog run: error: %s has started several processes, but this program was "
                "built without MPI: start it without, or build it where MPI is installed; "
                "-mpi no runs unconnected copies\n",
                by.by);
    launch_wait_for_first();
    return 1;
}

const char *processes_built_with(void)
{
    return NULL;
}

void processes_end(md_processes **processes, int code)
{
    (void)processes;
    (void)code;
}
