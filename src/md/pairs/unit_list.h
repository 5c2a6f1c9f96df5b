/* Pair lists of the device: for every unit (units.h) its partners one by one.
 *
 * A block owns up to 128 units. All rows in reach of them get a slot; the force kernel copies the
 * slots into shared memory, and entries of the lists are byte offsets of slots there.
 *
 *      outer   per block: slots in reach of rlist; per unit: slots within rlist of any of its atoms
 *      inner   the same for the inner radius, slots renumbered, dealt to lanes as the force kernel
 *              reads them; made from the outer by md_unit_lists_filter every few steps
 *
 *      warp of the force kernel | tail | charge-only partners | all other partners (and some of the
 *      32-bit words, 32 a row   | slot, mask | slot, slot     | charge-only ones, to fill up)
 *
 * Nothing is ever cut off silently: a kernel that runs out of room says so in a word of device
 * memory (md_unit_lists_overflow). From the next search or replan on blocks and outer lists stay as
 * they are, so that the lists that overflowed can be made again: md_unit_lists_make_room.
 *
 * Bits. Lists are a function of the rows and of most_units: not of the room that there was, nor of
 * any rows before, and a run that overflowed gives the bits of one that had room.
 *
 * Graphs. search, filter and the force kernel may be captured. What changes from step to step or
 * from rebuild to rebuild (the box, numbers of rows, units and leaves) is read from device memory.
 * A rebuild leaves captured graphs valid unless an array had to grow or the number of blocks
 * changed: md_unit_lists_generation says so.
 */
#ifndef MD_UNIT_LIST_H
#define MD_UNIT_LIST_H
#include "md/core/device_row.h"
#include "md/pairs/unit_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct md_unit_lists md_unit_lists;

typedef struct md_unit_lists_options {
    double rlist, rinner;               /* nm; rinner <= rlist */
    int threads;                        /* of a block of the force kernel, a multiple of 32, from
                                           MD_UNIT_MOST to MD_UNIT_THREADS; 0: as suits the size */
    int most_units;                     /* of a block; 0: MD_UNIT_MOST */
    bool tight;                         /* room for no more than a rebuild needed: so that tests can
                                           make lists overflow */
    bool host_blocks;                   /* blocks at a rebuild by the host's plan, to compare */
    const md_device_box *d_box;         /* the box of the rows, in device memory; outlives the
                                           lists. NULL: that of the frame given at a rebuild */
} md_unit_lists_options;

enum { MD_UNIT_THREADS = 768 };

/* One warp of a block of the force kernel. Lengths are in steps: of a word of the tail, of half a
 * word of the others. */
typedef struct md_unit_warp {
    int first;                          /* word of the block's list */
    int n_tail, n_charge, n_all;        /* n_tail: also, times 65536, whether a unit has more than
                                           one atom with Lennard-Jones */
} md_unit_warp;

/* Set in n_slots of a block that has ghosts (rows that are not owned) among its slots. */
enum { MD_UNIT_BORDER_BLOCK = 1 << 30 };

/* What the force kernel reads; all pointers are on the device. */
typedef struct md_unit_view {
    int n_blocks, threads;
    int row_bits, slot_capacity, list_capacity;         /* of a block */
    const float *scale;                 /* [6] as md_device_box.unit */
    const int (*centre)[4];             /* [n_blocks] fractions; [3]: a float, a distance (nm) from
                                           the centre that is out of reach of all, along any axis */
    const int *block_start;             /* [n_blocks + 1] */
    const int (*unit)[4];
    const uint32_t *slot;               /* [n_blocks][slot_capacity] row | kind << row_bits; the
                                           first is empty */
    const int *n_slots;                 /* [n_blocks], perhaps | MD_UNIT_BORDER_BLOCK */
    const uint32_t *list;               /* [n_blocks][list_capacity] */
    const md_unit_warp *warp;           /* [n_blocks][threads / 32] */
    const uint32_t (*lane)[2];          /* [n_blocks][threads] slots of the unit's atoms, 16 bits
                                           each (0: none), and the unit in the block (65535:
                                           idle) */
    const uint32_t *lanes;              /* [n_blocks][128] first lane of a unit | how many << 16 */
} md_unit_view;

