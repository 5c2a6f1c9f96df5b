/* Kernels of the fabrics for GPUs, compiled once for each of them. One forward and one reverse
 * kernel serve all rungs but mpi: a rung is an order of chunks and a way of cutting them into
 * launches (layout.c).
 *
 *   grid     blocks b = 0 .. n-1 take chunks b, b + n, ... in the order of the list
 *   thread   one component of a row a step (quads: 16 bytes; flits: one flit)
 *   waits    as a chunk says, one thread for its group; then for whole messages
 *   signals  the last group to finish a message
 *   count    the last block of the last launch of an exchange raises counts->forward / reverse
 *
 * Whoever includes this defines the table of launchers at its end under a name of its own.
 */
#ifndef HALO_PEER_KERNELS_CUH
#define HALO_PEER_KERNELS_CUH
#include "halo/peer/kernels.h"

#include "sundog/device.cuh"

namespace cg = cooperative_groups;

/* True in all threads of the last block to come here in this launch. With flits nothing needs to be
 * ordered, and arriving would wait for the peer to acknowledge what was stored there. */
template <halo_transport TRANSPORT>
static __device__ bool is_last_block(uint32_t *counter)
{
    __shared__ uint32_t before;
    __syncthreads();
    if (threadIdx.x == 0)
        before = TRANSPORT == HALO_FLIT ? sundog_arrive_relaxed(counter)
                                        : sundog_arrive_gpu(counter);
    __syncthreads();
    return before + 1 == gridDim.x;
}

/* Chunks first, first + n_groups, ... of one message and source, stored and not yet signalled. */
typedef struct unsignalled {
    int first, n, message, source;
} unsignalled;

/* A group's chunks. It signals late, before it waits for anything and at the end, so that one fence
 * serves many chunks. */
template <halo_transport TRANSPORT, class Group>
static __device__ void forward_stores(const sundog_view *view, const halo_launch &launch,
                                      const Group &group, int g, int n_groups, char *buffer,
                                      uint64_t epoch)
{
    const sundog_view_chunk *chunks = view->forward + launch.first;
    unsignalled stored = {0, 0, -1, -1};
    sundog_view_send send;
    for (int i = g; i < launch.n; i += n_groups) {
        const sundog_view_chunk chunk = chunks[i];
        const bool receives = SUNDOG_FAR && chunk.kind == SUNDOG_CHUNK_RECEIVE;
        if (receives || chunk.message != stored.message || chunk.source != stored.source) {
            if (stored.n > 0)
                sundog_send_done(view, group, chunks + stored.first, n_groups, stored.n, send,
                                 epoch);
            stored = {i, 0, receives ? -1 : chunk.message, chunk.source};
            if (receives) {
                sundog_receive_rows(view, group, chunk, epoch);
                continue;
            }
            send = view->send[chunk.message];
            sundog_send_when_ready(view, group, chunk, send, epoch);
        }
        if (TRANSPORT == HALO_BULK) sundog_send_bulk(view, group, buffer, chunk);
        else sundog_send_rows(view, group, chunk);
        stored.n++;
    }
    if (stored.n > 0)
        sundog_send_done(view, group, chunks + stored.first, n_groups, stored.n, send, epoch);
}

/* By bulk stores each warp is a group of its own, with a buffer of its own. */
template <halo_transport TRANSPORT>
static __device__ void forward_warps(const sundog_view *view, const halo_launch &launch,
                                     uint64_t epoch)
{
    __shared__ __align__(128) char buffer[HALO_BLOCK_WARPS][SUNDOG_BULK_BUFFER];
    const int w = (int)threadIdx.x / 32;
    forward_stores<TRANSPORT>(view, launch, cg::tiled_partition<32>(cg::this_thread_block()),
                              (int)blockIdx.x * HALO_BLOCK_WARPS + w,
                              (int)gridDim.x * HALO_BLOCK_WARPS, buffer[w], epoch);
}

