/* Fabric peer on the host: waiting for what was launched, what a wait that ran out of time has to
 * say, and the end of a team. */
#include "halo/peer/peer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "team/wire.h"

#include <pthread.h>
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
    const sundog_watch *watch = exchange->device->shared->watch;     /* of ranks here */
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

/* ---- rung stream ----------------------------------------------------------------------------- */

/* Out of time: if a word is behind, that kills the team. */
static bool tell_what_is_behind(sundog_exchange *exchange, double waited)
{
    struct halo_peer *peer = exchange->device;
    const halo_layout *layout = &peer->layout;
    int n = peer->view.n_messages, behind = 0, kind_behind = -1;
    size_t n_lines = peer_line(n, PEER_N_KINDS, 0);
    sundog_word *words = base_try_alloc((n_lines + 1) * sizeof *words);
    const uint64_t wanted[PEER_N_KINDS] = {
        [PEER_SPACE] = exchange->forward_epoch, [PEER_ARRIVED] = exchange->forward_epoch,
        [PEER_SUMS] = exchange->reverse_epoch, [PEER_ROOM] = exchange->reverse_epoch - 1};
    if (!words) return false;
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
    if (kind_behind >= 0) {
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
    base_free(words);
    return kind_behind >= 0;
}

/* The team is dead: a stuck stream goes on when all its words are far ahead of any epoch. */
static void let_stream_go(struct halo_peer *peer)
{
    enum { FAR_AHEAD = 0x3f };      /* every byte */
    if (!peer->words.d) return;
    (void)cudaMemsetAsync(peer->words.d, FAR_AHEAD, peer->words.n_bytes, peer->aside);
    (void)cudaStreamSynchronize(peer->aside);
}

/* ---- the end of a team ----------------------------------------------------------------------- */

/* All exchanges of this process. The stream of a rank may be in another exchange of the team than
 * the one whose call brings the news, and on another rank than this one. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct halo_peer *list;

void peer_enlist(struct halo_peer *peer)
{
    pthread_mutex_lock(&list_lock);
    peer->next = list;
    list = peer;
    pthread_mutex_unlock(&list_lock);
}

void peer_delist(struct halo_peer *peer)
{
    pthread_mutex_lock(&list_lock);
    for (struct halo_peer **at = &list; *at; at = &(*at)->next)
        if (*at == peer) {
            *at = peer->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
}

/* Waits of kernels on all ranks; waits of this rank's streams: nobody else knows its words. */
static void end_waits(const sundog_team *team)
{
    pthread_mutex_lock(&list_lock);
    for (struct halo_peer *peer = list; peer; peer = peer->next) {
        const sundog_team *its = peer->exchange->team;
        if (its->shared != team->shared) continue;
        for (int r = 0; r < its->shared->n_ranks; r++)
            __atomic_store_n(&peer->shared->watch[r].abort, 1, __ATOMIC_RELEASE);
        if (its->rank == team->rank && peer->host_watched) let_stream_go(peer);
    }
    pthread_mutex_unlock(&list_lock);
}

/* Is a word of any exchange of this rank behind? The stream may be stuck in each of them. */
static bool tell_what_is_behind_anywhere(const sundog_exchange *exchange, double waited)
{
    bool told = false;
    pthread_mutex_lock(&list_lock);
    for (struct halo_peer *peer = list; peer && !told; peer = peer->next)
        if (peer->host_watched && peer->exchange->team == exchange->team)
            told = tell_what_is_behind(peer->exchange, waited);
    pthread_mutex_unlock(&list_lock);
    return told;
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
    end_waits(exchange->team);
    bool captured = false;
    if (peer_is_captured(exchange->stream, &captured) == SUNDOG_OK && captured) return;
    for (int r = team->first_here; r < team->first_here + team->n_here; r++) {
        bool first = true;
        for (int q = team->first_here; q < r; q++)
            first = first && team->member[q].gpu != team->member[r].gpu;
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
        team_shared *team = exchange->team->shared;
        if (team->wire) team->wire->listen(team);       /* others may tell of a death */
        if (team_is_dead(exchange->team)) break;
        int64_t timeout = atomic_load(&exchange->team->shared->timeout_ns);
        if (peer->host_watched && timeout > 0 && base_clock_ns() - start > timeout &&
            !tell_what_is_behind_anywhere(exchange, base_clock_seconds_since(start)))
            start = base_clock_ns();    /* slow for another reason: work of its own */
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
