/* Life of a window: what serves, memory, launches. */
#include "device/cuda.h"
#include "md/gpu/window_view.cuh"

#include <cstdio>

struct gpu_window {
    window_view view;
    gpu_window_parts parts;
    const move_view *move;
    const bonded_view *bonded;
    md_force_slots slots;
    device_array memory, rows;
    int64_t n_steps;                    /* since epochs were counted from 1 */
    char refusal[160];                  /* "": none */
};

extern "C" sundog_status gpu_window_create(gpu_window **out)
{
    gpu_window *window = (gpu_window *)base_alloc_zero(sizeof *window);
    sundog_status status =
        DEVICE_CHECK(cudaMalloc(&window->view.clock, sizeof *window->view.clock));
    if (status == SUNDOG_OK)
        status = DEVICE_CHECK(
            cudaMalloc(&window->view.plan.fault, sizeof *window->view.plan.fault));
    if (status == SUNDOG_OK)
        status = DEVICE_CHECK(
            cudaMemset(window->view.plan.fault, 0, sizeof *window->view.plan.fault));
    snprintf(window->refusal, sizeof window->refusal, "nothing has been rebuilt");
    if (status != SUNDOG_OK) {
        gpu_window_destroy(&window);
        return status;
    }
    *out = window;
    return SUNDOG_OK;
}

extern "C" void gpu_window_destroy(gpu_window **handle)
{
    gpu_window *window = *handle;
    if (window == NULL) return;
    cudaFree(window->view.clock);
    cudaFree(window->view.plan.fault);
    device_free(&window->memory);
    device_free(&window->rows);
    base_free(window);
    *handle = NULL;
}

extern "C" const char *gpu_window_refusal(const gpu_window *window)
{
    return window->refusal[0] ? window->refusal : NULL;
}

extern "C" gpu_window_fault *gpu_window_fault_word(gpu_window *window)
{
    return window->view.plan.fault;
}

extern "C" bool gpu_window_gave_up(const gpu_window_fault *fault, char *text, size_t size)
{
    static const char *const thing[] = {"the position", "the pair force", "a bonded force"};
    if (fault->n == 0 && !fault->too_many) return false;
    if (fault->too_many)
        snprintf(text, size, "a launch for each part, since atoms of constraints lie spread over "
                             "more blocks than a self-timed window can serve");
    else
        snprintf(text, size,
                 "a launch for each part, since a self-timed window gave up: block %d waited for "
                 "%s of row %d, epoch %d", fault->block, thing[fault->what], fault->row,
                 fault->epoch);
    return true;
}

/* Epochs from 1 on; no row anywhere has one. */
static sundog_status start_epochs(gpu_window *window, cudaStream_t stream)
{
    static const window_clock start = {1, 0, 0};
    window->n_steps = 0;
    BASE_TRY(DEVICE_CHECK(
        cudaMemsetAsync(window->rows.d, 0, window->rows.n_bytes, stream)));
    return DEVICE_CHECK(cudaMemcpyAsync(window->view.clock, &start, sizeof start,
                                        cudaMemcpyHostToDevice, stream));
}

static sundog_status decide(gpu_window *window)
{
    const md_unit_view *lists = md_unit_lists_view(window->parts.lists);
    int most_blocks;
    window->refusal[0] = 0;
    if (window->move->network.n > 0) {
        snprintf(window->refusal, sizeof window->refusal,
                 "constraints that form connected networks take a block each");
        return SUNDOG_OK;
    }
    BASE_TRY(DEVICE_CHECK(window_allow(window->parts.force, lists,
                                       window->bonded->n_blocks > 0, &most_blocks)));
    if (lists->n_blocks == 0)
        snprintf(window->refusal, sizeof window->refusal, "there are no atoms");
    else if (most_blocks == 0)
        snprintf(window->refusal, sizeof window->refusal,
                 "a block's surroundings do not fit into shared memory beside the rest");
    else if (lists->n_blocks > most_blocks)
        snprintf(window->refusal, sizeof window->refusal,
                 "%d blocks of units, of which the GPU holds %d at once", lists->n_blocks,
                 most_blocks);
    return SUNDOG_OK;
}

