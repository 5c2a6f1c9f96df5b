/* Where rows, sums and words lie at the peers. For each half of a message the two ends tell each
 * other their first row and how many words they will set. */
#include "halo/nvshmem/far.h"

#include "base/alloc.h"

#include <string.h>

/* What one end of a message says to the other. */
typedef struct far_end {
    int32_t number;                 /* of the message there */
    int32_t to_send;                /* for its sending half; else for its receiving half */
    int32_t first, n_words;
} far_end;

typedef struct far_ends {           /* [n_messages] */
    far_end *of_send, *of_recv;     /* of the peer of my sending half, of my receiving half */
} far_ends;

/* ---- talking --------------------------------------------------------------------------------- */

static far_end end_of_send(const halo_layout *layout, const halo_route *route, int m)
{
    const sundog_view_send *send = &layout->send[m];
    return (far_end){route->send[m].peer_message, 0, send->first,
                     halo_n_words(send->n_chunks, send->per_word)};
}

static far_end end_of_recv(const halo_layout *layout, const halo_route *route, int m)
{
    const sundog_view_recv *recv = &layout->recv[m];
    return (far_end){route->recv[m].peer_message, 1, recv->first,
                     halo_n_words(recv->n_chunks, recv->per_word)};
}

/* As many come from a rank as go there: two ends of a message are one of mine and one of its. */
static void count_ends(const halo_route *route, int n_ranks, size_t *offset)
{
    memset(offset, 0, ((size_t)n_ranks + 1) * sizeof *offset);
    for (int m = 0; m < route->n_messages; m++) {
        offset[route->send[m].peer + 1] += sizeof(far_end);
        offset[route->recv[m].peer + 1] += sizeof(far_end);
    }
    for (int r = 0; r < n_ranks; r++) offset[r + 1] += offset[r];
}

static void write_ends(const halo_layout *layout, const halo_route *route, const size_t *offset,
                       size_t *at, int n_ranks, far_end *out)
{
    for (int r = 0; r < n_ranks; r++) at[r] = offset[r] / sizeof *out;
    for (int m = 0; m < route->n_messages; m++) {
        out[at[route->send[m].peer]++] = end_of_send(layout, route, m);
        out[at[route->recv[m].peer]++] = end_of_recv(layout, route, m);
    }
}

static void sort_ends(const far_end *in, size_t n, far_ends *ends)
{
    for (size_t i = 0; i < n; i++)
        (in[i].to_send ? ends->of_send : ends->of_recv)[in[i].number] = in[i];
}

