/* The device side of the exchange: memory order by name, and the pieces of which the library's
 * own kernels and those of its users are made. Header only, no relocatable device code.
 *
 * Memory order. A row is stored plainly; the word after it carries the order.
 *
 *   sender: all blocks of a message            | receiver
 *   1 one thread acquires space >= F, barrier  |
 *   2 store rows into the peer's ghosts        |
 *   3 barrier; where chunks share a word, one  |
 *     thread arrives on its counter, acq_rel   |
 *     at GPU scope, and the last goes on       |
 *   4 fence and release of the chunk's word    | 1 a thread for each word acquires arrived >= F
 *     arrived = F at system scope              |   at system scope, barrier
 *                                              | 2 loads past the L1 cache: a sector may straddle
 *                                              |   rows that were read before
 *
 * Arriving needs acquire as well as release: the last block's release must cover what the others
 * stored before they arrived. It costs a microsecond, hence the many words of a message.
 *
 * Flits. Sixteen bytes are stored and loaded in one access, 12 bytes of payload and the epoch: a
 * row that carries the epoch is whole. No fence, no signal, no counter; two copies by parity. That
 * a copy may be overwritten needs no fence either: who has seen the epoch has the payload with it.
 *
 * Bulk. A warp gathers rows into shared memory and hands them to the copy engine in one store; the
 * writes (not only the reads) are waited for before the message's counter.
 *
 * Far peers, which no store reaches: sundog/device_far.cuh.
 *
 * Groups are those of cooperative_groups: a block, or a tile of a warp.
 *
 * Waits are bounded (sundog/device_order.cuh).
 */
#ifndef SUNDOG_DEVICE_CUH
#define SUNDOG_DEVICE_CUH
#include "sundog/device_far.cuh"
#include "sundog/device_order.cuh"
#include "sundog/device_rows.cuh"

#include <cooperative_groups.h>

/* ---- forward: one chunk ---------------------------------------------------------------------- */

/* The peers may overwrite my ghosts: all reads of the last ones are behind. One group. */
template <class Group>
SUNDOG_DEVICE void sundog_announce_space(const sundog_view *view, const Group &group,
                                         uint64_t epoch)
{
    if (view->lockstep) return;
    for (int m = (int)group.thread_rank(); m < view->n_messages; m += (int)group.size())
        if (SUNDOG_FAR && view->recv[m].n > 0 && view->recv[m].n_puts > 0)
            sundog_far_signal(view->recv[m].peer_space, epoch, view->recv[m].peer);
        else if (view->recv[m].n > 0)
            sundog_release_system(view->recv[m].peer_space, epoch);
}

/* All flits of the epoch are read: the peers may store those of epoch + 2. One group. */
template <class Group>
SUNDOG_DEVICE void sundog_announce_flits(const sundog_view *view, const Group &group,
                                         uint64_t epoch)
{
    if (view->lockstep) return;
    for (int m = (int)group.thread_rank(); m < view->n_messages; m += (int)group.size())
        if (view->recv[m].n > 0)
            sundog_tell(view->recv[m].peer_space, epoch, view->recv[m].peer, view->recv[m].n_puts);
}

/* Each thread of a group waits for some of a message's words: all of them after a barrier. */
template <class Group>
SUNDOG_DEVICE void sundog_wait_arrived(const sundog_view *view, const Group &group, int message,
                                       uint64_t epoch)
{
    const sundog_view_recv *recv = &view->recv[message];
    const sundog_wait wait = {SUNDOG_WORD_ARRIVED, recv->peer, message, epoch};
    for (int w = (int)group.thread_rank(); w < recv->n_arrived; w += (int)group.size()) {
        sundog_wait_system(view, recv->arrived + w, wait);
        if (SUNDOG_FAR && recv->n_puts > 0) sundog_far_settle(recv->arrived + w, epoch);
    }
}

/* What must be before the rows of a chunk can be stored. `send` is the chunk's message, copied
 * before: where to signal should not be looked up when all else is done. */