/* On the current device. */
sundog_status md_unit_lists_create(const md_units *units, const md_topology *topology,
                                   const md_unit_lists_options *options, md_unit_lists **out);
void md_unit_lists_destroy(md_unit_lists **lists);
/* Rows have changed: plan on the host, then lists on the device from d_row [n_rows] (in `frame`) as
 * they are in `stream`. Waits for the device. */
sundog_status md_unit_lists_rebuild(md_unit_lists *lists, const md_rows *rows,
                                    const md_unit_frame *frame, const md_device_row *d_row,
                                    void *stream);
/* Blocks of units anew from moved rows, those of the same rebuild in other blocks: when atoms have
 * diffused; leaves of ghosts, too. Some 130 us, so not at every search. Lists must be searched anew
 * behind it. Does not wait, may be captured, and invalidates no graph. */
sundog_status md_unit_lists_replan(md_unit_lists *lists, const md_device_row *d_row, void *stream);
/* Outer and inner lists anew, from moved rows; does not wait. */
sundog_status md_unit_lists_search(md_unit_lists *lists, const md_device_row *d_row, void *stream);
/* Inner lists anew, from the outer ones; does not wait. */
sundog_status md_unit_lists_filter(md_unit_lists *lists, const md_device_row *d_row, void *stream);
/* Waits for the stream. SUNDOG_ERR_UNSUPPORTED if lists overflowed since room was made: forces
 * computed since are wrong; make room and repeat. */
sundog_status md_unit_lists_check(md_unit_lists *lists, void *stream);
/* The same without waiting: a word in device memory, 0 or, once lists overflowed, 1 until room has
 * been made. To be copied in stream order behind search or filter. Who writes 1 there holds these
 * lists as if they had overflowed: where a domain must go back with another. */
int *md_unit_lists_overflow(const md_unit_lists *lists);
/* What was made that overflowed. */
typedef enum md_unit_lists_made {
    MD_UNIT_LISTS_SEARCHED, MD_UNIT_LISTS_FILTERED
} md_unit_lists_made;
/* Room for the lists made from d_row, whose blocks (FILTERED: and outer lists) are as they were
 * then; afterwards these lists are there, and nothing has overflowed. What is captured is void if
 * the generation changed. *enough false: no room would do, blocks must have fewer units, as a
 * rebuild will find out. Waits. */
sundog_status md_unit_lists_make_room(md_unit_lists *lists, md_unit_lists_made made,
                                      const md_device_row *d_row, void *stream, bool *enough);
/* How many units a block may have: fewer once a rebuild found that more do not fit. For the next
 * rebuild; 0: what the options allow. A run that goes on from a file sets what there was. */
int md_unit_lists_most_units(const md_unit_lists *lists);
void md_unit_lists_set_most_units(md_unit_lists *lists, int most_units);
const md_unit_view *md_unit_lists_view(const md_unit_lists *lists);
/* Changes when something that a captured graph holds has changed: the view, md_unit_lists_overflow,
 * or a launch of search or filter. To be asked after each rebuild and whenever room was made. */
uint64_t md_unit_lists_generation(const md_unit_lists *lists);

/* For reports; waits for the device. Pairs evaluated count each direction and all padding. */
typedef struct md_unit_lists_stats {
    int n_blocks, threads, most_slots, most_outer_slots;
    double pairs_evaluated, list_bytes;
} md_unit_lists_stats;
sundog_status md_unit_lists_stats_of(const md_unit_lists *lists, md_unit_lists_stats *out);

#ifdef __cplusplus
}
#endif
#endif
