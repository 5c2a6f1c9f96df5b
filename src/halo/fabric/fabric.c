/* Which rungs this build has, and which one serves a request. */
#include "halo/fabric/fabric.h"

#include <stdio.h>
#include <string.h>

/* Best first: one hop has no chain of waits; fused waits only where rows are forwarded. */
static const halo_rung *const rung[] = {
    &halo_threads_direct, &halo_threads_fused, &halo_threads_pulse, &halo_reference};
enum { N_RUNGS = sizeof rung / sizeof rung[0] };

const char *const *sundog_exchange_rungs(int *n)
{
    static const char *const name[] = {"direct", "fused", "pulse", "reference"};
    _Static_assert(sizeof name / sizeof name[0] == N_RUNGS, "one name a rung");
    *n = N_RUNGS;
    return name;
}

sundog_status halo_rung_find(const char *name, sundog_route route, const halo_rung **out)
{
    if (route != SUNDOG_ROUTE_STAGED && route != SUNDOG_ROUTE_DIRECT)
        return base_fail(SUNDOG_ERR_ARGUMENT, "route is %d, must be staged (0) or direct (1)",
                         (int)route);
    unsigned cap = route == SUNDOG_ROUTE_STAGED ? HALO_CAP_STAGED : HALO_CAP_DIRECT;
    for (int i = 0; i < N_RUNGS; i++) {
        if (name && strcmp(name, rung[i]->name) != 0) continue;
        if (rung[i]->caps & cap) {
            *out = rung[i];
            return SUNDOG_OK;
        }
        if (name)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "rung %s is one hop from the owner to every "
                             "copy: it needs route direct; for route staged take pulse or fused",
                             name);
    }
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "no rung is called '%s'; there are direct, fused, "
                     "pulse and reference", name ? name : "");
}
