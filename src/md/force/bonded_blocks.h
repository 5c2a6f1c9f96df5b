/* Interactions of a domain as blocks for the device (bonded_device.h). Made on the host at each
 * repartition.
 *
 *      block   warp 0: bonds | warp 1: angles | warp 2: angles | ... | warp 7: pairs
 *      lane    one interaction; each of its atoms has a place of its own in the block's memory
 *      sum     a row of the block: places [first, first + n), added into one slot
 *
 * A warp has one kind, so it does not diverge. A block takes interactions by rising first row,
 * whatever their kind: those of a molecule, or of neighbouring ones, mostly meet in a block, and a
 * row gets one slot from it, in place of one from each of a dozen interactions. Slots of a row lie
 * together, in the order of blocks; the order of every addition is that of the lists.
 */
#ifndef MD_BONDED_BLOCKS_H
#define MD_BONDED_BLOCKS_H
#include "md/core/rows.h"

enum { BONDED_BLOCK = 256, BONDED_WARPS = BONDED_BLOCK / 32, BONDED_NO_PLACE = 0xffff };

typedef struct bonded_row_sum {
    uint16_t first, n;                  /* places */
    int slot;
} bonded_row_sum;

typedef struct md_bonded_blocks {
    int n_blocks, n_sums;               /* as many slots as sums */
    int *row;                           /* [n_blocks][MD_MAX_KIND_ATOMS][BONDED_BLOCK] */
    int *param;                         /* [n_blocks][BONDED_BLOCK]; restraints: which one of their
                                           list; -1: no interaction */
    float *weight;                      /* [n_blocks][BONDED_BLOCK] */
    uint16_t (*place)[MD_MAX_KIND_ATOMS];   /* [n_blocks][BONDED_BLOCK]; BONDED_NO_PLACE: the force
                                               on this atom is not wanted */
    uint8_t *kind;                      /* [n_blocks][BONDED_WARPS] */
    int *first_sum;                     /* [n_blocks + 1] */
    bonded_row_sum *sum;                /* [n_sums] */
    int *start;                         /* [rows wanted + 1] slots of each row */
    size_t capacity[8];
} md_bonded_blocks;

/* Of the kinds with used[kind]; forces on rows [0, n_rows_wanted). */
void md_bonded_blocks_build(md_bonded_blocks *blocks, const md_rows *rows,
                            const bool used[MD_N_KINDS], int n_rows_wanted);
void md_bonded_blocks_free(md_bonded_blocks *blocks);   /* what it points to */
#endif
