/* Lists that overflowed: back to the start of the piece, room, and the same piece once more.
 *
 *      A  lists overflow | B  (under way: search and replan find them held) | ...
 *      rewind: x, v of A's start       rows from x, ghosts       room       A again
 *
 * Lists are made in the first step of a piece or by a renewal right before it, so from positions
 * that the piece's snapshot holds. What else they are made from is still there: the blocks of the
 * last replan and, for a filter, the outer lists of the last search. B has not touched them, on any
 * domain (gpu_enqueue_hold). So A gives the bits that it would have given with room, and what was
 * allocated when never shows in a trajectory. A rebuild in its place, as it was once, plans blocks
 * from other positions: the order of sums changes, and a run that is continued, which starts with
 * other arrays, goes another way.
 *
 * Rejected: copies of the outer lists (as large as everything else); asking, before each search,
 * whether the pieces before have overflowed (the GPU idles while the host does).
 */
#include "md/gpu/gpu_impl.h"

#include "md/gpu/renew.h"

sundog_status md_gpu_rewind(md_gpu *gpu)
{
    BASE_TRY(gpu_wait(gpu));
    int slot = (int)((gpu->n_finished - 1) % MD_GPU_AHEAD);
    for (; gpu->n_finished < gpu->n_enqueued; gpu->n_finished++)
        gpu->n_read += gpu->piece[gpu->n_finished % MD_GPU_AHEAD].n_sums;
    BASE_TRY(gpu_snapshot_restore(gpu, slot));
    return gpu_wait(gpu);
}

sundog_status md_gpu_make_room(md_gpu *gpu, unsigned what, bool *enough)
{
    md_device_row *row = GPU_D(gpu, md_device_row *, GPU_ROW);
    md_unit_lists_made made =
        what & MD_GPU_FILTER ? MD_UNIT_LISTS_FILTERED : MD_UNIT_LISTS_SEARCHED;
    BASE_TRY(gpu_rows_from_positions(gpu->n_owned, GPU_D(gpu, const md_device_box *, GPU_BOX),
                                     GPU_D(gpu, const double(*)[3], GPU_X), row, gpu->stream));
    BASE_TRY(gpu_fetch_ghosts(gpu));
    gpu_graphs_drop(gpu); /* on all ranks, since they are made together */
    BASE_TRY(md_unit_lists_make_room(gpu->lists, made, row, gpu->stream, enough));
    /* Nobody waits in a kernel before all have made room. */
    return sundog_team_barrier(gpu->options.team);
}
