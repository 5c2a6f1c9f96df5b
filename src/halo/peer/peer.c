/* Fabric peer: binding an exchange to GPUs, launching. The protocol is told in sundog/device.cuh,
 * the order of work in layout.h. */
#include "halo/peer/peer.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

void *peer_stream(void *stream)
{
    return stream ? stream : (void *)cudaStreamPerThread;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Fresh memory is zero. */
static sundog_status buffer_reserve(device_array *array, size_t n_bytes)
{
    size_t before = array->n_bytes;
    BASE_TRY(device_reserve(array, n_bytes));
    if (array->n_bytes != before)
        PEER_TRY(cudaMemsetAsync(array->d, 0, array->n_bytes, cudaStreamPerThread));
    return SUNDOG_OK;
}

sundog_status peer_shared_create(int n_ranks, int n_holders, peer_shared **out)
{
    peer_shared *shared = base_try_alloc(sizeof *shared);
    if (!shared) return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    atomic_init(&shared->n_holders, n_holders);
    size_t n_bytes = (size_t)n_ranks * sizeof *shared->watch;
    cudaError_t error = cudaHostAlloc((void **)&shared->watch, n_bytes,
                                      cudaHostAllocPortable | cudaHostAllocMapped);
    if (error != cudaSuccess) {
        base_free(shared);
        return DEVICE_CHECK(error);
    }
    memset(shared->watch, 0, n_bytes);
    *out = shared;
    return SUNDOG_OK;
}

static void shared_drop(peer_shared *shared)
{
    if (!shared || atomic_fetch_sub(&shared->n_holders, 1) > 1) return;
    (void)cudaFreeHost(shared->watch);
    base_free(shared);
}

void peer_release(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    if (!peer) return;
    peer_delist(peer);
    device_array *buffers[] = {&peer->tables, &peer->words, &peer->counts, &peer->done, &peer->sums,
                              &peer->flits, &peer->sum_flits, &peer->outbox, &peer->inbox};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        device_free(buffers[i]);
    if (peer->aside) (void)cudaStreamDestroy(peer->aside);
    if (peer->last) (void)cudaEventDestroy(peer->last);
    shared_drop(peer->shared);
    halo_layout_free(&peer->layout);
    base_free(peer->staging);
    base_free(peer->peer_rows);
    base_free(peer->peer_sums);
    base_free(peer->put);
    base_free(peer);
    exchange->device = NULL;
}

/* ---- create ---------------------------------------------------------------------------------- */

sundog_status peer_create_alone(sundog_exchange *exchange, const halo_kernels *kernels)
{
    const sundog_team *team = exchange->team;
    int gpu = team->shared->member[team->rank].gpu - 1;
    if (gpu < 0)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d is bound to no GPU; call "
                         "sundog_team_bind_gpu() first", team->rank);
    struct halo_peer *peer = base_try_alloc(sizeof *peer);
    if (!peer) return base_fail(SUNDOG_ERR_MEMORY, "no memory for an exchange");
    memset(peer, 0, sizeof *peer);
    exchange->device = peer;
    peer->exchange = exchange;
    peer->kernels = kernels;
    peer->gpu = gpu;
    peer->n_sharing = team->shared->member[team->rank].n_on_gpu;
    const char *name = exchange->rung->name;
    peer->layout.transport = strcmp(name, "flit") == 0        ? HALO_FLIT
                             : strcmp(name, "fused-tma") == 0 ? HALO_BULK
                                                              : HALO_STORE;
    bool by_message = strcmp(name, "pulse") == 0 || strcmp(name, "stream") == 0 ||
                      strcmp(name, "mpi") == 0;
    peer->layout.order = by_message ? HALO_ORDER_PULSE : HALO_ORDER_FUSED;
    peer->host_watched = strcmp(name, "stream") == 0;
    peer->counted_here = peer->host_watched || strcmp(name, "mpi") == 0;
    peer->layout.one_word = peer->counted_here;
    peer->stream_words = peer_has_stream_words(gpu);
    char text[256];
    BASE_TRY(sundog_gpu_rung_check(name, &gpu, 1, text, sizeof text));
    PEER_TRY(cudaSetDevice(gpu));
    PEER_TRY(cudaDeviceGetAttribute(&peer->n_multiprocessors, cudaDevAttrMultiProcessorCount, gpu));
    PEER_TRY(cudaEventCreateWithFlags((cudaEvent_t *)&peer->last, cudaEventDisableTiming));
    if (peer->host_watched)
        PEER_TRY(cudaStreamCreateWithFlags((cudaStream_t *)&peer->aside, cudaStreamNonBlocking));
    return buffer_reserve(&peer->counts, sizeof(sundog_counts));
}

