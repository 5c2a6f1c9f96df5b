/* See bench_pingpong.h.
 *
 *   grid     blocks (bulk: warps) take chunks b, b + blocks, ... of view.forward, the same ones in
 *            every epoch; what they have to know of the first one is looked up before all epochs,
 *            as a kernel that stays on the GPU would do
 *   waits    store, bulk: every block for the whole message; flit: every block for as many rows as
 *            it sends
 *   signals  as the pieces do
 *
 * Rows are read anew in every epoch, after the wait, and ghosts are stored to their rows. Nobody is
 * more than one epoch ahead: a block sends epoch e + 1 when its own part of the answer to epoch e
 * is here. So lockstep holds, and no credit is needed.
 */
#include "bench_pingpong.h"

#include "sundog/device.cuh"

namespace cg = cooperative_groups;

enum { THREADS = 256, WARPS = THREADS / 32 };

/* A chunk and its message. */
typedef struct job {
    sundog_view_chunk chunk;
    sundog_view_send send;
} job;

static __device__ job job_of(const sundog_view *view, int i)
{
    const sundog_view_chunk chunk = view->forward[i];
    return {chunk, view->send[chunk.message]};
}

/* Number of this group among all that send: a block or a warp. */
template <pingpong_kind KIND>
static __device__ int first_job(void)
{
    return KIND == PINGPONG_BULK ? (int)(blockIdx.x * WARPS + threadIdx.x / 32) : (int)blockIdx.x;
}

/* All chunks of a group, then one fence for them (there is one message). */
template <pingpong_kind KIND, class Group>
static __device__ void store_all(const sundog_view *view, const Group &group, int first, int step,
                                 int n_sends, const job &known, char *buffer, uint64_t epoch)
{
    int n = 0;
    if (first >= n_sends) return;
    sundog_send_when_ready(view, group, known.chunk, known.send, epoch);
    for (int i = first; i < n_sends; i += step, n++) {
        const sundog_view_chunk chunk = i == first ? known.chunk : view->forward[i];
        if (KIND == PINGPONG_BULK) sundog_send_bulk(view, group, buffer, chunk);
        else sundog_send_rows(view, group, chunk);
    }
    sundog_send_done(view, group, view->forward + first, step, n, known.send, epoch);
}

template <pingpong_kind KIND>
static __device__ void speak(const sundog_view *view, uint64_t epoch, char *buffer, int n_sends,
                             const job &known)
{
    const auto block = cg::this_thread_block();
    const int first = first_job<KIND>(), n_blocks = (int)gridDim.x;
    if constexpr (KIND == PINGPONG_BULK)
        store_all<KIND>(view, cg::tiled_partition<32>(block), first, n_blocks * WARPS, n_sends,
                        known, buffer + threadIdx.x / 32 * SUNDOG_BULK_BUFFER, epoch);
    else if constexpr (KIND == PINGPONG_STORE)
        store_all<KIND>(view, block, first, n_blocks, n_sends, known, buffer, epoch);
    else
        for (int i = first; i < n_sends; i += n_blocks)
            sundog_send_flits(view, block, view->forward[i], epoch);
}

/* Flits: a block reads what the peer's same block has sent; halves are equal. */
template <pingpong_kind KIND>
static __device__ void listen(const sundog_view *view, uint64_t epoch, int n_sends)
{
    const auto block = cg::this_thread_block();
    if constexpr (KIND == PINGPONG_FLIT)
        for (int i = (int)blockIdx.x; i < n_sends; i += (int)gridDim.x)
            sundog_receive_flits(view, block, view->forward[n_sends + i], epoch);
    else
        for (int m = 0; m < view->n_messages; m++) sundog_wait_arrived(view, block, m, epoch);
    block.sync();
}

template <pingpong_kind KIND>
static __device__ uint64_t converse(const sundog_view *view, bool first, uint64_t begin,
                                    uint64_t end, char *buffer)
{
    const int n_sends = KIND == PINGPONG_FLIT ? view->n_forward / 2 : view->n_forward;
    const job known = job_of(view, min(first_job<KIND>(), n_sends - 1));
    uint64_t start = 0;
    for (uint64_t epoch = begin; epoch < end; epoch++) {
        if (first) speak<KIND>(view, epoch, buffer, n_sends, known);
        listen<KIND>(view, epoch, n_sends);
        if (!first) speak<KIND>(view, epoch, buffer, n_sends, known);
        if (epoch == begin) start = sundog_clock_ns();
    }
    return start;
}

