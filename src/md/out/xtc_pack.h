/* The packed coordinates of an .xtc frame: integers (coordinate times precision) in, bytes out. */
#ifndef MD_XTC_PACK_H
#define MD_XTC_PACK_H
#include "base/status.h"

/* One frame's worth; the arrays are kept from frame to frame. Zero it before the first use. */
typedef struct md_xtc_pack {
    int32_t (*q)[3]; /* [n_atoms] in */
    size_t q_capacity;
    int32_t min[3], max[3]; /* in: bounds of q; max - min below 2^31 - 2 */
    int first_small;        /* out: number of the small range that the bytes begin with */
    unsigned char *bytes;   /* out, [n_bytes] */
    size_t n_bytes, bytes_capacity;
    unsigned char *step_range; /* [n_atoms] */
    unsigned char *skip_range; /* [n_atoms] */
    size_t step_capacity, skip_capacity;
} md_xtc_pack;

void md_xtc_pack_run(md_xtc_pack *pack, int64_t n_atoms);
void md_xtc_pack_destroy(md_xtc_pack *pack);
#endif