template <class Group>
SUNDOG_DEVICE void sundog_send_when_ready(const sundog_view *view, const Group &group,
                                          const sundog_view_chunk &chunk,
                                          const sundog_view_send &send, uint64_t epoch)
{
    if (view->lockstep && chunk.source < 0) return;
    if (!view->lockstep && group.thread_rank() == 0) {
        sundog_wait wait = {SUNDOG_WORD_SPACE, send.peer, chunk.message, epoch};
        sundog_wait_system(view, send.space, wait);
    }
    if (chunk.source >= 0) sundog_wait_arrived(view, group, chunk.source, epoch);
    group.sync();
}

/* One thread, behind a barrier: are all chunks done that signal by word w of the message? */
SUNDOG_DEVICE bool sundog_last_of_word(uint32_t *counters, int w, int n_chunks, int per_word)
{
    const int n = min(per_word, n_chunks - w * per_word);
    if (n == 1) return true;
    if (sundog_arrive_gpu(counters + w) + 1 != (uint32_t)n) return false;
    counters[w] = 0;
    return true;
}

/* Rows of n chunks of one message are stored, chunks[0], chunks[step] and so on: signal, each by
 * its word. One fence serves several; it waits for everything that was stored. */
template <class Group>
SUNDOG_DEVICE void sundog_send_done(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk *chunks, int step, int n,
                                    const sundog_view_send &send, uint64_t epoch)
{
    if (SUNDOG_FAR && send.n_puts > 0) {
        sundog_far_done(view, group, view->sent + send.first_word, n, send.n_chunks,
                        send.first_put, send.n_puts, epoch);
        return;
    }
    group.sync();
    for (int k = (int)group.thread_rank(); k < n; k += (int)group.size()) {
        const int word = chunks[(int64_t)k * step].word;
        if (!sundog_last_of_word(view->sent + send.first_word, word, send.n_chunks, send.per_word))
            continue;
        sundog_fence_system();
        sundog_set_system(send.peer_arrived + word, epoch);
    }
}

SUNDOG_DEVICE sundog_rows sundog_destination(const sundog_view *view,
                                             const sundog_view_chunk &chunk)
{
    sundog_rows rows = {view->dst + chunk.first, 0};
    if (chunk.contiguous) rows = {NULL, view->dst[chunk.first]};
    return rows;
}

/* From row to row where rows are sent to. */
SUNDOG_DEVICE int32_t sundog_sent_stride(const sundog_view_field &field)
{
    return SUNDOG_FAR ? field.sent_stride : field.stride;
}

/* Rows of a field that a chunk sends. Ghosts are taken from the inbox, if there is one: when they
 * have arrived there they are not in their rows yet. (Those of a message are one range of rows.) */
SUNDOG_DEVICE sundog_place sundog_origin(const sundog_view *view, const sundog_view_field &field,
                                         const sundog_view_chunk &chunk)
{
    const sundog_rows rows = {view->src + chunk.first, 0};
    if (!SUNDOG_FAR || !field.inbox || chunk.source < 0) return {field.rows, field.stride, rows};
    const int32_t first = view->recv[chunk.source].first;
    return {field.inbox + ((int64_t)first - view->ghost[first]) * field.row_bytes, field.row_bytes,
            rows};
}

/* Store the rows of a chunk into the peer's ghosts, its inbox, or the outbox of this rank. */
template <class Group>
SUNDOG_DEVICE void sundog_send_rows(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk &chunk)
{
    const sundog_rows dst = sundog_destination(view, chunk);
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        char *to = view->peer_rows[chunk.message * view->n_fields + f];
        sundog_copy_rows(group, field, sundog_origin(view, field, chunk),
                         {to, sundog_sent_stride(field), dst}, chunk.n, view->shift + chunk.shift,
                         chunk.n_shifts);
    }
}

/* The same by bulk stores; buffer [SUNDOG_BULK_BUFFER] of this warp. The copy engine moves whole
 * 16 bytes: rows with gaps, like scattered ones, are stored by the threads. */