template <halo_transport TRANSPORT>
static __device__ void forward_blocks(const sundog_view *view, const halo_launch &launch,
                                      uint64_t epoch)
{
    const auto block = cg::this_thread_block();
    const int b = (int)blockIdx.x, n_blocks = (int)gridDim.x;
    if (TRANSPORT == HALO_STORE && !(launch.parts & HALO_PART_NO_WORDS)) {
        forward_stores<TRANSPORT>(view, launch, block, b, n_blocks, NULL, epoch);
        return;
    }
    for (int i = b; i < launch.n; i += n_blocks) {
        const sundog_view_chunk chunk = view->forward[launch.first + i];
        if (TRANSPORT == HALO_STORE) sundog_send_rows(view, block, chunk);
        else if (chunk.kind == SUNDOG_CHUNK_RECEIVE)
            sundog_receive_flits(view, block, chunk, epoch);
        else sundog_send_flits(view, block, chunk, epoch);
    }
}

template <halo_transport TRANSPORT>
__global__ void __launch_bounds__(HALO_BLOCK_THREADS)
    forward_kernel(const __grid_constant__ sundog_view view,
                   const __grid_constant__ halo_launch launch)
{
    const uint64_t epoch = sundog_forward_epoch(&view);
    if ((launch.parts & HALO_PART_ANNOUNCE) && blockIdx.x == 0)
        sundog_announce_space(&view, cg::this_thread_block(), epoch);
    if (TRANSPORT == HALO_BULK) forward_warps<TRANSPORT>(&view, launch, epoch);
    else forward_blocks<TRANSPORT>(&view, launch, epoch);
    for (int i = (int)blockIdx.x; i < launch.wait_n; i += (int)gridDim.x)
        sundog_wait_arrived(&view, cg::this_thread_block(), launch.wait_first + i, epoch);
    if (!(launch.parts & HALO_PART_LAST)) return;
    if (!is_last_block<TRANSPORT>(&view.counts->blocks_done[0])) return;
    if (TRANSPORT == HALO_FLIT) sundog_announce_flits(&view, cg::this_thread_block(), epoch);
    if (threadIdx.x == 0) {
        view.counts->blocks_done[0] = 0;
        view.counts->forward = epoch;
    }
}

template <halo_transport TRANSPORT, class Group>
static __device__ void reverse_stores(const sundog_view *view, const halo_launch &launch,
                                      const Group &group, int g, int n_groups, char *buffer,
                                      uint64_t epoch)
{
    const sundog_view_chunk *chunks = view->reverse + launch.first;
    unsignalled stored = {0, 0, -1, -1};
    sundog_view_recv recv;
    for (int i = g; i < launch.n; i += n_groups) {
        const sundog_view_chunk chunk = chunks[i];
        const bool adds = chunk.kind == SUNDOG_CHUNK_ADD;
        if (adds || chunk.message != stored.message) {
            if (stored.n > 0)
                sundog_return_done(view, group, chunks + stored.first, n_groups, stored.n, recv,
                                   epoch);
            stored = {i, 0, adds ? -1 : chunk.message, -1};
        }
        if (adds) {
            sundog_add_chunk<false>(view, group, chunk, epoch);
            continue;
        }
        if (stored.n == 0) {
            recv = view->recv[chunk.message];
            sundog_return_when_ready(view, group, chunk, recv, epoch, epoch - 1);
        }
        if (TRANSPORT == HALO_BULK) sundog_return_bulk(view, group, buffer, chunk);
        else sundog_return_rows(view, group, chunk);
        stored.n++;
    }
    if (stored.n > 0)
        sundog_return_done(view, group, chunks + stored.first, n_groups, stored.n, recv, epoch);
}

template <halo_transport TRANSPORT>
static __device__ void reverse_warps(const sundog_view *view, const halo_launch &launch,
                                     uint64_t epoch)
{
    __shared__ __align__(128) char buffer[HALO_BLOCK_WARPS][SUNDOG_BULK_BUFFER];
    const int w = (int)threadIdx.x / 32;
    reverse_stores<TRANSPORT>(view, launch, cg::tiled_partition<32>(cg::this_thread_block()),
                              (int)blockIdx.x * HALO_BLOCK_WARPS + w,
                              (int)gridDim.x * HALO_BLOCK_WARPS, buffer[w], epoch);
}

