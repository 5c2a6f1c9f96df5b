/* Memory order by name: one 64-bit word a cache line, written by one thread, waited for by another.
 *
 *   writer                                   | reader
 *   plain stores                             |
 *   base_release(word, n)                    | base_acquire(word) >= n
 *                                            | plain loads see the stores
 *
 * The _seen forms are sequentially consistent as well. They serve the one place where release and
 * acquire are not enough: two threads that each write one word and then read the other's, where at
 * least one must see the other (a sleeper and its waker; a rank in a peer's memory and a rank that
 * ends the team). Fences would do too, but ThreadSanitizer cannot follow them.
 *
 * Words count up and are compared with base_reached(), which survives the wrap of 64 bits.
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BASE_CACHE_LINE = 64 };

typedef struct base_word {
    alignas(BASE_CACHE_LINE) _Atomic uint64_t value;
} base_word;

static inline uint64_t base_acquire(const base_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_acquire);
}
static inline void base_release(base_word *word, uint64_t value)
{
    atomic_store_explicit(&word->value, value, memory_order_release);
}
static inline uint64_t base_acquire_seen(const base_word *word)
{
    return atomic_load_explicit(&word->value, memory_order_seq_cst);
}
static inline void base_release_seen(base_word *word, uint64_t value)
{
    atomic_store_explicit(&word->value, value, memory_order_seq_cst);
}

static inline bool base_reached(uint64_t seen, uint64_t wanted)
{
    return (int64_t)(seen - wanted) >= 0;
}

/* Tell the core that this is a spin. */
static inline void base_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
#endif
