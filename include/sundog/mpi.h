/* Teams of many processes, over MPI (3.1 or newer). Only in a library that was built with it; the
 * MPI of the program must be the same.
 */
#ifndef SUNDOG_MPI_H
#define SUNDOG_MPI_H

#include "sundog/sundog.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* n_here handles of one team for n_here threads of this process: hand teams[t] to one thread each.
 * Ranks are numbered process by process, in the order of comm; processes may bring different
 * numbers. With more than one here MPI must run at MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE.
 *
 * Collective over comm, called by one thread of each process. comm is copied and may be freed.
 * Every handle is destroyed by whoever holds it, all of them before MPI_Finalize(). At
 * MPI_THREAD_SERIALIZED the program itself calls MPI only while no thread is in a call of this
 * library. Exchanges between ranks of one process go through memory, others through messages;
 * rows in device memory need all ranks in one process.
 *
 * When the team is dead (sundog_team_abort(), a time limit) every rank's calls fail, in all
 * processes, with the same text. Messages that were under way stay so: call MPI_Abort() then, or
 * end the process, and do not call MPI_Finalize(), which might wait for them for ever. A process
 * that is killed is noticed by the launcher, or else by the time limit (sundog_team_set_timeout()).
 */
sundog_status sundog_team_create_mpi(MPI_Comm comm, int n_here, sundog_team **teams);

#ifdef __cplusplus
}
#endif
#endif
