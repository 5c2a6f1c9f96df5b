/* The rungs of fabric peer, and the two that count on the host.
 *
 *   pulse, fused, fused-tma, direct, flit   launches of layout.h; waits and signals in kernels
 *   stream   the kernel of a message only moves rows; the stream itself waits for words and sets
 *            them (operations of the driver, or kernels of one thread where those are missing)
 *   mpi      what a program without GPU-initiated communication does, with a copy between GPUs in
 *            the place of a message: pack kernel, wait for the stream, copy, wait, tell the peer on
 *            the host; wait on the host, unpack kernel. Two blocking waits a message.
 */
#include "halo/peer/peer.h"

static sundog_status do_nothing(sundog_exchange *exchange)
{
    (void)exchange;
    return SUNDOG_OK;
}

sundog_status peer_forward_whole(sundog_exchange *exchange)
{
    return peer_launch(exchange, true, HALO_WHOLE, exchange->stream);
}
sundog_status peer_forward_begin(sundog_exchange *exchange)
{
    return peer_launch(exchange, true, HALO_BEGIN, exchange->stream);
}
sundog_status peer_forward_end(sundog_exchange *exchange)
{
    return peer_launch(exchange, true, HALO_END, exchange->stream);
}
sundog_status peer_reverse_whole(sundog_exchange *exchange)
{
    return peer_launch(exchange, false, HALO_WHOLE, exchange->stream);
}
sundog_status peer_reverse_begin(sundog_exchange *exchange)
{
    return peer_launch(exchange, false, HALO_BEGIN, exchange->stream);
}
sundog_status peer_reverse_end(sundog_exchange *exchange)
{
    return peer_launch(exchange, false, HALO_END, exchange->stream);
}

/* Place i in the order of messages: pulses as given; peers in turn, at distance 1, 2, ... */
int peer_nth_send(const sundog_exchange *exchange, int i)
{
    int n = halo_route_of(exchange)->n_messages;
    return exchange->route == SUNDOG_ROUTE_STAGED ? i : (exchange->team->rank + 1 + i) % n;
}
int peer_nth_recv(const sundog_exchange *exchange, int i)
{
    int n = halo_route_of(exchange)->n_messages;
    if (exchange->route == SUNDOG_ROUTE_STAGED) return i;
    return (exchange->team->rank - 1 - i + 2 * n) % n;
}

/* Rows of a range of chunks, without waits and signals. */
sundog_status peer_move_rows(sundog_exchange *exchange, bool forward, halo_range chunks)
{
    const struct halo_peer *peer = exchange->device;
    const halo_launch launch = {chunks.first, chunks.n, 0, 0, HALO_PART_NO_WORDS};
    if (chunks.n == 0) return SUNDOG_OK;
    int n_blocks = peer_blocks(exchange, chunks.n);
    BASE_TRY(team_enter(exchange->team));
    int error = (forward ? peer->kernels->forward : peer->kernels->reverse)(
        &peer->view, &launch, HALO_STORE, n_blocks, peer_stream(exchange->stream));
    team_leave(exchange->team);
    return DEVICE_CHECK((cudaError_t)error);
}

/* ---- stream ---------------------------------------------------------------------------------- */

static sundog_status set_word(sundog_exchange *exchange, uint64_t *word, uint64_t epoch)
{
    void *stream = peer_stream(exchange->stream);
    BASE_TRY(team_enter(exchange->team));
    sundog_status status;
    if (exchange->device->stream_words)
        status = peer_stream_write(stream, word, epoch);
    else
        status = DEVICE_CHECK(
            (cudaError_t)exchange->device->kernels->signal(word, epoch, stream));
    team_leave(exchange->team);
    return status;
}

static sundog_status wait_word(sundog_exchange *exchange, uint64_t *word, int kind, int peer,
                               int message, uint64_t epoch)
{
    void *stream = peer_stream(exchange->stream);
    const struct halo_peer *mine = exchange->device;
    if (mine->stream_words) return peer_stream_wait(stream, word, epoch);
    return DEVICE_CHECK((cudaError_t)mine->kernels->wait(&mine->view, word, kind, peer, message,
                                                         epoch, stream));
}

