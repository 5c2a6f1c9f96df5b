/* Rungs for host memory. Ranks are threads of one process, a peer's arrays are ordinary memory; to
 * peers in other processes rows go packed, behind the same words (remote.h).
 *
 * Words (exchange.h) count forwards F and reverses R. Forward, one message:
 *
 *   owner, forward F                         | receiver, forward F
 *                                            | 1 release space = F         (ghosts may be written)
 *   1 acquire until space >= F               |
 *   2 store rows into the receiver's ghosts  |
 *   3 release arrived = F                    | 2 acquire until arrived >= F
 *                                            | 3 read; later messages may pass them on
 *
 * Reverse, one message, sums travel back into a slot at the owner:
 *
 *   receiver, reverse R                      | owner, reverse R
 *   1 all later users of these ghosts added  |
 *   2 acquire until room >= R-1              |
 *   3 store the ghosts into the slot         |
 *   4 release sums = R                       | 1 acquire until sums >= R, in fixed order
 *                                            | 2 add the slot to rows(k), k rising
 *                                            | 3 release room = R
 *
 * Rungs differ in when they wait:
 *   pulse    message by message: send mine, wait for the one that comes to me, next. On the direct
 *            route the peers are met in turn, at distance 0, 1, 2, ...
 *   fused    all independent rows at once; a dependent run waits for its source alone. On the
 *            direct route nothing depends: all stores, then all signals.
 *   direct   direct route; store and signal peer by peer, no wait between.
 *   mpi      as pulse, and a message to another process has left before the next is begun: the
 *            order of codes that call MPI from the host, to compare with. Between threads it is
 *            pulse by another name.
 *
 * begin never waits: what lacks its credit is left to end. Waits are on this rank's own words;
 * peers' memory is touched only between team_enter and team_leave.
 */
#include "halo/fabric/fabric.h"
#include "halo/fabric/remote.h"

#include <stdio.h>

/* ---- waiting and signalling ------------------------------------------------------------------ */

typedef struct word_wait {
    sundog_exchange *exchange;
    const base_word *word;
    uint64_t wanted;
    const char *name;
    int peer, message;
} word_wait;

static bool word_ready(const void *arg)
{
    const word_wait *wait = arg;
    if (wait->exchange->remote) halo_remote_look(wait->exchange);
    return base_reached(base_acquire_seen(wait->word), wait->wanted);
}

static void word_describe(const void *arg, char *text, size_t n_bytes)
{
    const word_wait *wait = arg;
    const sundog_exchange *exchange = wait->exchange;
    bool forward = wait->word == &exchange->words[wait->message].arrived ||
                   wait->word == &exchange->words[wait->message].space;
    snprintf(text, n_bytes,
             "rank %d waits for rank %d: %s, %s %d, word '%s', wanted epoch %llu, seen %llu (%s)",
             exchange->team->rank, wait->peer, forward ? "forward" : "reverse",
             exchange->route == SUNDOG_ROUTE_STAGED ? "pulse" : "message", wait->message,
             wait->name, (unsigned long long)wait->wanted,
             (unsigned long long)base_acquire(wait->word), exchange->description);
}

sundog_status halo_wait_word(sundog_exchange *exchange, const base_word *word, uint64_t wanted,
                             const char *name, int peer, int message)
{
    if (base_reached(base_acquire(word), wanted)) return SUNDOG_OK;
    word_wait wait = {exchange, word, wanted, name, peer, message};
    team_condition condition = {word_ready, word_describe, &wait, exchange->remote != NULL};
    return team_wait(exchange->team, team_bell_of(exchange->team, exchange->team->rank),
                     &condition);
}

void halo_signal_peer(sundog_exchange *exchange, int peer, base_word *word, uint64_t epoch)
{
    if (halo_before_signal) halo_before_signal(exchange->team->rank);
    team_signal(exchange->team, peer, word, epoch);
}

static bool is_here(const sundog_exchange *exchange, int peer)
{
    return team_is_here(exchange->team, peer);
}

