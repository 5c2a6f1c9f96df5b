/* The step loop of one domain whose steps are computed on a GPU (md/gpu): the same steps, outputs
 * and reports as step.h, told to the GPU in pieces.
 *
 *      piece    steps in a row without anything that the host must see in between; begins where
 *               lists are made or filtered, or a frame is wanted
 *      ahead    the next piece is enqueued before the last one is looked at
 *
 *      every nstpartition steps     rows to the host, repartition, all made anew (one domain: not
 *                                   even that); only there may a run stop or write a checkpoint,
 *                                   so that a restart, which begins with a repartition, can
 *                                   give the same bits
 *      every nstrenew steps         blocks of the lists anew, on the GPU: ghosts are none, or all
 *                                   other atoms, and stay right
 *      frame at s                   nothing under way; x(s), v(s - 1/2) to the host; where forces
 *                                   are wanted a piece of one step, then f(s)
 *      sums of a piece              added over the domains by the host while the next piece runs
 *      pressure coupling            ends a piece; the host scales the box
 *      lists that overflowed        back to the start of the piece, room, once more; nothing of it
 *                                   has been reported yet, and no bit of it depends on the room
 *                                   that there was
 */
#ifndef MD_RESIDENT_H
#define MD_RESIDENT_H
#include "md/run/worker.h"

/* From w->step on, to the end. timed_from: the step at which timings begin. Collective. */
sundog_status md_resident(md_worker *w, int64_t timed_from);
/* The GPU of this worker, before the first rebuild. Collective. */
sundog_status md_resident_create(md_worker *w);
/* After w->rows have changed: all of it anew on the GPU. Collective. */
sundog_status md_resident_rebuild(md_worker *w);
#endif
