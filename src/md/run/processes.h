/* A run in several processes. The first reads the input, has the whole system and writes all files;
 * every process holds some domains, a thread each, ranks numbered process by process.
 *
 *      first process                              | others
 *      md_setup: reads, checks, chooses           |
 *      agree: did it go well?                     | the same, and the same words if not
 *      topology, parameters, choices (parcel)  -> | md_system without x and v
 *      x, v of each domain's atoms, in rounds  -> | md_domain_distribute
 *      steps                                      | steps
 *      frames, checkpoints: rows, in rounds    <- | md_domain_collect
 *      agree: did it go well?                     | the same
 *      what is left of a failed run            <- | md_faults_gather
 *
 * How they meet is not this room's business: whoever starts the program hands over a team with a
 * rank a process, and a way to make the team of all domains (apps/processes_mpi.c). Nothing here
 * knows MPI, and tests run several "processes" as threads.
 */
#ifndef MD_PROCESSES_H
#define MD_PROCESSES_H
#include "md/run/run.h"
#include "sundog/sundog.h"

typedef struct md_processes {
    int rank, n;       /* this process; how many */
    int n_on_machine;  /* of them, on the machine with most */
    bool split;        /* set here: some do not answer, so that each speaks for itself */
    sundog_team *team; /* a rank a process */
    /* n_here handles of a team of all domains, numbered process by process. Collective. */
    sundog_status (*make_team)(void *arg, int n_here, sundog_team **teams);
    void *arg;
} md_processes;

enum { MD_PEER_TIMEOUT_S = 600 }; /* by default */

static inline bool md_processes_is_first(const md_processes *processes)
{
    return !processes || processes->rank == 0;
}
static inline int md_processes_count(const md_processes *processes)
{
    return processes ? processes->n : 1;
}

/* All return the first failure that is not the echo of another, with its text; *who (may be NULL)
 * becomes the number that the process which failed has brought. Collective. */
sundog_status md_processes_agree(md_processes *processes, sundog_status mine, int *who);

/* Do not wait long for the others from now on: something has failed, some may have died. */
void md_processes_hurry(const md_run_options *options);

/* md_setup, by the first process for all. Others get no x and v, and groups without what output
 * alone needs. Collective. */
struct md_system;
sundog_status md_processes_setup(const md_run_options *options, struct md_system *system);
#endif