/* ---- forward: one message -------------------------------------------------------------------- */

static void announce_space(sundog_exchange *exchange)
{
    if (exchange->lockstep) return;
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++) {
        const halo_recv *recv = &route->recv[m];
        if (recv->n == 0 || !is_here(exchange, recv->peer)) continue;
        halo_signal_peer(exchange, recv->peer,
                    &exchange->peer[recv->peer]->words[recv->peer_message].space,
                    exchange->forward_epoch);
    }
}

static bool has_space(const sundog_exchange *exchange, int m)
{
    return (exchange->lockstep && is_here(exchange, halo_route_of(exchange)->send[m].peer)) ||
           base_reached(base_acquire(&exchange->words[m].space), exchange->forward_epoch);
}

static sundog_status wait_space(sundog_exchange *exchange, int m)
{
    if (has_space(exchange, m)) return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].space, exchange->forward_epoch, "space",
                    halo_route_of(exchange)->send[m].peer, m);
}

static sundog_status wait_arrived(sundog_exchange *exchange, int m)
{
    const halo_recv *recv = &halo_route_of(exchange)->recv[m];
    if (recv->n == 0) return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].arrived, exchange->forward_epoch, "arrived",
                    recv->peer, m);
}

static void store_run(sundog_exchange *exchange, int m, const halo_run *run)
{
    const halo_route *route = halo_route_of(exchange);
    const sundog_exchange *to = exchange->peer[route->send[m].peer];
    if (!to) {
        halo_remote_store_run(exchange, m, run);
        return;
    }
    for (int f = 0; f < exchange->n_fields; f++)
        halo_copy(&exchange->field[f], run->src, &to->field[f], run->dst, run->n,
                  (const double (*)[3])route->shift + run->shift, run->n_shifts);
}

static void signal_arrived(sundog_exchange *exchange, int m)
{
    const halo_send *send = &halo_route_of(exchange)->send[m];
    exchange->progress[m].sent = true;
    if (is_here(exchange, send->peer))
        halo_signal_peer(exchange, send->peer,
                         &exchange->peer[send->peer]->words[send->peer_message].arrived,
                         exchange->forward_epoch);
    else
        halo_remote_send(exchange, m);
}

/* Runs that need no earlier message. True if these are all. */
static bool store_independent(sundog_exchange *exchange, int m)
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    exchange->progress[m].started = true;
    for (int i = 0; i < send->n_runs; i++) {
        const halo_run *run = &route->run[send->first_run + i];
        if (run->source >= 0) return false;
        store_run(exchange, m, run);
    }
    return true;
}

static sundog_status send_dependent(sundog_exchange *exchange, int m)
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    for (int i = 0; i < send->n_runs; i++) {
        const halo_run *run = &route->run[send->first_run + i];
        if (run->source < 0) continue;
        BASE_TRY(wait_arrived(exchange, run->source));
        BASE_TRY(team_enter(exchange->team));
        store_run(exchange, m, run);
        if (i == send->n_runs - 1) signal_arrived(exchange, m);
        team_leave(exchange->team);
    }
    return SUNDOG_OK;
}

/* ---- forward: rungs -------------------------------------------------------------------------- */

static bool is_open(const sundog_exchange *exchange, int m)
{
    return halo_route_of(exchange)->send[m].n > 0 && !exchange->progress[m].started;
}

/* Start everything that has credit; signal at once, or (direct route, fused) behind all stores. */
static void start_ready(sundog_exchange *exchange, bool signal_at_once)
{
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++) {
        if (!is_open(exchange, m) || !has_space(exchange, m)) continue;
        if (store_independent(exchange, m) && signal_at_once) signal_arrived(exchange, m);
    }
}

static void signal_started(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++)
        if (exchange->progress[m].started && !exchange->progress[m].sent)
            signal_arrived(exchange, m);
}

