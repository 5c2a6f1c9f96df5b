/* Far peers, which no store reaches; see sundog/device.cuh. Rows are packed into an outbox of this
 * rank; the group that packs the last chunk of a message puts it, behind a fence. The word is set
 * by the put, so the receiver waits as ever. That the outbox may be packed again follows from the
 * credit: it says that the peer has read what came.
 *
 * Only fabric nvshmem has far peers: it names the header that does the puts in SUNDOG_FAR_HEADER.
 * Elsewhere these branches are compiled away, and with them those for ghosts that come into an
 * inbox.
 */
#ifndef SUNDOG_DEVICE_FAR_CUH
#define SUNDOG_DEVICE_FAR_CUH
#include "sundog/device_order.cuh"

#include <cooperative_groups.h>

#ifdef SUNDOG_FAR_HEADER
#include SUNDOG_FAR_HEADER
#else
enum { SUNDOG_FAR = 0 };
/* One thread: set a word of a far peer. */
SUNDOG_DEVICE void sundog_far_signal(uint64_t *, uint64_t, int32_t) {}
/* One thread: what came with the word may be read. */
SUNDOG_DEVICE void sundog_far_settle(uint64_t *, uint64_t) {}
/* A whole group: put, and set the word behind it. */
template <class Group>
SUNDOG_DEVICE void sundog_far_put(const Group &, const sundog_view_put &, uint64_t) {}
#endif

/* One thread: set a word of a peer, near or far. Rows that it speaks for are behind a fence. */
SUNDOG_DEVICE void sundog_tell(uint64_t *word, uint64_t epoch, int32_t peer, int32_t n_puts)
{
    if (SUNDOG_FAR && n_puts > 0) sundog_far_signal(word, epoch, peer);
    else sundog_set_system(word, epoch);
}

SUNDOG_DEVICE bool sundog_any(const cooperative_groups::thread_block &, bool mine)
{
    return __syncthreads_or(mine) != 0;
}
SUNDOG_DEVICE bool sundog_any(const cooperative_groups::thread_block_tile<32> &warp, bool mine)
{
    return warp.any(mine) != 0;
}

/* A group has packed n more chunks of a message: whoever packs the last one puts it. */
template <class Group>
SUNDOG_DEVICE void sundog_far_done(const sundog_view *view, const Group &group, uint32_t *counter,
                                   int n, int n_chunks, int first_put, int n_puts, uint64_t epoch)
{
    bool last = false;
    group.sync();
    if (group.thread_rank() == 0) {
        last = sundog_arrive_many_gpu(counter, (uint32_t)n) + (uint32_t)n == (uint32_t)n_chunks;
        if (last) *counter = 0;
        if (last) sundog_fence_system();
    }
    if (!sundog_any(group, last)) return;
    for (int p = first_put; p < first_put + n_puts; p++)
        sundog_far_put(group, view->put[p], epoch);
}
#endif