/* All blocks of all ranks that share a GPU must be resident, twice over, since a rank may run two
 * exchanges at once. And the blocks of all but one must leave multiprocessors free: what the last
 * one has to do before it sends may be blocks that fill one each. The kernels are loaded here:
 * loading one while another spins may block. */
sundog_status peer_choose_blocks(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    int fit;
    PEER_TRY(peer->kernels->load(peer->layout.transport, &fit));
    int resident = fit * peer->n_multiprocessors / (2 * peer->n_sharing);
    int share = peer->n_multiprocessors / peer->n_sharing;
    if (peer->n_sharing > 1 && resident > share) resident = share;
    if (resident < 1)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%d ranks share GPU %d, whose %d multiprocessors "
                         "hold %d blocks of the exchange: too few for all to run at once",
                         peer->n_sharing, peer->gpu, peer->n_multiprocessors,
                         fit * peer->n_multiprocessors);
    if (exchange->max_blocks > resident)
        return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d: max_blocks is %d, but only %d blocks of "
                         "each of the %d ranks on GPU %d are resident at once",
                         exchange->team->rank, exchange->max_blocks, resident, peer->n_sharing,
                         peer->gpu);
    int suits = resident < peer->n_multiprocessors ? resident : peer->n_multiprocessors;
    peer->layout.max_blocks = exchange->max_blocks > 0 ? exchange->max_blocks : suits;
    return SUNDOG_OK;
}

/* Collective. Rank 0 makes what all share. */
static sundog_status peer_create(sundog_exchange *exchange)
{
    sundog_team *team = exchange->team;
    peer_shared *shared = NULL;
    sundog_status status = peer_create_alone(exchange, &halo_peer_kernels);
    if (status == SUNDOG_OK) status = peer_choose_blocks(exchange);
    if (status == SUNDOG_OK && team->rank == 0)
        status = peer_shared_create(team->shared->n_ranks, team->shared->n_ranks, &shared);
    status = team_agree(team, status);
    if (status == SUNDOG_OK) status = sundog_team_broadcast(team, 0, &shared, sizeof shared);
    if (status != SUNDOG_OK) {
        if (team->rank == 0 && shared) {        /* nobody else has it for certain */
            (void)cudaFreeHost(shared->watch);
            base_free(shared);
        }
        return status;
    }
    exchange->device->shared = shared;
    peer_enlist(exchange->device);
    return SUNDOG_OK;
}

/* ---- bind ------------------------------------------------------------------------------------ */

static sundog_status check_rows(const sundog_exchange *exchange)
{
    const struct halo_peer *peer = exchange->device;
    if (exchange->plan->n_rows == 0) return SUNDOG_OK;
    for (int f = 0; f < exchange->n_fields; f++) {
        struct cudaPointerAttributes attributes;
        cudaError_t error = cudaPointerGetAttributes(&attributes, exchange->field[f].rows);
        if (error != cudaSuccess) (void)cudaGetLastError();
        if (error != cudaSuccess || attributes.type != cudaMemoryTypeDevice ||
            attributes.device != peer->gpu)
            return base_fail(SUNDOG_ERR_ARGUMENT, "rank %d, field %d: rows must be device memory "
                             "(cudaMalloc) of GPU %d, which the rank is bound to",
                             exchange->team->rank, f, peer->gpu);
    }
    return SUNDOG_OK;
}

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + 127) / 128 * 128;
}

size_t peer_boxes(const sundog_exchange *exchange, size_t n_rows, bool sums, char *at, char **field)
{
    size_t n_bytes = 0;
    for (int f = 0; f < exchange->n_fields; f++) {
        field[f] = NULL;
        if (sums && !halo_is_float(&exchange->field[f])) continue;
        if (at) field[f] = at + n_bytes;
        n_bytes += aligned((n_rows + 1) * exchange->field[f].row_bytes);
    }
    return n_bytes;
}

