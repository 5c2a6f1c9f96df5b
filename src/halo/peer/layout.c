/* The layout of an exchange on a GPU; see layout.h. */
#include "halo/peer/layout.h"

#include "base/alloc.h"

#include <string.h>

enum {
    CHUNK_ROWS = 256,               /* a row or a few components for each thread of a block */
    LEAST_ROWS = 64,                /* fewer, where blocks would be idle */
    CHUNK_BYTES = 16384,            /* wide rows: fewer */
    WARP_ROWS = 32,                 /* a row for each thread of a warp; large exchanges: 2 or 4 */
    MANY_ROWS = 60000,              /* sent and received, for which an exchange is large */
    WARP_BYTES = 4096,              /* what a warp's buffer holds */
};

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

static int chunk_rows_of(const sundog_exchange *exchange, halo_transport transport, int max_blocks)
{
    const halo_route *route = halo_route_of(exchange);
    int widest = 1, rows = CHUNK_ROWS, bytes = CHUNK_BYTES, n_rows = 0;
    for (int f = 0; f < exchange->n_fields; f++)
        if ((int)exchange->field[f].row_bytes > widest)
            widest = (int)exchange->field[f].row_bytes;
    for (int m = 0; m < route->n_messages; m++) n_rows += route->send[m].n + route->recv[m].n;
    if (transport == HALO_BULK) {
        bytes = WARP_BYTES;
        rows = n_rows < MANY_ROWS ? WARP_ROWS : n_rows < 3 * MANY_ROWS ? 2 * WARP_ROWS
                                                                       : 4 * WARP_ROWS;
    } else if (n_rows / max_blocks < CHUNK_ROWS) {      /* whole warps for every block */
        rows = (n_rows / max_blocks + WARP_ROWS) / WARP_ROWS * WARP_ROWS;
        if (rows < LEAST_ROWS) rows = LEAST_ROWS;
    }
    int fit = bytes / widest;
    return at_least_one(fit < rows ? fit : rows);
}

