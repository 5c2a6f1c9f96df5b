/* A build without GPU support: no GPUs, and requests for them are refused. */
#include "halo/fabric/fabric.h"

static sundog_status refuse(void)
{
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "this build has no support for GPUs");
}

int sundog_gpu_count(void)
{
    return 0;
}

sundog_status sundog_gpu_describe(int gpu, char *text, size_t n_bytes)
{
    (void)gpu, (void)text, (void)n_bytes;
    return refuse();
}

sundog_status sundog_gpu_link(int from, int to, char *text, size_t n_bytes)
{
    (void)from, (void)to, (void)text, (void)n_bytes;
    return refuse();
}

sundog_status sundog_gpu_rung_check(const char *rung, const int *gpus, int n_gpus, char *text,
                                    size_t n_bytes)
{
    (void)rung, (void)gpus, (void)n_gpus, (void)text, (void)n_bytes;
    return refuse();
}

sundog_status sundog_team_bind_gpu(sundog_team *team, int gpu)
{
    (void)team, (void)gpu;
    return refuse();
}

sundog_status sundog_nvshmem_describe(char *text, size_t n_bytes)
{
    (void)text, (void)n_bytes;
    return refuse();
}

const halo_rung *const *halo_peer_rungs(int *n)
{
    *n = 0;
    return NULL;
}

const halo_rung *const *halo_nvshmem_rungs(int *n)
{
    *n = 0;
    return NULL;
}