template <class Group>
SUNDOG_DEVICE void sundog_send_bulk(const sundog_view *view, const Group &warp, char *buffer,
                                    const sundog_view_chunk &chunk)
{
    const sundog_rows dst = sundog_destination(view, chunk);
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        char *to = view->peer_rows[chunk.message * view->n_fields + f];
        const sundog_place from = sundog_origin(view, field, chunk);
        if (!chunk.contiguous || sundog_sent_stride(field) != field.row_bytes ||
            chunk.n * field.row_bytes > SUNDOG_BULK_BYTES) {
            sundog_copy_rows(warp, field, from, {to, sundog_sent_stride(field), dst}, chunk.n,
                             view->shift + chunk.shift, chunk.n_shifts);
            continue;
        }
        sundog_bulk_rows(warp, buffer, field, from, to + (int64_t)dst.first * field.row_bytes,
                         chunk.n, view->shift + chunk.shift, chunk.n_shifts);
        if (warp.thread_rank() == 0) sundog_bulk_wait_read();
        warp.sync();
    }
    if (warp.thread_rank() == 0) sundog_bulk_wait_written();
}

/* Unpack a chunk of ghosts from the inbox, once all of their message has arrived. */
template <class Group>
SUNDOG_DEVICE void sundog_receive_rows(const sundog_view *view, const Group &group,
                                       const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_rows box = {NULL, chunk.first}, ghosts = {view->ghost + chunk.first, 0};
    sundog_wait_arrived(view, group, chunk.message, epoch);
    group.sync();
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        sundog_copy_rows(group, field, {field.inbox, field.row_bytes, box},
                         {field.rows, field.stride, ghosts}, chunk.n, NULL, 0);
    }
}

/* A flit that a thread sends: where its payload is, or (source not NULL) which flit brings it, and
 * where it goes; addresses are those of parity 0. Looked up before anything is waited for. */
typedef struct sundog_flit_sending {
    sundog_payload own;
    const sundog_flit *source;
    sundog_flit *to;
    sundog_flit_number number;
} sundog_flit_sending;

/* Flit e of a chunk, 0 .. chunk.n * view->n_flits - 1. (Staged: the ghosts of a message are one
 * range of rows.) */
SUNDOG_DEVICE sundog_flit_sending sundog_flit_to_send(const sundog_view *view,
                                                      const sundog_view_chunk &chunk,
                                                      const sundog_view_send &send, uint32_t e)
{
    const uint32_t n_flits = (uint32_t)view->n_flits;
    const uint32_t k = n_flits == 1 ? e : e / n_flits, q = e - k * n_flits;
    const int32_t i = chunk.first + (int32_t)k, row = view->src[i], place = view->place[i];
    sundog_flit_sending sending;
    sending.number = sundog_flit_of_row(view, (int)q);
    sending.own = sundog_payload_of(view->field[sending.number.f], row, sending.number.j);
    sending.to = send.peer_flits + (int64_t)place * n_flits + q;
    sending.source = NULL;
    if (chunk.source >= 0) {
        const int32_t first = view->recv[chunk.source].first;
        sending.source = view->flits + (first + (int64_t)(row - view->ghost[first])) * n_flits + q;
    }
    return sending;
}

SUNDOG_DEVICE void sundog_flit_send(const sundog_view *view, const sundog_view_chunk &chunk,
                                    const sundog_view_send &send,
                                    const sundog_flit_sending &sending, uint64_t epoch)
{
    const int64_t parity = (int64_t)(epoch & 1);
    sundog_flit flit;
    if (sending.source) {
        const sundog_wait wait = {SUNDOG_WORD_FLIT, view->recv[chunk.source].peer, chunk.source,
                                  epoch};
        flit = sundog_flit_wait(view, sending.source + parity * view->flit_stride, wait);
    } else {
        flit = sundog_payload_load(sending.own);
    }
    if (chunk.n_shifts > 0)
        sundog_flit_shift(view->field[sending.number.f], &flit, sending.number.j,
                          view->shift + chunk.shift, chunk.n_shifts);
    flit.epoch = (uint32_t)epoch;
    sundog_flit_store(sending.to + parity * send.peer_flit_stride, flit);
}

/* Flits of a far peer come in a put: one of them may be there in part before its word is. */
template <class Group>
SUNDOG_DEVICE void sundog_settle_flits(const sundog_view *view, const Group &group, int message,
                                       uint64_t epoch)
{
    if (!SUNDOG_FAR || view->recv[message].n_puts == 0) return;
    sundog_wait_arrived(view, group, message, epoch);
    group.sync();
}

