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
 * Groups are those of cooperative_groups: a block, or a tile of a warp.
 *
 * Waits are bounded: a wait that lasts longer than the watch says leaves a record in pinned host
 * memory and raises `abort` for all ranks. From then on every wait returns at once, and what a
 * kernel computes is worth nothing; the host returns the error.
 */
#ifndef SUNDOG_DEVICE_CUH
#define SUNDOG_DEVICE_CUH
#include "sundog/sundog.h"
#include "sundog/view.h"

#include <cooperative_groups.h>

#define SUNDOG_DEVICE static __device__ __forceinline__

/* ---- memory order by name -------------------------------------------------------------------- */

SUNDOG_DEVICE uint64_t sundog_acquire_system(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

SUNDOG_DEVICE void sundog_release_system(uint64_t *word, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

SUNDOG_DEVICE uint64_t sundog_acquire_gpu(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

SUNDOG_DEVICE void sundog_release_gpu(uint64_t *word, uint64_t value)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/* Arrive without ordering anything. */
SUNDOG_DEVICE uint32_t sundog_arrive_relaxed(uint32_t *counter)
{
    uint32_t before;
    asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(before) : "l"(counter) : "memory");
    return before;
}

/* Behind sundog_fence_system() this is a release of everything that the fence covers. */
SUNDOG_DEVICE void sundog_set_system(uint64_t *word, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

SUNDOG_DEVICE uint64_t sundog_relaxed_system(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/* Arrive on a counter of this GPU; the number of arrivals before. */
SUNDOG_DEVICE uint32_t sundog_arrive_gpu(uint32_t *counter)
{
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(before) : "l"(counter) : "memory");
    return before;
}

SUNDOG_DEVICE void sundog_fence_system(void)
{
    asm volatile("fence.acq_rel.sys;" : : : "memory");
}

SUNDOG_DEVICE void sundog_flit_store(sundog_flit *to, sundog_flit flit)
{
    asm volatile("{ .reg .b64 low, high; .reg .b128 all;\n"
                 "mov.b64 low, {%1, %2}; mov.b64 high, {%3, %4}; mov.b128 all, {low, high};\n"
                 "st.relaxed.sys.global.b128 [%0], all; }"
                 : : "l"(to), "r"(flit.payload[0]), "r"(flit.payload[1]), "r"(flit.payload[2]),
                     "r"(flit.epoch) : "memory");
}

SUNDOG_DEVICE sundog_flit sundog_flit_load(const sundog_flit *from)
{
    sundog_flit flit;
    asm volatile("{ .reg .b64 low, high; .reg .b128 all;\n"
                 "ld.relaxed.sys.global.b128 all, [%4]; mov.b128 {low, high}, all;\n"
                 "mov.b64 {%0, %1}, low; mov.b64 {%2, %3}, high; }"
                 : "=r"(flit.payload[0]), "=r"(flit.payload[1]), "=r"(flit.payload[2]),
                   "=r"(flit.epoch) : "l"(from) : "memory");
    return flit;
}

SUNDOG_DEVICE uint64_t sundog_clock_ns(void)
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* Copy engine (compute capability 9): what this thread wrote to shared memory may be read by it. */
SUNDOG_DEVICE void sundog_fence_bulk(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
}

/* Both addresses and the size are multiples of 16. */
SUNDOG_DEVICE void sundog_bulk_store(void *to, const void *shared, uint32_t n_bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;"
                 : : "l"(to), "r"((uint32_t)__cvta_generic_to_shared(shared)), "r"(n_bytes)
                 : "memory");
#else
    (void)to, (void)shared, (void)n_bytes;
    __trap();                       /* refused at bind */
#endif
}

/* The bulk stores of this thread: shared memory may be reused; they are written. */
SUNDOG_DEVICE void sundog_bulk_wait_read(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read 0;" : : : "memory");
#endif
}

SUNDOG_DEVICE void sundog_bulk_wait_written(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
#endif
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* What a wait is for, told if it ends without it. */
typedef struct sundog_wait {
    int32_t word, peer, message;
    uint64_t wanted;
} sundog_wait;

/* Out of time: the first thread of this rank to say so writes the record. Rare. */
[[maybe_unused]] static __device__ __noinline__ void
sundog_give_up(const sundog_view *view, sundog_wait wait, uint64_t seen, uint64_t waited_ns)
{
    sundog_watch *mine = &view->watch[view->rank];
    if (atomicExch(&view->counts->given_up, 1u) != 0) return;
    mine->wanted = wait.wanted;
    mine->seen = seen;
    mine->waited_ns = waited_ns;
    mine->word = wait.word;
    mine->peer = wait.peer;
    mine->message = wait.message;
    mine->block = (int32_t)blockIdx.x;
    sundog_fence_system();
    sundog_set_system(&mine->filled, 1);
    for (int32_t r = 0; r < view->n_ranks; r++) sundog_set_system(&view->watch[r].abort, 1);
}

/* Called now and then by a waiter. True: stop waiting. */
[[maybe_unused]] static __device__ __noinline__ bool
sundog_hopeless(const sundog_view *view, sundog_wait wait, uint64_t seen, uint64_t since_ns)
{
    const sundog_watch *mine = &view->watch[view->rank];
    if (sundog_relaxed_system(&mine->abort)) return true;
    uint64_t limit = sundog_relaxed_system(&mine->timeout_ns);
    uint64_t waited = sundog_clock_ns() - since_ns;
    if (limit == 0 || waited < limit) return false;
    sundog_give_up(view, wait, seen, waited);
    return true;
}

enum { SUNDOG_LOOKS = 1024 };       /* at a word, before looking at the clock: some 0.7 ms */

SUNDOG_DEVICE bool sundog_reached(uint64_t seen, uint64_t wanted)
{
    return (int64_t)(seen - wanted) >= 0;
}

/* (Here and below the clock is left alone until a wait has become a long one.)
 * One thread waits until a word of this GPU, set by a peer, reaches the epoch. */
SUNDOG_DEVICE void sundog_wait_system(const sundog_view *view, const uint64_t *word,
                                      sundog_wait wait)
{
    uint64_t seen = sundog_acquire_system(word), since = 0;
    for (uint32_t look = 1; !sundog_reached(seen, wait.wanted); look++) {
        if (look % SUNDOG_LOOKS == 0) {
            if (since == 0) since = sundog_clock_ns();
            if (sundog_hopeless(view, wait, seen, since)) return;
        }
        seen = sundog_acquire_system(word);
    }
}

/* The same for a word that other blocks of this GPU set. */
SUNDOG_DEVICE void sundog_wait_gpu(const sundog_view *view, const uint64_t *word, sundog_wait wait)
{
    uint64_t seen = sundog_acquire_gpu(word), since = 0;
    for (uint32_t look = 1; !sundog_reached(seen, wait.wanted); look++) {
        if (look % SUNDOG_LOOKS == 0) {
            if (since == 0) since = sundog_clock_ns();
            if (sundog_hopeless(view, wait, seen, since)) return;
        }
        seen = sundog_acquire_gpu(word);
    }
}

/* Each thread waits for its own flit to carry the epoch. */
SUNDOG_DEVICE sundog_flit sundog_flit_wait(const sundog_view *view, const sundog_flit *from,
                                           sundog_wait wait)
{
    sundog_flit flit = sundog_flit_load(from);
    uint64_t since = 0;
    for (uint32_t look = 1; flit.epoch != (uint32_t)wait.wanted; look++) {
        if (look % SUNDOG_LOOKS == 0) {
            if (since == 0) since = sundog_clock_ns();
            if (sundog_hopeless(view, wait, flit.epoch, since)) break;
        }
        flit = sundog_flit_load(from);
    }
    return flit;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* The exchange that a kernel runs: one more than were completed. Advance after all blocks of the
 * kernel that completes it have read it. */
SUNDOG_DEVICE uint64_t sundog_forward_epoch(const sundog_view *view)
{
    return __ldcg(&view->counts->forward) + 1;
}

SUNDOG_DEVICE uint64_t sundog_reverse_epoch(const sundog_view *view)
{
    return __ldcg(&view->counts->reverse) + 1;
}

/* ---- rows by components ---------------------------------------------------------------------- */

/* A shift, hop by hop, each sum formed in double and rounded; components that no hop shifts keep
 * their bits, NaNs too. */
template <class T>
SUNDOG_DEVICE T sundog_shifted(T value, int component, const double (*shift)[3], int n_shifts)
{
    if (component > 2) return value;
    for (int hop = 0; hop < n_shifts; hop++) {
        double by = shift[hop][component];
        if (by != 0) value = (T)((double)value + by);
    }
    return value;
}
SUNDOG_DEVICE uint32_t sundog_shifted(uint32_t value, int, const double (*)[3], int)
{
    return value;
}
SUNDOG_DEVICE uint64_t sundog_shifted(uint64_t value, int, const double (*)[3], int)
{
    return value;
}
SUNDOG_DEVICE uint8_t sundog_shifted(uint8_t value, int, const double (*)[3], int)
{
    return value;
}

/* Loads that a thread has under way before it stores: a block takes a chunk of 256 rows of three
 * components in one go, as a warp does with one of 128. */
enum { SUNDOG_BATCH = 4, SUNDOG_BULK_BATCH = 12 };

/* Which rows: list[k], or (list NULL) first + k. */
typedef struct sundog_rows {
    const int32_t *list;
    int32_t first;
} sundog_rows;

/* Rows of one field in memory, `stride` bytes apart. */
typedef struct sundog_place {
    char *rows;
    int32_t stride;
    sundog_rows which;
} sundog_place;

SUNDOG_DEVICE char *sundog_at(const sundog_place &place, uint32_t k)
{
    const int32_t row = place.which.list ? place.which.list[k] : place.which.first + (int32_t)k;
    return place.rows + (int64_t)row * place.stride;
}

template <class T, class Group>
SUNDOG_DEVICE void sundog_copy_components(const Group &group, const sundog_place &from,
                                          const sundog_place &to, int n, int width,
                                          const double (*shift)[3], int n_shifts)
{
    const uint32_t n_components = (uint32_t)(n * width), step = group.size();
    for (uint32_t begin = group.thread_rank(); begin < n_components;
         begin += SUNDOG_BATCH * step) {
        T value[SUNDOG_BATCH];
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            if (e < n_components)
                value[u] = __ldcg((const T *)sundog_at(from, k) + (e - k * (uint32_t)width));
        }
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            const uint32_t c = e - k * (uint32_t)width;
            if (e < n_components)
                ((T *)sundog_at(to, k))[c] =
                    sundog_shifted(value[u], (int)c, shift, n_shifts);
        }
    }
}

/* Rows of whole 16-byte units; a shift touches the first one (float). */
template <class Group>
SUNDOG_DEVICE void sundog_copy_quads(const Group &group, const sundog_place &from,
                                     const sundog_place &to, int n, int width,
                                     const double (*shift)[3], int n_shifts)
{
    for (uint32_t e = group.thread_rank(); e < (uint32_t)(n * width); e += group.size()) {
        const uint32_t k = e / (uint32_t)width, c = e - k * (uint32_t)width;
        float4 value = __ldcg((const float4 *)sundog_at(from, k) + c);
        if (n_shifts > 0 && c == 0) {
            value.x = sundog_shifted(value.x, 0, shift, n_shifts);
            value.y = sundog_shifted(value.y, 1, shift, n_shifts);
            value.z = sundog_shifted(value.z, 2, shift, n_shifts);
        }
        ((float4 *)sundog_at(to, k))[c] = value;
    }
}

template <class Group>
SUNDOG_DEVICE void sundog_copy_rows(const Group &group, const sundog_view_field &field,
                                    const sundog_place &from, const sundog_place &to, int n,
                                    const double (*shift)[3], int n_shifts)
{
    const int shifts = field.shifted ? n_shifts : 0;
    if (field.quads && !(shifts && field.type == SUNDOG_FLOAT64))
        sundog_copy_quads(group, from, to, n, field.row_bytes / 16, shift, shifts);
    else if (shifts && field.type == SUNDOG_FLOAT32)
        sundog_copy_components<float>(group, from, to, n, field.width, shift, shifts);
    else if (shifts)
        sundog_copy_components<double>(group, from, to, n, field.width, shift, shifts);
    else if (field.type == SUNDOG_INT8)
        sundog_copy_components<uint8_t>(group, from, to, n, field.width, NULL, 0);
    else if (field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64)
        sundog_copy_components<uint64_t>(group, from, to, n, field.width, NULL, 0);
    else
        sundog_copy_components<uint32_t>(group, from, to, n, field.width, NULL, 0);
}

/* ---- rows by bulk stores --------------------------------------------------------------------- */

enum { SUNDOG_BULK_BYTES = 4096, SUNDOG_BULK_BUFFER = SUNDOG_BULK_BYTES + 32 };

/* Rows land one behind the other, without gaps, at `to`. What lies before the first and behind the
 * last multiple of 16 is stored by the threads; the rest goes through `buffer` (shared, aligned to
 * 16), laid there with the same remainder. Free again after sundog_bulk_wait_read() by the first
 * thread. */
template <class T, class Group>
SUNDOG_DEVICE void sundog_bulk_components(const Group &warp, char *buffer,
                                          const sundog_place &from, char *to, int n, int width,
                                          const double (*shift)[3], int n_shifts)
{
    const uint32_t n_bytes = (uint32_t)(n * width) * (uint32_t)sizeof(T);
    const uint32_t skew = (uint32_t)((uintptr_t)to & 15);
    const uint32_t head = min((16 - skew) & 15, n_bytes), body = (n_bytes - head) & ~15u;
    const uint32_t n_components = (uint32_t)(n * width), step = warp.size();
    for (uint32_t begin = warp.thread_rank(); begin < n_components;
         begin += SUNDOG_BULK_BATCH * step) {
        T value[SUNDOG_BULK_BATCH];
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BULK_BATCH; u++) {
            const uint32_t e = begin + u * step, k = e / (uint32_t)width;
            if (e < n_components)
                value[u] = __ldcg((const T *)sundog_at(from, k) + (e - k * (uint32_t)width));
        }
#pragma unroll
        for (uint32_t u = 0; u < SUNDOG_BULK_BATCH; u++) {
            const uint32_t e = begin + u * step, at = e * (uint32_t)sizeof(T);
            if (e >= n_components) continue;
            value[u] = sundog_shifted(value[u], (int)(e % (uint32_t)width), shift, n_shifts);
            if (at < head || at >= head + body) ((T *)to)[e] = value[u];
            else *(T *)(buffer + skew + at) = value[u];
        }
    }
    sundog_fence_bulk();
    warp.sync();
    if (warp.thread_rank() == 0 && body > 0)
        sundog_bulk_store(to + head, buffer + skew + head, body);
}

template <class Group>
SUNDOG_DEVICE void sundog_bulk_rows(const Group &warp, char *buffer,
                                    const sundog_view_field &field, const sundog_place &from,
                                    char *to, int n, const double (*shift)[3], int n_shifts)
{
    const int shifts = field.shifted ? n_shifts : 0;
    if (shifts && field.type == SUNDOG_FLOAT32)
        sundog_bulk_components<float>(warp, buffer, from, to, n, field.width, shift, shifts);
    else if (shifts)
        sundog_bulk_components<double>(warp, buffer, from, to, n, field.width, shift, shifts);
    else if (field.type == SUNDOG_INT8)
        sundog_bulk_components<uint8_t>(warp, buffer, from, to, n, field.width, NULL, 0);
    else if (field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64)
        sundog_bulk_components<uint64_t>(warp, buffer, from, to, n, field.width, NULL, 0);
    else
        sundog_bulk_components<uint32_t>(warp, buffer, from, to, n, field.width, NULL, 0);
}

/* ---- rows by flits --------------------------------------------------------------------------- */

/* Where the payload of a flit lies in a row: n components of `unit` bytes; wide: three of 4, with
 * 16 bytes that can be loaded at once. */
typedef struct sundog_payload {
    char *at;
    int32_t unit, n, wide;
} sundog_payload;

/* Of flit j of the row. */
SUNDOG_DEVICE sundog_payload sundog_payload_of(const sundog_view_field &field, int64_t row, int j)
{
    const int unit = field.type == SUNDOG_INT8 ? 1
                     : field.type == SUNDOG_INT64 || field.type == SUNDOG_FLOAT64 ? 8 : 4;
    const int most = unit == 8 ? 1 : 12 / unit, n = min(most, field.width - j * most);
    return {field.rows + row * field.stride + j * most * unit, unit, n,
            field.wide && unit == 4 && n == 3 && j == 0};
}

SUNDOG_DEVICE sundog_flit sundog_payload_load(const sundog_payload &from)
{
    sundog_flit flit = {{0, 0, 0}, 0};
    if (from.wide) {
        const uint4 all = __ldcg((const uint4 *)from.at);
        flit.payload[0] = all.x, flit.payload[1] = all.y, flit.payload[2] = all.z;
    } else if (from.unit == 4) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < from.n) flit.payload[c] = __ldcg((const uint32_t *)from.at + c);
    } else if (from.unit == 8) {
        const uint64_t value = __ldcg((const uint64_t *)from.at);
        flit.payload[0] = (uint32_t)value;
        flit.payload[1] = (uint32_t)(value >> 32);
    } else {
        for (int b = 0; b < from.n; b++)
            flit.payload[b / 4] |= (uint32_t)__ldcg((const uint8_t *)from.at + b) << 8 * (b % 4);
    }
    return flit;
}

