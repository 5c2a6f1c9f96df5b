/* The exchange: binding arrays to a committed plan, and the frame around the rungs. */
#include "halo/exchange.h"

#include "base/alloc.h"
#include "halo/fabric/fabric.h"
#include "halo/fabric/remote.h"
#include "team/wire.h"

#include <stdio.h>
#include <string.h>

void (*halo_before_signal)(int rank);

/* What all ranks must have in common, and where to find each other. */
typedef struct bind_offer {
    sundog_exchange *exchange;
    char rung[16], fabric[16];
    int transport, route, deterministic, lockstep, n_fields;
    struct bind_offer_field {
        int type, width, shifted, stride;
    } field[HALO_MAX_FIELDS];
} bind_offer;

static void exchange_free(sundog_exchange *exchange)
{
    if (!exchange) return;
    if (exchange->device) exchange->rung->hooks->release(exchange);
    halo_remote_release(exchange);
    if (!exchange->remote) base_free(exchange->slots);  /* else a message may still come there */
    base_free(exchange->slot_at_peer);
    base_free(exchange->slot);
    base_free(exchange->progress);
    base_free(exchange->words);
    base_free(exchange->offer);
    base_free(exchange->peer);
    base_free(exchange);
}

/* ---- bind ------------------------------------------------------------------------------------ */

/* Slots for the sums that come to me; every block starts on a cache line. */
static sundog_status lay_slots(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    size_t offset = 0;
    BASE_TRY(HALO_RESERVE(exchange->slot, exchange->capacity_slot, route->n_messages));
    BASE_TRY(HALO_RESERVE(exchange->slot_at_peer, exchange->capacity_slot_at_peer,
                          route->n_messages));
    for (int m = 0; m < route->n_messages; m++) {
        exchange->slot[m] = offset;
        if (!exchange->rung->hooks) offset += halo_slot_bytes(exchange, route->send[m].n);
    }
    return HALO_RESERVE(exchange->slots, exchange->capacity_slots, offset);
}

static sundog_status prepare(sundog_exchange *exchange, const sundog_field *fields, int n_fields)
{
    const halo_route *route = halo_route_of(exchange);
    BASE_TRY(halo_fields_set(fields, n_fields, exchange->field));
    exchange->n_fields = n_fields;
    for (int f = 0; f < n_fields; f++)
        if (!exchange->field[f].rows && exchange->plan->n_rows > 0)
            return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d, field %d: rows is NULL",
                             exchange->team->rank, f);
    BASE_TRY(HALO_RESERVE(exchange->words, exchange->capacity_words, route->n_messages));
    BASE_TRY(HALO_RESERVE(exchange->progress, exchange->capacity_progress, route->n_messages));
    for (int m = 0; m < route->n_messages; m++) {
        base_release(&exchange->words[m].arrived, exchange->forward_epoch);
        base_release(&exchange->words[m].space, exchange->forward_epoch);
        base_release(&exchange->words[m].sums, exchange->reverse_epoch);
        base_release(&exchange->words[m].room, exchange->reverse_epoch);
    }
    return lay_slots(exchange);
}