static sundog_status lay_boxes(const sundog_exchange *exchange, device_array *buffer, size_t n_rows,
                               bool sums, char **field)
{
    BASE_TRY(buffer_reserve(buffer, peer_boxes(exchange, n_rows, sums, NULL, field)));
    (void)peer_boxes(exchange, n_rows, sums, buffer->d, field);
    return SUNDOG_OK;
}

static uint64_t *word_at(const struct halo_peer *peer, int n_messages, int kind, int m)
{
    return &((sundog_word *)peer->words.d)[peer_line(n_messages, kind, m)].value;
}

/* All words take the counts of exchanges that are behind. Those of the device are read back: a
 * graph counts there when it is replayed, on the host once, when it was captured. */
static sundog_status set_words(sundog_exchange *exchange, int n_messages)
{
    struct halo_peer *peer = exchange->device;
    size_t n_lines = peer_line(n_messages, PEER_N_KINDS, peer->layout.n_groups) + 1;
    size_t n_bytes = n_lines * sizeof(sundog_word);
    sundog_counts counts;
    BASE_TRY(buffer_reserve(&peer->words, n_bytes));
    PEER_TRY(cudaMemcpyAsync(&counts, peer->counts.d, sizeof counts, cudaMemcpyDeviceToHost,
                             cudaStreamPerThread));
    PEER_TRY(cudaStreamSynchronize(cudaStreamPerThread));
    if (peer->counted_here) {
        counts.forward = exchange->forward_epoch;
        counts.reverse = exchange->reverse_epoch;
    }
    uint64_t *words = base_try_alloc(n_bytes);
    if (!words) return base_fail(SUNDOG_ERR_MEMORY, "no memory for %zu words", n_lines);
    for (size_t i = 0; i < n_lines * PEER_LINE_WORDS; i++) words[i] = counts.reverse;
    for (int m = 0; m < n_messages; m++)
        for (int i = 0; i < SUNDOG_MESSAGE_WORDS; i++) {
            words[peer_line(n_messages, PEER_SPACE, m) * PEER_LINE_WORDS] = counts.forward;
            words[peer_line(n_messages, PEER_ARRIVED, m) * PEER_LINE_WORDS + (size_t)i] =
                counts.forward;
        }
    cudaError_t error = cudaMemcpyAsync(peer->words.d, words, n_bytes, cudaMemcpyHostToDevice,
                                        cudaStreamPerThread);
    if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
    base_free(words);
    return DEVICE_CHECK(error);
}

sundog_status peer_lay_out(sundog_exchange *exchange)
{
    BASE_TRY(check_rows(exchange));
    return halo_layout_build(exchange, &exchange->device->layout);
}

sundog_status peer_lay_memory(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    halo_layout *layout = &peer->layout;
    int n_messages = halo_route_of(exchange)->n_messages;
    size_t n_send = (size_t)layout->n_send_rows, n_recv = (size_t)layout->n_recv_rows;
    char *sums[HALO_MAX_FIELDS];
    BASE_TRY(lay_boxes(exchange, &peer->sums, n_send, true, sums));
    for (int f = 0; f < exchange->n_fields; f++) layout->field[f].sums = sums[f];
    if (layout->transport == HALO_FLIT) {
        size_t flit = 2 * sizeof(sundog_flit);
        BASE_TRY(buffer_reserve(&peer->flits, flit * (n_recv + 1) * (size_t)layout->n_flits));
        BASE_TRY(buffer_reserve(&peer->sum_flits,
                                flit * (n_send + 1) * (size_t)(layout->n_sum_flits + 1)));
    }
    if (strcmp(exchange->rung->name, "mpi") == 0) {
        BASE_TRY(lay_boxes(exchange, &peer->outbox, n_send, false, peer->outgoing.field));
        BASE_TRY(lay_boxes(exchange, &peer->inbox, n_recv, false, peer->incoming.field));
    }
    return set_words(exchange, n_messages);
}

/* First half: everything of this rank's own. */
static sundog_status prepare_alone(sundog_exchange *exchange)
{
    BASE_TRY(peer_lay_out(exchange));
    return peer_lay_memory(exchange);
}