/* Send a chunk as flits. Rows that an earlier message brings are taken from its flits. */
template <class Group>
SUNDOG_DEVICE void sundog_send_flits(const sundog_view *view, const Group &group,
                                     const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_view_send send = view->send[chunk.message];
    const uint32_t n = (uint32_t)(chunk.n * view->n_flits);
    uint32_t e = group.thread_rank();
    sundog_flit_sending sending;
    if (e < n) sending = sundog_flit_to_send(view, chunk, send, e);
    if (!view->lockstep) {          /* two copies: the one of epoch - 2 must have been read */
        sundog_wait wait = {SUNDOG_WORD_SPACE, send.peer, chunk.message, epoch - 2};
        if (group.thread_rank() == 0) sundog_wait_system(view, send.space, wait);
        group.sync();
    }
    if (chunk.source >= 0) sundog_settle_flits(view, group, chunk.source, epoch);
    while (e < n) {
        sundog_flit_send(view, chunk, send, sending, epoch);
        e += group.size();
        if (e < n) sending = sundog_flit_to_send(view, chunk, send, e);
    }
    if (SUNDOG_FAR && send.n_puts > 0)
        sundog_far_done(view, group, view->sent + send.first_word, 1, send.n_chunks,
                        send.first_put, send.n_puts, epoch);
}

/* A flit that a thread receives: where it comes (parity 0), and the row's place for its payload. */
typedef struct sundog_flit_receiving {
    sundog_payload own;
    const sundog_flit *from;
} sundog_flit_receiving;

/* Flit e of a chunk of kind RECEIVE. */
SUNDOG_DEVICE sundog_flit_receiving sundog_flit_to_receive(const sundog_view *view,
                                                           const sundog_view_chunk &chunk,
                                                           uint32_t e)
{
    const uint32_t n_flits = (uint32_t)view->n_flits;
    const uint32_t k = n_flits == 1 ? e : e / n_flits, q = e - k * n_flits;
    const int32_t i = chunk.first + (int32_t)k;
    const sundog_flit_number number = sundog_flit_of_row(view, (int)q);
    return {sundog_payload_of(view->field[number.f], view->ghost[i], number.j),
            view->flits + (int64_t)i * n_flits + q};
}

SUNDOG_DEVICE void sundog_flit_receive(const sundog_view *view,
                                       const sundog_flit_receiving &receiving, sundog_wait wait)
{
    const int64_t parity = (int64_t)(wait.wanted & 1);
    sundog_payload_store(receiving.own,
                         sundog_flit_wait(view, receiving.from + parity * view->flit_stride, wait));
}

/* Unpack a chunk of ghosts as its flits come. */
template <class Group>
SUNDOG_DEVICE void sundog_receive_flits(const sundog_view *view, const Group &group,
                                        const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_wait wait = {SUNDOG_WORD_FLIT, view->recv[chunk.message].peer, chunk.message,
                              epoch};
    const uint32_t n = (uint32_t)(chunk.n * view->n_flits);
    sundog_settle_flits(view, group, chunk.message, epoch);
    for (uint32_t e = group.thread_rank(); e < n; e += group.size())
        sundog_flit_receive(view, sundog_flit_to_receive(view, chunk, e), wait);
}

/* ---- reverse: one chunk ---------------------------------------------------------------------- */

/* Ghosts of a chunk hold their sums: later messages that forwarded some of them were added. */
template <class Group>
SUNDOG_DEVICE void sundog_return_when_ready(const sundog_view *view, const Group &group,
                                            const sundog_view_chunk &chunk,
                                            const sundog_view_recv &recv, uint64_t epoch,
                                            uint64_t room)
{
    if (view->lockstep && recv.n_users == 0) return;
    if (group.thread_rank() == 0) {
        sundog_wait wait = {SUNDOG_WORD_ROOM, recv.peer, chunk.message, room};
        if (!view->lockstep) sundog_wait_system(view, recv.room, wait);
        for (int u = 0; u < recv.n_users; u++) {
            const int later = view->user[recv.first_user + u];
            sundog_wait added = {SUNDOG_WORD_ADDED, view->send[later].peer, later, epoch};
            sundog_wait_gpu(view, &view->added[later].value, added);
        }
    }
    group.sync();
}

