/* Fabric nvshmem: creating, binding, and the end of an exchange. Launching, waiting and
 * time-outs are those of fabric peer. */
#include "halo/nvshmem/far.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* ---- create ---------------------------------------------------------------------------------- */

static sundog_status far_alloc(sundog_exchange *exchange, const halo_nvshmem *nvshmem)
{
    size_t n = (size_t)exchange->team->shared->n_ranks;
    struct halo_far *far = base_try_alloc(sizeof *far);
    if (!far) return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    memset(far, 0, sizeof *far);
    exchange->device->far = far;
    far->nvshmem = nvshmem;
    far->is_far = base_try_alloc(n * sizeof *far->is_far);
    far->arena_of = base_try_alloc(n * sizeof *far->arena_of);
    far->parts = base_try_alloc(n * sizeof *far->parts);
    if (!far->is_far || !far->arena_of || !far->parts)
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    return SUNDOG_OK;
}

static sundog_status create_alone(sundog_exchange *exchange, const halo_nvshmem *nvshmem)
{
    BASE_TRY(peer_create_alone(exchange, &nvshmem->kernels));
    BASE_TRY(far_alloc(exchange, nvshmem));
    struct halo_peer *peer = exchange->device;
    peer->layout.boxed = peer->layout.transport != HALO_FLIT;
    peer->stream_words = false;
    BASE_TRY(peer_choose_blocks(exchange));
    BASE_TRY(peer_shared_create(exchange->team->shared->n_ranks, 1, &peer->shared));
    peer_enlist(peer);
    return SUNDOG_OK;
}

/* Rung stream is made of operations of NVSHMEM, which finds a way to every peer by itself. */
static bool always_puts(const sundog_exchange *exchange)
{
    return exchange->transport == SUNDOG_TRANSPORT_PUT || exchange->device->host_watched;
}

/* Near: each of the two finds the other's memory mapped. Collective. */
static sundog_status find_far(sundog_exchange *exchange)
{
    struct halo_far *far = exchange->device->far;
    sundog_team *team = exchange->team;
    size_t n = (size_t)team->shared->n_ranks;
    bool *all = base_try_alloc(n * n * sizeof *all);
    sundog_status status = SUNDOG_OK;
    if (!all) status = base_fail(SUNDOG_ERR_MEMORY, "no memory for a team of %zu", n);
    status = team_agree(team, status);
    for (size_t r = 0; r < n; r++) far->is_far[r] = always_puts(exchange) || !far->arena_of[r];
    if (status == SUNDOG_OK)
        status = sundog_team_allgather(team, far->is_far, n * sizeof *all, all);
    for (size_t r = 0; r < n && status == SUNDOG_OK; r++) {
        far->is_far[r] = all[(size_t)team->rank * n + r] || all[r * n + (size_t)team->rank];
        far->any_far = far->any_far || far->is_far[r];
    }
    for (size_t i = 0; i < n * n && status == SUNDOG_OK; i++)
        if (all[i] && exchange->transport == SUNDOG_TRANSPORT_DIRECT && !always_puts(exchange))
            status = base_fail(SUNDOG_ERR_UNSUPPORTED, "transport direct: rank %zu cannot store "
                               "into memory of rank %zu (another node, or no peer access between "
                               "their GPUs); take auto", i / n, i % n);
    base_free(all);
    return status;
}

static sundog_status far_create(sundog_exchange *exchange)
{
    const halo_nvshmem *nvshmem;
    sundog_team *team = exchange->team;
    BASE_TRY(halo_nvshmem_start(team, &nvshmem));
    BASE_TRY(team_agree(team, create_alone(exchange, nvshmem)));
    BASE_TRY(far_reserve(team, exchange->device->far, 1));
    BASE_TRY(find_far(exchange));
    exchange->device->layout.far = exchange->device->far->is_far;
    return SUNDOG_OK;
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* How many messages go which way, as this rank sees it. */
static void describe(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    const bool *is_far = exchange->device->far->is_far;
    int n = 0, n_far = 0;
    for (int m = 0; m < route->n_messages; m++) {
        n++;
        n_far += is_far[route->send[m].peer];
    }
    size_t used = strlen(exchange->description), left = sizeof exchange->description - used;
    char *at = exchange->description + used;
    if (n_far == 0) snprintf(at, left, ", by stores");
    else if (n_far == n) snprintf(at, left, ", by puts");
    else snprintf(at, left, ", %d messages by stores, %d by puts", n - n_far, n_far);
}

/* Flits of an earlier cut of the arena could be taken for new ones. */
static sundog_status clear_flits(const struct halo_peer *peer)
{
    const device_array *const flits[] = {&peer->flits, &peer->sum_flits};
    if (peer->layout.transport != HALO_FLIT) return SUNDOG_OK;
    for (int i = 0; i < 2; i++)
        PEER_TRY(cudaMemsetAsync(flits[i]->d, 0, flits[i]->n_bytes, cudaStreamPerThread));
    return SUNDOG_OK;
}

static sundog_status lay_memory(sundog_exchange *exchange)
{
    far_set_arrays(exchange);
    BASE_TRY(clear_flits(exchange->device));
    return peer_lay_memory(exchange);       /* waits until all is on the GPU */
}

static sundog_status far_bind(sundog_exchange *exchange)
{
    sundog_team *team = exchange->team;
    if (!exchange->device) BASE_TRY(far_create(exchange));
    struct halo_far *far = exchange->device->far;
    describe(exchange);
    BASE_TRY(team_agree(team, peer_lay_out(exchange)));
    far_parts mine = far_cut(exchange);
    BASE_TRY(far_reserve(team, far, (size_t)mine.end));
    BASE_TRY(team_gather_small(team, "nvshmem_bind", &mine, sizeof mine, far->parts));
    BASE_TRY(team_agree(team, lay_memory(exchange)));
    return far_connect(exchange);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What was launched is done, and what it put has arrived: after the next agreement nothing is under
 * way into anybody's arena. */
static sundog_status far_finish(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    if (!peer || !peer->far) return SUNDOG_OK;
    BASE_TRY(peer_finish(exchange));
    if (!peer->far->any_far) return SUNDOG_OK;
    peer->far->nvshmem->quiet_on(cudaStreamPerThread);
    return peer_wait(exchange, NULL);
}

static void far_release(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    if (!peer) return;
    struct halo_far *far = peer->far;
    if (far) {
        const device_array none = {NULL, 0};
        peer->words = peer->sums = peer->flits = peer->sum_flits = none;   /* of the arena */
    }
    peer_release(exchange);
    if (far) far_give_back(exchange->team, far);
}

/* Kernels of the caller's own are compiled without far peers and inboxes. */
static sundog_status far_view(const sundog_exchange *exchange, sundog_view *out)
{
    (void)out;
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "rank %d: kernels of your own see exchanges of fabric "
                     "peer only, not of nvshmem", exchange->team->rank);
}

const halo_hooks halo_far_hooks = {
    .bind = far_bind, .wait = peer_wait, .look = peer_look, .quiesce = peer_quiesce,
    .finish = far_finish, .release = far_release, .view = far_view};
