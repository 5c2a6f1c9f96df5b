/* Packing, sending and unpacking for ranks of other processes (remote.h).
 *
 *   forward message   field after field, rows in the order of the receiver's ghosts
 *   reverse message   float fields alone, as in a slot
 *
 * Every field begins on a cache line (halo_block_bytes), and every message has its own bytes.
 */
#include "halo/fabric/remote.h"

#include "base/alloc.h"
#include "halo/fabric/fabric.h"
#include "team/wire.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_OUT, ROWS_IN, SUMS_OUT, SUMS_IN, N_WAYS };

typedef struct remote_message {
    int m;
    struct remote_way {
        team_channel *channel;      /* NULL: nothing goes this way */
        char *bytes;
        bool busy;
    } way[N_WAYS];
} remote_message;

typedef struct halo_remote {
    team_line *line;
    int n;
    remote_message *message;        /* [n], those with a peer elsewhere */
    int *number;                    /* [n_messages] in message; -1: with a peer here */
    char *bytes;
    size_t capacity_message, capacity_number, capacity_bytes;
} halo_remote;

static const team_wire *wire_of(const sundog_exchange *exchange)
{
    return exchange->team->shared->wire;
}

/* ---- binding --------------------------------------------------------------------------------- */

static size_t rows_bytes(const sundog_exchange *exchange, sundog_idx n)
{
    size_t sum = 0;
    for (int f = 0; f < exchange->n_fields; f++)
        sum += halo_block_bytes(&exchange->field[f], n);
    return sum;
}

/* Bytes of each way of message m. */
static void way_bytes(const sundog_exchange *exchange, int m, size_t n_bytes[N_WAYS])
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    const halo_recv *recv = &route->recv[m];
    bool sends = !team_is_here(exchange->team, send->peer);
    bool receives = !team_is_here(exchange->team, recv->peer);
    n_bytes[ROWS_OUT] = sends ? rows_bytes(exchange, send->n) : 0;
    n_bytes[ROWS_IN] = receives ? rows_bytes(exchange, recv->n) : 0;
    n_bytes[SUMS_OUT] = receives ? halo_slot_bytes(exchange, recv->n) : 0;
    n_bytes[SUMS_IN] = sends ? halo_slot_bytes(exchange, send->n) : 0;
}

/* Which messages have ends elsewhere, and room for what is packed; sums arrive in the slot. */
static sundog_status lay_out(sundog_exchange *exchange, halo_remote *remote)
{
    int n_messages = halo_route_of(exchange)->n_messages;
    size_t total = 0;
    BASE_TRY(HALO_RESERVE(remote->message, remote->capacity_message, n_messages));
    BASE_TRY(HALO_RESERVE(remote->number, remote->capacity_number, n_messages));
    remote->n = 0;
    for (int m = 0; m < n_messages; m++) {
        size_t n_bytes[N_WAYS];
        way_bytes(exchange, m, n_bytes);
        remote->number[m] = -1;
        if (!n_bytes[ROWS_OUT] && !n_bytes[ROWS_IN]) continue;
        remote->number[m] = remote->n;
        remote->message[remote->n++] = (remote_message){.m = m};
        total += n_bytes[ROWS_OUT] + n_bytes[ROWS_IN] + n_bytes[SUMS_OUT];
    }
    BASE_TRY(HALO_RESERVE(remote->bytes, remote->capacity_bytes, total));
    char *at = remote->bytes;
    for (int i = 0; i < remote->n; i++) {
        remote_message *message = &remote->message[i];
        size_t n_bytes[N_WAYS];
        way_bytes(exchange, message->m, n_bytes);
        for (int w = 0; w < SUMS_IN; w++) {
            message->way[w].bytes = at;
            at += n_bytes[w];
        }
        message->way[SUMS_IN].bytes = exchange->slots + exchange->slot[message->m];
    }
    return SUNDOG_OK;
}

/* Numbers tell forward from reverse, and a message by the receiver's number of it. */
static sundog_status open_ways(sundog_exchange *exchange, halo_remote *remote)
{
    const halo_route *route = halo_route_of(exchange);
    for (int i = 0; i < remote->n; i++) {
        remote_message *message = &remote->message[i];
        int m = message->m;
        const halo_send *send = &route->send[m];
        const halo_recv *recv = &route->recv[m];
        size_t n_bytes[N_WAYS];
        way_bytes(exchange, m, n_bytes);
        const wire_message of_way[N_WAYS] = {
            [ROWS_OUT] = {send->peer, 2 * send->peer_message, true, NULL, 0},
            [ROWS_IN] = {recv->peer, 2 * m, false, NULL, 0},
            [SUMS_OUT] = {recv->peer, 2 * recv->peer_message + 1, true, NULL, 0},
            [SUMS_IN] = {send->peer, 2 * m + 1, false, NULL, 0}};
        for (int w = 0; w < N_WAYS; w++) {
            wire_message open = of_way[w];
            if (n_bytes[w] == 0) continue;
            open.bytes = message->way[w].bytes;
            open.n_bytes = n_bytes[w];
            BASE_TRY(wire_of(exchange)->open_channel(exchange->team, remote->line, &open,
                                                     &message->way[w].channel));
        }
        if (n_bytes[ROWS_OUT] > 0)
            base_release(&exchange->words[m].space, exchange->forward_epoch + 1);
    }
    return SUNDOG_OK;
}

static void close_ways(sundog_exchange *exchange, halo_remote *remote)
{
    for (int i = 0; i < remote->n; i++)
        for (int w = 0; w < N_WAYS; w++)
            wire_of(exchange)->close_channel(remote->message[i].way[w].channel);
    remote->n = 0;
}