/* Gather all ends and compare them. */
static sundog_status meet(sundog_exchange *exchange)
{
    bind_offer mine = {.exchange = exchange, .route = (int)exchange->route,
                       .deterministic = exchange->deterministic, .lockstep = exchange->lockstep,
                       .n_fields = exchange->n_fields};
    mine.transport = (int)exchange->transport;
    snprintf(mine.rung, sizeof mine.rung, "%s", exchange->rung->name);
    snprintf(mine.fabric, sizeof mine.fabric, "%s", exchange->rung->fabric);
    for (int f = 0; f < exchange->n_fields; f++)
        mine.field[f] = (struct bind_offer_field){(int)exchange->field[f].type,
                                                  exchange->field[f].width,
                                                  exchange->field[f].shifted,
                                                  (int)exchange->field[f].stride};
    bind_offer *offer = exchange->offer;
    BASE_TRY(team_gather_small(exchange->team, "exchange_bind", &mine, sizeof mine, offer));
    for (int r = 0; r < exchange->team->shared->n_ranks; r++) {
        const bind_offer *a = &offer[0], *b = &offer[r];
        exchange->peer[r] = team_is_here(exchange->team, r) ? b->exchange : NULL;
        if (strcmp(a->rung, b->rung) != 0 || strcmp(a->fabric, b->fabric) != 0 ||
            a->transport != b->transport || a->route != b->route ||
            a->deterministic != b->deterministic || a->lockstep != b->lockstep)
            return base_fail(SUNDOG_ERR_ARGUMENT, "ranks 0 and %d ask for different exchanges: "
                             "options must be the same on all ranks", r);
        if (a->n_fields != b->n_fields || memcmp(a->field, b->field, sizeof a->field) != 0)
            return base_fail(SUNDOG_ERR_ARGUMENT, "ranks 0 and %d bind different fields: number, "
                             "types, widths, shifts and strides must be the same on all ranks", r);
    }
    return SUNDOG_OK;
}

static void describe(sundog_exchange *exchange)
{
    const team_wire *wire = exchange->team->shared->wire;
    snprintf(exchange->description, sizeof exchange->description, "%s/%s %s%s%s",
             wire && !exchange->rung->hooks ? wire->name : exchange->rung->fabric,
             exchange->rung->name,
             exchange->route == SUNDOG_ROUTE_STAGED ? "staged" : "direct",
             exchange->deterministic ? " deterministic" : "",
             exchange->lockstep ? " lockstep" : "");
}

/* After the first agreement nobody is in an exchange any more, so words and slots may move; after
 * the last gather all ends are ready. */
static sundog_status bind(sundog_exchange *exchange, const sundog_field *fields, int n_fields)
{
    sundog_plan *plan = exchange->plan;
    sundog_status mine = SUNDOG_OK;
    if (!plan->committed)
        mine = base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: the plan is not committed",
                         plan->team->rank);
    else if (exchange->phase != HALO_IDLE)
        mine = base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: an exchange is under way; end it first",
                         plan->team->rank);
    else if (exchange->rung->hooks)
        mine = exchange->rung->hooks->finish(exchange);
    else
        mine = halo_remote_finish(exchange);
    BASE_TRY(team_agree(exchange->team, mine));
    exchange->n_commits = 0;                    /* stale until all has gone well */
    describe(exchange);
    if (exchange->route == SUNDOG_ROUTE_DIRECT) BASE_TRY(halo_build_direct(plan));
    BASE_TRY(team_agree(exchange->team, prepare(exchange, fields, n_fields)));
    BASE_TRY(meet(exchange));
    BASE_TRY(team_enter(exchange->team));
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++) {
        const halo_recv *recv = &route->recv[m];
        const sundog_exchange *peer = exchange->peer[recv->peer];
        if (peer) exchange->slot_at_peer[m] = peer->slots + peer->slot[recv->peer_message];
    }
    team_leave(exchange->team);
    if (exchange->team->shared->wire && exchange->rung->caps & HALO_CAP_WORDS)
        BASE_TRY(halo_remote_bind(exchange));
    if (exchange->rung->hooks) BASE_TRY(exchange->rung->hooks->bind(exchange));
    exchange->n_commits = plan->n_commits;
    exchange->n_stretches = plan->n_stretches;
    exchange->forward_next = true;
    return SUNDOG_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static sundog_status exchange_alloc(sundog_plan *plan, const sundog_exchange_options *options,
                                    sundog_exchange **out)
{
    sundog_exchange_options o = {.struct_size = sizeof o, .deterministic = true};
    if (options) o = *options;
    if (o.struct_size != sizeof o)
        return base_fail(SUNDOG_ERR_ARGUMENT, "options.struct_size is %zu, this library knows %zu: "
                         "set it to sizeof(sundog_exchange_options)", o.struct_size, sizeof o);
    const halo_rung *rung;
    BASE_TRY(halo_rung_find(&o, plan->team->shared->wire != NULL, &rung));
    sundog_exchange *exchange = base_try_alloc(sizeof *exchange);
    if (!exchange) return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    *exchange = (sundog_exchange){.plan = plan, .team = plan->team, .rung = rung, .route = o.route,
                                  .deterministic = o.deterministic, .lockstep = o.lockstep,
                                  .max_blocks = o.max_blocks, .transport = o.transport};
    size_t n_ranks = (size_t)plan->team->shared->n_ranks;
    exchange->peer = base_try_alloc(n_ranks * sizeof *exchange->peer);
    exchange->offer = base_try_alloc(n_ranks * sizeof(bind_offer));
    if (!exchange->peer || !exchange->offer) {
        exchange_free(exchange);
        return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    }
    *out = exchange;
    return SUNDOG_OK;
}