static bool quads_everywhere(const sundog_exchange *exchange, int f)
{
    if (exchange->field[f].row_bytes % 16 != 0 || exchange->field[f].stride % 16 != 0)
        return false;
    for (int r = 0; r < exchange->team->shared->n_ranks; r++)
        if ((uintptr_t)exchange->peer[r]->field[f].rows % 16 != 0) return false;
    return true;
}

/* Addresses at the peers. */
static sundog_status connect_messages(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    const halo_route *route = halo_route_of(exchange);
    halo_layout *layout = &peer->layout;
    int n = route->n_messages, n_fields = exchange->n_fields;
    BASE_TRY(HALO_RESERVE(peer->peer_rows, peer->capacity_peer_rows, n * n_fields));
    BASE_TRY(HALO_RESERVE(peer->peer_sums, peer->capacity_peer_sums, n * n_fields));
    for (int m = 0; m < n; m++) {
        sundog_view_send *send = &layout->send[m];
        sundog_view_recv *recv = &layout->recv[m];
        const sundog_exchange *to = exchange->peer[send->peer], *from = exchange->peer[recv->peer];
        const struct halo_peer *there = to->device, *origin = from->device;
        int at_to = route->send[m].peer_message, at_from = route->recv[m].peer_message;
        int first_to = there->layout.recv[at_to].first;
        int first_from = origin->layout.send[at_from].first;
        send->peer_arrived = word_at(there, n, PEER_ARRIVED, at_to);
        send->space = word_at(peer, n, PEER_SPACE, m);
        send->sums = word_at(peer, n, PEER_SUMS, m);
        send->n_sums = halo_n_words(there->layout.recv[at_to].n_chunks,
                                    there->layout.recv[at_to].per_word);
        send->peer_room = word_at(there, n, PEER_ROOM, at_to);
        send->peer_flits = (sundog_flit *)there->flits.d +
                           (size_t)first_to * (size_t)layout->n_flits;
        send->peer_flit_stride = (int64_t)there->layout.n_recv_rows * layout->n_flits;
        recv->arrived = word_at(peer, n, PEER_ARRIVED, m);
        recv->n_arrived = halo_n_words(origin->layout.send[at_from].n_chunks,
                                       origin->layout.send[at_from].per_word);
        recv->peer_space = word_at(origin, n, PEER_SPACE, at_from);
        recv->peer_sums = word_at(origin, n, PEER_SUMS, at_from);
        recv->room = word_at(peer, n, PEER_ROOM, m);
        recv->peer_sum_flits = (sundog_flit *)origin->sum_flits.d +
                               (size_t)first_from * (size_t)layout->n_sum_flits;
        recv->peer_sum_flit_stride = (int64_t)origin->layout.n_send_rows * layout->n_sum_flits;
        for (int f = 0; f < n_fields; f++) {
            char *sums = origin->layout.field[f].sums;
            peer->peer_rows[m * n_fields + f] = to->field[f].rows;
            peer->peer_sums[m * n_fields + f] =
                sums ? sums + (size_t)first_from * exchange->field[f].row_bytes : NULL;
        }
    }
    for (int f = 0; f < n_fields; f++) {
        const halo_field *field = &exchange->field[f];
        layout->field[f].quads = quads_everywhere(exchange, f);
        layout->field[f].wide = (uintptr_t)field->rows % 16 == 0 && field->stride % 16 == 0;
    }
    return SUNDOG_OK;
}

/* One array of the tables: where it is on the host and which pointer of the view names it. */
typedef struct table {
    const void *from;
    size_t n_bytes;
    const void *at;                 /* address of the view's pointer */
} table;

