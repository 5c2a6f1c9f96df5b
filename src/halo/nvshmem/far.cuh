/* Far peers by NVSHMEM, for sundog/device.cuh: the only relocatable device code of the project.
 *
 * A put may come in any pieces and any order; its signal is set when all of them are there. Words
 * of far peers are set by puts and signals alone, those of near ones by stores. */
#ifndef HALO_NVSHMEM_FAR_CUH
#define HALO_NVSHMEM_FAR_CUH
#include <nvshmem.h>
#include <nvshmemx.h>

enum { SUNDOG_FAR = 1 };

SUNDOG_DEVICE void sundog_far_signal(uint64_t *word, uint64_t epoch, int32_t peer)
{
    nvshmemx_signal_op(word, epoch, NVSHMEM_SIGNAL_SET, peer);
}

/* The word has its value, or the wait gave up. NVSHMEM's own wait, which then ends at once, also
 * does what some network cards need before data may be read behind a signal. */
SUNDOG_DEVICE void sundog_far_settle(uint64_t *word, uint64_t epoch)
{
    if ((int64_t)(sundog_acquire_system(word) - epoch) >= 0)
        nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, epoch);
}

SUNDOG_DEVICE void sundog_far_put(const cooperative_groups::thread_block &block,
                                  const sundog_view_put &put, uint64_t epoch)
{
    const int64_t parity = (int64_t)(epoch & 1);
    if (put.n_bytes > 0)
        nvshmemx_putmem_signal_nbi_block(put.to + parity * put.to_parity,
                                         put.from + parity * put.from_parity,
                                         (size_t)put.n_bytes, put.word, epoch, NVSHMEM_SIGNAL_SET,
                                         (int)put.pe);
    else if (block.thread_rank() == 0)
        nvshmemx_signal_op(put.word, epoch, NVSHMEM_SIGNAL_SET, (int)put.pe);
}

SUNDOG_DEVICE void sundog_far_put(const cooperative_groups::thread_block_tile<32> &warp,
                                  const sundog_view_put &put, uint64_t epoch)
{
    const int64_t parity = (int64_t)(epoch & 1);
    if (put.n_bytes > 0)
        nvshmemx_putmem_signal_nbi_warp(put.to + parity * put.to_parity,
                                        put.from + parity * put.from_parity, (size_t)put.n_bytes,
                                        put.word, epoch, NVSHMEM_SIGNAL_SET, (int)put.pe);
    else if (warp.thread_rank() == 0)
        nvshmemx_signal_op(put.word, epoch, NVSHMEM_SIGNAL_SET, (int)put.pe);
}
#endif
