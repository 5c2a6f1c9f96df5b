/* Sums over a block in a fixed order: the same bits in every run. */
#ifndef DEVICE_BLOCK_SUM_CUH
#define DEVICE_BLOCK_SUM_CUH

/* One value a thread of a block of BLOCK threads (whole warps); the sum is in thread 0, elsewhere
 * 0. All threads of the block call it. */
template <int BLOCK> static __device__ double block_sum(double value)
{
    __shared__ double warp_sum[BLOCK / 32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < BLOCK / 32; w++) sum += warp_sum[w];
    __syncthreads();                    /* warp_sum may be used again */
    return sum;
}
#endif