/* Wait for the credits that begin lacked, one after the other, taking all that are there. */
static sundog_status start_rest(sundog_exchange *exchange, bool signal_at_once)
{
    const halo_route *route = halo_route_of(exchange);
    for (int m = 0; m < route->n_messages; m++) {
        if (!is_open(exchange, m)) continue;
        BASE_TRY(wait_space(exchange, m));
        BASE_TRY(team_enter(exchange->team));
        start_ready(exchange, signal_at_once);
        team_leave(exchange->team);
    }
    return SUNDOG_OK;
}

static sundog_status wait_all(sundog_exchange *exchange)
{
    for (int m = 0; m < halo_route_of(exchange)->n_messages; m++)
        BASE_TRY(wait_arrived(exchange, m));
    return SUNDOG_OK;
}

static sundog_status announce(sundog_exchange *exchange)
{
    BASE_TRY(team_enter(exchange->team));
    announce_space(exchange);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status forward_begin_all(sundog_exchange *exchange, bool signal_at_once)
{
    BASE_TRY(team_enter(exchange->team));
    announce_space(exchange);
    start_ready(exchange, signal_at_once);
    if (!signal_at_once) signal_started(exchange);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status fused_forward_begin(sundog_exchange *exchange)
{
    return forward_begin_all(exchange, exchange->route == SUNDOG_ROUTE_STAGED);
}

static sundog_status fused_forward_end(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    BASE_TRY(start_rest(exchange, staged));
    if (!staged) {
        BASE_TRY(team_enter(exchange->team));
        signal_started(exchange);
        team_leave(exchange->team);
    }
    for (int m = 0; m < route->n_messages; m++)
        if (route->send[m].n > 0 && !exchange->progress[m].sent)
            BASE_TRY(send_dependent(exchange, m));
    return wait_all(exchange);
}

static sundog_status direct_forward_begin(sundog_exchange *exchange)
{
    return forward_begin_all(exchange, true);
}

static sundog_status direct_forward_end(sundog_exchange *exchange)
{
    BASE_TRY(start_rest(exchange, true));
    return wait_all(exchange);
}

static sundog_status send_whole(sundog_exchange *exchange, int m)
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    if (send->n == 0) return SUNDOG_OK;
    BASE_TRY(wait_space(exchange, m));
    BASE_TRY(team_enter(exchange->team));
    for (int i = 0; i < send->n_runs; i++)
        store_run(exchange, m, &route->run[send->first_run + i]);
    signal_arrived(exchange, m);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

/* Rung mpi: the message that went to another process has left the bytes that it was packed in. */
static sundog_status wait_left(sundog_exchange *exchange, int m)
{
    const halo_send *send = &halo_route_of(exchange)->send[m];
    if (exchange->rung != &halo_threads_mpi || send->n == 0 || is_here(exchange, send->peer))
        return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].space, exchange->forward_epoch + 1, "space",
                          send->peer, m);
}

static sundog_status pulse_forward_end(sundog_exchange *exchange)
{
    int n = halo_route_of(exchange)->n_messages, me = exchange->team->rank;
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    for (int i = 0; i < n; i++) {
        int out = staged ? i : (me + i) % n, in = staged ? i : (me - i + n) % n;
        BASE_TRY(send_whole(exchange, out));
        BASE_TRY(wait_arrived(exchange, in));
        BASE_TRY(wait_left(exchange, out));
    }
    return SUNDOG_OK;
}

/* ---- reverse: one message -------------------------------------------------------------------- */

static bool has_room(const sundog_exchange *exchange, int m)
{
    return (exchange->lockstep && is_here(exchange, halo_route_of(exchange)->recv[m].peer)) ||
           base_reached(base_acquire(&exchange->words[m].room), exchange->reverse_epoch - 1);
}

static sundog_status wait_room(sundog_exchange *exchange, int m)
{
    if (has_room(exchange, m)) return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].room, exchange->reverse_epoch - 1, "room",
                    halo_route_of(exchange)->recv[m].peer, m);
}

void halo_store_slot(const sundog_exchange *exchange, const halo_recv *recv, char *block)
{
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        if (!halo_is_float(field)) continue;
        halo_field slot = halo_packed(field, block);
        halo_copy(field, recv->rows, &slot, (halo_rows){NULL, 0}, recv->n, NULL, 0);
        block += halo_block_bytes(field, recv->n);
    }
}