SUNDOG_DEVICE void sundog_payload_store(const sundog_payload &to, sundog_flit flit)
{
    if (to.wide) {
        *(uint2 *)to.at = make_uint2(flit.payload[0], flit.payload[1]);
        ((uint32_t *)to.at)[2] = flit.payload[2];
    } else if (to.unit == 4) {
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (c < to.n) ((uint32_t *)to.at)[c] = flit.payload[c];
    } else if (to.unit == 8) {
        *(uint64_t *)to.at = (uint64_t)flit.payload[1] << 32 | flit.payload[0];
    } else {
        for (int b = 0; b < to.n; b++) to.at[b] = (char)(flit.payload[b / 4] >> 8 * (b % 4));
    }
}

SUNDOG_DEVICE void sundog_flit_shift(const sundog_view_field &field, sundog_flit *flit, int j,
                                     const double (*shift)[3], int n_shifts)
{
    if (!field.shifted || n_shifts == 0) return;
    if (field.type == SUNDOG_FLOAT32 && j == 0) {
        for (int c = 0; c < 3; c++)
            flit->payload[c] = __float_as_uint(
                sundog_shifted(__uint_as_float(flit->payload[c]), c, shift, n_shifts));
    } else if (field.type == SUNDOG_FLOAT64) {
        double value = __hiloint2double((int)flit->payload[1], (int)flit->payload[0]);
        value = sundog_shifted(value, j, shift, n_shifts);
        flit->payload[0] = (uint32_t)__double2loint(value);
        flit->payload[1] = (uint32_t)__double2hiint(value);
    }
}