/* A flit and a chunk for each thread and block at most. */
static __device__ uint64_t converse_in_flits(const sundog_view *view, bool first, uint64_t begin,
                                             uint64_t end)
{
    const auto block = cg::this_thread_block();
    const job now = job_of(view, (int)blockIdx.x);
    const sundog_view_chunk back = view->forward[view->n_forward / 2 + (int)blockIdx.x];
    const bool sends = (int)threadIdx.x < now.chunk.n * view->n_flits;
    const bool receives = (int)threadIdx.x < back.n * view->n_flits;
    sundog_wait wait = {SUNDOG_WORD_FLIT, view->recv[back.message].peer, back.message, begin};
    sundog_flit_sending sending;
    sundog_flit_receiving receiving;
    if (sends) sending = sundog_flit_to_send(view, now.chunk, now.send, threadIdx.x);
    if (receives) receiving = sundog_flit_to_receive(view, back, threadIdx.x);
    uint64_t start = 0;
    for (; wait.wanted < end; wait.wanted++) {
        if (first && sends) sundog_flit_send(view, now.chunk, now.send, sending, wait.wanted);
        if (receives) sundog_flit_receive(view, receiving, wait);
        block.sync();
        if (!first && sends) sundog_flit_send(view, now.chunk, now.send, sending, wait.wanted);
        if (wait.wanted == begin) start = sundog_clock_ns();
    }
    return start;
}

/* ns: the longest time of a block. */
template <pingpong_kind KIND>
__global__ void __launch_bounds__(THREADS)
    pingpong_kernel(const __grid_constant__ sundog_view view, int first, int n_epochs,
                    unsigned long long *ns)
{
    extern __shared__ __align__(128) char buffer[];
    const uint64_t begin = sundog_forward_epoch(&view), end = begin + (uint64_t)n_epochs;
    uint64_t start;
    if (KIND == PINGPONG_FLIT && (int)gridDim.x == view.n_forward / 2 &&
        view.forward[0].n * view.n_flits <= THREADS)
        start = converse_in_flits(&view, first, begin, end);
    else start = converse<KIND>(&view, first, begin, end, buffer);
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicMax(ns, (unsigned long long)(sundog_clock_ns() - start));
    if (sundog_arrive_gpu(&view.counts->blocks_done[0]) + 1 != gridDim.x) return;
    view.counts->blocks_done[0] = 0;
    view.counts->forward = end - 1;
}

static size_t shared_bytes(pingpong_kind kind)
{
    return kind == PINGPONG_BULK ? (size_t)WARPS * SUNDOG_BULK_BUFFER : 0;
}

int pingpong_launch(const sundog_view *view, pingpong_kind kind, int first, int n_epochs,
                    int n_blocks, unsigned long long *d_ns, sundog_stream stream)
{
    const size_t n_bytes = shared_bytes(kind);
    cudaStream_t s = (cudaStream_t)stream;
    switch (kind) {
    case PINGPONG_STORE:
        pingpong_kernel<PINGPONG_STORE><<<n_blocks, THREADS, n_bytes, s>>>(*view, first, n_epochs,
                                                                           d_ns);
        break;
    case PINGPONG_BULK:
        pingpong_kernel<PINGPONG_BULK><<<n_blocks, THREADS, n_bytes, s>>>(*view, first, n_epochs,
                                                                          d_ns);
        break;
    case PINGPONG_FLIT:
        pingpong_kernel<PINGPONG_FLIT><<<n_blocks, THREADS, n_bytes, s>>>(*view, first, n_epochs,
                                                                          d_ns);
        break;
    }
    return (int)cudaGetLastError();
}

int pingpong_max_blocks(pingpong_kind kind, int n_sharing, int *n_blocks)
{
    const void *kernel = kind == PINGPONG_STORE  ? (const void *)pingpong_kernel<PINGPONG_STORE>
                         : kind == PINGPONG_BULK ? (const void *)pingpong_kernel<PINGPONG_BULK>
                                                 : (const void *)pingpong_kernel<PINGPONG_FLIT>;
    int gpu, fit = 0, n_multiprocessors = 0;
    cudaError_t error = cudaGetDevice(&gpu);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&n_multiprocessors, cudaDevAttrMultiProcessorCount, gpu);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, THREADS,
                                                              shared_bytes(kind));
    *n_blocks = fit * n_multiprocessors / n_sharing;
    return (int)error;
}
