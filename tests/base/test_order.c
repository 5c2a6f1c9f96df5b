/* Words that count: comparing survives the wrap, release hands over plain stores, and a word has a
 * cache line of its own. */
#include "check.h"

#include "base/order.h"

#include <pthread.h>
#include <sched.h>

enum { N_ROUNDS = 20000 };

static base_word there, back;
static uint64_t payload[8];

static void *echo(void *unused)
{
    (void)unused;
    for (uint64_t n = 1; n <= N_ROUNDS; n++) {
        while (!base_reached(base_acquire(&there), n)) sched_yield();
        for (int i = 0; i < 8; i++) {
            CHECK(payload[i] == n + (uint64_t)i);
            payload[i] = 0;
        }
        base_release(&back, n);
    }
    return NULL;
}

int main(void)
{
    CHECK(base_reached(5, 5) && base_reached(6, 5) && !base_reached(4, 5));
    CHECK(base_reached(2, UINT64_MAX - 1) && !base_reached(UINT64_MAX - 1, 2));
    CHECK(base_reached(0, UINT64_MAX) && !base_reached(UINT64_MAX, 0));
    CHECK(sizeof(base_word) == BASE_CACHE_LINE && (uintptr_t)&there % BASE_CACHE_LINE == 0);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, echo, NULL) == 0);
    for (uint64_t n = 1; n <= N_ROUNDS; n++) {
        for (int i = 0; i < 8; i++) payload[i] = n + (uint64_t)i;
        base_release(&there, n);
        while (!base_reached(base_acquire(&back), n)) sched_yield();
        for (int i = 0; i < 8; i++) CHECK(payload[i] == 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