/* The flits of a row, over all fields: number q is flit j of field f. */
typedef struct sundog_flit_number {
    int32_t f, j;
} sundog_flit_number;

SUNDOG_DEVICE sundog_flit_number sundog_flit_of_row(const sundog_view *view, int q)
{
    int f = 0;
    while (q >= view->field[f].n_flits) q -= view->field[f++].n_flits;
    return {f, q};
}

/* The same over the fields that are added in reverse. */
SUNDOG_DEVICE sundog_flit_number sundog_flit_of_sums(const sundog_view *view, int q)
{
    int f = 0;
    for (; !view->field[f].sums || q >= view->field[f].n_flits; f++)
        if (view->field[f].sums) q -= view->field[f].n_flits;
    return {f, q};
}

/* ---- forward: one chunk ---------------------------------------------------------------------- */

/* The peers may overwrite my ghosts: all reads of the last ones are behind. One group. */
template <class Group>
SUNDOG_DEVICE void sundog_announce_space(const sundog_view *view, const Group &group,
                                         uint64_t epoch)
{
    if (view->lockstep) return;
    for (int m = (int)group.thread_rank(); m < view->n_messages; m += (int)group.size())
        if (view->recv[m].n > 0)
            sundog_release_system(view->recv[m].peer_space, epoch);
}

