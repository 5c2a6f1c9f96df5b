/* What follows the forces in a step, on the device and in one launch: leap-frog with the
 * thermostat's scale factor, constraints, and the new rows in the layout that the force kernel and
 * the exchange read.
 *
 *      v' = lambda v + f/m dt,   x' = x + v' dt,   SETTLE and LINCS move x' and v',
 *      row = fixed point of x' (md/core/device_row.h)
 *
 * A thread moves a free atom, a rigid water or a star of constraints, a block moves a connected
 * network (move_jobs.h); so constraints cost no launch and no communication. Results repeat bit
 * for bit: every value is written by one thread, sums are added in a fixed order.
 *
 * Frozen atoms as on the host (md/run/freeze.c): back where they were and at rest before the
 * constraints, which see those that are frozen along all axes as immovable, and again behind them.
 *
 * The twin on the host: leapfrog.h and constraints.h. Device pointers carry the prefix d_.
 */
#ifndef MD_MOVE_H
#define MD_MOVE_H
#include "md/core/device_row.h"
#include "md/core/force_slots.h"
#include "md/motion/constraints.h"
#include "md/motion/move_jobs.h"

typedef struct md_move md_move;

/* Arrays of one domain on its GPU; [n_owned] of each is used. */
typedef struct md_move_arrays {
    double (*d_x)[3], (*d_v)[3];        /* nm, nm/ps */
    const float (*d_f)[4];              /* kJ/mol/nm; the fourth is not read */
    md_force_slots slots;               /* added to d_f */
    const double *d_inv_mass;           /* 1/u */
    const unsigned char *d_group;       /* T-coupling group of each row; NULL: all 0 */
    const unsigned char *d_frozen;      /* bit k: does not move along axis k; NULL: all move */
    const double *d_lambda;             /* scale factor of each group */
    const md_device_box *d_box;
    md_device_row *d_row;               /* out: positions; the charge is kept */
    bool early;                         /* without sums: what precedes in the stream writes neither
                                           x, v nor masses, and whatever did is done when that
                                           lets the next start (programmatic dependent launch) */
} md_move_arrays;

/* Of one launch: constraint virial, -1/2 sum r (outer) G, kJ/mol; sum of squared relative
 * deviations of LINCS's distances. */
typedef struct md_move_sums {
    double virial[3][3], deviation_square;
} md_move_sums;

/* What went wrong on the device since it was last cleared. */
typedef struct md_move_fault {
    unsigned n_turned;                  /* constraints beyond the warn angle, counted by job */
    unsigned n_failed;                  /* jobs whose result is no number, or in which a length is
                                           off by MD_LOST_CONSTRAINT */
    int row;                            /* the lowest first row of such a job, or INT_MAX */
} md_move_fault;

/* On the current device. */
sundog_status md_move_create(const md_constrain_options *options, md_move **out);
void md_move_destroy(md_move **move);
/* Upload jobs after a repartition. Ordered on `stream` (a cudaStream_t); `jobs` may change when the
 * call returns. */
sundog_status md_move_rebuild(md_move *move, const md_move_jobs *jobs, const md_settle *settle,
                              void *stream);
/* One step. d_sums: NULL, or where the sums go, in device memory. */
sundog_status md_move_launch(md_move *move, const md_move_arrays *arrays, double dt,
                             md_move_sums *d_sums, void *stream);
/* Where it is, in device memory, for who reads it by a kernel of his own. */
md_move_fault *md_move_fault_word(md_move *move);
/* Copy the fault word to the host and clear it; waits for the stream. */
sundog_status md_move_fault_read(md_move *move, md_move_fault *fault, void *stream);
#endif
