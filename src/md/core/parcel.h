/* A parcel: structures of one process on their way to another of the same program on the same kind
 * of machine. One function a type walks through it and serves both ends: it puts each part in, or
 * takes it out in the same order.
 *
 *      md_parcel_bytes(parcel, &size, sizeof size);            what stands in the structure itself
 *      MD_PARCEL_ARRAY(parcel, array, size);                   what it points to; made anew at the
 *                                                              other end, NULL stays NULL
 */
#ifndef MD_PARCEL_H
#define MD_PARCEL_H
#include "base/status.h"
#include "md/core/topology.h"

typedef struct md_parcel {
    bool packing;                   /* else taking out */
    bool damaged;                   /* ended before all was taken out; zeros came then */
    char *bytes;                    /* [n] */
    size_t n, capacity, at;
} md_parcel;

void md_parcel_bytes(md_parcel *parcel, void *bytes, size_t n_bytes);
/* Returns the array: `array` itself, or a new one. */
void *md_parcel_array(md_parcel *parcel, void *array, size_t n, size_t item_bytes);
#define MD_PARCEL_ARRAY(parcel, array, n) \
    ((array) = md_parcel_array(parcel, array, (size_t)(n), sizeof *(array)))
void md_parcel_text(md_parcel *parcel, char **text);
void md_parcel_clear(md_parcel *parcel);                        /* frees bytes */

/* Taken out: *topology is new. */
void md_parcel_topology(md_parcel *parcel, md_topology **topology);
#endif
