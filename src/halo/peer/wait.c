/* Fabric peer on the host: waiting for what was launched, what a wait that ran out of time has to
 * say, and the end of a team. */
#include "halo/peer/peer.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static const char *word_name(int word)
{
    static const char *const name[] = {"arrived", "space", "sums", "room", "flit", "sum flit",
                                       "added"};
    return word >= 0 && word < (int)(sizeof name / sizeof name[0]) ? name[word] : "unknown";
}

static void describe_record(const sundog_exchange *exchange, int rank, const sundog_watch *watch,
                            char *text, size_t n_bytes)
{
    bool forward = watch->word == SUNDOG_WORD_ARRIVED || watch->word == SUNDOG_WORD_SPACE ||
                   watch->word == SUNDOG_WORD_FLIT;
    snprintf(text, n_bytes,
             "rank %d waits for rank %d: %s, %s %d, word '%s', wanted epoch %llu, seen %llu, block "
             "%d (%s); gave up after %.3g s", rank, watch->peer, forward ? "forward" : "reverse",
             exchange->route == SUNDOG_ROUTE_STAGED ? "pulse" : "message", watch->message,
             word_name(watch->word), (unsigned long long)watch->wanted,
             (unsigned long long)watch->seen, watch->block, exchange->description,
             1e-9 * (double)watch->waited_ns);
}

static bool is_filled(const sundog_watch *watch)
{
    return __atomic_load_n(&watch->filled, __ATOMIC_ACQUIRE) != 0;
}

/* A wait on some GPU of the team that ran out of time kills the team. */
static void look_for_records(sundog_exchange *exchange)
{
    const sundog_watch *watch = exchange->device->shared->watch;
    for (int r = 0; r < exchange->team->shared->n_ranks; r++) {
        if (!is_filled(&watch[r]) || team_is_dead(exchange->team)) continue;
        char text[768];
        describe_record(exchange, r, &watch[r], text, sizeof text);
        (void)team_kill(exchange->team, SUNDOG_ERR_PEER_TIMEOUT, text);
    }
}

void peer_look(sundog_exchange *exchange)
{
    look_for_records(exchange);
}

/* Rung stream: which word is behind, then let the stuck stream go by setting all of them. */
static void rescue_stream(sundog_exchange *exchange, double waited)
{
    struct halo_peer *peer = exchange->device;
    const halo_layout *layout = &peer->layout;
    int n = halo_route_of(exchange)->n_messages, behind = 0, kind_behind = -1;
    size_t n_lines = peer_line(n, PEER_N_KINDS, 0);
    sundog_word *words = base_try_alloc((n_lines + 1) * sizeof *words);
    const uint64_t wanted[PEER_N_KINDS] = {
        [PEER_SPACE] = exchange->forward_epoch, [PEER_ARRIVED] = exchange->forward_epoch,
        [PEER_SUMS] = exchange->reverse_epoch, [PEER_ROOM] = exchange->reverse_epoch - 1};
    if (!words) return;
    (void)cudaMemcpyAsync(words, peer->words.d, n_lines * sizeof *words,
                          cudaMemcpyDeviceToHost, peer->aside);
    (void)cudaStreamSynchronize(peer->aside);
    for (int m = n - 1; m >= 0; m--)
        for (int kind = 0; kind < PEER_N_KINDS; kind++) {
            bool from = kind == PEER_ARRIVED || kind == PEER_ROOM;
            int rows = from ? layout->recv[m].n : layout->send[m].n;
            if (rows > 0 && !base_reached(words[peer_line(n, kind, m)].value, wanted[kind]))
                behind = m, kind_behind = kind;
        }
    if (!team_is_dead(exchange->team) && kind_behind >= 0) {
        bool from = kind_behind == PEER_ARRIVED || kind_behind == PEER_ROOM;
        sundog_watch record = {.word = kind_behind, .message = behind,
                               .wanted = wanted[kind_behind],
                               .peer = from ? layout->recv[behind].peer : layout->send[behind].peer,
                               .seen = words[peer_line(n, kind_behind, behind)].value,
                               .block = -1,
                               .waited_ns = (uint64_t)(1e9 * waited)};
        char text[768];
        describe_record(exchange, exchange->team->rank, &record, text, sizeof text);
        (void)team_kill(exchange->team, SUNDOG_ERR_PEER_TIMEOUT, text);
    }
    for (int m = 0; m < n; m++)
        for (int kind = 0; kind < PEER_N_KINDS; kind++)
            words[peer_line(n, kind, m)].value = wanted[kind] + 1;
    (void)cudaMemcpyAsync(peer->words.d, words, n_lines * sizeof *words,
                          cudaMemcpyHostToDevice, peer->aside);
    (void)cudaStreamSynchronize(peer->aside);
    base_free(words);
}

