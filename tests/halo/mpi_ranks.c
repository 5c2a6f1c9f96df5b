/* The ranks of ranks.h over MPI: n ranks on ceil(n / T) processes, T threads each and the last
 * process what is left, where T is the environment's RANKS_THREADS. A test that fails ends its
 * process without MPI_Finalize, and the launcher ends the others.
 */
#include "ranks.h"
#undef main

#include "sundog/mpi.h"

#include <unistd.h>

char **ranks_argv;
static int threads_a_process = 1;
static MPI_Comm comm_here = MPI_COMM_NULL;      /* of the processes that have ranks */

int ranks_a_process(int n_ranks)
{
    return n_ranks < threads_a_process ? n_ranks : threads_a_process;
}

int ranks_create(int n_ranks, sundog_team **team)
{
    int process, n_processes, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &n_processes);
    CHECK(n_ranks <= n_processes * threads_a_process);
    first = process * threads_a_process;
    MPI_Comm_split(MPI_COMM_WORLD, first < n_ranks ? 0 : MPI_UNDEFINED, process, &comm_here);
    if (comm_here == MPI_COMM_NULL) return 0;
    int n_here = n_ranks - first < threads_a_process ? n_ranks - first : threads_a_process;
    CHECK_OK(sundog_team_create_mpi(comm_here, n_here, team));
    CHECK(sundog_team_size(team[0]) == n_ranks && sundog_team_rank(team[0]) == first);
    return n_here;
}

/* Asleep: processes that have no ranks must not take the cores of those that have. */
void ranks_meet(void)
{
    MPI_Request request;
    int done = 0;
    if (comm_here != MPI_COMM_NULL) MPI_Comm_free(&comm_here);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        usleep(500);
    }
}

int main(int argc, char **argv)
{
    int provided;
    const char *threads = getenv("RANKS_THREADS");
    if (threads) threads_a_process = atoi(threads);
    CHECK(threads_a_process >= 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    ranks_argv = argv;
    int status = ranks_main();
    if (status == 0) MPI_Finalize();
    return status;
}