template <halo_transport TRANSPORT>
static __device__ void reverse_blocks(const sundog_view *view, const halo_launch &launch,
                                      uint64_t epoch)
{
    const auto block = cg::this_thread_block();
    const int b = (int)blockIdx.x, n_blocks = (int)gridDim.x;
    if (TRANSPORT == HALO_STORE && !(launch.parts & HALO_PART_NO_WORDS)) {
        reverse_stores<TRANSPORT>(view, launch, block, b, n_blocks, NULL, epoch);
        return;
    }
    for (int i = b; i < launch.n; i += n_blocks) {
        const sundog_view_chunk chunk = view->reverse[launch.first + i];
        const bool adds = chunk.kind == SUNDOG_CHUNK_ADD;
        if (TRANSPORT == HALO_STORE && adds) sundog_add_rows(view, block, chunk);
        else if (TRANSPORT == HALO_STORE) sundog_return_rows(view, block, chunk);
        else if (adds) sundog_add_chunk<true>(view, block, chunk, epoch);
        else sundog_return_flits(view, block, chunk, epoch);
    }
}

template <halo_transport TRANSPORT>
__global__ void __launch_bounds__(HALO_BLOCK_THREADS)
    reverse_kernel(const __grid_constant__ sundog_view view,
                   const __grid_constant__ halo_launch launch)
{
    const uint64_t epoch = sundog_reverse_epoch(&view);
    if (TRANSPORT == HALO_BULK) reverse_warps<TRANSPORT>(&view, launch, epoch);
    else reverse_blocks<TRANSPORT>(&view, launch, epoch);
    if (!(launch.parts & HALO_PART_LAST)) return;
    if (!is_last_block<TRANSPORT>(&view.counts->blocks_done[1])) return;
    if (threadIdx.x == 0) {
        view.counts->blocks_done[1] = 0;
        view.counts->reverse = epoch;
    }
}

/* ---- rung mpi: boxes ------------------------------------------------------------------------- */

__global__ void __launch_bounds__(HALO_BLOCK_THREADS)
    pack_kernel(const __grid_constant__ sundog_view view, int first_chunk, int n_chunks,
                const __grid_constant__ halo_boxes boxes)
{
    const auto block = cg::this_thread_block();
    for (int i = (int)blockIdx.x; i < n_chunks; i += (int)gridDim.x) {
        const sundog_view_chunk chunk = view.forward[first_chunk + i];
        const sundog_rows src = {view.src + chunk.first, 0}, dst = {view.place + chunk.first, 0};
        const int64_t row = view.send[chunk.message].first;
        for (int f = 0; f < view.n_fields; f++) {
            const sundog_view_field &field = view.field[f];
            char *box = boxes.field[f] + row * field.row_bytes;
            sundog_copy_rows(block, field, {field.rows, field.stride, src},
                             {box, field.row_bytes, dst}, chunk.n, view.shift + chunk.shift,
                             chunk.n_shifts);
        }
    }
}

__global__ void __launch_bounds__(HALO_BLOCK_THREADS)
    ghosts_kernel(const __grid_constant__ sundog_view view, int first, int n,
                  const __grid_constant__ halo_boxes boxes, int unpack)
{
    const auto block = cg::this_thread_block();
    for (int begin = (int)blockIdx.x * HALO_BLOCK_THREADS; begin < n;
         begin += (int)gridDim.x * HALO_BLOCK_THREADS) {
        const int count = min(HALO_BLOCK_THREADS, n - begin);
        const sundog_rows ghosts = {view.ghost + first + begin, 0}, box = {NULL, first + begin};
        for (int f = 0; f < view.n_fields; f++) {
            const sundog_view_field &field = view.field[f];
            const sundog_place in_rows = {field.rows, field.stride, ghosts};
            const sundog_place in_box = {boxes.field[f], field.row_bytes, box};
            if (unpack) sundog_copy_rows(block, field, in_box, in_rows, count, NULL, 0);
            else sundog_copy_rows(block, field, in_rows, in_box, count, NULL, 0);
        }
    }
}

