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

sundog_status halo_rung_find(const char *name, sundog_route route, sundog_memory memory,
                             const halo_rung **out)
{
    if (route != SUNDOG_ROUTE_STAGED && route != SUNDOG_ROUTE_DIRECT)
        return base_fail(SUNDOG_ERR_ARGUMENT, "route is %d, must be staged (0) or direct (1)",
                         (int)route);
    unsigned cap = route == SUNDOG_ROUTE_STAGED ? HALO_CAP_STAGED : HALO_CAP_DIRECT;
    const halo_rung *const *rungs = rung;
    int n = N_RUNGS;
    if (memory == SUNDOG_MEMORY_DEVICE) {
        rungs = halo_peer_rungs(&n);
        if (n == 0)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "this build has no support for GPUs: rows "
                             "must be host memory");
    }
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
    return unknown_rung(name, memory);
}
