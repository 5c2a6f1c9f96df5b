/* Lists and forces of one step.
 *
 *      scheme shell    ghosts come, beside inner pair forces | border pair forces | bonded forces
 *                      into slots, which the move adds
 *      scheme return   ghosts come | pair and bonded forces of all rows, slots added | ghosts'
 *                      forces go home
 *
 * Where lists are made the ghosts come first, and nothing overlaps. Without ghosts to wait for all
 * is one chain, in which a kernel is launched before the last one has ended (programmatic dependent
 * launch, device/early.cuh):
 *
 *      pair forces     lists are read, then the last move is waited for | blocks of bonded forces
 *                      start where those of pair forces end | the move reads x and v, then waits
 *
 * A branch for the bonded forces cost as much as it saved.
 */
#include "md/gpu/gpu_impl.h"

sundog_status gpu_enqueue_hold(md_gpu *gpu)
{
    const double *sum;
    if (!gpu->overflow_sum) return SUNDOG_OK; /* one domain: lists hold themselves */
    int *overflow = md_unit_lists_overflow(gpu->lists);
    double *row = md_team_sum_row(gpu->overflow_sum);
    BASE_TRY(gpu_overflow_put(overflow, row, gpu->stream));
    BASE_TRY(md_team_sum_on(gpu->overflow_sum, row, &sum, gpu->stream));
    return gpu_overflow_take(sum, overflow, gpu->stream);
}

sundog_status gpu_enqueue_lists(md_gpu *gpu, unsigned what)
{
    const md_device_row *row = GPU_D(gpu, const md_device_row *, GPU_ROW);
    if (what & MD_GPU_SEARCH) BASE_TRY(gpu_enqueue_hold(gpu));
    if (gpu->forward) BASE_TRY(sundog_forward_on(gpu->forward, gpu->stream));
    if (!gpu->lists) return SUNDOG_OK;
    if (what & MD_GPU_SEARCH) return md_unit_lists_search(gpu->lists, row, gpu->stream);
    return md_unit_lists_filter(gpu->lists, row, gpu->stream);
}

static sundog_status fork_branch(md_gpu *gpu)
{
    BASE_TRY(DEVICE_CHECK(cudaEventRecord(gpu->fork, gpu->stream)));
    return DEVICE_CHECK(cudaStreamWaitEvent(gpu->beside, gpu->fork, 0));
}

static sundog_status join_branch(md_gpu *gpu)
{
    BASE_TRY(DEVICE_CHECK(cudaEventRecord(gpu->join, gpu->beside)));
    return DEVICE_CHECK(cudaStreamWaitEvent(gpu->stream, gpu->join, 0));
}

static sundog_status bonded(md_gpu *gpu, bool sums, cudaStream_t stream)
{
    return md_bonded_device_launch(gpu->bonded, GPU_D(gpu, const md_device_row *, GPU_ROW),
                                   GPU_D(gpu, const md_device_box *, GPU_BOX),
                                   sums ? GPU_D(gpu, md_bonded_sums *, GPU_BONDED_SUMS) : NULL,
                                   stream);
}

/* Blocks that read no ghost run beside the exchange. */
static sundog_status shell_forces(md_gpu *gpu, double *pair_sums, bool has_ghosts, bool fresh_lists)
{
    const md_unit_view *view = md_unit_lists_view(gpu->lists);
    const md_device_row *row = GPU_D(gpu, const md_device_row *, GPU_ROW);
    float(*f)[4] = GPU_D(gpu, float(*)[4], GPU_F);
    md_unit_how how = {.part = MD_UNIT_ALL, .stream = gpu->stream};
    if (has_ghosts) {
        how.early = !fresh_lists;
        BASE_TRY(md_unit_force_launch(gpu->force, view, row, f, pair_sums, &how));
        if (!gpu->has_bonded) return SUNDOG_OK;
        if (pair_sums) return bonded(gpu, true, gpu->stream);
        return md_bonded_device_launch_early(gpu->bonded, row,
                                             GPU_D(gpu, const md_device_box *, GPU_BOX),
                                             gpu->stream);
    }
    md_unit_how inner = {.part = MD_UNIT_INNER, .stream = gpu->beside};
    how.part = MD_UNIT_BORDER;
    BASE_TRY(fork_branch(gpu));
    BASE_TRY(md_unit_force_launch(gpu->force, view, row, f, pair_sums, &inner));
    BASE_TRY(sundog_forward_on(gpu->forward, gpu->stream));
    BASE_TRY(md_unit_force_launch(gpu->force, view, row, f, pair_sums, &how));
    if (gpu->has_bonded) BASE_TRY(bonded(gpu, pair_sums != NULL, gpu->stream));
    BASE_TRY(join_branch(gpu));
    return pair_sums ? md_unit_force_add_sums(gpu->force, view, pair_sums, gpu->stream) : SUNDOG_OK;
}

static sundog_status return_forces(md_gpu *gpu, double *pair_sums, bool has_ghosts)
{
    const md_device_row *row = GPU_D(gpu, const md_device_row *, GPU_ROW);
    float(*f)[4] = GPU_D(gpu, float(*)[4], GPU_F);
    if (!has_ghosts) BASE_TRY(sundog_forward_on(gpu->forward, gpu->stream));
    if (gpu->has_bonded) {
        BASE_TRY(fork_branch(gpu));
        BASE_TRY(bonded(gpu, pair_sums != NULL, gpu->beside));
    }
    BASE_TRY(md_return_force_launch(gpu->returned, row, f, pair_sums, gpu->stream));
    if (gpu->has_bonded) {
        BASE_TRY(join_branch(gpu));
        BASE_TRY(md_bonded_device_gather(gpu->bonded, f, gpu->stream));
    }
    return gpu->reverse ? sundog_reverse_on(gpu->reverse, gpu->stream) : SUNDOG_OK;
}

sundog_status gpu_enqueue_forces(md_gpu *gpu, bool sums, bool fresh_lists)
{
    bool has_ghosts = fresh_lists || !gpu->forward;
    double *pair_sums = sums ? GPU_D(gpu, double *, GPU_PAIR_SUMS) : NULL;
    if (gpu->options.scheme == MD_SCHEME_RETURN) return return_forces(gpu, pair_sums, has_ghosts);
    return shell_forces(gpu, pair_sums, has_ghosts, fresh_lists);
}