static void set_fields(const sundog_exchange *exchange, halo_layout *layout)
{
    layout->n_flits = layout->n_sum_flits = 0;
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *from = &exchange->field[f];
        sundog_view_field *to = &layout->field[f];
        int per_flit = from->type == SUNDOG_INT8 ? 12
                       : from->type == SUNDOG_INT64 || from->type == SUNDOG_FLOAT64 ? 1 : 3;
        *to = (sundog_view_field){
            .rows = from->rows, .type = (int32_t)from->type, .width = from->width,
            .row_bytes = (int32_t)from->row_bytes, .stride = (int32_t)from->stride,
            .sent_stride = (int32_t)(layout->boxed ? from->row_bytes : from->stride),
            .shifted = from->shifted,
            .n_flits = (from->width + per_flit - 1) / per_flit, .first_flit = layout->n_flits,
            .first_sum_flit = layout->n_sum_flits};
        layout->n_flits += to->n_flits;
        if (halo_is_float(from)) layout->n_sum_flits += to->n_flits;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sundog_status set_rows(const sundog_exchange *exchange, halo_layout *layout)
{
    const halo_route *route = halo_route_of(exchange);
    int n_messages = route->n_messages, n_send = 0, n_recv = 0, n_users = 0;
    BASE_TRY(HALO_RESERVE(layout->send, layout->capacity_send, n_messages));
    BASE_TRY(HALO_RESERVE(layout->recv, layout->capacity_recv, n_messages));
    for (int m = 0; m < n_messages; m++) {
        layout->send[m] = (sundog_view_send){.peer = route->send[m].peer, .first = n_send,
                                             .n = route->send[m].n};
        layout->recv[m] = (sundog_view_recv){.peer = route->recv[m].peer, .first = n_recv,
                                             .n = route->recv[m].n, .first_user = n_users};
        n_send += route->send[m].n;
        n_recv += route->recv[m].n;
        n_users += route->recv[m].n_users;
    }
    layout->n_send_rows = n_send;
    layout->n_recv_rows = n_recv;
    layout->n_users = n_users;
    BASE_TRY(HALO_RESERVE(layout->src, layout->capacity_src, n_send));
    BASE_TRY(HALO_RESERVE(layout->dst, layout->capacity_dst, n_send));
    BASE_TRY(HALO_RESERVE(layout->place, layout->capacity_place, n_send));
    BASE_TRY(HALO_RESERVE(layout->ghost, layout->capacity_ghost, n_recv));
    BASE_TRY(HALO_RESERVE(layout->user, layout->capacity_user, n_users));
    for (int m = 0; m < n_messages; m++) {
        const halo_send *send = &route->send[m];
        int32_t i = layout->send[m].first;
        for (int r = 0; r < send->n_runs; r++) {
            const halo_run *run = &route->run[send->first_run + r];
            for (sundog_idx k = 0; k < run->n; k++, i++) {
                layout->src[i] = halo_row(run->src, k);
                layout->place[i] = halo_row(run->place, k);
                layout->dst[i] = layout->boxed ? layout->place[i] : halo_row(run->dst, k);
            }
            if (run->source >= 0) {
                sundog_view_recv *source = &layout->recv[run->source];
                layout->user[source->first_user + source->n_users++] = m;
            }
        }
        for (sundog_idx k = 0; k < route->recv[m].n; k++)
            layout->ghost[layout->recv[m].first + k] = halo_row(route->recv[m].rows, k);
    }
    layout->n_shifts = (int)route->n_shift;
    BASE_TRY(HALO_RESERVE(layout->shift, layout->capacity_shift, route->n_shift));
    if (route->n_shift > 0)
        memcpy(layout->shift, route->shift, route->n_shift * sizeof *route->shift);
    return SUNDOG_OK;
}

/* ---- forward chunks -------------------------------------------------------------------------- */

static sundog_status add_forward(halo_layout *layout, sundog_view_chunk chunk, int n)
{
    int first = chunk.first;
    for (int done = 0; done < n; done += layout->chunk_rows) {
        BASE_TRY(HALO_RESERVE(layout->forward, layout->capacity_forward, layout->n_forward + 1));
        chunk.first = first + done;
        chunk.n = n - done < layout->chunk_rows ? n - done : layout->chunk_rows;
        chunk.contiguous = chunk.kind == SUNDOG_CHUNK_SEND;
        for (int k = 1; k < chunk.n && chunk.contiguous; k++)
            chunk.contiguous = layout->dst[chunk.first + k] == layout->dst[chunk.first] + k;
        layout->forward[layout->n_forward++] = chunk;
        if (chunk.kind == SUNDOG_CHUNK_SEND) layout->send[chunk.message].n_chunks++;
    }
    return SUNDOG_OK;
}

static sundog_status add_runs(const sundog_exchange *exchange, halo_layout *layout, int m,
                              bool dependent)
{
    const halo_route *route = halo_route_of(exchange);
    const halo_send *send = &route->send[m];
    int first = layout->send[m].first;
    for (int r = 0; r < send->n_runs; r++) {
        const halo_run *run = &route->run[send->first_run + r];
        sundog_view_chunk chunk = {.kind = SUNDOG_CHUNK_SEND, .message = m, .first = first,
                                   .source = run->source, .n_shifts = run->n_shifts,
                                   .shift = (int32_t)run->shift};
        if ((run->source >= 0) == dependent) BASE_TRY(add_forward(layout, chunk, run->n));
        first += run->n;
    }
    return SUNDOG_OK;
}

static sundog_status add_receives(halo_layout *layout, int first_message, int n_messages)
{
    for (int m = first_message; m < first_message + n_messages; m++) {
        sundog_view_chunk chunk = {.kind = SUNDOG_CHUNK_RECEIVE, .message = m, .source = -1,
                                   .first = layout->recv[m].first};
        BASE_TRY(add_forward(layout, chunk, layout->recv[m].n));
    }
    return SUNDOG_OK;
}

/* Place i in the order of sending: pulses rising; peers from the next one on. */
static int nth_to_send(const sundog_exchange *exchange, int i)
{
    int n = halo_route_of(exchange)->n_messages;
    if (exchange->route == SUNDOG_ROUTE_STAGED) return i;
    return (exchange->team->rank + 1 + i) % n;
}

static int nth_to_receive(const sundog_exchange *exchange, int i)
{
    int n = halo_route_of(exchange)->n_messages;
    if (exchange->route == SUNDOG_ROUTE_STAGED) return i;
    return (exchange->team->rank - 1 - i + 2 * n) % n;
}

static sundog_status push(halo_launches *launches, int cut, halo_launch launch)
{
    halo_range *range = &launches->cut[cut];
    size_t at = (size_t)(range->first + range->n);
    BASE_TRY(HALO_RESERVE(launches->launch, launches->capacity, at + 1));
    launches->launch[at] = launch;
    range->n++;
    return SUNDOG_OK;
}

/* Cuts are filled one after the other; each begins where the one before ends. */
static void next_cut(halo_launches *launches, int cut)
{
    int first = cut == 0 ? 0 : launches->cut[cut - 1].first + launches->cut[cut - 1].n;
    launches->cut[cut] = (halo_range){first, 0};
}

static uint32_t last_of(int i, int n)
{
    return i == n - 1 ? HALO_PART_LAST : 0;
}

/* Chunks of sending, message by message; behind them, where an inbox is unpacked by kernels that
 * wait (not by rung stream), those of receiving. */
static sundog_status order_pulse(const sundog_exchange *exchange, halo_layout *layout,
                                 int *n_chunks)
{
    int n = halo_route_of(exchange)->n_messages;
    bool receives = layout->boxed && !layout->one_word;
    for (int i = 0; i < n; i++) {
        int m = nth_to_send(exchange, i);
        layout->sends[m].first = layout->n_forward;
        BASE_TRY(add_runs(exchange, layout, m, false));
        BASE_TRY(add_runs(exchange, layout, m, true));
        layout->sends[m].n = layout->n_forward - layout->sends[m].first;
        if (receives) BASE_TRY(add_receives(layout, nth_to_receive(exchange, i), 1));
        n_chunks[i] = layout->n_forward - layout->sends[m].first;
    }
    return SUNDOG_OK;
}

static sundog_status launch_pulse(const sundog_exchange *exchange, halo_layout *layout,
                                  const int *n_chunks)
{
    int n = halo_route_of(exchange)->n_messages;
    bool receives = layout->boxed && !layout->one_word;
    for (int cut = 0; cut < HALO_N_CUTS; cut++) {
        next_cut(&layout->forth, cut);
        if (cut == HALO_BEGIN || n == 0)
            BASE_TRY(push(&layout->forth, cut,
                          (halo_launch){.parts = cut == HALO_BEGIN ? HALO_PART_ANNOUNCE
                                                                   : HALO_PART_LAST}));
        for (int i = 0; i < n && cut != HALO_BEGIN; i++) {
            int m = nth_to_send(exchange, i);
            halo_launch launch = {.first = layout->sends[m].first, .n = n_chunks[i],
                                  .wait_first = nth_to_receive(exchange, i),
                                  .wait_n = receives ? 0 : 1, .parts = last_of(i, n)};
            if (i == 0 && cut == HALO_WHOLE) launch.parts |= HALO_PART_ANNOUNCE;
            BASE_TRY(push(&layout->forth, cut, launch));
        }
    }
    return SUNDOG_OK;
}

/* One launch a message. */
static sundog_status forward_pulse(const sundog_exchange *exchange, halo_layout *layout)
{
    size_t n = (size_t)halo_route_of(exchange)->n_messages;
    int *n_chunks = base_try_alloc((n + 1) * sizeof *n_chunks);
    if (!n_chunks) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu messages", n);
    sundog_status status = order_pulse(exchange, layout, n_chunks);
    if (status == SUNDOG_OK) status = launch_pulse(exchange, layout, n_chunks);
    base_free(n_chunks);
    return status;
}

static sundog_status forward_fused(const sundog_exchange *exchange, halo_layout *layout)
{
    int n = halo_route_of(exchange)->n_messages;
    bool flits = layout->transport == HALO_FLIT, receives = flits || layout->boxed;
    for (int i = 0; i < n; i++)
        BASE_TRY(add_runs(exchange, layout, nth_to_send(exchange, i), false));
    int n_free = layout->n_forward;
    for (int m = 0; m < n; m++) BASE_TRY(add_runs(exchange, layout, m, true));
    if (receives) BASE_TRY(add_receives(layout, 0, n));
    uint32_t announce = flits ? 0 : HALO_PART_ANNOUNCE;
    int n_wait = receives ? 0 : n;
    next_cut(&layout->forth, HALO_WHOLE);
    BASE_TRY(push(&layout->forth, HALO_WHOLE,
                  (halo_launch){0, layout->n_forward, 0, n_wait, announce | HALO_PART_LAST}));
    next_cut(&layout->forth, HALO_BEGIN);
    BASE_TRY(push(&layout->forth, HALO_BEGIN, (halo_launch){0, n_free, 0, 0, announce}));
    next_cut(&layout->forth, HALO_END);
    return push(&layout->forth, HALO_END, (halo_launch){n_free, layout->n_forward - n_free, 0,
                                                        n_wait, HALO_PART_LAST});
}

/* ---- words of a message ---------------------------------------------------------------------- */

/* A far peer gets a message at once, so its chunks are counted together. */
static int chunks_per_word(const halo_layout *layout, int n_chunks, int peer)
{
    bool together = layout->one_word || (layout->far && layout->far[peer]);
    return at_least_one(together ? n_chunks : halo_n_words(n_chunks, SUNDOG_MESSAGE_WORDS));
}

/* Chunks signal by the words of their message in the order in which they are listed. */
static void set_words(halo_layout *layout, int n_messages)
{
    layout->n_sent_words = layout->n_returned_words = 0;
    for (int m = 0; m < n_messages; m++) {
        sundog_view_send *send = &layout->send[m];
        sundog_view_recv *recv = &layout->recv[m];
        send->per_word = chunks_per_word(layout, send->n_chunks, send->peer);
        recv->per_word = chunks_per_word(layout, recv->n_chunks, recv->peer);
        send->first_word = layout->n_sent_words;
        recv->first_word = layout->n_returned_words;
        layout->n_sent_words += halo_n_words(send->n_chunks, send->per_word);
        layout->n_returned_words += halo_n_words(recv->n_chunks, recv->per_word);
        send->n_chunks = recv->n_chunks = 0;            /* counted again below */
    }
    for (int i = 0; i < layout->n_forward; i++) {
        sundog_view_chunk *chunk = &layout->forward[i];
        sundog_view_send *send = &layout->send[chunk->message];
        if (chunk->kind == SUNDOG_CHUNK_SEND)
            chunk->word = (int16_t)(send->n_chunks++ / send->per_word);
    }
    for (int i = 0; i < layout->n_reverse; i++) {
        sundog_view_chunk *chunk = &layout->reverse[i];
        if (chunk->kind != SUNDOG_CHUNK_SEND) continue;
        sundog_view_recv *recv = &layout->recv[chunk->message];
        chunk->word = (int16_t)(recv->n_chunks++ / recv->per_word);
    }
}

/* ---- order of adding ------------------------------------------------------------------------- */

/* Targets of a group in the order in which they first appear; terms in the order of adding. */
static void group_targets(const sundog_exchange *exchange, halo_layout *layout, int from, int to,
                          int *n_entries)
{
    const halo_route *route = halo_route_of(exchange);
    int first = layout->n_targets;
    for (int m = from; m < to; m++)
        for (sundog_idx k = 0; k < route->send[m].n; k++) {
            sundog_idx row = halo_row(route->send[m].rows, k);
            if (layout->mark[row] < 0) {
                layout->mark[row] = layout->n_targets;
                layout->add_row[layout->n_targets] = row;
                layout->add_first[++layout->n_targets] = 0;
            }
            layout->add_first[layout->mark[row] + 1]++;
        }
    layout->add_first[first] = *n_entries;
    for (int t = first; t < layout->n_targets; t++)     /* counts become ends */
        layout->add_first[t + 1] += layout->add_first[t];
    *n_entries = layout->add_first[layout->n_targets];
    for (int m = to - 1; m >= from; m--)                /* filled from the ends */
        for (sundog_idx k = route->send[m].n - 1; k >= 0; k--) {
            int t = layout->mark[halo_row(route->send[m].rows, k)];
            layout->add_entry[--layout->add_first[t + 1]] = layout->send[m].first + k;
        }
    /* Every end has become its target's begin: move all up by one place. */
    for (int t = first; t < layout->n_targets; t++) {
        layout->mark[layout->add_row[t]] = -1;
        layout->add_first[t] = layout->add_first[t + 1];
    }
    layout->add_first[layout->n_targets] = *n_entries;
}

/* Groups: the messages of the staged route; all at once on the direct route, since its order goes
 * across messages; atomic adding has no order. */
static sundog_status set_targets(const sundog_exchange *exchange, halo_layout *layout,
                                 halo_range *targets)
{
    const halo_route *route = halo_route_of(exchange);
    sundog_idx n_rows = exchange->plan->n_rows;
    int n_entries = 0;
    BASE_TRY(HALO_RESERVE(layout->add_row, layout->capacity_add_row, layout->n_send_rows));
    BASE_TRY(HALO_RESERVE(layout->add_first, layout->capacity_add_first,
                          layout->n_send_rows + 1));
    BASE_TRY(HALO_RESERVE(layout->add_entry, layout->capacity_add_entry, layout->n_send_rows));
    BASE_TRY(HALO_RESERVE(layout->mark, layout->capacity_mark, n_rows));
    for (sundog_idx row = 0; row < n_rows; row++) layout->mark[row] = -1;
    layout->n_targets = 0;
    layout->add_first[0] = 0;
    for (int g = 0; g < layout->n_groups; g++) {
        int from = layout->group_first[g], to = layout->group_first[g + 1];
        targets[g].first = layout->n_targets;
        if (exchange->deterministic) {
            group_targets(exchange, layout, from, to, &n_entries);
        } else {
            for (sundog_idx k = 0; k < route->send[g].n; k++)
                layout->add_row[layout->n_targets++] = halo_row(route->send[g].rows, k);
        }
        targets[g].n = layout->n_targets - targets[g].first;
    }
    return SUNDOG_OK;
}

/* ---- reverse chunks -------------------------------------------------------------------------- */

static sundog_status add_reverse(halo_layout *layout, sundog_view_chunk chunk, int n)
{
    int first = chunk.first;
    for (int done = 0; done < n; done += layout->chunk_rows) {
        BASE_TRY(HALO_RESERVE(layout->reverse, layout->capacity_reverse, layout->n_reverse + 1));
        chunk.first = first + done;
        chunk.n = n - done < layout->chunk_rows ? n - done : layout->chunk_rows;
        layout->reverse[layout->n_reverse++] = chunk;
    }
    return SUNDOG_OK;
}

static sundog_status add_returns(halo_layout *layout, int m)
{
    sundog_view_chunk chunk = {.kind = SUNDOG_CHUNK_SEND, .message = m, .source = -1,
                               .first = layout->recv[m].first};
    layout->returns[m].first = layout->n_reverse;
    BASE_TRY(add_reverse(layout, chunk, layout->recv[m].n));
    layout->returns[m].n = layout->n_reverse - layout->returns[m].first;
    layout->recv[m].n_chunks = layout->returns[m].n;
    return SUNDOG_OK;
}

/* Targets of group g, after those of group `before` (-1: none). */
static sundog_status add_adds(halo_layout *layout, int g, int before, halo_range targets)
{
    sundog_view_chunk chunk = {.kind = SUNDOG_CHUNK_ADD, .message = g, .source = before,
                               .first = targets.first};
    layout->adds[g].first = layout->n_reverse;
    BASE_TRY(add_reverse(layout, chunk, targets.n));
    layout->adds[g].n = layout->n_reverse - layout->adds[g].first;
    layout->add_chunks[g] = layout->adds[g].n;
    return SUNDOG_OK;
}

/* Groups from the last to the first (staged) or rising; `with_returns`: before each group those
 * ghosts of its message that are not returned yet. */
static sundog_status add_groups(const sundog_exchange *exchange, halo_layout *layout,
                                const halo_range *targets, bool with_returns, bool all_returns)
{
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    int before = -1;
    for (int i = 0; i < layout->n_groups; i++) {
        int g = staged ? layout->n_groups - 1 - i : i;
        if (with_returns && (all_returns || layout->recv[g].n_users > 0))
            BASE_TRY(add_returns(layout, g));
        BASE_TRY(add_adds(layout, g, exchange->deterministic ? before : -1, targets[g]));
        if (targets[g].n > 0) before = g;
    }
    return SUNDOG_OK;
}

static sundog_status reverse_fused(const sundog_exchange *exchange, halo_layout *layout,
                                   const halo_range *targets)
{
    int n = halo_route_of(exchange)->n_messages;
    for (int i = 0; i < n; i++) {
        int m = nth_to_send(exchange, i);
        if (layout->recv[m].n_users == 0) BASE_TRY(add_returns(layout, m));
    }
    int n_free = layout->n_reverse;
    BASE_TRY(add_groups(exchange, layout, targets, exchange->route == SUNDOG_ROUTE_STAGED, false));
    next_cut(&layout->back, HALO_WHOLE);
    BASE_TRY(push(&layout->back, HALO_WHOLE,
                  (halo_launch){0, layout->n_reverse, 0, 0, HALO_PART_LAST}));
    next_cut(&layout->back, HALO_BEGIN);
    BASE_TRY(push(&layout->back, HALO_BEGIN, (halo_launch){0, n_free, 0, 0, 0}));
    next_cut(&layout->back, HALO_END);
    return push(&layout->back, HALO_END,
                (halo_launch){n_free, layout->n_reverse - n_free, 0, 0, HALO_PART_LAST});
}

/* One launch a message; on the direct route one more for adding. */
static sundog_status reverse_pulse(const sundog_exchange *exchange, halo_layout *layout,
                                   const halo_range *targets)
{
    int n = halo_route_of(exchange)->n_messages;
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    for (int i = 0; i < n && !staged; i++)
        BASE_TRY(add_returns(layout, nth_to_send(exchange, i)));
    int n_returns = layout->n_reverse;
    BASE_TRY(add_groups(exchange, layout, targets, staged, true));
    for (int cut = 0; cut < HALO_N_CUTS; cut++) {
        next_cut(&layout->back, cut);
        if (cut == HALO_BEGIN) continue;
        for (int i = 0; i < n; i++) {
            int m = staged ? n - 1 - i : nth_to_send(exchange, i);
            halo_launch launch = {.first = layout->returns[m].first, .n = layout->returns[m].n};
            if (staged) launch.n += layout->adds[m].n;
            if (staged) launch.parts = last_of(i, n);
            BASE_TRY(push(&layout->back, cut, launch));
        }
        if (!staged || n == 0)
            BASE_TRY(push(&layout->back, cut, (halo_launch){
                .first = n_returns, .n = layout->n_reverse - n_returns, .parts = HALO_PART_LAST}));
    }
    return SUNDOG_OK;
}

static sundog_status set_groups(const sundog_exchange *exchange, halo_layout *layout)
{
    int n = halo_route_of(exchange)->n_messages;
    bool one = exchange->route == SUNDOG_ROUTE_DIRECT && exchange->deterministic;
    layout->n_groups = one ? 1 : n;
    BASE_TRY(HALO_RESERVE(layout->group_first, layout->capacity_group_first, n + 2));
    BASE_TRY(HALO_RESERVE(layout->add_chunks, layout->capacity_add_chunks, n + 1));
    for (int g = 0; g <= layout->n_groups; g++) layout->group_first[g] = one ? g * n : g;
    BASE_TRY(HALO_RESERVE(layout->sends, layout->capacity_sends, n));
    BASE_TRY(HALO_RESERVE(layout->returns, layout->capacity_returns, n));
    return HALO_RESERVE(layout->adds, layout->capacity_adds, n + 1);
}

sundog_status halo_layout_build(const sundog_exchange *exchange, halo_layout *layout)
{
    layout->chunk_rows = chunk_rows_of(exchange, layout->transport, layout->max_blocks);
    layout->n_forward = layout->n_reverse = 0;
    set_fields(exchange, layout);
    BASE_TRY(set_rows(exchange, layout));
    BASE_TRY(set_groups(exchange, layout));
    bool pulse = layout->order == HALO_ORDER_PULSE;
    BASE_TRY(pulse ? forward_pulse(exchange, layout) : forward_fused(exchange, layout));
    halo_range *targets = base_try_alloc((size_t)(layout->n_groups + 1) * sizeof *targets);
    if (!targets) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %d groups", layout->n_groups);
    sundog_status status = set_targets(exchange, layout, targets);
    if (status == SUNDOG_OK)
        status = pulse ? reverse_pulse(exchange, layout, targets)
                       : reverse_fused(exchange, layout, targets);
    base_free(targets);
    if (status == SUNDOG_OK) set_words(layout, halo_route_of(exchange)->n_messages);
    return status;
}

void halo_layout_free(halo_layout *layout)
{
    void *const arrays[] = {
        layout->send, layout->recv, layout->forward, layout->reverse, layout->src, layout->dst,
        layout->place, layout->ghost, layout->user, layout->add_row, layout->add_first,
        layout->add_entry, layout->add_chunks, layout->group_first, layout->shift, layout->sends,
        layout->returns, layout->adds, layout->forth.launch, layout->back.launch, layout->mark};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) base_free(arrays[i]);
    *layout = (halo_layout){0};
}