/* Collective. */
static sundog_status tell_ends(sundog_exchange *exchange, far_ends *ends)
{
    const halo_route *route = halo_route_of(exchange);
    sundog_team *team = exchange->team;
    int n_ranks = team->shared->n_ranks;
    size_t n = 2 * (size_t)route->n_messages + 1, n_offsets = 2 * (size_t)n_ranks + 2;
    far_end *out = base_try_alloc(2 * n * sizeof *out);
    size_t *offset = base_try_alloc(n_offsets * sizeof *offset);
    sundog_status status = SUNDOG_OK;
    if (!out || !offset)
        status = base_fail(SUNDOG_ERR_MEMORY, "no memory for %d messages", route->n_messages);
    status = team_agree(team, status);
    if (status == SUNDOG_OK) {
        count_ends(route, n_ranks, offset);
        write_ends(&exchange->device->layout, route, offset, offset + n_ranks + 1, n_ranks, out);
        status = sundog_team_alltoall(team, out, offset, out + n, offset);
    }
    if (status == SUNDOG_OK) sort_ends(out + n, n - 1, ends);
    base_free(offset);
    base_free(out);
    return status;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* An address in the arena of a rank: mapped here, or (far) symmetric, as puts take it. */
static char *at_rank(const struct halo_far *far, int rank, int64_t offset)
{
    return (far->is_far[rank] ? far->arena : far->arena_of[rank]) + offset;
}

static uint64_t *word_there(const struct halo_far *far, int n_messages, int rank, int kind, int m)
{
    sundog_word *words = (sundog_word *)(void *)at_rank(far, rank, far->parts[rank].words);
    return &words[peer_line(n_messages, kind, m)].value;
}

static uint64_t *word_here(const struct halo_peer *peer, int n_messages, int kind, int m)
{
    return &((sundog_word *)peer->words.d)[peer_line(n_messages, kind, m)].value;
}

static sundog_flit *flits_at(const struct halo_far *far, int rank, int64_t part)
{
    return (sundog_flit *)(void *)at_rank(far, rank, part);
}

/* ---- puts ------------------------------------------------------------------------------------ */

static int n_float_fields(const sundog_exchange *exchange)
{
    int n = 0;
    for (int f = 0; f < exchange->n_fields; f++) n += halo_is_float(&exchange->field[f]);
    return n;
}

/* Parts in which a message goes to a far peer, each with a word: fields, or all flits at once. */
static int n_parts(const sundog_exchange *exchange, bool forward)
{
    if (exchange->device->layout.transport == HALO_FLIT) return 1;
    int n = forward ? exchange->n_fields : n_float_fields(exchange);
    return n > 0 ? n : 1;
}

/* One direction of one message to a far peer. */
typedef struct far_message {
    int rank, my_first, first, n;   /* rows: here and there */
    uint64_t *word;
    bool forward;
} far_message;

static void add_flit_put(const sundog_exchange *exchange, const far_message *message)
{
    struct halo_peer *peer = exchange->device;
    const struct halo_far *far = peer->far;
    const far_parts *there = &far->parts[message->rank], *here = &far->parts[exchange->team->rank];
    int64_t of_row = message->forward ? peer->layout.n_flits : peer->layout.n_sum_flits;
    int64_t size = of_row * (int64_t)sizeof(sundog_flit);
    const sundog_flit *from = message->forward ? far->flit_outbox : far->sum_flit_outbox;
    sundog_flit *to = flits_at(far, message->rank,
                               message->forward ? there->flits : there->sum_flits);
    peer->put[peer->n_puts++] = (sundog_view_put){
        .from = (const char *)(from + message->my_first * of_row),
        .to = (char *)(to + message->first * of_row), .n_bytes = message->n * size,
        .from_parity = (message->forward ? here->n_send_rows : here->n_recv_rows) * size,
        .to_parity = (message->forward ? there->n_recv_rows : there->n_send_rows) * size,
        .word = message->word, .pe = message->rank};
}

static void add_field_puts(const sundog_exchange *exchange, const far_message *message)
{
    struct halo_peer *peer = exchange->device;
    const struct halo_far *far = peer->far;
    const far_parts *there = &far->parts[message->rank];
    const bool forward = message->forward;
    const halo_boxes *from = forward ? &far->outbox : &far->sum_outbox;
    char *to[HALO_MAX_FIELDS];
    int n = 0;
    (void)peer_boxes(exchange, (size_t)(forward ? there->n_recv_rows : there->n_send_rows),
                     !forward, at_rank(far, message->rank, forward ? there->inbox : there->sums),
                     to);
    for (int f = 0; f < exchange->n_fields; f++) {
        int64_t row_bytes = (int64_t)exchange->field[f].row_bytes;
        if (!to[f]) continue;
        peer->put[peer->n_puts++] = (sundog_view_put){
            .from = from->field[f] + message->my_first * row_bytes,
            .to = to[f] + message->first * row_bytes, .n_bytes = message->n * row_bytes,
            .word = message->word + n++, .pe = message->rank};
    }
    if (n == 0)
        peer->put[peer->n_puts++] =
            (sundog_view_put){.word = message->word, .pe = message->rank};
}

static void add_puts(const sundog_exchange *exchange, const far_message *message, int32_t *first,
                     int32_t *n)
{
    struct halo_peer *peer = exchange->device;
    *first = peer->n_puts;
    if (peer->layout.transport == HALO_FLIT) add_flit_put(exchange, message);
    else add_field_puts(exchange, message);
    *n = peer->n_puts - *first;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void connect_send(const sundog_exchange *exchange, int m, const far_end *end)
{
    struct halo_peer *peer = exchange->device;
    const struct halo_far *far = peer->far;
    halo_layout *layout = &peer->layout;
    sundog_view_send *send = &layout->send[m];
    int n = halo_route_of(exchange)->n_messages, to = send->peer;
    int there = halo_route_of(exchange)->send[m].peer_message;
    const far_parts *parts = &far->parts[to];
    const bool is_far = far->is_far[to];
    send->peer_arrived = word_there(far, n, to, PEER_ARRIVED, there);
    send->peer_room = word_there(far, n, to, PEER_ROOM, there);
    send->space = word_here(peer, n, PEER_SPACE, m);
    send->sums = word_here(peer, n, PEER_SUMS, m);
    send->n_sums = send->n == 0 ? 0 : is_far ? n_parts(exchange, false) : end->n_words;
    send->first_put = send->n_puts = 0;
    if (is_far && send->n > 0) {
        const far_message message = {to, send->first, end->first, send->n, send->peer_arrived,
                                     true};
        add_puts(exchange, &message, &send->first_put, &send->n_puts);
    }
    if (layout->transport == HALO_FLIT) {
        send->peer_flits = (is_far ? far->flit_outbox + (int64_t)send->first * layout->n_flits
                                   : flits_at(far, to, parts->flits) +
                                         (int64_t)end->first * layout->n_flits);
        send->peer_flit_stride =
            (int64_t)(is_far ? layout->n_send_rows : parts->n_recv_rows) * layout->n_flits;
        return;
    }
    char *inbox[HALO_MAX_FIELDS];
    (void)peer_boxes(exchange, (size_t)parts->n_recv_rows, false, at_rank(far, to, parts->inbox),
                     inbox);
    for (int f = 0; f < exchange->n_fields; f++)
        peer->peer_rows[m * exchange->n_fields + f] =
            is_far ? far->outbox.field[f] + (size_t)send->first * exchange->field[f].row_bytes
                   : inbox[f] + (size_t)end->first * exchange->field[f].row_bytes;
}

static void connect_recv(const sundog_exchange *exchange, int m, const far_end *end)
{
    struct halo_peer *peer = exchange->device;
    const struct halo_far *far = peer->far;
    halo_layout *layout = &peer->layout;
    sundog_view_recv *recv = &layout->recv[m];
    int n = halo_route_of(exchange)->n_messages, from = recv->peer;
    int there = halo_route_of(exchange)->recv[m].peer_message;
    const far_parts *parts = &far->parts[from];
    const bool is_far = far->is_far[from];
    recv->arrived = word_here(peer, n, PEER_ARRIVED, m);
    recv->room = word_here(peer, n, PEER_ROOM, m);
    recv->n_arrived = recv->n == 0 ? 0 : is_far ? n_parts(exchange, true) : end->n_words;
    recv->peer_space = word_there(far, n, from, PEER_SPACE, there);
    recv->peer_sums = word_there(far, n, from, PEER_SUMS, there);
    recv->first_put = recv->n_puts = 0;
    if (is_far && recv->n > 0) {
        const far_message message = {from, recv->first, end->first, recv->n, recv->peer_sums,
                                     false};
        add_puts(exchange, &message, &recv->first_put, &recv->n_puts);
    }
    if (layout->transport == HALO_FLIT) {
        recv->peer_sum_flits =
            (is_far ? far->sum_flit_outbox + (int64_t)recv->first * layout->n_sum_flits
                    : flits_at(far, from, parts->sum_flits) +
                          (int64_t)end->first * layout->n_sum_flits);
        recv->peer_sum_flit_stride =
            (int64_t)(is_far ? layout->n_recv_rows : parts->n_send_rows) * layout->n_sum_flits;
        return;
    }
    char *sums[HALO_MAX_FIELDS];
    (void)peer_boxes(exchange, (size_t)parts->n_send_rows, true, at_rank(far, from, parts->sums),
                     sums);
    for (int f = 0; f < exchange->n_fields; f++) {
        size_t row_bytes = exchange->field[f].row_bytes;
        char *to = is_far ? far->sum_outbox.field[f] : sums[f];
        int first = is_far ? recv->first : end->first;
        peer->peer_sums[m * exchange->n_fields + f] = to ? to + (size_t)first * row_bytes : NULL;
    }
}

static void set_fields(const sundog_exchange *exchange)
{
    for (int f = 0; f < exchange->n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        sundog_view_field *to = &exchange->device->layout.field[f];
        const bool whole = (uintptr_t)field->rows % 16 == 0 && field->stride % 16 == 0;
        to->wide = whole;
        to->quads = whole && field->row_bytes % 16 == 0;    /* inbox and slots are aligned */
    }
}

static sundog_status connect_messages(const sundog_exchange *exchange, const far_ends *ends)
{
    struct halo_peer *peer = exchange->device;
    int n = halo_route_of(exchange)->n_messages, n_fields = exchange->n_fields;
    BASE_TRY(HALO_RESERVE(peer->peer_rows, peer->capacity_peer_rows, n * n_fields));
    BASE_TRY(HALO_RESERVE(peer->peer_sums, peer->capacity_peer_sums, n * n_fields));
    BASE_TRY(HALO_RESERVE(peer->put, peer->capacity_put, n * 2 * (n_fields + 1)));
    memset(peer->peer_rows, 0, (size_t)(n * n_fields) * sizeof *peer->peer_rows);
    memset(peer->peer_sums, 0, (size_t)(n * n_fields) * sizeof *peer->peer_sums);
    peer->n_puts = 0;
    for (int m = 0; m < n; m++) {
        connect_send(exchange, m, &ends->of_send[m]);
        connect_recv(exchange, m, &ends->of_recv[m]);
    }
    set_fields(exchange);
    return SUNDOG_OK;
}

sundog_status far_connect(sundog_exchange *exchange)
{
    size_t n = (size_t)halo_route_of(exchange)->n_messages + 1;
    far_ends ends = {base_try_alloc(n * sizeof(far_end)), base_try_alloc(n * sizeof(far_end))};
    sundog_status status = SUNDOG_OK;
    if (!ends.of_send || !ends.of_recv)
        status = base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu messages", n);
    status = team_agree(exchange->team, status);
    if (status == SUNDOG_OK) status = tell_ends(exchange, &ends);
    if (status == SUNDOG_OK) {
        status = connect_messages(exchange, &ends);
        if (status == SUNDOG_OK) status = peer_upload_view(exchange);
        status = team_agree(exchange->team, status);
    }
    base_free(ends.of_send);
    base_free(ends.of_recv);
    return status;
}