/* In a peer's memory, with room. */
static void store_sums(sundog_exchange *exchange, int m)
{
    const halo_recv *recv = &halo_route_of(exchange)->recv[m];
    exchange->progress[m].sent = true;
    if (!is_here(exchange, recv->peer)) {
        halo_remote_send_sums(exchange, m);
        return;
    }
    halo_store_slot(exchange, recv, exchange->slot_at_peer[m]);
    halo_signal_peer(exchange, recv->peer,
                     &exchange->peer[recv->peer]->words[recv->peer_message].sums,
                     exchange->reverse_epoch);
}

static sundog_status send_sums(sundog_exchange *exchange, int m)
{
    if (halo_route_of(exchange)->recv[m].n == 0 || exchange->progress[m].sent) return SUNDOG_OK;
    BASE_TRY(wait_room(exchange, m));
    BASE_TRY(team_enter(exchange->team));
    store_sums(exchange, m);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status wait_sums(sundog_exchange *exchange, int m)
{
    const halo_send *send = &halo_route_of(exchange)->send[m];
    if (send->n == 0) return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].sums, exchange->reverse_epoch, "sums",
                    send->peer, m);
}

/* Add the slot of a message whose sums are here; says that the slot is free. */
static sundog_status add_sums(sundog_exchange *exchange, int m)
{
    const halo_send *send = &halo_route_of(exchange)->send[m];
    exchange->progress[m].received = true;
    if (send->n == 0) return SUNDOG_OK;
    char *block = exchange->slots + exchange->slot[m];
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        if (!halo_is_float(field)) continue;
        halo_field slot = halo_packed(field, block);
        halo_add(field, send->rows, &slot, (halo_rows){NULL, 0}, send->n);
        block += halo_block_bytes(field, send->n);
    }
    if (exchange->lockstep || !is_here(exchange, send->peer)) return SUNDOG_OK;
    BASE_TRY(team_enter(exchange->team));
    halo_signal_peer(exchange, send->peer,
                     &exchange->peer[send->peer]->words[send->peer_message].room,
                     exchange->reverse_epoch);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

/* ---- reverse: rungs -------------------------------------------------------------------------- */

/* Place i in the order of adding: pulses backwards, or peers in rank order. */
static int nth_to_add(const sundog_exchange *exchange, int i)
{
    return exchange->route == SUNDOG_ROUTE_STAGED ? halo_route_of(exchange)->n_messages - 1 - i : i;
}

/* After message m was added: ghosts that waited for it alone can go home. */
static sundog_status pass_on(sundog_exchange *exchange, int m)
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    for (int i = 0; i < send->n_runs; i++) {
        int source = route->run[send->first_run + i].source;
        if (source >= 0 && --exchange->progress[source].users_left == 0)
            BASE_TRY(send_sums(exchange, source));
    }
    return SUNDOG_OK;
}