sundog_status sundog_exchange_create(sundog_plan *plan, const sundog_field *fields, int n_fields,
                                     const sundog_exchange_options *options, sundog_exchange **out)
{
    if (!plan || !out) return base_fail(SUNDOG_ERR_ARGUMENT, "exchange_create: a pointer is NULL");
    sundog_exchange *exchange = NULL;
    sundog_status status = team_agree(plan->team, exchange_alloc(plan, options, &exchange));
    if (status == SUNDOG_OK) status = bind(exchange, fields, n_fields);
    if (status != SUNDOG_OK) {
        exchange_free(exchange);
        return status;
    }
    *out = exchange;
    return SUNDOG_OK;
}

sundog_status sundog_exchange_rebind(sundog_exchange *exchange, const sundog_field *fields,
                                     int n_fields)
{
    if (!exchange) return base_fail(SUNDOG_ERR_ARGUMENT, "exchange_rebind: exchange is NULL");
    return bind(exchange, fields, n_fields);
}

void sundog_exchange_destroy(sundog_exchange **exchange)
{
    if (!exchange || !*exchange) return;
    const halo_hooks *hooks = (*exchange)->rung->hooks;
    (*exchange)->stream = NULL;
    if (hooks && !team_is_dead((*exchange)->team)) (void)hooks->finish(*exchange);
    if (!team_is_dead((*exchange)->team)) (void)halo_remote_finish(*exchange);
    /* Peers signal into this exchange until all are here; a dead team has left it on return. */
    sundog_team *team = (*exchange)->team;
    if (sundog_team_barrier(team) != SUNDOG_OK && hooks) hooks->quiesce(*exchange);
    exchange_free(*exchange);
    *exchange = NULL;
    /* Freeing device memory waits for the device, on which a faster rank must not be waiting. */
    if (hooks) (void)sundog_team_barrier(team);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* The error of a dead team. Afterwards nothing on any GPU touches this exchange's arrays. */
static sundog_status fail_dead(sundog_exchange *exchange)
{
    sundog_status status = team_fail_dead(exchange->team);
    exchange->phase = HALO_IDLE;
    if (exchange->rung->hooks) exchange->rung->hooks->quiesce(exchange);
    return status;
}

static bool shifts_rows(const sundog_exchange *exchange)
{
    for (int f = 0; f < exchange->n_fields; f++)
        if (exchange->field[f].shifted) return true;
    return false;
}

static sundog_status may_begin(sundog_exchange *exchange, bool forward)
{
    if (!exchange) return base_fail(SUNDOG_ERR_ARGUMENT, "exchange is NULL");
    int me = exchange->team->rank;
    if (team_is_dead(exchange->team)) return fail_dead(exchange);
    if (exchange->phase != HALO_IDLE)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: begin called while a %s is under way; end "
                         "it first", me, exchange->phase == HALO_FORWARD ? "forward" : "reverse");
    if (!exchange->plan->committed || exchange->n_commits != exchange->plan->n_commits)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: the plan has changed since the exchange "
                         "was bound; commit it and call sundog_exchange_rebind()", me);
    if (exchange->rung->hooks && exchange->n_stretches != exchange->plan->n_stretches &&
        shifts_rows(exchange))
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: the plan was stretched, but shifts in "
                         "device memory are those of before; call sundog_exchange_rebind()", me);
