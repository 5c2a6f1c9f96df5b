/* From a launch to the processes of a run (md/run/processes.h). */
#ifndef PROCESSES_H
#define PROCESSES_H
#include "launch.h"
#include "md/run/processes.h"

/* how: "auto" (NULL): MPI when a launcher has started several, "yes", "no". *out: NULL where this
 * process runs alone. Returns the exit code, after a line from the first process when it is not 0.
 */
int processes_begin(const char *how, md_processes **out);
/* The MPI that this program was built with; NULL: none. Without starting it. */
const char *processes_built_with(void);
/* When `code` is not 0 because a run failed, ends all processes with it and does not return. */
void processes_end(md_processes **processes, int code);
#endif