/* Copy all tables to the GPU in one piece and point the view at them. */
static sundog_status upload(struct halo_peer *peer, const table *tables, int n_tables)
{
    size_t n_bytes = 0;
    for (int i = 0; i < n_tables; i++) n_bytes += aligned(tables[i].n_bytes);
    BASE_TRY(halo_reserve(&peer->staging, &peer->capacity_staging, n_bytes, 1));
    BASE_TRY(buffer_reserve(&peer->tables, n_bytes));
    size_t at = 0;
    for (int i = 0; i < n_tables; i++) {
        const char *address = (char *)peer->tables.d + at;
        if (tables[i].n_bytes > 0)
            memcpy((char *)peer->staging + at, tables[i].from, tables[i].n_bytes);
        memcpy((void *)(uintptr_t)tables[i].at, &address, sizeof address);
        at += aligned(tables[i].n_bytes);
    }
    PEER_TRY(cudaMemcpyAsync(peer->tables.d, peer->staging, n_bytes, cudaMemcpyHostToDevice,
                             cudaStreamPerThread));
    return SUNDOG_OK;
}

sundog_status peer_upload_view(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    const halo_layout *l = &peer->layout;
    sundog_view *v = &peer->view;
    size_t n = (size_t)halo_route_of(exchange)->n_messages, n_groups = (size_t)l->n_groups;
    size_t n_send = (size_t)l->n_send_rows, n_recv = (size_t)l->n_recv_rows;
    size_t n_addresses = n * (size_t)exchange->n_fields, n_targets = (size_t)l->n_targets;
    size_t idx = sizeof(int32_t);
    const table tables[] = {
        {l->send, n * sizeof *l->send, &v->send},
        {l->recv, n * sizeof *l->recv, &v->recv},
        {l->forward, (size_t)l->n_forward * sizeof *l->forward, &v->forward},
        {l->reverse, (size_t)l->n_reverse * sizeof *l->reverse, &v->reverse},
        {l->src, n_send * idx, &v->src},
        {l->dst, n_send * idx, &v->dst},
        {l->place, n_send * idx, &v->place},
        {l->ghost, n_recv * idx, &v->ghost},
        {l->shift, (size_t)l->n_shifts * sizeof *l->shift, &v->shift},
        {l->user, (size_t)l->n_users * idx, &v->user},
        {peer->put, (size_t)peer->n_puts * sizeof *peer->put, &v->put},
        {peer->peer_rows, n_addresses * sizeof(char *), &v->peer_rows},
        {peer->peer_sums, n_addresses * sizeof(char *), &v->peer_sums},
        {l->add_row, n_targets * idx, &v->add_row},
        {l->add_first, (exchange->deterministic ? n_targets + 1 : 0) * idx, &v->add_first},
        {l->add_entry, (exchange->deterministic ? n_send : 0) * idx, &v->add_entry},
        {l->add_chunks, n_groups * idx, &v->add_chunks},
        {l->group_first, (n_groups + 1) * idx, &v->group_first},
    };
    BASE_TRY(upload(peer, tables, (int)(sizeof tables / sizeof tables[0])));
    size_t n_done = (size_t)l->n_sent_words + (size_t)l->n_returned_words + n_groups;
    BASE_TRY(buffer_reserve(&peer->done, (n_done + 1) * idx));
    v->counts = peer->counts.d;
    v->sent = peer->done.d;
    v->returned = v->sent + l->n_sent_words;
    v->summed = v->returned + l->n_returned_words;
    PEER_TRY(cudaMemsetAsync(v->sent, 0, n_done * idx, cudaStreamPerThread));
    v->rank = exchange->team->rank;
    v->n_ranks = exchange->team->shared->n_ranks;
    v->n_messages = (int32_t)n;
    v->n_groups = l->n_groups;
    v->n_fields = exchange->n_fields;
    v->lockstep = exchange->lockstep;
    v->deterministic = exchange->deterministic;
    v->n_send_rows = l->n_send_rows;
    v->n_recv_rows = l->n_recv_rows;
    v->n_forward = l->n_forward;
    v->n_reverse = l->n_reverse;
    v->n_flits = l->n_flits;
    v->n_sum_flits = l->n_sum_flits;
    v->flit_stride = (int64_t)l->n_recv_rows * l->n_flits;
    v->sum_flit_stride = (int64_t)l->n_send_rows * l->n_sum_flits;
    memcpy(v->field, l->field, sizeof v->field);
    v->flits = peer->flits.d;
    v->sum_flits = peer->sum_flits.d;
    v->added = (sundog_word *)peer->words.d + peer_line((int)n, PEER_N_KINDS, 0);
    v->watch = peer->shared->watch;
    PEER_TRY(cudaStreamSynchronize(cudaStreamPerThread));
    return SUNDOG_OK;
}

