/* The lowest of the device side, see sundog/device.cuh: memory order by name, the only place with
 * PTX; waits that end; epochs.
 *
 * A wait that lasts longer than the watch says leaves a record in pinned host memory and raises
 * `abort` for all ranks. From then on every wait returns at once, and what a kernel computes is
 * worth nothing; the host returns the error.
 */
#ifndef SUNDOG_DEVICE_ORDER_CUH
#define SUNDOG_DEVICE_ORDER_CUH
#include "sundog/sundog.h"
#include "sundog/view.h"

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

/* n arrivals at once. */
SUNDOG_DEVICE uint32_t sundog_arrive_many_gpu(uint32_t *counter, uint32_t n)
{
    uint32_t before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(counter), "r"(n) : "memory");
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
#endif
