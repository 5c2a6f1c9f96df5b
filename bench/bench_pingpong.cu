/* See bench_pingpong.h.
 *
 *   grid     blocks take chunks b, b + blocks, ... of view.forward, the same ones in every epoch
 *   waits    store, bulk: every block for the whole message; flit: every thread for its flits
 *   signals  as the pieces do
 *
 * Nobody is more than one epoch ahead: a block sends epoch e + 1 when its own part of the answer to
 * epoch e is here. So lockstep holds, and no credit is needed.
 */
#include "bench_pingpong.h"

#include "sundog/device.cuh"

namespace cg = cooperative_groups;

enum { THREADS = 256, WARPS = THREADS / 32 };

template <pingpong_kind KIND>
static __device__ void speak(const sundog_view *view, uint64_t epoch, char (*buffer)[1])
{
    const auto block = cg::this_thread_block();
    if constexpr (KIND == PINGPONG_BULK) {
        const auto warp = cg::tiled_partition<32>(block);
        char *mine = (char *)buffer + threadIdx.x / 32 * SUNDOG_BULK_BUFFER;
        for (int i = (int)(blockIdx.x * WARPS + threadIdx.x / 32); i < view->n_forward;
             i += (int)gridDim.x * WARPS) {
            const sundog_view_chunk chunk = view->forward[i];
            const sundog_view_send send = view->send[chunk.message];
            sundog_send_when_ready(view, warp, chunk, send, epoch);
            sundog_send_bulk(view, warp, mine, chunk);
            sundog_send_done(view, warp, chunk, send, epoch);
        }
    } else {
        for (int i = (int)blockIdx.x; i < view->n_forward; i += (int)gridDim.x) {
            const sundog_view_chunk chunk = view->forward[i];
            if (chunk.kind != SUNDOG_CHUNK_SEND) continue;
            if (KIND == PINGPONG_FLIT) sundog_send_flits(view, block, chunk, epoch);
            else sundog_send_chunk(view, block, chunk, epoch);
        }
    }
}

/* Flits: a block reads what the peer's same block has sent. */
template <pingpong_kind KIND>
static __device__ void listen(const sundog_view *view, uint64_t epoch)
{
    const auto block = cg::this_thread_block();
    if constexpr (KIND == PINGPONG_FLIT) {
        const int n_sends = view->n_forward / 2;    /* equal halves: one pulse, equal sizes */
        for (int i = (int)blockIdx.x; i < n_sends; i += (int)gridDim.x)
            sundog_receive_flits(view, block, view->forward[n_sends + i], epoch);
    } else {
        for (int m = 0; m < view->n_messages; m++) sundog_wait_stage(view, block, m, epoch);
    }
}

template <pingpong_kind KIND>
__global__ void __launch_bounds__(THREADS)
    pingpong_kernel(const __grid_constant__ sundog_view view, int first, int n_epochs,
                    unsigned long long *ns)
{
    extern __shared__ __align__(128) char buffer[][1];
    const uint64_t begin = sundog_forward_epoch(&view);
    uint64_t start = 0;
    for (uint64_t epoch = begin; epoch < begin + (uint64_t)n_epochs; epoch++) {
        if (first) speak<KIND>(&view, epoch, buffer);
        listen<KIND>(&view, epoch);
        if (!first) speak<KIND>(&view, epoch, buffer);
        if (epoch == begin) start = sundog_clock_ns();
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) *ns = sundog_clock_ns() - start;
    if (sundog_arrive_gpu(&view.counts->blocks_done[0]) + 1 != gridDim.x) return;
    view.counts->blocks_done[0] = 0;
    view.counts->forward = begin + (uint64_t)n_epochs - 1;
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
