/* A window: plain steps in a row by one launch, blocks that wait for each other's rows alone.
 *
 *      block b, step s     rows in reach of epoch s into shared memory, as they come
 *                          bonded forces of blocks b, b + n, ... into slots
 *                          pair forces of its units
 *                          its jobs (constraint groups): kick, constraints, rows of epoch s + 1
 *
 * A row carries its epoch in the same 16 bytes (sundog_flit of the library's device API), so what
 * has arrived is whole, and nothing but the row is waited for: no launch, no barrier of the grid.
 * Force slots, and pair forces on rows whose job another block does, travel in the same way.
 *
 * Rows at rest are written by the last step when all blocks have read them.
 *
 * Each epoch of a window has rows of its own, so a block that runs ahead never writes what another
 * still reads. Slots and forces have one place: who writes a row's next one has read the row that
 * was made with the last. All blocks are on the device at once (cooperative launch), so each that
 * is waited for gets there. Waits end: what gave up is in the verdict of the piece, which is then
 * repeated by a launch for each part of a step.
 *
 * The bits are those of that way: same functions, same order.
 *
 * Served: one domain, scheme shell, no block more than the device holds at once, no connected
 * networks of constraints. Why not otherwise: gpu_window_refusal.
 *
 * Rejected: two row arrays in turns (a reader that nobody waits for may be two epochs behind, as
 * one of bonded forces is); rows of the jobs in shared memory across steps (x and v are asked for
 * while pair forces are still computed, and cost nothing).
 */
#ifndef MD_GPU_WINDOW_H
#define MD_GPU_WINDOW_H
#include "md/force/bonded_device.h"
#include "md/force/unit_force.h"
#include "md/motion/move.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_WINDOW_MOST = 16 };          /* steps of one launch */

typedef struct gpu_window gpu_window;

/* What gave up, by the first that did. */
typedef struct gpu_window_fault {
    unsigned n;                         /* 0: none; waits that gave up, and too_many */
    int block, row, epoch, what;        /* what: 0 a row, 1 a force, 2 a slot */
    int too_many;                       /* a block has more rows than threads: its lists' blocks
                                           cannot be served */
} gpu_window_fault;

typedef struct gpu_window_parts {
    const md_unit_lists *lists;
    md_unit_force *force;
    const md_bonded_device *bonded;
    md_move *move;
    int n_rows;
} gpu_window_parts;

/* On the current device. */
sundog_status gpu_window_create(gpu_window **out);
void gpu_window_destroy(gpu_window **window);   /* accepts NULL */
/* After the rebuild of all parts. Decides whether windows serve. */
sundog_status gpu_window_rebuild(gpu_window *window, const gpu_window_parts *parts, void *stream);
/* NULL: served. Else why not, for the log. */
const char *gpu_window_refusal(const gpu_window *window);
/* Who does what: behind every search or replan, before the next launch. May be captured. */
sundog_status gpu_window_plan(gpu_window *window, void *stream);
/* n_steps steps, 2 .. GPU_WINDOW_MOST. arrays: of the first step; the factors of the others are 1.
 * d_f: forces of the last step, as md_unit_force_launch leaves them. May be captured. */
sundog_status gpu_window_launch(gpu_window *window, const md_move_arrays *arrays, double dt,
                                int n_steps, float (*d_f)[4], void *stream);
/* False: nothing was wrong. Else what, for the log. */
bool gpu_window_gave_up(const gpu_window_fault *fault, char *text, size_t size);
/* In device memory; who reads it clears it. */
gpu_window_fault *gpu_window_fault_word(gpu_window *window);

#ifdef __cplusplus
}
#endif
#endif
