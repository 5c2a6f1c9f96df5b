/* Starting NVSHMEM: by an id that rank 0 makes and the team's broadcast carries, so whatever
 * started the processes will do. Once in a process; PEs are numbered like ranks. It runs until the
 * process ends: to end NVSHMEM before is a collective call, which a dead rank would never come to.
 */
#include "halo/nvshmem/far.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started_rank = -1, started_ranks;

static sundog_status check_seat(const sundog_team *team)
{
    const team_shared *shared = team->shared;
    const team_member *me = &shared->member[team->rank];
    const char *percentage = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    if (shared->n_here != 1)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "rank %d: fabric nvshmem needs a process for each "
                         "rank, this one has %d; start more processes with one domain each, or let "
                         "fabric peer serve them all in one", team->rank, shared->n_here);
    if (me->gpu == 0)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d is bound to no GPU; call "
                         "sundog_team_bind_gpu() first", team->rank);
    if (me->n_on_gpu > 1 && (!percentage || atoi(percentage) * me->n_on_gpu > 100))
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%d processes share GPU %d by MPS, each of which "
                         "may fill it: set CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%d in the environment "
                         "of all", me->n_on_gpu, me->gpu - 1, 100 / me->n_on_gpu);
    if (started_rank >= 0 && (started_rank != team->rank || started_ranks != shared->n_ranks))
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "NVSHMEM runs in this process as PE %d of %d, and "
                         "cannot serve rank %d of %d as well", started_rank, started_ranks,
                         team->rank, shared->n_ranks);
    return SUNDOG_OK;
}

/* All ranks the same version; all or none started before. Collective. */
static sundog_status compare(sundog_team *team, const halo_nvshmem *plugin, bool *start_now)
{
    struct said {
        int version[3], started;
    } mine = {{plugin->found[0], plugin->found[1], plugin->found[2]}, started_rank >= 0};
    int n = team->shared->n_ranks;
    struct said *all = base_try_alloc((size_t)n * sizeof *all);
    sundog_status status = SUNDOG_OK;
    if (!all) status = base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %d", n);
    status = team_agree(team, status);
    if (status == SUNDOG_OK)
        status = team_gather_small(team, "nvshmem_start", &mine, sizeof mine, all);
    for (int r = 1; r < n && status == SUNDOG_OK; r++) {
        const int *a = all[0].version, *b = all[r].version;
        if (memcmp(a, b, sizeof all[0].version) != 0)
            status = base_fail(SUNDOG_ERR_UNSUPPORTED, "rank 0 has NVSHMEM %d.%d.%d, rank %d has "
                               "%d.%d.%d: all need the same", a[0], a[1], a[2], r, b[0], b[1],
                               b[2]);
        else if (all[0].started != all[r].started)
            status = base_fail(SUNDOG_ERR_UNSUPPORTED, "NVSHMEM runs already for rank %d, but not "
                               "for rank %d: start all processes anew", all[r].started ? r : 0,
                               all[r].started ? 0 : r);
    }
    if (status == SUNDOG_OK) *start_now = !all[0].started;
    base_free(all);
    return status;
}

static sundog_status start_alone(const sundog_team *team, const halo_nvshmem *plugin,
                                 const void *id)
{
    int code = plugin->start(id, team->rank, team->shared->n_ranks,
                             team->shared->member[team->rank].gpu - 1);
    if (code != 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "rank %d: NVSHMEM does not start (code %d): GPUs "
                         "have neither peer access nor a network that it knows, or it cannot "
                         "reach rank 0; NVSHMEM_DEBUG=INFO makes it tell more", team->rank, code);
    started_rank = team->rank;
    started_ranks = team->shared->n_ranks;
    return SUNDOG_OK;
}

static sundog_status start(sundog_team *team, const halo_nvshmem *plugin)
{
    unsigned char id[HALO_NVSHMEM_ID_BYTES] = {0};
    bool start_now = false;
    BASE_TRY(team_agree(team, check_seat(team)));
    BASE_TRY(compare(team, plugin, &start_now));
    if (!start_now) return SUNDOG_OK;
    sundog_status status = SUNDOG_OK;
    if (team->rank == 0 && plugin->new_id(id) != 0)
        status = base_fail(SUNDOG_ERR_UNSUPPORTED, "NVSHMEM makes no id: it finds no network "
                           "interface to listen on (NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME names one)");
    BASE_TRY(team_agree(team, status));
    BASE_TRY(sundog_team_broadcast(team, 0, id, sizeof id));
    return team_agree(team, start_alone(team, plugin, id));
}

sundog_status halo_nvshmem_start(sundog_team *team, const halo_nvshmem **out)
{
    BASE_TRY(team_agree(team, halo_nvshmem_load(out)));
    /* Two teams of one process at once: one after the other, and the second is refused. */
    pthread_mutex_lock(&lock);
    sundog_status status = start(team, *out);
    pthread_mutex_unlock(&lock);
    return status;
}