/* As sundog_send_done(). */
template <class Group>
SUNDOG_DEVICE void sundog_return_done(const sundog_view *view, const Group &group,
                                      const sundog_view_chunk *chunks, int step, int n,
                                      const sundog_view_recv &recv, uint64_t epoch)
{
    if (SUNDOG_FAR && recv.n_puts > 0) {
        sundog_far_done(view, group, view->returned + recv.first_word, n, recv.n_chunks,
                        recv.first_put, recv.n_puts, epoch);
        return;
    }
    group.sync();
    for (int k = (int)group.thread_rank(); k < n; k += (int)group.size()) {
        const int word = chunks[(int64_t)k * step].word;
        if (!sundog_last_of_word(view->returned + recv.first_word, word, recv.n_chunks,
                                 recv.per_word))
            continue;
        sundog_fence_system();
        sundog_set_system(recv.peer_sums + word, epoch);
    }
}

/* Store the ghosts of a chunk into the owner's slot, or the outbox. */
template <class Group>
SUNDOG_DEVICE void sundog_return_rows(const sundog_view *view, const Group &group,
                                      const sundog_view_chunk &chunk)
{
    const sundog_rows src = {view->ghost + chunk.first, 0};
    const sundog_rows dst = {NULL, chunk.first - view->recv[chunk.message].first};
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        char *to = view->peer_sums[chunk.message * view->n_fields + f];
        if (field.sums)
            sundog_copy_rows(group, field, {field.rows, field.stride, src},
                             {to, field.row_bytes, dst}, chunk.n, NULL, 0);
    }
}

template <class Group>
SUNDOG_DEVICE void sundog_return_bulk(const sundog_view *view, const Group &warp, char *buffer,
                                      const sundog_view_chunk &chunk)
{
    const sundog_rows src = {view->ghost + chunk.first, 0};
    const sundog_rows dst = {NULL, chunk.first - view->recv[chunk.message].first};
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        if (!field.sums) continue;
        char *to = view->peer_sums[chunk.message * view->n_fields + f];
        const sundog_place from = {field.rows, field.stride, src};
        if (chunk.n * field.row_bytes > SUNDOG_BULK_BYTES) {
            sundog_copy_rows(warp, field, from, {to, field.row_bytes, dst}, chunk.n, NULL, 0);
            continue;
        }
        sundog_bulk_rows(warp, buffer, field, from, to + (int64_t)dst.first * field.row_bytes,
                         chunk.n, NULL, 0);
        if (warp.thread_rank() == 0) sundog_bulk_wait_read();
        warp.sync();
    }
    if (warp.thread_rank() == 0) sundog_bulk_wait_written();
}

template <class Group>
SUNDOG_DEVICE void sundog_return_flits(const sundog_view *view, const Group &group,
                                       const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_view_recv recv = view->recv[chunk.message];
    sundog_return_when_ready(view, group, chunk, recv, epoch, epoch - 2);
    sundog_flit *to = recv.peer_sum_flits + (int64_t)(epoch & 1) * recv.peer_sum_flit_stride;
    const uint32_t n_flits = (uint32_t)view->n_sum_flits;
    for (uint32_t e = group.thread_rank(); e < (uint32_t)chunk.n * n_flits; e += group.size()) {
        const uint32_t k = n_flits == 1 ? e : e / n_flits, q = e - k * n_flits;
        const int32_t i = chunk.first + (int32_t)k;
        const sundog_flit_number number = sundog_flit_of_sums(view, (int)q);
        sundog_flit flit = sundog_payload_load(
            sundog_payload_of(view->field[number.f], view->ghost[i], number.j));
        flit.epoch = (uint32_t)epoch;
        sundog_flit_store(to + (int64_t)(i - recv.first) * n_flits + q, flit);
    }
    if (SUNDOG_FAR && recv.n_puts > 0)
        sundog_far_done(view, group, view->returned + recv.first_word, 1, recv.n_chunks,
                        recv.first_put, recv.n_puts, epoch);
}

/* ---- reverse: adding ------------------------------------------------------------------------- */