static sundog_status connect_alone(sundog_exchange *exchange)
{
    BASE_TRY(team_enter(exchange->team));
    sundog_status status = connect_messages(exchange);
    team_leave(exchange->team);
    BASE_TRY(status);
    return peer_upload_view(exchange);
}

/* The copy engine moves whole 16 bytes: what it does not serve. */
static void describe_gaps(sundog_exchange *exchange)
{
    bool gaps = false;
    for (int f = 0; f < exchange->n_fields; f++)
        gaps = gaps || exchange->field[f].stride != exchange->field[f].row_bytes;
    size_t used = strlen(exchange->description);
    if (gaps && exchange->device->layout.transport == HALO_BULK)
        snprintf(exchange->description + used, sizeof exchange->description - used,
                 ", rows with gaps by stores");
}

static sundog_status peer_bind(sundog_exchange *exchange)
{
    if (!exchange->device) BASE_TRY(peer_create(exchange));
    describe_gaps(exchange);
    BASE_TRY(team_agree(exchange->team, prepare_alone(exchange)));
    return team_agree(exchange->team, connect_alone(exchange));
}

/* ---- launching ------------------------------------------------------------------------------- */

int peer_blocks(const sundog_exchange *exchange, int n_chunks)
{
    const struct halo_peer *peer = exchange->device;
    if (peer->layout.transport == HALO_BULK)
        n_chunks = (n_chunks + HALO_BLOCK_WARPS - 1) / HALO_BLOCK_WARPS;
    int most = peer->layout.max_blocks;
    return n_chunks < 1 ? 1 : n_chunks < most ? n_chunks : most;
}

sundog_status peer_launch(sundog_exchange *exchange, bool forward, int cut, void *stream)
{
    struct halo_peer *peer = exchange->device;
    const halo_launches *launches = forward ? &peer->layout.forth : &peer->layout.back;
    const halo_range range = launches->cut[cut];
    int64_t timeout = atomic_load(&exchange->team->shared->timeout_ns);
    peer->shared->watch[exchange->team->rank].timeout_ns = timeout > 0 ? (uint64_t)timeout : 0;
    BASE_TRY(team_enter(exchange->team));
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < range.n && error == cudaSuccess; i++) {
        const halo_launch *launch = &launches->launch[range.first + i];
        if (launch->n == 0 && launch->wait_n == 0 && launch->parts == 0) continue;
        int n_blocks = peer_blocks(exchange, launch->n);
        error = (cudaError_t)(forward ? peer->kernels->forward : peer->kernels->reverse)(
            &peer->view, launch, peer->layout.transport, n_blocks, peer_stream(stream));
    }
    team_leave(exchange->team);
    BASE_TRY(DEVICE_CHECK(error));
    return peer_mark(exchange, stream);
}

sundog_status peer_is_captured(void *stream, bool *captured)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    PEER_TRY(cudaStreamIsCapturing(peer_stream(stream), &status));
    *captured = status != cudaStreamCaptureStatusNone;
    return SUNDOG_OK;
}

sundog_status peer_mark(sundog_exchange *exchange, void *stream)
{
    bool captured;
    BASE_TRY(peer_is_captured(stream, &captured));
    if (!captured) PEER_TRY(cudaEventRecord(exchange->device->last, peer_stream(stream)));
    return SUNDOG_OK;
}

sundog_status peer_refuse_capture(const sundog_exchange *exchange, void *stream)
{
    bool captured;
    BASE_TRY(peer_is_captured(stream, &captured));
    if (!captured) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_UNSUPPORTED, "rung %s counts on the host and cannot be captured "
                     "into a graph; take pulse, fused, fused-tma, direct or flit",
                     exchange->rung->name);
}

static sundog_status peer_view(const sundog_exchange *exchange, sundog_view *out)
{
    *out = exchange->device->view;
    return SUNDOG_OK;
}

const halo_hooks halo_peer_hooks = {
    .bind = peer_bind, .wait = peer_wait, .look = peer_look, .quiesce = peer_quiesce,
    .finish = peer_finish, .release = peer_release, .view = peer_view};
