/* What each part of a step takes on the device, by itself: a graph of the same part many times,
 * replayed between two events. Parts that run side by side in a step are measured apart, so their
 * sum is more than a step.
 *
 * The state is put back afterwards. Ranks measure at the same time, in the same order.
 */
#include "md/gpu/gpu_impl.h"

#include <float.h>

enum { TIMES = 20, REPLAYS = 5 };

const char *md_gpu_part_name(md_gpu_part part)
{
    static const char *const name[MD_GPU_N_PARTS] = {"plain step",
                                                     "ghosts",
                                                     "pair forces",
                                                     "pair forces with energies",
                                                     "bonded forces",
                                                     "move",
                                                     "list search and filter",
                                                     "list filter",
                                                     "kinetic energy",
                                                     "snapshot"};
    return name[part];
}

static sundog_status enqueue(md_gpu *gpu, md_gpu_part part)
{
    const md_device_row *row = GPU_D(gpu, const md_device_row *, GPU_ROW);
    md_velocities v = gpu_velocities(gpu);
    double *pair_sums = part == MD_GPU_PART_PAIR_SUMS ? GPU_D(gpu, double *, GPU_PAIR_SUMS) : NULL;
    int event = 0;
    switch (part) {
    case MD_GPU_PART_STEP: return gpu_enqueue_step(gpu, 0, &event);
    case MD_GPU_PART_GHOSTS:
        return gpu->forward ? sundog_forward_on(gpu->forward, gpu->stream) : SUNDOG_OK;
    case MD_GPU_PART_PAIRS:
    case MD_GPU_PART_PAIR_SUMS: {
        float(*f)[4] = GPU_D(gpu, float(*)[4], GPU_F);
        md_unit_how how = {.part = MD_UNIT_ALL, .stream = gpu->stream};
        if (gpu->returned)
            return md_return_force_launch(gpu->returned, row, f, pair_sums, gpu->stream);
        return md_unit_force_launch(gpu->force, md_unit_lists_view(gpu->lists), row, f, pair_sums,
                                    &how);
    }
    case MD_GPU_PART_BONDED:
        if (!gpu->has_bonded) return SUNDOG_OK;
        return md_bonded_device_launch(gpu->bonded, row, GPU_D(gpu, const md_device_box *, GPU_BOX),
                                       NULL, gpu->stream);
    case MD_GPU_PART_MOVE: return gpu_enqueue_move(gpu, false, false, false);
    case MD_GPU_PART_SEARCH: return gpu_enqueue_lists(gpu, MD_GPU_SEARCH);
    case MD_GPU_PART_FILTER: return gpu_enqueue_lists(gpu, MD_GPU_FILTER);
    case MD_GPU_PART_KINETIC:
        return md_kinetic_launch(gpu->kinetic, &v, GPU_D(gpu, md_kinetic_sums *, GPU_KINETIC_NEW),
                                 gpu->stream);
    case MD_GPU_PART_SNAPSHOT: return gpu_snapshot(gpu);
    default: return SUNDOG_OK;
    }
}

static sundog_status capture(md_gpu *gpu, md_gpu_part part, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    BASE_TRY(DEVICE_CHECK(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal)));
    sundog_status status = SUNDOG_OK;
    for (int k = 0; k < TIMES && status == SUNDOG_OK; k++) status = enqueue(gpu, part);
    cudaError_t ended = cudaStreamEndCapture(gpu->stream, &graph);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(ended);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaGraphInstantiate(exec, graph, 0));
    if (graph) cudaGraphDestroy(graph);
    return status;
}

static sundog_status time_part(md_gpu *gpu, md_gpu_part part, cudaEvent_t begin, cudaEvent_t end,
                               double *us)
{
    int slot = (int)(gpu->n_enqueued % MD_GPU_AHEAD);
    cudaGraphExec_t exec = NULL;
    float best = FLT_MAX;
    BASE_TRY(sundog_team_barrier(gpu->options.team));
    sundog_status status = capture(gpu, part, &exec);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaGraphUpload(exec, gpu->stream));
    if (status == SUNDOG_OK) status = gpu_wait(gpu);
    if (status == SUNDOG_OK) status = sundog_team_barrier(gpu->options.team);
    for (int k = 0; k < REPLAYS && status == SUNDOG_OK; k++) {
        float ms = 0;
        status = gpu_snapshot_restore(gpu, slot);
        if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaEventRecord(begin, gpu->stream));
        if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaGraphLaunch(exec, gpu->stream));
        if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaEventRecord(end, gpu->stream));
        if (status == SUNDOG_OK) status = gpu_wait(gpu);
        if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (ms < best) best = ms;
    }
    /* As in pieces.c: what takes locks of the driver waits until nobody's kernels wait. */
    if (status == SUNDOG_OK) status = sundog_team_barrier(gpu->options.team);
    if (exec) cudaGraphExecDestroy(exec);
    *us = 1e3 * best / TIMES;
    return status;
}

sundog_status md_gpu_measure(md_gpu *gpu, double us[MD_GPU_N_PARTS])
{
    cudaEvent_t begin, end;
    int slot = (int)(gpu->n_enqueued % MD_GPU_AHEAD); /* of the snapshot */
    for (int part = 0; part < MD_GPU_N_PARTS; part++) us[part] = 0;
    if (!gpu->captures) return SUNDOG_OK;
    BASE_TRY(DEVICE_CHECK(cudaEventCreate(&begin)));
    BASE_TRY(DEVICE_CHECK(cudaEventCreate(&end)));
    sundog_status status = gpu_snapshot(gpu);
    for (int part = 0; part < MD_GPU_N_PARTS && status == SUNDOG_OK; part++)
        status = time_part(gpu, (md_gpu_part)part, begin, end, &us[part]);
    if (status == SUNDOG_OK) status = gpu_snapshot_restore(gpu, slot);
    if (status == SUNDOG_OK) status = gpu_wait(gpu);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return status;
}
