/* The variables that launchers set for each process. In a batch script itself (Slurm sets
 * SLURM_PROCID there, too) there is no step, so none of them counts. Rejected: asking MPI, which
 * must be started for that; on some machines that fails or takes seconds outside of a job.
 */
#include "launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *by, *rank, *n;
} known[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"mpirun of MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"mpirun of MPICH", "PMI_RANK", "PMI_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"a PMIx launcher", "PMIX_RANK", NULL},
};

launch launch_find(void)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *rank = getenv(known[i].rank), *n = known[i].n ? getenv(known[i].n) : "0";
        if (rank && n) return (launch){known[i].by, atoi(rank), atoi(n)};
    }
    return (launch){NULL, 0, 1};
}

void launch_wait_for_first(void)
{
    const struct timespec half_a_second = {.tv_nsec = 500000000};
    if (launch_find().rank > 0) nanosleep(&half_a_second, NULL);
}

int launch_mute(void)
{
    if (launch_find().rank == 0) return -1;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);
    if (nowhere >= 0 && kept >= 0) dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) close(nowhere);
    return kept;
}

void launch_unmute(int muted)
{
    if (muted < 0) return;
    dup2(muted, STDERR_FILENO);
    close(muted);
}