__global__ void signal_kernel(uint64_t *word, uint64_t epoch)
{
    sundog_fence_system();
    sundog_release_system(word, epoch);
}

__global__ void wait_kernel(const __grid_constant__ sundog_view view, const uint64_t *word,
                            sundog_wait wait)
{
    sundog_wait_system(&view, word, wait);
}

/* ---- launchers ------------------------------------------------------------------------------- */

static int launch_forward(const sundog_view *view, const halo_launch *launch,
                        halo_transport transport, int n_blocks, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    switch (transport) {
    case HALO_STORE:
        forward_kernel<HALO_STORE><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    case HALO_BULK:
        forward_kernel<HALO_BULK><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    case HALO_FLIT:
        forward_kernel<HALO_FLIT><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    }
    return (int)cudaGetLastError();
}

static int launch_reverse(const sundog_view *view, const halo_launch *launch,
                        halo_transport transport, int n_blocks, void *stream)
{
    cudaStream_t s = (cudaStream_t)stream;
    switch (transport) {
    case HALO_STORE:
        reverse_kernel<HALO_STORE><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    case HALO_BULK:
        reverse_kernel<HALO_BULK><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    case HALO_FLIT:
        reverse_kernel<HALO_FLIT><<<n_blocks, HALO_BLOCK_THREADS, 0, s>>>(*view, *launch);
        break;
    }
    return (int)cudaGetLastError();
}

static int launch_pack(const sundog_view *view, int first_chunk, int n_chunks,
                     const halo_boxes *boxes, int n_blocks, void *stream)
{
    pack_kernel<<<n_blocks, HALO_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*view, first_chunk,
                                                                          n_chunks, *boxes);
    return (int)cudaGetLastError();
}

static int launch_ghosts(const sundog_view *view, int first, int n, const halo_boxes *boxes,
                       int unpack, int n_blocks, void *stream)
{
    ghosts_kernel<<<n_blocks, HALO_BLOCK_THREADS, 0, (cudaStream_t)stream>>>(*view, first, n,
                                                                            *boxes, unpack);
    return (int)cudaGetLastError();
}

static int launch_signal(uint64_t *word, uint64_t epoch, void *stream)
{
    signal_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(word, epoch);
    return (int)cudaGetLastError();
}

static int launch_wait(const sundog_view *view, const uint64_t *word, int kind, int peer,
                     int message, uint64_t epoch, void *stream)
{
    const sundog_wait wait = {kind, peer, message, epoch};
    wait_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(*view, word, wait);
    return (int)cudaGetLastError();
}

static cudaError_t load(const void *kernel, int *least)
{
    cudaFuncAttributes attributes;
    int n_blocks = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_blocks, kernel,
                                                              HALO_BLOCK_THREADS, 0);
    if (n_blocks < *least) *least = n_blocks;
    return error;
}

static int load_kernels(halo_transport transport, int *blocks_per_multiprocessor)
{
    const void *kernels[] = {
        transport == HALO_STORE   ? (const void *)forward_kernel<HALO_STORE>
        : transport == HALO_BULK ? (const void *)forward_kernel<HALO_BULK>
                                 : (const void *)forward_kernel<HALO_FLIT>,
        transport == HALO_STORE   ? (const void *)reverse_kernel<HALO_STORE>
        : transport == HALO_BULK ? (const void *)reverse_kernel<HALO_BULK>
                                 : (const void *)reverse_kernel<HALO_FLIT>,
        (const void *)forward_kernel<HALO_STORE>, (const void *)reverse_kernel<HALO_STORE>,
        (const void *)pack_kernel, (const void *)ghosts_kernel,
        (const void *)signal_kernel, (const void *)wait_kernel};
    *blocks_per_multiprocessor = 1 << 20;
    for (const void *kernel : kernels) {
        cudaError_t error = load(kernel, blocks_per_multiprocessor);
        if (error != cudaSuccess) return (int)error;
    }
    return (int)cudaSuccess;
}

#define HALO_KERNELS_HERE                                                                       \
    {                                                                                           \
        launch_forward, launch_reverse, launch_pack, launch_ghosts, launch_signal, launch_wait, \
            load_kernels                                                                        \
    }
#endif