/* A device cannot be waited for while a thread captures on it. In a dead team that thread gives up
 * its capture as soon as a call here tells it. */
static void wait_for_device(void)
{
    cudaError_t error = cudaDeviceSynchronize();
    for (int look = 0; look < 3000 && (error == cudaErrorStreamCaptureUnsupported ||
                                       error == cudaErrorStreamCaptureInvalidated); look++) {
        usleep(1000);
        error = cudaDeviceSynchronize();
    }
    (void)cudaGetLastError();
}

/* The team is dead: end all kernels' waits, and wait until the GPUs of all ranks are quiet (unless
 * this very call is captured: the next one that is not will wait). */
void peer_quiesce(sundog_exchange *exchange)
{
    struct halo_peer *peer = exchange->device;
    if (!peer || !peer->shared) return;
    const team_shared *team = exchange->team->shared;
    for (int r = 0; r < team->n_ranks; r++)
        __atomic_store_n(&peer->shared->watch[r].abort, 1, __ATOMIC_RELEASE);
    if (peer->host_watched) rescue_stream(exchange, 0);
    bool captured = false;
    if (peer_is_captured(exchange->stream, &captured) == SUNDOG_OK && captured) return;
    for (int r = 0; r < team->n_ranks; r++) {
        bool first = true;
        for (int q = 0; q < r; q++) first = first && team->member[q].gpu != team->member[r].gpu;
        if (first && cudaSetDevice(team->member[r].gpu - 1) == cudaSuccess)
            wait_for_device();
    }
    (void)cudaSetDevice(peer->gpu);
}

/* On the host: until the stream (or, NULL, the event) has come to its end. */
static sundog_status wait_for(sundog_exchange *exchange, cudaStream_t stream, cudaEvent_t event)
{
    struct halo_peer *peer = exchange->device;
    int64_t start = base_clock_ns();
    cudaError_t error;
    for (int look = 0; (error = stream ? cudaStreamQuery(stream) : cudaEventQuery(event)) ==
                       cudaErrorNotReady; look++) {
        look_for_records(exchange);
        if (team_is_dead(exchange->team)) break;
        int64_t timeout = atomic_load(&exchange->team->shared->timeout_ns);
        if (peer->host_watched && timeout > 0 && base_clock_ns() - start > timeout)
            rescue_stream(exchange, base_clock_seconds_since(start));
        if (look > 5000) usleep(20);
        else if (look % 16 == 15) sched_yield();
    }
    look_for_records(exchange);
    if (team_is_dead(exchange->team)) return SUNDOG_ERR_ABORTED;    /* the caller tells it */
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        sundog_status status = DEVICE_CHECK(error);
        sundog_team_abort(exchange->team, sundog_last_error());
        return status;
    }
    return SUNDOG_OK;
}

sundog_status peer_wait(sundog_exchange *exchange, void *stream)
{
    return wait_for(exchange, peer_stream(stream), NULL);
}

/* Before arrays, words or memory of this rank change: what it has launched is done. */
sundog_status peer_finish(sundog_exchange *exchange)
{
    if (!exchange->device || !exchange->device->shared) return SUNDOG_OK;
    return wait_for(exchange, NULL, exchange->device->last);
}