/* All flits of the epoch are read: the peers may store those of epoch + 2. One group. */
template <class Group>
SUNDOG_DEVICE void sundog_announce_flits(const sundog_view *view, const Group &group,
                                         uint64_t epoch)
{
    if (view->lockstep) return;
    for (int m = (int)group.thread_rank(); m < view->n_messages; m += (int)group.size())
        if (view->recv[m].n > 0) sundog_set_system(view->recv[m].peer_space, epoch);
}

/* Each thread of a group waits for some of a message's words: all of them after a barrier. */
template <class Group>
SUNDOG_DEVICE void sundog_wait_arrived(const sundog_view *view, const Group &group, int message,
                                       uint64_t epoch)
{
    const sundog_view_recv *recv = &view->recv[message];
    const sundog_wait wait = {SUNDOG_WORD_ARRIVED, recv->peer, message, epoch};
    for (int w = (int)group.thread_rank(); w < recv->n_arrived; w += (int)group.size())
        sundog_wait_system(view, recv->arrived + w, wait);
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

/* Store the rows of a chunk into the peer's ghosts. */
template <class Group>
SUNDOG_DEVICE void sundog_send_rows(const sundog_view *view, const Group &group,
                                    const sundog_view_chunk &chunk)
{
    const sundog_rows src = {view->src + chunk.first, 0}, dst = sundog_destination(view, chunk);
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        char *to = view->peer_rows[chunk.message * view->n_fields + f];
        sundog_copy_rows(group, field, {field.rows, field.stride, src}, {to, field.stride, dst},
                         chunk.n, view->shift + chunk.shift, chunk.n_shifts);
    }
}