#ifndef NDEBUG
    if (exchange->lockstep && exchange->forward_next != forward)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: lockstep is promised, but a second %s "
                         "comes without a %s between", me, forward ? "forward" : "reverse",
                         forward ? "reverse" : "forward");
#endif
    exchange->forward_next = !forward;
    return SUNDOG_OK;
}

static sundog_status may_end(sundog_exchange *exchange, halo_phase phase)
{
    if (!exchange) return base_fail(SUNDOG_ERR_ARGUMENT, "exchange is NULL");
    if (team_is_dead(exchange->team)) return fail_dead(exchange);
    if (exchange->phase == phase) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: %s_end without its begin",
                     exchange->team->rank, phase == HALO_FORWARD ? "forward" : "reverse");
}

/* A rung returned: a dead team is told once all is quiet. */
static sundog_status outcome(sundog_exchange *exchange, sundog_status status)
{
    if (status == SUNDOG_OK) return SUNDOG_OK;
    exchange->phase = HALO_IDLE;
    if (exchange->rung->hooks && team_is_dead(exchange->team)) return fail_dead(exchange);
    return status;
}

static void clear_progress(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++)
        exchange->progress[m] = (halo_progress){.users_left = route->recv[m].n_users};
}

static sundog_status begin(sundog_exchange *exchange, halo_phase phase)
{
    bool forward = phase == HALO_FORWARD;
    uint64_t *epoch = forward ? &exchange->forward_epoch : &exchange->reverse_epoch;
    BASE_TRY(may_begin(exchange, forward));
    exchange->phase = phase;
    ++*epoch;
    clear_progress(exchange);
    if (exchange->remote) halo_remote_expect(exchange, forward);
    sundog_status status = forward ? exchange->rung->forward_begin(exchange)
                                   : exchange->rung->reverse_begin(exchange);
    if (status == SUNDOG_ERR_UNSUPPORTED) {     /* a stream that it cannot follow: nothing began */
        --*epoch;
        exchange->forward_next = forward;
    }
    return outcome(exchange, status);
}

static sundog_status end(sundog_exchange *exchange, halo_phase phase)
{
    BASE_TRY(may_end(exchange, phase));
    exchange->phase = HALO_IDLE;
    return outcome(exchange, phase == HALO_FORWARD ? exchange->rung->forward_end(exchange)
                                                   : exchange->rung->reverse_end(exchange));
}

/* end for the host: what follows a stream is waited for. */
static sundog_status end_here(sundog_exchange *exchange, halo_phase phase)
{
    if (exchange) exchange->stream = NULL;
    BASE_TRY(end(exchange, phase));
    return exchange->rung->hooks ? sundog_exchange_wait(exchange, NULL) : SUNDOG_OK;
}

sundog_status sundog_forward_begin(sundog_exchange *exchange)
{
    if (exchange) exchange->stream = NULL;
    return begin(exchange, HALO_FORWARD);
}

sundog_status sundog_forward_end(sundog_exchange *exchange)
{
    return end_here(exchange, HALO_FORWARD);
}

sundog_status sundog_reverse_begin(sundog_exchange *exchange)
{
    if (exchange) exchange->stream = NULL;
    return begin(exchange, HALO_REVERSE);
}

sundog_status sundog_reverse_end(sundog_exchange *exchange)
{
    return end_here(exchange, HALO_REVERSE);
}

