/* Wall clock. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stdint.h>
int64_t base_clock_ns(void);        /* monotonic; differences only */
static inline double base_clock_seconds_since(int64_t start_ns)
{
    return 1e-9 * (double)(base_clock_ns() - start_ns);
}
#endif
