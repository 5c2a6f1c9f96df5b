/* Pieces: steps in a row as one graph, kept for the next piece that does the same.
 *
 * Two pieces are under way at a time, so the host prepares one and reads another while the GPU
 * works. What differs from piece to piece is in device memory: random numbers of the thermostat are
 * copied there before, sums find their place on the board by a count.
 *
 * A graph is made with nothing under way on any rank: making one may take locks of the driver that
 * a waiting kernel of a peer would keep the owner of from ever giving back.
 */
#include "md/gpu/gpu_impl.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- life ------------------------------------------------------------------------------------ */

sundog_status gpu_pieces_create(md_gpu *gpu)
{
    size_t noise = (size_t)MD_GPU_PIECE * (size_t)gpu->options.n_temperature * sizeof(double[2]);
    for (int k = 0; k < MD_GPU_AHEAD; k++) {
        BASE_TRY(
            DEVICE_CHECK(cudaEventCreateWithFlags(&gpu->piece[k].done, cudaEventDisableTiming)));
        BASE_TRY(DEVICE_CHECK(
            cudaHostAlloc((void **)&gpu->piece[k].noise, noise, cudaHostAllocPortable)));
    }
    BASE_TRY(DEVICE_CHECK(cudaHostAlloc((void **)&gpu->board, sizeof *gpu->board,
                                        cudaHostAllocPortable | cudaHostAllocMapped)));
    memset(gpu->board, 0, sizeof *gpu->board);
    return SUNDOG_OK;
}

void gpu_pieces_destroy(md_gpu *gpu)
{
    gpu_graphs_drop(gpu);
    for (int k = 0; k < MD_GPU_AHEAD; k++) {
        if (gpu->piece[k].done) cudaEventDestroy(gpu->piece[k].done);
        cudaFreeHost(gpu->piece[k].noise);
    }
    cudaFreeHost(gpu->board);
}

