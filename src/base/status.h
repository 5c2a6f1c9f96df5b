/* How everything above reports failure: fill the thread's error text, return the status.
 *
 *     if (n < 0) return base_fail(SUNDOG_ERR_ARGUMENT, "n_owned is %d, must not be negative", n);
 *
 * The first function to know the fault writes the text; callers pass the status on unchanged.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H
#include "sundog/sundog.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Set sundog_last_error() of this thread and return `status`. */
sundog_status base_fail(sundog_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Return early with a failed status. */
#define BASE_TRY(call)                                   \
    do {                                                 \
        sundog_status base_try_status_ = (call);         \
        if (base_try_status_ != SUNDOG_OK) return base_try_status_; \
    } while (0)
#ifdef __cplusplus
}
#endif
#endif