static sundog_status stream_forward_begin(sundog_exchange *exchange)
{
    const halo_layout *layout = &exchange->device->layout;
    BASE_TRY(peer_refuse_capture(exchange, exchange->stream));
    for (int m = 0; m < halo_route_of(exchange)->n_messages && !exchange->lockstep; m++)
        if (layout->recv[m].n > 0)
            BASE_TRY(set_word(exchange, layout->recv[m].peer_space, exchange->forward_epoch));
    return peer_mark(exchange, exchange->stream);
}

static sundog_status stream_forward_end(sundog_exchange *exchange)
{
    const halo_layout *layout = &exchange->device->layout;
    uint64_t epoch = exchange->forward_epoch;
    for (int i = 0; i < halo_route_of(exchange)->n_messages; i++) {
        int m = peer_nth_send(exchange, i), w = peer_nth_recv(exchange, i);
        const sundog_view_send *send = &layout->send[m];
        const sundog_view_recv *recv = &layout->recv[w];
        if (send->n > 0) {
            if (!exchange->lockstep)
                BASE_TRY(wait_word(exchange, send->space, SUNDOG_WORD_SPACE, send->peer, m,
                                   epoch));
            BASE_TRY(peer_move_rows(exchange, true, layout->sends[m]));
            BASE_TRY(set_word(exchange, send->peer_arrived, epoch));
        }
        if (recv->n > 0)
            BASE_TRY(wait_word(exchange, recv->arrived, SUNDOG_WORD_ARRIVED, recv->peer, w,
                               epoch));
    }
    return peer_mark(exchange, exchange->stream);
}

static sundog_status stream_return(sundog_exchange *exchange, int m)
{
    const halo_layout *layout = &exchange->device->layout;
    const sundog_view_recv *recv = &layout->recv[m];
    uint64_t epoch = exchange->reverse_epoch;
    if (recv->n == 0) return SUNDOG_OK;
    if (!exchange->lockstep)
        BASE_TRY(wait_word(exchange, recv->room, SUNDOG_WORD_ROOM, recv->peer, m, epoch - 1));
    BASE_TRY(peer_move_rows(exchange, false, layout->returns[m]));
    return set_word(exchange, recv->peer_sums, epoch);
}

/* Add group g, once the sums of its messages are here. */
static sundog_status stream_add(sundog_exchange *exchange, int g)
{
    const halo_layout *layout = &exchange->device->layout;
    uint64_t epoch = exchange->reverse_epoch;
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++)
        if (layout->send[m].n > 0)
            BASE_TRY(wait_word(exchange, layout->send[m].sums, SUNDOG_WORD_SUMS,
                               layout->send[m].peer, m, epoch));
    BASE_TRY(peer_move_rows(exchange, false, layout->adds[g]));
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++)
        if (layout->send[m].n > 0 && !exchange->lockstep)
            BASE_TRY(set_word(exchange, layout->send[m].peer_room, epoch));
    return SUNDOG_OK;
}

sundog_status peer_stream_reverse_begin(sundog_exchange *exchange)
{
    return peer_refuse_capture(exchange, exchange->stream);
}

sundog_status peer_stream_reverse(sundog_exchange *exchange, peer_stream_part give_back,
                                  peer_stream_part add)
{
    int n = halo_route_of(exchange)->n_messages;
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    for (int i = 0; i < n; i++) {
        int m = staged ? n - 1 - i : peer_nth_send(exchange, i);
        BASE_TRY(give_back(exchange, m));
        if (staged) BASE_TRY(add(exchange, m));
    }
    for (int g = 0; g < exchange->device->layout.n_groups && !staged; g++)
        BASE_TRY(add(exchange, g));
    return peer_mark(exchange, exchange->stream);
}

static sundog_status stream_reverse_end(sundog_exchange *exchange)
{
    return peer_stream_reverse(exchange, stream_return, stream_add);
}

/* ---- mpi ------------------------------------------------------------------------------------- */

static sundog_status wait_stream(sundog_exchange *exchange)
{
    PEER_TRY(cudaStreamSynchronize(peer_stream(exchange->stream)));
    return SUNDOG_OK;
}

