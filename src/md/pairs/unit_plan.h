/* What the device needs to know of a domain's rows to make its own pair lists: made on the host at
 * each repartition, from md_rows.
 *
 *      units    | block 0: units near each other | block 1 | ...        owned rows only
 *      leaves   | rows of ten units near each other | ... | 32 ghosts | ...     for the search
 *      tail     per unit: itself and all rows excluded from any of its atoms, with masks: those
 *               never enter a list of partners
 */
#ifndef MD_UNIT_PLAN_H
#define MD_UNIT_PLAN_H
#include <stdint.h>
#include "md/core/device_row.h"
#include "md/core/rows.h"
#include "md/pairs/units.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MD_UNIT_LEAF = 32,
    MD_UNIT_LEAF_UNITS = 10,    /* units of a leaf of owned rows, at most */
    MD_UNIT_MOST = 128          /* units of a block */
};

/* What the fixed-point positions of device rows (core/device_row.h) are fractions of. */
typedef struct md_unit_frame {
    double origin[3];           /* of fraction 0 */
    double m[3][3];             /* periods, lower triangular, nm */
    float scale[6];             /* m / 2^32, as md_device_box.unit */
} md_unit_frame;

/* Rows as they stand (ghosts in place): a period so large that no image is ever near. */
void md_unit_frame_of_rows(const md_rows *rows, md_unit_frame *frame);
/* A periodic box: each atom has one row, and images are found by the wrap of the fractions. */
void md_unit_frame_of_box(const md_box *box, md_unit_frame *frame);
void md_unit_frame_encode(const md_unit_frame *frame, const double x[3], int32_t out[3]);
/* All rows, with their charges. */
void md_unit_frame_encode_rows(const md_unit_frame *frame, const md_rows *rows, md_device_row *out);

typedef struct md_unit_plan_options {
    int n_processors;           /* multiprocessors of the device */
    int most_units;             /* of a block, 1 .. MD_UNIT_MOST */
    const md_unit_frame *frame; /* rows count at their images nearest to rows->origin; NULL: as
                                   they stand */
    bool blocks_later;          /* units of a block and ghosts of a leaf need not be near each
                                   other: the device will choose (md_unit_lists_replan) */
} md_unit_plan_options;

typedef struct md_unit_plan {
    int n_rows, n_owned, n_units, n_blocks, n_leaves, n_tail, n_kinds;
    int row_bits;               /* row | kind << row_bits fits 32 bits */
    int (*unit)[4];             /* [n_units] rows, -1: none (never the first); how many of them have
                                   Lennard-Jones: 0 none or the first, 1 more */
    int *block_start;           /* [n_blocks + 1] into units */
    int n_owned_leaves;         /* they come first */
    int leaves_a_block;         /* of those; 0: leaf k has units 10 k ... of whatever block */
    int *leaf_row;              /* [n_leaves][32], -1: none (all: an empty leaf) */
    uint32_t *row_word;         /* [n_rows] row | kind << row_bits */
    uint32_t *row_gid;          /* [n_rows] low half of the global number */
    uint8_t *row_charge_only;   /* [n_rows] of that kind (units.h) */
    int *tail_start;            /* [n_units + 1] */
    int *tail_row;              /* the unit's own rows first, in their order */
    uint8_t *tail_mask;         /* bit a: interacts with atom a; bit 3 + a: excluded from it */
    uint32_t (*tail_gid)[2];    /* [n_units] lowest number in the tail, highest - lowest */
    /* memory */
    size_t capacity_unit, capacity_block, capacity_leaf, capacity_word, capacity_gid;
    size_t capacity_charge_only, capacity_tail_start, capacity_tail_row, capacity_tail_mask;
    size_t capacity_tail_gid;
} md_unit_plan;

/* plan: zeroed before the first time, keeps its memory from one to the next and nothing else, so
 * equal rows give equal plans. */
sundog_status md_unit_plan_make(const md_units *units, const md_topology *topology,
                                const md_rows *rows, const md_unit_plan_options *options,
                                md_unit_plan *plan);
void md_unit_plan_destroy(md_unit_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