static sundog_status fused_reverse_begin(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    BASE_TRY(team_enter(exchange->team));
    for (int m = 0; m < route->n_messages; m++)
        if (route->recv[m].n > 0 && exchange->progress[m].users_left == 0 && has_room(exchange, m))
            store_sums(exchange, m);
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static bool any_sums(const void *arg)
{
    sundog_exchange *exchange = ((const word_wait *)arg)->exchange;
    const halo_route *route = halo_route_of(exchange);
    if (exchange->remote) halo_remote_look(exchange);
    for (int m = 0; m < route->n_messages; m++)
        if (!exchange->progress[m].received && route->send[m].n > 0 &&
            base_reached(base_acquire_seen(&exchange->words[m].sums), exchange->reverse_epoch))
            return true;
    return false;
}

/* Add whatever has come. The record of a time-out names the first message that is missing. */
static sundog_status add_as_they_come(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    for (;;) {
        int missing = -1;
        for (int i = 0; i < route->n_messages; i++) {
            int m = nth_to_add(exchange, i);
            if (exchange->progress[m].received || route->send[m].n == 0) continue;
            if (!base_reached(base_acquire(&exchange->words[m].sums), exchange->reverse_epoch)) {
                if (missing < 0) missing = m;
                continue;
            }
            BASE_TRY(add_sums(exchange, m));
            BASE_TRY(pass_on(exchange, m));
        }
        if (missing < 0) return SUNDOG_OK;
        word_wait wait = {exchange, &exchange->words[missing].sums, exchange->reverse_epoch, "sums",
                          route->send[missing].peer, missing};
        team_condition condition = {any_sums, word_describe, &wait, exchange->remote != NULL};
        BASE_TRY(team_wait(exchange->team, team_bell_of(exchange->team, exchange->team->rank),
                           &condition));
    }
}

static sundog_status fused_reverse_end(sundog_exchange *exchange)
{
    int n = halo_route_of(exchange)->n_messages;
    for (int m = 0; m < n; m++)
        if (exchange->progress[m].users_left == 0) BASE_TRY(send_sums(exchange, m));
    if (!exchange->deterministic) return add_as_they_come(exchange);
    for (int i = 0; i < n; i++) {
        int m = nth_to_add(exchange, i);
        BASE_TRY(wait_sums(exchange, m));
        BASE_TRY(add_sums(exchange, m));
        BASE_TRY(pass_on(exchange, m));
    }
    return SUNDOG_OK;
}

static sundog_status do_nothing(sundog_exchange *exchange)
{
    (void)exchange;
    return SUNDOG_OK;
}

static sundog_status wait_sums_left(sundog_exchange *exchange, int m)
{
    const halo_recv *recv = &halo_route_of(exchange)->recv[m];
    if (exchange->rung != &halo_threads_mpi || recv->n == 0 || is_here(exchange, recv->peer))
        return SUNDOG_OK;
    return halo_wait_word(exchange, &exchange->words[m].room, exchange->reverse_epoch, "room",
                          recv->peer, m);
}

/* Staged: a pulse's ghosts are complete when all later pulses are added. Direct: everything is
 * acquired first, since peers are met in another order than that of adding. */
static sundog_status pulse_reverse_end(sundog_exchange *exchange)
{
    int n = halo_route_of(exchange)->n_messages, me = exchange->team->rank;
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    for (int i = 0; i < n; i++) {
        int m = n - 1 - i, out = staged ? m : (me - i + n) % n, in = staged ? m : (me + i) % n;
        BASE_TRY(send_sums(exchange, out));
        BASE_TRY(wait_sums(exchange, in));
        BASE_TRY(wait_sums_left(exchange, out));
        if (staged) BASE_TRY(add_sums(exchange, m));
    }
    for (int m = 0; m < n && !staged; m++) BASE_TRY(add_sums(exchange, m));
    return SUNDOG_OK;
}

const halo_rung halo_threads_pulse = {
    "pulse", "threads", HALO_CAP_STAGED | HALO_CAP_DIRECT | HALO_CAP_WORDS,
    announce, pulse_forward_end, do_nothing, pulse_reverse_end,
    NULL, NULL, NULL};
const halo_rung halo_threads_mpi = {
    "mpi", "threads", HALO_CAP_STAGED | HALO_CAP_DIRECT | HALO_CAP_WORDS,
    announce, pulse_forward_end, do_nothing, pulse_reverse_end,
    NULL, NULL, NULL};
const halo_rung halo_threads_fused = {
    "fused", "threads", HALO_CAP_STAGED | HALO_CAP_DIRECT | HALO_CAP_WORDS,
    fused_forward_begin, fused_forward_end, fused_reverse_begin, fused_reverse_end,
    NULL, NULL, NULL};
const halo_rung halo_threads_direct = {
    "direct", "threads", HALO_CAP_DIRECT | HALO_CAP_WORDS,
    direct_forward_begin, direct_forward_end, fused_reverse_begin, fused_reverse_end,
    NULL, NULL, NULL};
