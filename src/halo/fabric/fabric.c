/* Which rungs this build has, and which one serves a request. */
#include "halo/fabric/fabric.h"

#include <stdio.h>
#include <string.h>

/* Best first: one hop has no chain of waits; fused waits only where rows are forwarded. */
static const halo_rung *const rung[] = {
    &halo_threads_direct, &halo_threads_fused, &halo_threads_pulse, &halo_threads_mpi,
    &halo_reference};
enum { N_RUNGS = sizeof rung / sizeof rung[0] };

const char *const *sundog_exchange_rungs(int *n)
{
    static const char *const name[] = {"direct", "fused", "pulse", "mpi", "reference"};
    _Static_assert(sizeof name / sizeof name[0] == N_RUNGS, "one name a rung");
    *n = N_RUNGS;
    return name;
}

const char *const *sundog_gpu_rungs(int *n)
{
    static const char *const name[] = {"flit", "direct", "fused", "fused-tma", "pulse", "stream",
                                       "mpi"};
    *n = sizeof name / sizeof name[0];
    return name;
}

static sundog_status unknown_rung(const char *name, sundog_memory memory)
{
    int n;
    const char *const *known =
        memory == SUNDOG_MEMORY_DEVICE ? sundog_gpu_rungs(&n) : sundog_exchange_rungs(&n);
    char list[128] = "";
    for (int i = 0; i < n; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", known[i]);
    }
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "no rung is called '%s'; for %s memory there are %s",
                     name ? name : "", memory == SUNDOG_MEMORY_DEVICE ? "device" : "host", list);
}

/* Which fabric serves device memory: peer, where all ranks are threads, unless puts are wanted. */
static sundog_status find_fabric(const sundog_exchange_options *o, bool spans, bool *nvshmem)
{
    const char *name = o->fabric;
    if (name && strcmp(name, "peer") != 0 && strcmp(name, "nvshmem") != 0)
        return base_fail(SUNDOG_ERR_ARGUMENT, "no fabric for device memory is called '%s'; there "
                         "are peer and nvshmem", name);
    *nvshmem = name ? strcmp(name, "nvshmem") == 0 : spans || o->transport == SUNDOG_TRANSPORT_PUT;
    if (!*nvshmem && spans)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "fabric peer needs all ranks in one process; "
                         "between processes take nvshmem");
    if (!*nvshmem && o->transport == SUNDOG_TRANSPORT_PUT)
        return base_fail(SUNDOG_ERR_ARGUMENT, "transport put needs fabric nvshmem; fabric peer "
                         "stores");
    return SUNDOG_OK;
}

/* The rungs for this memory. */
static sundog_status find_rungs(const sundog_exchange_options *o, bool spans,
                                const halo_rung *const **rungs, int *n)
{
    bool nvshmem = false;
    if (o->memory != SUNDOG_MEMORY_DEVICE) {
        if (o->fabric || o->transport != SUNDOG_TRANSPORT_AUTO)
            return base_fail(SUNDOG_ERR_ARGUMENT, "fabric and transport are chosen for device "
                             "memory; rows are host memory");
        *rungs = rung;
        *n = N_RUNGS;
        return SUNDOG_OK;
    }
    BASE_TRY(find_fabric(o, spans, &nvshmem));
    *rungs = nvshmem ? halo_nvshmem_rungs(n) : halo_peer_rungs(n);
    if (*n == 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "this build has no support for GPUs: rows must be "
                         "host memory");
    return SUNDOG_OK;
}

sundog_status halo_rung_find(const sundog_exchange_options *options, bool spans,
                             const halo_rung **out)
{
    const sundog_route route = options->route;
    const char *name = options->rung;
    if (route != SUNDOG_ROUTE_STAGED && route != SUNDOG_ROUTE_DIRECT)
        return base_fail(SUNDOG_ERR_ARGUMENT, "route is %d, must be staged (0) or direct (1)",
                         (int)route);
    unsigned cap = route == SUNDOG_ROUTE_STAGED ? HALO_CAP_STAGED : HALO_CAP_DIRECT;
    const halo_rung *const *rungs = NULL;
    int n = 0;
    BASE_TRY(find_rungs(options, spans, &rungs, &n));
    for (int i = 0; i < n; i++) {
        if (name && strcmp(name, rungs[i]->name) != 0) continue;
        if (rungs[i]->caps & cap) {
            *out = rungs[i];
            return SUNDOG_OK;
        }
        if (name)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "rung %s is one hop from the owner to every "
                             "copy: it needs route direct; for route staged take pulse or fused",
                             name);
    }
    return unknown_rung(name, options->memory);
}