/* ---- on a stream ----------------------------------------------------------------------------- */

static sundog_status set_stream(sundog_exchange *exchange, sundog_stream stream)
{
    if (!exchange) return base_fail(SUNDOG_ERR_ARGUMENT, "exchange is NULL");
    if (!exchange->rung->hooks)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: rows of this exchange are host memory, "
                         "which follows no stream", exchange->team->rank);
    exchange->stream = stream;
    return SUNDOG_OK;
}

sundog_status sundog_forward_begin_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    return begin(exchange, HALO_FORWARD);
}

sundog_status sundog_forward_end_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    return end(exchange, HALO_FORWARD);
}

sundog_status sundog_reverse_begin_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    return begin(exchange, HALO_REVERSE);
}

sundog_status sundog_reverse_end_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    return end(exchange, HALO_REVERSE);
}

sundog_status sundog_forward_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    if (!exchange->rung->forward) {
        BASE_TRY(begin(exchange, HALO_FORWARD));
        return end(exchange, HALO_FORWARD);
    }
    BASE_TRY(may_begin(exchange, true));
    exchange->forward_epoch++;
    return outcome(exchange, exchange->rung->forward(exchange));
}

sundog_status sundog_reverse_on(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    if (!exchange->rung->reverse) {
        BASE_TRY(begin(exchange, HALO_REVERSE));
        return end(exchange, HALO_REVERSE);
    }
    BASE_TRY(may_begin(exchange, false));
    exchange->reverse_epoch++;
    return outcome(exchange, exchange->rung->reverse(exchange));
}

sundog_status sundog_exchange_wait(sundog_exchange *exchange, sundog_stream stream)
{
    BASE_TRY(set_stream(exchange, stream));
    return outcome(exchange, exchange->rung->hooks->wait(exchange, stream));
}

sundog_status sundog_exchange_check(sundog_exchange *exchange)
{
    if (exchange->rung->hooks) exchange->rung->hooks->look(exchange);
    return team_is_dead(exchange->team) ? fail_dead(exchange) : SUNDOG_OK;
}

sundog_status sundog_exchange_view(const sundog_exchange *exchange, struct sundog_view *out)
{
    if (!exchange || !out)
        return base_fail(SUNDOG_ERR_ARGUMENT, "exchange_view: a pointer is NULL");
    if (!exchange->rung->hooks)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: kernels see exchanges of device memory "
                         "only", exchange->team->rank);
    if (exchange->n_commits != exchange->plan->n_commits)
        return base_fail(SUNDOG_ERR_ARGUMENT, "the exchange is not bound to the plan as it is");
    return exchange->rung->hooks->view(exchange, out);
}

/* ---- reports --------------------------------------------------------------------------------- */

const char *sundog_exchange_describe(const sundog_exchange *exchange)
{
    return exchange->description;
}

sundog_status sundog_exchange_volume_of(const sundog_exchange *exchange,
                                        sundog_exchange_volume *out)
{
    if (!exchange || !out)
        return base_fail(SUNDOG_ERR_ARGUMENT, "exchange_volume_of: a pointer is NULL");
    if (exchange->n_commits != exchange->plan->n_commits)
        return base_fail(SUNDOG_ERR_ARGUMENT, "the exchange is not bound to the plan as it is");
    const halo_route *route = halo_route_of(exchange);
    sundog_exchange_volume volume = {0, 0, 0};
    size_t row_bytes = 0;
    for (int f = 0; f < exchange->n_fields; f++) row_bytes += exchange->field[f].row_bytes;
    for (int m = 0; m < route->n_messages; m++) {
        if (route->send[m].peer == exchange->team->rank || route->send[m].n == 0) continue;
        volume.n_messages++;
        volume.n_rows += route->send[m].n;
    }
    volume.n_bytes = volume.n_rows * (int64_t)row_bytes;
    *out = volume;
    return SUNDOG_OK;
}
