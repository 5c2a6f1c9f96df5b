/* The rungs of fabric nvshmem. All but one are those of fabric peer, with the plug-in's kernels.
 *
 *   stream   a kernel packs a message into the outbox; the stream puts it with a signal, waits for
 *            the signal of what comes, and a kernel unpacks the inbox
 */
#include "halo/nvshmem/far.h"

static void put_on(sundog_exchange *exchange, int first, int n, uint64_t epoch)
{
    const struct halo_peer *peer = exchange->device;
    for (int p = first; p < first + n; p++)
        peer->far->nvshmem->put_on(&peer->put[p], epoch, peer_stream(exchange->stream));
}

static void signal_on(sundog_exchange *exchange, uint64_t *word, int rank, uint64_t epoch)
{
    const sundog_view_put signal = {.word = word, .pe = rank};
    exchange->device->far->nvshmem->put_on(&signal, epoch, peer_stream(exchange->stream));
}

static void wait_on(sundog_exchange *exchange, uint64_t *word, int n, uint64_t epoch)
{
    for (int w = 0; w < n; w++)
        exchange->device->far->nvshmem->wait_on(word + w, epoch, peer_stream(exchange->stream));
}

static sundog_status stream_forward_begin(sundog_exchange *exchange)
{
    const halo_layout *layout = &exchange->device->layout;
    BASE_TRY(peer_refuse_capture(exchange, exchange->stream));
    for (int m = 0; m < halo_route_of(exchange)->n_messages && !exchange->lockstep; m++)
        if (layout->recv[m].n > 0)
            signal_on(exchange, layout->recv[m].peer_space, layout->recv[m].peer,
                      exchange->forward_epoch);
    return peer_mark(exchange, exchange->stream);
}

static sundog_status stream_receive(sundog_exchange *exchange, int m)
{
    const struct halo_peer *peer = exchange->device;
    const sundog_view_recv *recv = &peer->layout.recv[m];
    if (recv->n == 0) return SUNDOG_OK;
    int n_blocks = peer_blocks(exchange, (recv->n + HALO_BLOCK_THREADS - 1) / HALO_BLOCK_THREADS);
    wait_on(exchange, recv->arrived, recv->n_arrived, exchange->forward_epoch);
    PEER_TRY(peer->kernels->ghosts(&peer->view, recv->first, recv->n, &peer->far->inbox, 1,
                                   n_blocks, peer_stream(exchange->stream)));
    return SUNDOG_OK;
}

static sundog_status stream_forward_end(sundog_exchange *exchange)
{
    const halo_layout *layout = &exchange->device->layout;
    uint64_t epoch = exchange->forward_epoch;
    for (int i = 0; i < halo_route_of(exchange)->n_messages; i++) {
        int m = peer_nth_send(exchange, i);
        const sundog_view_send *send = &layout->send[m];
        if (send->n > 0) {
            if (!exchange->lockstep) wait_on(exchange, send->space, 1, epoch);
            BASE_TRY(peer_move_rows(exchange, true, layout->sends[m]));
            put_on(exchange, send->first_put, send->n_puts, epoch);
        }
        BASE_TRY(stream_receive(exchange, peer_nth_recv(exchange, i)));
    }
    return peer_mark(exchange, exchange->stream);
}

static sundog_status stream_return(sundog_exchange *exchange, int m)
{
    const halo_layout *layout = &exchange->device->layout;
    const sundog_view_recv *recv = &layout->recv[m];
    uint64_t epoch = exchange->reverse_epoch;
    if (recv->n == 0) return SUNDOG_OK;
    if (!exchange->lockstep) wait_on(exchange, recv->room, 1, epoch - 1);
    BASE_TRY(peer_move_rows(exchange, false, layout->returns[m]));
    put_on(exchange, recv->first_put, recv->n_puts, epoch);
    return SUNDOG_OK;
}

/* Add group g, once the sums of its messages are here. */
static sundog_status stream_add(sundog_exchange *exchange, int g)
{
    const halo_layout *layout = &exchange->device->layout;
    uint64_t epoch = exchange->reverse_epoch;
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++)
        wait_on(exchange, layout->send[m].sums, layout->send[m].n_sums, epoch);
    BASE_TRY(peer_move_rows(exchange, false, layout->adds[g]));
    for (int m = layout->group_first[g]; m < layout->group_first[g + 1]; m++)
        if (layout->send[m].n > 0 && !exchange->lockstep)
            signal_on(exchange, layout->send[m].peer_room, layout->send[m].peer, epoch);
    return SUNDOG_OK;
}

static sundog_status stream_reverse_end(sundog_exchange *exchange)
{
    return peer_stream_reverse(exchange, stream_return, stream_add);
}

/* ---- table ----------------------------------------------------------------------------------- */

#define HALO_CAP_BOTH (HALO_CAP_STAGED | HALO_CAP_DIRECT | HALO_CAP_DEVICE)
#define IN_KERNELS                                                                              \
    peer_forward_begin, peer_forward_end, peer_reverse_begin, peer_reverse_end,                 \
        &halo_far_hooks, peer_forward_whole, peer_reverse_whole

static const halo_rung far_flit = {"flit", "nvshmem", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung far_direct = {
    "direct", "nvshmem", HALO_CAP_DIRECT | HALO_CAP_DEVICE, IN_KERNELS};
static const halo_rung far_fused = {"fused", "nvshmem", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung far_fused_tma = {"fused-tma", "nvshmem", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung far_pulse = {"pulse", "nvshmem", HALO_CAP_BOTH, IN_KERNELS};
static const halo_rung far_on_stream = {
    "stream", "nvshmem", HALO_CAP_BOTH, stream_forward_begin, stream_forward_end,
    peer_stream_reverse_begin, stream_reverse_end, &halo_far_hooks, NULL, NULL};

const halo_rung *const *halo_nvshmem_rungs(int *n)
{
    static const halo_rung *const rungs[] = {&far_flit,      &far_direct, &far_fused,
                                             &far_fused_tma, &far_pulse,  &far_on_stream};
    *n = sizeof rungs / sizeof rungs[0];
    return rungs;
}
