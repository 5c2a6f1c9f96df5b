/* A fabric is a way to reach peers' rows; a rung is a way to run an exchange on it. One file each,
 * ending in const tables; fabric.c lists those compiled in, best first.
 */
#ifndef HALO_FABRIC_FABRIC_H
#define HALO_FABRIC_FABRIC_H
#include "halo/exchange.h"

enum {
    HALO_CAP_STAGED = 1,            /* can serve SUNDOG_ROUTE_STAGED */
    HALO_CAP_DIRECT = 2,            /* can serve SUNDOG_ROUTE_DIRECT */
};

/* begin announces and does what can be done without waiting; end does the rest. */
typedef struct halo_rung {
    const char *name, *fabric;
    unsigned caps;
    sundog_status (*forward_begin)(sundog_exchange *exchange);
    sundog_status (*forward_end)(sundog_exchange *exchange);
    sundog_status (*reverse_begin)(sundog_exchange *exchange);
    sundog_status (*reverse_end)(sundog_exchange *exchange);
} halo_rung;

extern const halo_rung halo_reference;              /* reference.c */
extern const halo_rung halo_threads_pulse, halo_threads_fused, halo_threads_direct; /* threads.c */

/* The rung of this name (NULL: the best) for this route. */
sundog_status halo_rung_find(const char *name, sundog_route route, const halo_rung **out);
#endif