template <class T, class Group>
SUNDOG_DEVICE void sundog_add_field(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk &chunk, const sundog_view_field &field)
{
    const uint32_t width = (uint32_t)field.width;
    for (uint32_t e = group.thread_rank(); e < (uint32_t)chunk.n * width; e += group.size()) {
        const uint32_t k = e / width, c = e - k * width;
        const int32_t t = chunk.first + (int32_t)k;
        const T *sums = (const T *)field.sums + c;
        T *to = (T *)(field.rows + (int64_t)view->add_row[t] * field.stride) + c;
        if (!view->deterministic) {
            atomicAdd(to, __ldcg(sums + (int64_t)t * width));
            continue;
        }
        T sum = __ldcg(to);
        for (int32_t i = view->add_first[t]; i < view->add_first[t + 1]; i++)
            sum += __ldcg(sums + (int64_t)view->add_entry[i] * width);
        *to = sum;
    }
}

/* The components of a flit. */
SUNDOG_DEVICE float sundog_component(sundog_flit flit, int c, float)
{
    return __uint_as_float(flit.payload[c]);
}
SUNDOG_DEVICE double sundog_component(sundog_flit flit, int, double)
{
    return __hiloint2double((int)flit.payload[1], (int)flit.payload[0]);
}

/* Flit q of a target's sums, as its terms come: all components of it by one thread. */
template <class T>
SUNDOG_DEVICE void sundog_add_flit(const sundog_view *view, const sundog_payload &own, int32_t t,
                                   int q, sundog_wait wait)
{
    constexpr int MOST = sizeof(T) == 4 ? 3 : 1;
    const int64_t n_flits = view->n_sum_flits;
    const sundog_flit *from = view->sum_flits + (int64_t)(wait.wanted & 1) * view->sum_flit_stride;
    T *to = (T *)own.at, sum[MOST];
    if (!view->deterministic) {
        const sundog_flit flit = sundog_flit_wait(view, from + t * n_flits + q, wait);
#pragma unroll
        for (int c = 0; c < MOST; c++)
            if (c < own.n) atomicAdd(to + c, sundog_component(flit, c, T()));
        return;
    }
#pragma unroll
    for (int c = 0; c < MOST; c++)
        if (c < own.n) sum[c] = __ldcg(to + c);
    for (int32_t i = view->add_first[t]; i < view->add_first[t + 1]; i++) {
        const sundog_flit flit =
            sundog_flit_wait(view, from + view->add_entry[i] * n_flits + q, wait);
#pragma unroll
        for (int c = 0; c < MOST; c++)
            if (c < own.n) sum[c] += sundog_component(flit, c, T());
    }
#pragma unroll
    for (int c = 0; c < MOST; c++)
        if (c < own.n) to[c] = sum[c];
}

template <class Group>
SUNDOG_DEVICE void sundog_add_flits(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk &chunk, uint64_t epoch)
{
    const int m = view->group_first[chunk.message];
    const sundog_wait wait = {SUNDOG_WORD_SUM_FLIT, view->send[m].peer, m, epoch};
    const uint32_t n_flits = (uint32_t)view->n_sum_flits;
    for (uint32_t e = group.thread_rank(); e < (uint32_t)chunk.n * n_flits; e += group.size()) {
        const uint32_t k = n_flits == 1 ? e : e / n_flits, q = e - k * n_flits;
        const int32_t t = chunk.first + (int32_t)k;
        const sundog_flit_number number = sundog_flit_of_sums(view, (int)q);
        const sundog_view_field &field = view->field[number.f];
        const sundog_payload own = sundog_payload_of(field, view->add_row[t], number.j);
        if (field.type == SUNDOG_FLOAT32) sundog_add_flit<float>(view, own, t, (int)q, wait);
        else sundog_add_flit<double>(view, own, t, (int)q, wait);
    }
}

/* Words that say that a message's sums are here: flits do by themselves, unless they were put. */
template <bool FLITS>
SUNDOG_DEVICE int sundog_sum_words(const sundog_view_send &send)
{
    return !FLITS || (SUNDOG_FAR && send.n_puts > 0) ? send.n_sums : 0;
}