/* Rows first .. first + n - 1 of dense boxes here to rows from `at` of boxes of a peer. */
static sundog_status copy_boxes(sundog_exchange *exchange, const halo_boxes *from, int first, int n,
                                int to_rank, const halo_boxes *to, int at)
{
    const struct halo_peer *here = exchange->device, *there = exchange->peer[to_rank]->device;
    for (int f = 0; f < exchange->n_fields; f++) {
        size_t row_bytes = exchange->field[f].row_bytes;
        if (!to->field[f]) continue;
        PEER_TRY(cudaMemcpyPeerAsync(to->field[f] + (size_t)at * row_bytes, there->gpu,
                                     from->field[f] + (size_t)first * row_bytes, here->gpu,
                                     (size_t)n * row_bytes, peer_stream(exchange->stream)));
    }
    return wait_stream(exchange);
}

static sundog_status mpi_forward_begin(sundog_exchange *exchange)
{
    const halo_route *route = halo_route_of(exchange);
    BASE_TRY(peer_refuse_capture(exchange, exchange->stream));
    BASE_TRY(wait_stream(exchange));            /* the ghosts of before are read */
    BASE_TRY(team_enter(exchange->team));
    for (int m = 0; m < route->n_messages; m++) {
        const halo_recv *recv = &route->recv[m];
        if (recv->n > 0)
            halo_signal_peer(exchange, recv->peer,
                             &exchange->peer[recv->peer]->words[recv->peer_message].space,
                             exchange->forward_epoch);
    }
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status mpi_send(sundog_exchange *exchange, int m)
{
    struct halo_peer *peer = exchange->device;
    const halo_send *send = &halo_route_of(exchange)->send[m];
    const halo_range chunks = peer->layout.sends[m];
    if (send->n == 0) return SUNDOG_OK;
    PEER_TRY(peer->kernels->pack(&peer->view, chunks.first, chunks.n, &peer->outgoing,
                              peer_blocks(exchange, chunks.n), peer_stream(exchange->stream)));
    BASE_TRY(wait_stream(exchange));
    BASE_TRY(halo_wait_word(exchange, &exchange->words[m].space, exchange->forward_epoch, "space",
                            send->peer, m));
    BASE_TRY(team_enter(exchange->team));
    const struct halo_peer *there = exchange->peer[send->peer]->device;
    sundog_status status = copy_boxes(exchange, &peer->outgoing, peer->layout.send[m].first,
                                      send->n, send->peer, &there->incoming,
                                      there->layout.recv[send->peer_message].first);
    if (status == SUNDOG_OK)
        halo_signal_peer(exchange, send->peer,
                         &exchange->peer[send->peer]->words[send->peer_message].arrived,
                         exchange->forward_epoch);
    team_leave(exchange->team);
    return status;
}

static sundog_status mpi_receive(sundog_exchange *exchange, int m)
{
    struct halo_peer *peer = exchange->device;
    const sundog_view_recv *recv = &peer->layout.recv[m];
    if (recv->n == 0) return SUNDOG_OK;
    BASE_TRY(halo_wait_word(exchange, &exchange->words[m].arrived, exchange->forward_epoch,
                            "arrived", recv->peer, m));
    int n_blocks = peer_blocks(exchange, (recv->n + HALO_BLOCK_THREADS - 1) / HALO_BLOCK_THREADS);
    PEER_TRY(peer->kernels->ghosts(&peer->view, recv->first, recv->n, &peer->incoming, 1, n_blocks,
                                peer_stream(exchange->stream)));
    return SUNDOG_OK;
}

static sundog_status mpi_forward_end(sundog_exchange *exchange)
{
    for (int i = 0; i < halo_route_of(exchange)->n_messages; i++) {
        BASE_TRY(mpi_send(exchange, peer_nth_send(exchange, i)));
        BASE_TRY(mpi_receive(exchange, peer_nth_recv(exchange, i)));
    }
    return peer_mark(exchange, exchange->stream);
}

/* Ghosts are packed into the inbox, which is free: the peer writes to it in a forward only, and
 * not before this rank has entered it. */
static sundog_status mpi_return(sundog_exchange *exchange, int m)
{
    struct halo_peer *peer = exchange->device;
    const halo_recv *recv = &halo_route_of(exchange)->recv[m];
    const sundog_view_recv *mine = &peer->layout.recv[m];
    if (recv->n == 0) return SUNDOG_OK;
    int n_blocks = peer_blocks(exchange, (recv->n + HALO_BLOCK_THREADS - 1) / HALO_BLOCK_THREADS);
    PEER_TRY(peer->kernels->ghosts(&peer->view, mine->first, recv->n, &peer->incoming, 0, n_blocks,
                                peer_stream(exchange->stream)));
    BASE_TRY(wait_stream(exchange));
    BASE_TRY(halo_wait_word(exchange, &exchange->words[m].room, exchange->reverse_epoch - 1,
                            "room", recv->peer, m));
    BASE_TRY(team_enter(exchange->team));
    const struct halo_peer *there = exchange->peer[recv->peer]->device;
    halo_boxes sums = {{NULL}};
    for (int f = 0; f < exchange->n_fields; f++) sums.field[f] = there->layout.field[f].sums;
    sundog_status status = copy_boxes(exchange, &peer->incoming, mine->first, recv->n, recv->peer,
                                      &sums, there->layout.send[recv->peer_message].first);
    if (status == SUNDOG_OK)
        halo_signal_peer(exchange, recv->peer,
                         &exchange->peer[recv->peer]->words[recv->peer_message].sums,
                         exchange->reverse_epoch);
    team_leave(exchange->team);
    return status;
}

static sundog_status mpi_add(sundog_exchange *exchange, int g)
{
    const halo_layout *layout = &exchange->device->layout;
    const halo_route *route = halo_route_of(exchange);
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++)
        if (route->send[m].n > 0)
            BASE_TRY(halo_wait_word(exchange, &exchange->words[m].sums, exchange->reverse_epoch,
                                    "sums", route->send[m].peer, m));
    BASE_TRY(peer_move_rows(exchange, false, layout->adds[g]));
    BASE_TRY(wait_stream(exchange));
    BASE_TRY(team_enter(exchange->team));
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++) {
        const halo_send *send = &route->send[m];
        if (send->n > 0)
            halo_signal_peer(exchange, send->peer,
                             &exchange->peer[send->peer]->words[send->peer_message].room,
                             exchange->reverse_epoch);
    }
    team_leave(exchange->team);
    return SUNDOG_OK;
}