void gpu_graphs_drop(md_gpu *gpu)
{
    for (int k = 0; k < GPU_GRAPHS; k++) {
        if (gpu->graph[k].exec) cudaGraphExecDestroy(gpu->graph[k].exec);
        gpu->graph[k] = (gpu_graph){0};
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static sundog_status enqueue_steps(md_gpu *gpu, int n_steps, const uint8_t *what)
{
    int event = 0;
    BASE_TRY(gpu_snapshot(gpu));
    for (int k = 0; k < n_steps; k++) BASE_TRY(gpu_enqueue_step(gpu, what[k], &event));
    return gpu_report_verdict(md_move_fault_word(gpu->move),
                              gpu->lists ? md_unit_lists_overflow(gpu->lists) : NULL,
                              GPU_D(gpu, gpu_counts *, GPU_COUNTS), gpu->board, gpu->stream);
}

static gpu_graph *find(md_gpu *gpu, int n_steps, const uint8_t *what)
{
    for (int k = 0; k < GPU_GRAPHS; k++) {
        gpu_graph *graph = &gpu->graph[k];
        if (graph->exec && graph->n_steps == n_steps &&
            memcmp(graph->what, what, (size_t)n_steps) == 0)
            return graph;
    }
    return NULL;
}

/* A free place, or that of the graph that was not used for longest. */
static gpu_graph *place(md_gpu *gpu)
{
    gpu_graph *oldest = &gpu->graph[0];
    for (int k = 0; k < GPU_GRAPHS; k++) {
        if (!gpu->graph[k].exec) return &gpu->graph[k];
        if (gpu->graph[k].used < oldest->used) oldest = &gpu->graph[k];
    }
    cudaGraphExecDestroy(oldest->exec);
    oldest->exec = NULL;
    return oldest;
}

static sundog_status capture(md_gpu *gpu, int n_steps, const uint8_t *what, cudaGraph_t *out)
{
    BASE_TRY(DEVICE_CHECK(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal)));
    sundog_status status = enqueue_steps(gpu, n_steps, what);
    char error[1024];
    snprintf(error, sizeof error, "%s", sundog_last_error());
    cudaError_t ended = cudaStreamEndCapture(gpu->stream, out);
    if (status != SUNDOG_OK) return base_fail(status, "%s", error);
    return DEVICE_CHECK(ended);
}

static sundog_status make_graph(md_gpu *gpu, int n_steps, const uint8_t *what, gpu_graph **out)
{
    cudaGraph_t captured = NULL;
    BASE_TRY(gpu_wait(gpu));
    BASE_TRY(sundog_team_barrier(gpu->options.team));
    gpu_graph *graph = place(gpu); /* nothing runs that it could take the place of */
    sundog_status status = capture(gpu, n_steps, what, &captured);
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaGraphInstantiate(&graph->exec, captured, 0));
    if (status == SUNDOG_OK) status = DEVICE_CHECK(cudaGraphUpload(graph->exec, gpu->stream));
    if (captured) cudaGraphDestroy(captured);
    if (status == SUNDOG_OK) status = gpu_wait(gpu);
    BASE_TRY(status);
    BASE_TRY(sundog_team_barrier(gpu->options.team));
    graph->n_steps = n_steps;
    memcpy(graph->what, what, (size_t)n_steps);
    *out = graph;
    return SUNDOG_OK;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static sundog_status draw_noise(md_gpu *gpu, gpu_piece *piece, const uint8_t *what)
{
    const md_gpu_options *o = &gpu->options;
    int n = 0;
    for (int k = 0; k < piece->n_steps; k++) {
        if (!(what[k] & MD_GPU_THERMOSTAT)) continue;
        for (int g = 0; g < o->n_temperature; g++) {
            md_vrescale_noise noise = md_vrescale_draw_noise(
                o->n_dof[g], (md_vrescale_draw){
                                 .seed = o->params->ld_seed, .step = piece->step + k, .group = g});
            piece->noise[n][0] = noise.first;
            piece->noise[n++][1] = noise.rest;
        }
    }
    if (n == 0) return SUNDOG_OK;
    return DEVICE_CHECK(cudaMemcpyAsync(gpu->memory[GPU_NOISE].d, piece->noise,
                                        (size_t)n * sizeof *piece->noise, cudaMemcpyHostToDevice,
                                        gpu->stream));
}

sundog_status md_gpu_enqueue(md_gpu *gpu, int64_t step, int n_steps, const uint8_t *what)
{
    int slot = (int)(gpu->n_enqueued % MD_GPU_AHEAD);
    gpu_piece *piece = &gpu->piece[slot];
    gpu_graph *graph = NULL;
    piece->step = step;
    piece->n_steps = n_steps;
    piece->n_sums = 0;
    for (int k = 0; k < n_steps; k++) piece->n_sums += (what[k] & MD_GPU_SUMS) != 0;
    if (gpu->captures) {
        graph = find(gpu, n_steps, what);
        if (!graph) BASE_TRY(make_graph(gpu, n_steps, what, &graph));
        graph->used = ++gpu->n_graph_uses;
    }
    BASE_TRY(draw_noise(gpu, piece, what));
    BASE_TRY(gpu_check(gpu)); /* the rows of a dead team's peers may be freed */
    if (graph)
        BASE_TRY(DEVICE_CHECK(cudaGraphLaunch(graph->exec, gpu->stream)));
    else
        BASE_TRY(enqueue_steps(gpu, n_steps, what));
    BASE_TRY(DEVICE_CHECK(cudaEventRecord(piece->done, gpu->stream)));
    gpu->forces_whole = gpu->options.scheme == MD_SCHEME_RETURN;
    gpu->n_enqueued++;
    return SUNDOG_OK;
}

int md_gpu_n_under_way(const md_gpu *gpu)
{
    return (int)(gpu->n_enqueued - gpu->n_finished);
}

/* Until the piece is computed. Kernels that gave up in one exchange go on into the next, and those
 * of a dead team must be told, so this looks meanwhile. Waits of streams (rung stream) are bounded
 * by the library alone. */
static sundog_status wait_for(md_gpu *gpu, const gpu_piece *piece)
{
    enum { LOOKS = 1000, PAUSE_US = 20 };
    if (!gpu->captures) return gpu_wait(gpu);
    if (gpu->n_ranks == 1) return DEVICE_CHECK(cudaEventSynchronize(piece->done));
    cudaError_t error;
    for (int look = 0; (error = cudaEventQuery(piece->done)) == cudaErrorNotReady; look++) {
        BASE_TRY(gpu_check(gpu));
        if (look < LOOKS)
            sched_yield();
        else
            usleep(PAUSE_US);
    }
    BASE_TRY(DEVICE_CHECK(error));
    return gpu_check(gpu);
}

sundog_status md_gpu_finish(md_gpu *gpu, md_gpu_result *result)
{
    int slot = (int)(gpu->n_finished % MD_GPU_AHEAD);
    const gpu_piece *piece = &gpu->piece[slot];
    BASE_TRY(wait_for(gpu, piece));
    const gpu_verdict *verdict = &gpu->board->verdict[slot];
    for (int k = 0; k < piece->n_sums; k++)
        gpu->sums[k] = gpu->board->sums[(gpu->n_read + k) % GPU_BOARD];
    gpu->n_read += piece->n_sums;
    gpu->n_finished++;
    *result = (md_gpu_result){.step = piece->step,
                              .n_steps = piece->n_steps,
                              .n_sums = piece->n_sums,
                              .sums = gpu->sums,
                              .overflow = verdict->overflow != 0,
                              .n_turned = (int)verdict->fault.n_turned,
                              .n_failed = (int)verdict->fault.n_failed,
                              .fault_row = -1};
    if (verdict->fault.n_turned || verdict->fault.n_failed)
        result->fault_row = verdict->fault.row;
    return SUNDOG_OK;
}
