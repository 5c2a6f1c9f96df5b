/* The wire over MPI from inside. MPI is named in this folder alone.
 *
 * Every call that could wait is a nonblocking one that is asked again and again, so that a wait
 * ends by the time limit or by a death elsewhere: MPI itself would wait for ever.
 *
 * Threads. Only one thread of a process is in a collective part; channels are used by all. Where
 * MPI gives MPI_THREAD_MULTIPLE they call it as they come, with MPI_THREAD_SERIALIZED one after the
 * other behind a lock, and with less a process has one rank.
 *
 * Three communicators, so that nothing is mistaken for something else: `all` for collectives,
 * `word` for notes, and one for each line. Notes tell of a death, or that a process waits:
 *
 *   a process that has waited for half the limit  | one that waits in the same collective
 *   note: I wait in collective n                  | hears it, answers with the same note
 *   ... the limit: those that have not told are not there, and the text of the time-out names them
 */
#ifndef TEAM_MPI_WIRE_MPI_H
#define TEAM_MPI_WIRE_MPI_H
#include "sundog/mpi.h"
#include "team/wire.h"

#include <pthread.h>
#include <string.h>

typedef struct death_note {
    int cause;
    char reason[1024];
} death_note;

typedef struct grown {
    char *bytes;
    size_t capacity;
} grown;

typedef struct mpi_wire {
    MPI_Comm all, word;
    int process, n_processes, largest_tag;
    int *first_rank;                /* [n_processes + 1] */
    int *process_of;                /* [n_ranks] */
    bool locks;
    _Atomic int64_t listened_ns;
    death_note note;                /* told by this process */
    uint64_t waits_in;              /* collective that this process has told that it waits in */
    MPI_Request *telling;           /* [n_processes] of that note */
    _Atomic uint64_t *heard;        /* [n_processes] what the others have told */
    grown gathered, sizes, out, in, packets;
    size_t *inbox;                  /* [n_here][n_ranks] offsets in `in` */
    int *count, *place;             /* [n_processes], scratch */
    MPI_Request *request;           /* as many as there are parts of messages */
    size_t n_requests, capacity_requests;
    team_line *opened;
} mpi_wire;

static inline mpi_wire *wire_of(const team_shared *shared)
{
    return shared->wire_state;
}

/* Threads in MPI one after the other, where it must be so: those of all teams. */
extern pthread_mutex_t mpi_lock;

static inline void enter_mpi(mpi_wire *wire)
{
    if (wire->locks) pthread_mutex_lock(&mpi_lock);
}
static inline void leave_mpi(mpi_wire *wire)
{
    if (wire->locks) pthread_mutex_unlock(&mpi_lock);
}

/* The status of a call between enter_mpi() and leave_mpi(), the latter included. */
sundog_status mpi_finish(mpi_wire *wire, const char *text, int code);
#define MPI_TRY(wire, call) BASE_TRY(mpi_finish(wire, #call, (enter_mpi(wire), call)))

/* Until all requests are done, the team is dead, or the time limit, which kills it. */
sundog_status mpi_wait_all(sundog_team *team, MPI_Request *request, size_t n);
/* A part that failed here kills the team, for the others wait for this process. */
sundog_status mpi_judge(sundog_team *team, sundog_status status);
/* Append " rank r" for ranks of other processes that are not known to wait in this collective. */
void mpi_missing(const sundog_team *team, char *text, size_t n_bytes);

void mpi_tell_death(team_shared *shared);
void mpi_tell_waiting(team_shared *shared, uint64_t collective);
void mpi_listen(team_shared *shared);

/* The collective parts (collect.c). */
sundog_status mpi_meet(sundog_team *team, int parity);
sundog_status mpi_gather(sundog_team *team, int parity);
sundog_status mpi_broadcast(sundog_team *team, int parity);
sundog_status mpi_swap_sizes(sundog_team *team, int parity);
sundog_status mpi_swap(sundog_team *team, int parity);
const char *mpi_gathered(const team_shared *shared);
size_t mpi_size_from(const team_shared *shared, int to, int from);
const char *mpi_inbox(const team_shared *shared, int to, int from);
#endif