static sundog_status mpi_reverse_end(sundog_exchange *exchange)
{
    int n = halo_route_of(exchange)->n_messages;
    bool staged = exchange->route == SUNDOG_ROUTE_STAGED;
    for (int i = 0; i < n; i++) {
        int m = staged ? n - 1 - i : peer_nth_recv(exchange, i);
        BASE_TRY(mpi_return(exchange, m));
        if (staged) BASE_TRY(mpi_add(exchange, m));
    }
    for (int g = 0; g < exchange->device->layout.n_groups && !staged; g++)
        BASE_TRY(mpi_add(exchange, g));
    return SUNDOG_OK;
}

/* ---- table ----------------------------------------------------------------------------------- */

#define HALO_CAP_BOTH (HALO_CAP_STAGED | HALO_CAP_DIRECT | HALO_CAP_DEVICE)
#define IN_KERNELS                                                                              \
    peer_forward_begin, peer_forward_end, peer_reverse_begin, peer_reverse_end,                 \
        &halo_peer_hooks, peer_forward_whole, peer_reverse_whole

static const halo_rung peer_flit = {"flit", "peer", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung peer_direct = {
    "direct", "peer", HALO_CAP_DIRECT | HALO_CAP_DEVICE, IN_KERNELS};
static const halo_rung peer_fused = {"fused", "peer", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung peer_fused_tma = {"fused-tma", "peer", HALO_CAP_BOTH,
                                         IN_KERNELS};
static const halo_rung peer_pulse = {"pulse", "peer", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung peer_on_stream = {
    "stream", "peer", HALO_CAP_BOTH, stream_forward_begin, stream_forward_end,
    peer_stream_reverse_begin, stream_reverse_end, &halo_peer_hooks, NULL, NULL};
static const halo_rung peer_mpi = {
    "mpi", "peer", HALO_CAP_BOTH, mpi_forward_begin, mpi_forward_end, do_nothing,
    mpi_reverse_end, &halo_peer_hooks, NULL, NULL};

const halo_rung *const *halo_peer_rungs(int *n)
{
    static const halo_rung *const rungs[] = {&peer_flit,  &peer_direct,    &peer_fused,
                                             &peer_fused_tma, &peer_pulse, &peer_on_stream,
                                             &peer_mpi};
    *n = sizeof rungs / sizeof rungs[0];
    return rungs;
}
