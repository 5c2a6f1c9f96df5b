/* CHECK for tests and examples: prints file:line and what was seen, and ends the program. */
#ifndef CHECK_H
#define CHECK_H
#include "sundog/sundog.h"
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)
#define CHECK_OK(call)                                                                    \
    do {                                                                                  \
        sundog_status check_status_ = (call);                                             \
        if (check_status_ != SUNDOG_OK) {                                                 \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,             \
                    sundog_status_name(check_status_), sundog_last_error());              \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)
/* |a - b| <= limit, with the numbers printed */
#define CHECK_NEAR(a, b, limit)                                                           \
    do {                                                                                  \
        double check_a_ = (a), check_b_ = (b), check_l_ = (limit);                        \
        double check_d_ = check_a_ > check_b_ ? check_a_ - check_b_ : check_b_ - check_a_; \
        if (!(check_d_ <= check_l_)) {                                                    \
            fprintf(stderr, "%s:%d: %s = %.12g, %s = %.12g, differ by %.3g > %.3g\n",     \
                    __FILE__, __LINE__, #a, check_a_, #b, check_b_, check_d_, check_l_);  \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)
#endif