/* One after the other in a piece of memory; with base NULL only counts. */
static char *place(char **at, size_t n_bytes)
{
    char *here = *at;
    *at += (n_bytes + 255) / 256 * 256;
    return here;
}

static size_t place_plan(gpu_window *window, char *base)
{
    window_plan *p = &window->view.plan;
    const size_t n_blocks = (size_t)window->view.lists.n_blocks;
    const size_t n_rows = (size_t)window->parts.n_rows;
    const size_t capacity = (size_t)window->view.lists.threads;
    char *at = base;
    p->row_capacity = (int)capacity;
    p->place = (int *)place(&at, n_rows * sizeof *p->place);
    p->job_row = (const int *)place(&at, n_rows * sizeof *p->job_row);
    p->job = (const int2 *)place(&at, n_rows * sizeof *p->job);
    p->row = (window_row *)place(&at, n_blocks * capacity * sizeof *p->row);
    p->work = (window_job *)place(&at, n_blocks * capacity * sizeof *p->work);
    p->sent = (window_export *)place(&at, n_blocks * WINDOW_PLACES * sizeof *p->sent);
    p->counts = (window_counts *)place(&at, n_blocks * sizeof *p->counts);
    return (size_t)(at - base);
}

extern "C" sundog_status gpu_window_rebuild(gpu_window *window, const gpu_window_parts *parts,
                                            void *stream)
{
    const cudaStream_t queue = (cudaStream_t)stream;
    window_view *view = &window->view;
    const size_t n = (size_t)parts->n_rows;
    window->parts = *parts;
    window->move = md_move_view_of(parts->move);
    window->bonded = md_bonded_device_view(parts->bonded);
    window->slots = md_bonded_device_slots(parts->bonded);
    BASE_TRY(decide(window));
    if (window->refusal[0]) return SUNDOG_OK;
    view->lists = *md_unit_lists_view(parts->lists);
    view->overflow = md_unit_lists_overflow(parts->lists);
    view->n_rows = parts->n_rows;
    BASE_TRY(device_reserve(&window->memory, place_plan(window, NULL)));
    place_plan(window, (char *)window->memory.d);
    BASE_TRY(device_reserve(&window->rows, GPU_WINDOW_MOST * n * sizeof(sundog_flit)));
    view->epoch_rows = (sundog_flit *)window->rows.d;
    view->force = view->epoch_rows + (GPU_WINDOW_MOST - 1) * n;
    BASE_TRY(start_epochs(window, queue));
    BASE_TRY(DEVICE_CHECK(cudaMemsetAsync((void *)view->plan.job_row, 0xff,
                                          n * sizeof *view->plan.job_row, queue)));
    return DEVICE_CHECK(window_launch_jobs(window->move, (int *)view->plan.job_row,
                                           (int2 *)view->plan.job, queue));
}

extern "C" sundog_status gpu_window_plan(gpu_window *window, void *stream)
{
    return DEVICE_CHECK(window_launch_plan(&window->view, window->move, &window->slots,
                                           (cudaStream_t)stream));
}

extern "C" sundog_status gpu_window_launch(gpu_window *window, const md_move_arrays *arrays,
                                           double dt, int n_steps, float (*d_f)[4], void *stream)
{
    window_view view = window->view;
    move_view move = *window->move;
    move.arrays = *arrays;
    move.dt = dt;
    move.inv_dt = 1.0 / dt;
    view.n_steps = n_steps;
    view.at_rest = arrays->d_row;
    view.last_force = d_f;
    return DEVICE_CHECK(window_start(window->parts.force, &view, window->bonded, &move,
                                     (cudaStream_t)stream));
}
