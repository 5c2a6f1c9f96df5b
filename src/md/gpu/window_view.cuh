/* What the kernels of a window are given. */
#ifndef MD_GPU_WINDOW_VIEW_CUH
#define MD_GPU_WINDOW_VIEW_CUH
#include "md/force/bonded_blocks.cuh"
#include "md/force/unit_force.cuh"
#include "md/gpu/window.h"
#include "md/motion/move_rows.cuh"
#include "sundog/device_order.cuh"

/* A row that a block moves. */
typedef struct window_row {
    int row;
    int force;                          /* component 0 of its force among the block's; -1: another
                                           block's unit has it */
    int first_slot, end_slot;           /* bonded forces */
} window_row;

/* A job that a block does. */
typedef struct window_job {
    int segment, k;                     /* of the move's view; -1: none */
    int at;                             /* its first row among the block's */
    int unused;
} window_job;

/* A unit's row whose job another block does. */
typedef struct window_export {
    int row, force;
} window_export;

typedef struct window_counts {
    int rows, jobs, exports, free;      /* jobs: those that are none included; free: rows, the
                                           first, that no constraint holds */
} window_counts;

enum { WINDOW_PLACES = MD_UNIT_MOST * MD_UNIT };    /* rows of a block's units */

/* Which block does which jobs: made anew when blocks are. */
typedef struct window_plan {
    int row_capacity;                   /* of a block: threads of the lists */
    int *place;                         /* [n_rows] block * WINDOW_PLACES + place in it */
    const int *job_row;                 /* [n_rows] first row of its job */
    const int2 *job;                    /* [n_rows] segment and number; of first rows */
    window_row *row;                    /* [n_blocks][row_capacity] */
    window_job *work;                   /* [n_blocks][row_capacity] */
    window_export *sent;                /* [n_blocks][WINDOW_PLACES] */
    window_counts *counts;              /* [n_blocks] */
    gpu_window_fault *fault;
} window_plan;

/* On the device, between windows. */
typedef struct window_clock {
    unsigned epoch;                     /* of the rows at rest */
    unsigned arrived, read;             /* blocks that have ended; that have read rows at rest */
} window_clock;

typedef struct window_view {
    md_unit_view lists;
    window_plan plan;
    int n_steps, n_rows;
    sundog_flit *epoch_rows;            /* [GPU_WINDOW_MOST - 1][n_rows] */
    sundog_flit *force;                 /* [n_rows], of rows that are sent */
    const md_device_row *at_rest;
    float (*last_force)[4];
    const int *overflow;                /* of the lists */
    window_clock *clock;
} window_view;

/* The kernel for these lists: bytes allowed, and how many blocks of it the device holds at once; 0:
 * a block's memory does not fit. */
cudaError_t window_allow(const md_unit_force *force, const md_unit_view *view, bool has_bonded,
                         int *most_blocks);
cudaError_t window_start(const md_unit_force *force, const window_view *w,
                         const bonded_view *bonded, const move_view *m, cudaStream_t stream);
cudaError_t window_launch_plan(const window_view *view, const move_view *move,
                               const md_force_slots *slots, cudaStream_t stream);
/* The job of every row, as plan->job_row and ->job say. */
cudaError_t window_launch_jobs(const move_view *move, int *job_row, int2 *job,
                               cudaStream_t stream);
#endif