sundog_status halo_remote_bind(sundog_exchange *exchange)
{
    sundog_status status = SUNDOG_OK;
    if (!exchange->remote) {
        halo_remote *fresh = base_try_alloc(sizeof *fresh);
        if (!fresh) status = base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
        BASE_TRY(team_agree(exchange->team, status));
        memset(fresh, 0, sizeof *fresh);
        exchange->remote = fresh;
        BASE_TRY(team_open_line(exchange->team, &fresh->line));
    }
    halo_remote *remote = exchange->remote;
    close_ways(exchange, remote);
    status = lay_out(exchange, remote);
    if (status == SUNDOG_OK) status = open_ways(exchange, remote);
    return team_agree(exchange->team, status);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void unpack(sundog_exchange *exchange, const remote_message *message)
{
    const halo_recv *recv = &halo_route_of(exchange)->recv[message->m];
    char *block = message->way[ROWS_IN].bytes;
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        halo_field packed = halo_packed(field, block);
        halo_copy(&packed, (halo_rows){NULL, 0}, field, recv->rows, recv->n, NULL, 0);
        block += halo_block_bytes(field, recv->n);
    }
}

/* It was under way and is not any more. */
static bool has_ended(const sundog_exchange *exchange, struct remote_way *way)
{
    if (!way->busy || !wire_of(exchange)->done(way->channel)) return false;
    way->busy = false;
    return true;
}

void halo_remote_look(sundog_exchange *exchange)
{
    for (int i = 0; i < exchange->remote->n; i++) {
        remote_message *message = &exchange->remote->message[i];
        halo_words *words = &exchange->words[message->m];
        if (team_is_dead(exchange->team)) return;
        if (has_ended(exchange, &message->way[ROWS_IN])) {
            unpack(exchange, message);
            base_release(&words->arrived, exchange->forward_epoch);
        }
        if (has_ended(exchange, &message->way[SUMS_IN]))
            base_release(&words->sums, exchange->reverse_epoch);
        if (has_ended(exchange, &message->way[ROWS_OUT]))
            base_release(&words->space, base_acquire(&words->space) + 1);
        if (has_ended(exchange, &message->way[SUMS_OUT]))
            base_release(&words->room, base_acquire(&words->room) + 1);
    }
}

static void start(sundog_exchange *exchange, struct remote_way *way)
{
    way->busy = true;
    wire_of(exchange)->start(way->channel);
}

/* Without float fields there are no sums to come, and none to go. */
void halo_remote_expect(sundog_exchange *exchange, bool forward)
{
    for (int i = 0; i < exchange->remote->n; i++) {
        remote_message *message = &exchange->remote->message[i];
        struct remote_way *way = &message->way[forward ? ROWS_IN : SUMS_IN];
        if (way->channel)
            start(exchange, way);
        else if (!forward && message->way[ROWS_OUT].channel)
            base_release(&exchange->words[message->m].sums, exchange->reverse_epoch);
    }
    halo_remote_look(exchange);
}

/* ---- sending --------------------------------------------------------------------------------- */

static remote_message *message_of(sundog_exchange *exchange, int m)
{
    return &exchange->remote->message[exchange->remote->number[m]];
}

void halo_remote_store_run(sundog_exchange *exchange, int m, const halo_run *run)
{
    const halo_route *route = halo_route_of(exchange);
    char *block = message_of(exchange, m)->way[ROWS_OUT].bytes;
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        halo_field packed = halo_packed(field, block);
        halo_copy(field, run->src, &packed, run->place, run->n,
                  (const double (*)[3])route->shift + run->shift, run->n_shifts);
        block += halo_block_bytes(field, route->send[m].n);
    }
}

void halo_remote_send(sundog_exchange *exchange, int m)
{
    if (halo_before_signal) halo_before_signal(exchange->team->rank);
    start(exchange, &message_of(exchange, m)->way[ROWS_OUT]);
}

void halo_remote_send_sums(sundog_exchange *exchange, int m)
{
    const halo_recv *recv = &halo_route_of(exchange)->recv[m];
    struct remote_way *way = &message_of(exchange, m)->way[SUMS_OUT];
    if (halo_before_signal) halo_before_signal(exchange->team->rank);
    if (!way->channel) {
        base_release(&exchange->words[m].room, exchange->reverse_epoch);
        return;
    }
    halo_store_slot(exchange, recv, way->bytes);
    start(exchange, way);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool all_left(const void *arg)
{
    sundog_exchange *exchange;
    memcpy(&exchange, arg, sizeof exchange);
    halo_remote_look(exchange);
    for (int i = 0; i < exchange->remote->n; i++)
        for (int w = 0; w < N_WAYS; w++)
            if (exchange->remote->message[i].way[w].busy) return false;
    return true;
}

static void describe_left(const void *arg, char *text, size_t n_bytes)
{
    sundog_exchange *exchange;
    memcpy(&exchange, arg, sizeof exchange);
    snprintf(text, n_bytes, "rank %d waits for its last messages to leave (%s)",
             exchange->team->rank, exchange->description);
}

sundog_status halo_remote_finish(sundog_exchange *exchange)
{
    if (!exchange->remote) return SUNDOG_OK;
    team_condition condition = {all_left, describe_left, &exchange, true};
    return team_wait(exchange->team, team_bell_of(exchange->team, exchange->team->rank),
                     &condition);
}

void halo_remote_release(sundog_exchange *exchange)
{
    halo_remote *remote = exchange->remote;
    if (!remote || team_is_dead(exchange->team)) return;
    close_ways(exchange, remote);
    wire_of(exchange)->close_line(remote->line);
    base_free(remote->bytes);
    base_free(remote->number);
    base_free(remote->message);
    base_free(remote);
    exchange->remote = NULL;
}