/* Everything a chunk of adding waits for: sums of the group's messages, the group before. */
template <bool FLITS, class Group>
SUNDOG_DEVICE void sundog_add_when_ready(const sundog_view *view, const Group &group,
                                         const sundog_view_chunk &chunk, uint64_t epoch)
{
    const int g = chunk.message;
    if (!FLITS || SUNDOG_FAR) {
        const int from = view->group_first[g], to = view->group_first[g + 1];
        int n_words = 0;
        for (int m = from; m < to; m++) n_words += sundog_sum_words<FLITS>(view->send[m]);
        for (int i = (int)group.thread_rank(); i < n_words; i += (int)group.size()) {
            int m = from, w = i;
            while (w >= sundog_sum_words<FLITS>(view->send[m]))
                w -= sundog_sum_words<FLITS>(view->send[m++]);
            const sundog_view_send &send = view->send[m];
            const sundog_wait wait = {SUNDOG_WORD_SUMS, send.peer, m, epoch};
            sundog_wait_system(view, send.sums + w, wait);
            if (SUNDOG_FAR && send.n_puts > 0) sundog_far_settle(send.sums + w, epoch);
        }
    }
    if (group.thread_rank() == 0 && chunk.source >= 0) {
        sundog_wait wait = {SUNDOG_WORD_ADDED, view->rank, chunk.source, epoch};
        sundog_wait_gpu(view, &view->added[chunk.source].value, wait);
    }
    group.sync();
}

template <class Group>
SUNDOG_DEVICE void sundog_add_rows(const sundog_view *view, const Group &group,
                                   const sundog_view_chunk &chunk)
{
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        if (!field.sums) continue;
        if (field.type == SUNDOG_FLOAT32)
            sundog_add_field<float>(view, group, chunk, field);
        else sundog_add_field<double>(view, group, chunk, field);
    }
}

/* The last chunk of a group to be added says so, here and to the senders. */
template <bool FLITS, class Group>
SUNDOG_DEVICE void sundog_add_done(const sundog_view *view, const Group &group,
                                   const sundog_view_chunk &chunk, uint64_t epoch)
{
    const int g = chunk.message;
    group.sync();
    if (group.thread_rank() != 0) return;
    if (sundog_arrive_gpu(&view->summed[g]) + 1 != (uint32_t)view->add_chunks[g]) return;
    view->summed[g] = 0;
    sundog_release_gpu(&view->added[g].value, epoch);
    if (view->lockstep) return;
    if (!FLITS) sundog_fence_system();
    for (int m = view->group_first[g]; m < view->group_first[g + 1]; m++)
        if (view->send[m].n > 0)
            sundog_tell(view->send[m].peer_room, epoch, view->send[m].peer, view->send[m].n_puts);
}

/* ---- whole chunks, from inside any kernel ---------------------------------------------------- */

/* Send a chunk of view->forward. All chunks of a message must be sent once each epoch, by whichever
 * groups; the kernel in which the last ones are sent, or a later one, advances the count. */
template <class Group>
SUNDOG_DEVICE void sundog_send_chunk(const sundog_view *view, const Group &group,
                                     const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_view_send send = view->send[chunk.message];
    sundog_send_when_ready(view, group, chunk, send, epoch);
    sundog_send_rows(view, group, chunk);
    sundog_send_done(view, group, &chunk, 1, 1, send, epoch);
}

/* Wait until the ghosts of a message are in place; the group may then read them past the L1. */
template <class Group>
SUNDOG_DEVICE void sundog_wait_stage(const sundog_view *view, const Group &group, int message,
                                     uint64_t epoch)
{
    sundog_wait_arrived(view, group, message, epoch);
    group.sync();
}

/* Return the ghosts of a chunk of view->reverse to their owner. */
template <class Group>
SUNDOG_DEVICE void sundog_return_chunk(const sundog_view *view, const Group &group,
                                       const sundog_view_chunk &chunk, uint64_t epoch)
{
    const sundog_view_recv recv = view->recv[chunk.message];
    sundog_return_when_ready(view, group, chunk, recv, epoch, epoch - 1);
    sundog_return_rows(view, group, chunk);
    sundog_return_done(view, group, &chunk, 1, 1, recv, epoch);
}

/* Add what came back for a chunk of adding of view->reverse. */
template <bool FLITS, class Group>
SUNDOG_DEVICE void sundog_add_chunk(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk &chunk, uint64_t epoch)
{
    sundog_add_when_ready<FLITS>(view, group, chunk, epoch);
    if (FLITS) sundog_add_flits(view, group, chunk, epoch);
    else sundog_add_rows(view, group, chunk);
    sundog_add_done<FLITS>(view, group, chunk, epoch);
}
#endif
