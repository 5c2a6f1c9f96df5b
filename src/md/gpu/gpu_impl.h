/* Inside of md_gpu, shared by the files of this room.
 *
 *      gpu.c        life, rebuild, downloads
 *      atoms.c      arrays of owned and ghost rows; snapshots
 *      forces.c     what one evaluation enqueues, for both schemes
 *      room.c       back to the start of a piece, room for its lists
 *      step.c       what one step enqueues
 *      pieces.c     pieces: graphs, launches, results
 *      measure.c    what each part of a step takes
 *      renew.cu     groups into the box; rows from positions
 *      report.cu    numbers to the host;  stretch.cu  the box
 *      team_sum     sums over domains on the device
 */
#ifndef MD_GPU_IMPL_H
#define MD_GPU_IMPL_H
#include "device/cuda.h"
#include "md/core/device_row.h"
#include "md/force/bonded_device.h"
#include "md/force/return_force.h"
#include "md/force/unit_force.h"
#include "md/gpu/gpu.h"
#include "md/gpu/report.h"
#include "md/gpu/team_sum.h"
#include "md/motion/kinetic.h"
#include "md/motion/move.h"
#include "md/motion/thermostat_device.h"
#include "sundog/sundog.h"

/* Arrays on the device; the comment says of what, by row. */
typedef enum gpu_memory {
    GPU_X,
    GPU_V,   /* double[3], owned */
    GPU_F,   /* float[4], all */
    GPU_ROW, /* md_device_row, all */
    GPU_INV_MASS,
    GPU_MASS, /* double, owned */
    GPU_TEMPERATURE_GROUP,
    GPU_COM_GROUP,
    GPU_FROZEN,   /* byte, owned */
    GPU_GROUPS,   /* int, groups + 1: first rows */
    GPU_SNAPSHOT, /* x, v, work: MD_GPU_AHEAD times */
    GPU_BOX,
    GPU_LAMBDA,
    GPU_ONES,
    GPU_WORK,
    GPU_NOISE,
    GPU_PAIR_SUMS,
    GPU_BONDED_SUMS,
    GPU_MOVE_SUMS,
    GPU_KINETIC_OLD,
    GPU_KINETIC_NEW,
    GPU_MOMENTUM,
    GPU_COUNTS, /* of fixed size */
    GPU_N_MEMORY
} gpu_memory;

/* A captured piece: what its steps do decides all of it. */
typedef struct gpu_graph {
    int n_steps;
    uint8_t what[MD_GPU_PIECE];
    cudaGraphExec_t exec;
    int64_t used; /* when last */
} gpu_graph;
/* More than there are patterns, which come round and round: with one too few all would be made anew
 * all the time. A list of 25 steps filtered every 4 beside a thermostat every 10 has 14 and those
 * with energies. */
enum { GPU_GRAPHS = 64 };

typedef struct gpu_piece {
    int64_t step;
    int n_steps, n_sums, n_thermostats;
    cudaEvent_t done;
    double (*noise)[2]; /* pinned: [MD_GPU_PIECE][n_temperature] */
} gpu_piece;

struct md_gpu {
    md_gpu_options options;
    int n_ranks;
    char description[256];
    cudaStream_t stream, beside; /* beside: local forces while ghosts travel */
    cudaEvent_t fork, join;

    int n_owned, n_rows, n_groups;
    device_array memory[GPU_N_MEMORY];

    md_units *units;
    md_unit_lists *lists; /* scheme shell */
    md_unit_force *force;
    md_return_force *returned; /* scheme return */
    md_bonded_device *bonded;
    md_move *move;
    md_move_jobs jobs;
    md_kinetic *kinetic;
    md_team_sum *kinetic_sum, *momentum_sum, *overflow_sum;
    sundog_exchange *forward, *reverse; /* NULL: one domain; reverse: scheme return */

    gpu_graph graph[GPU_GRAPHS];
    int64_t n_graph_uses;
    bool captures; /* the rung can be captured */

    gpu_piece piece[MD_GPU_AHEAD];
    int64_t n_enqueued, n_finished; /* pieces */
    gpu_board *board;               /* pinned: what report.cu writes */
    int64_t n_read;                 /* sums read from it */
    bool has_bonded;
    bool forces_whole; /* slots have been added to GPU_F */
    md_gpu_sums sums[MD_GPU_PIECE];
};

#define GPU_D(gpu, type, name) ((type)(gpu)->memory[name].d)

/* gpu.c: all that is on the stream is done; a death of the team is an error */
sundog_status gpu_wait(md_gpu *gpu);
/* No wait of a kernel gave up so far, in any exchange of this domain. */
sundog_status gpu_check(md_gpu *gpu);
/* On all ranks together; nothing waits for a peer any more when it returns. */
sundog_status gpu_fetch_ghosts(md_gpu *gpu);

/* atoms.c */
sundog_status gpu_atoms_upload(md_gpu *gpu, const md_gpu_rows *from);
/* Of the piece that comes next on the stream. */
sundog_status gpu_snapshot(md_gpu *gpu);
sundog_status gpu_snapshot_restore(md_gpu *gpu, int slot);
md_velocities gpu_velocities(md_gpu *gpu);

/* forces.c */
/* Before a search or a replan: if lists of any domain have overflowed, those of all stay as they
 * are, for all go back to the piece where it happened. */
sundog_status gpu_enqueue_hold(md_gpu *gpu);
/* Ghosts come, then lists are made. */
sundog_status gpu_enqueue_lists(md_gpu *gpu, unsigned what);
/* fresh_lists: they have just been made, so ghosts have come. */
sundog_status gpu_enqueue_forces(md_gpu *gpu, bool sums, bool fresh_lists);

/* step.c: `event` counts the thermostat's steps of the piece */
/* early: behind forces, or the thermostat behind them */
sundog_status gpu_enqueue_move(md_gpu *gpu, bool couple, bool sums, bool early);
sundog_status gpu_enqueue_step(md_gpu *gpu, unsigned what, int *event);

/* pieces.c */
sundog_status gpu_pieces_create(md_gpu *gpu);
void gpu_pieces_destroy(md_gpu *gpu);
void gpu_graphs_drop(md_gpu *gpu);
#endif