/* The same by bulk stores; buffer [SUNDOG_BULK_BUFFER] of this warp. The copy engine moves whole
 * 16 bytes: rows with gaps, like scattered ones, are stored by the threads. */
template <class Group>
SUNDOG_DEVICE void sundog_send_bulk(const sundog_view *view, const Group &warp, char *buffer,
                                    const sundog_view_chunk &chunk)
{
    const sundog_rows src = {view->src + chunk.first, 0}, dst = sundog_destination(view, chunk);
    for (int f = 0; f < view->n_fields; f++) {
        const sundog_view_field &field = view->field[f];
        char *to = view->peer_rows[chunk.message * view->n_fields + f];
        const sundog_place from = {field.rows, field.stride, src};
        if (!chunk.contiguous || field.stride != field.row_bytes ||
            chunk.n * field.row_bytes > SUNDOG_BULK_BYTES) {
            sundog_copy_rows(warp, field, from, {to, field.stride, dst}, chunk.n,
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
    while (e < n) {
        sundog_flit_send(view, chunk, send, sending, epoch);
        e += group.size();
        if (e < n) sending = sundog_flit_to_send(view, chunk, send, e);
    }
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

/* Store the ghosts of a chunk into the owner's slot. */
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

/* Everything a chunk of adding waits for: sums of the group's messages, the group before. */
template <bool FLITS, class Group>
SUNDOG_DEVICE void sundog_add_when_ready(const sundog_view *view, const Group &group,
                                         const sundog_view_chunk &chunk, uint64_t epoch)
{
    const int g = chunk.message;
    if (!FLITS) {
        const int from = view->group_first[g], to = view->group_first[g + 1];
        int n_words = 0;
        for (int m = from; m < to; m++) n_words += view->send[m].n_sums;
        for (int i = (int)group.thread_rank(); i < n_words; i += (int)group.size()) {
            int m = from, w = i;
            while (w >= view->send[m].n_sums) w -= view->send[m++].n_sums;
            const sundog_wait wait = {SUNDOG_WORD_SUMS, view->send[m].peer, m, epoch};
            sundog_wait_system(view, view->send[m].sums + w, wait);
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
        if (view->send[m].n > 0) sundog_set_system(view->send[m].peer_room, epoch);
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
