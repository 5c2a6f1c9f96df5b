/* The pair kernel of the device: three atoms a lane, all partners of theirs one by one.
 *
 *      f_i = sum over j  [ qi qj (1/r^3 - 2 krf) + 12 c12 / r^14 - 6 c6 / r^8 ] (xi - xj)
 *
 *      copy    all slots of the block into shared memory, relative to its centre
 *      tail    the unit's own rows and excluded ones, with masks
 *      C       charge-only partners: one constant charge, taken out of the sum
 *      A       all other partners; Lennard-Jones only for the unit's atoms that have it
 *      sum     over the lanes of each unit, through shared memory; one store a component
 *
 * A pair is computed from both sides: that costs less than sending the force to the other atom,
 * whatever way was tried (docs/pair-lists-on-gpus.md), and leaves nothing to zero, to add up or to
 * race. In C and A no entry is tested for what it is: padding points to a slot out of reach.
 * With infinite epsilon-rf Coulomb's force is 0 at the cut-off, so the distance is clamped there,
 * which is one instruction; else the force is selected by a comparison.
 *
 * Squared distances and forces are float. rsqrt.approx is as accurate as what follows needs.
 */
#include "md/force/unit_pairs.cuh"

/* Forces of the block's units from the parts of their lanes, in the order of lanes. */
static __device__ __forceinline__ void sum_lanes(const md_unit_view &v, const lane_atoms &i,
                                                 float *part, float (*f)[4])
{
    const int b = blockIdx.x, t = threadIdx.x, T = blockDim.x;
    const int first = v.block_start[b], n = (v.block_start[b + 1] - first) * 3 * MD_UNIT;
    __syncthreads();
    put_parts(i, part);
    __syncthreads();
    for (int k = t; k < n; k += T) {
        const int u = k / (3 * MD_UNIT), component = k % (3 * MD_UNIT);
        const uint32_t lanes = __ldg(v.lanes + (size_t)b * MD_UNIT_MOST + u);
        const int row = __ldg(&v.unit[first + u][component / 3]);
        const float sum = sum_parts(part, component, lanes);
        if (row >= 0) f[row][component % 3] = sum;
    }
}

/* sums[block][MD_N_SUMS]; a pair was seen from both of its ends. */
static __device__ void sum_block(const lane_sums &sum, double *sums)
{
    __shared__ double part[MD_UNIT_THREADS / 32][MD_N_SUMS];
    const double mine[MD_N_SUMS] = {.5 * sum.lj,          .5 * sum.coulomb,
                                    -.25 * sum.virial[0], -.25 * sum.virial[1],
                                    -.25 * sum.virial[2], -.25 * sum.virial[3],
                                    -.25 * sum.virial[4], -.25 * sum.virial[5]};
    const int t = threadIdx.x;
#pragma unroll
    for (int k = 0; k < MD_N_SUMS; k++) {
        double x = mine[k];
        for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
        if ((t & 31) == 0) part[t >> 5][k] = x;
    }
    __syncthreads();
    if (t >= MD_N_SUMS) return;
    double x = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) x += part[w][t];
    sums[(size_t)blockIdx.x * MD_N_SUMS + t] = x;
}

/* Pair forces of the units of a block.
 *   grid     a block of units each          thread   a lane of the lists: three atoms
 *   reads    row, lists                     writes   f of the units' rows; block_sums (ENERGY)
 * Blocks of the other part end at once.
 */
template <int LJ, int MODIFIER, bool VANISHES, bool ENERGY>
static __global__ void __launch_bounds__(MD_UNIT_THREADS, 1)
    unit_force(const __grid_constant__ md_unit_view v,
               const __grid_constant__ unit_parameters<float> p, md_unit_part part,
               const int4 *__restrict__ row, float (*__restrict__ f)[4],
               double *__restrict__ block_sums)
{
    extern __shared__ float4 shared[];
    char *slots = (char *)shared, *lj = slots + (size_t)v.slot_capacity * sizeof(float4);
    const int n_slots = __ldg(v.n_slots + blockIdx.x);
    const lane_part mine = lane_part_of(v);
    if (part != MD_UNIT_ALL && (part == MD_UNIT_BORDER) != (n_slots >= MD_UNIT_BORDER_BLOCK)) {
        wait_for_previous();            /* who waits for this kernel waits for that one, too */
        return;
    }
    const rows_at_rest rows = {row};
    copy_slots<LJ>(v, p, n_slots & (MD_UNIT_BORDER_BLOCK - 1), rows, shared, (float2 *)lj);
    __syncthreads();
    lane_atoms i;
    if (ENERGY) {
        lane_sums sum = {0, 0, {0, 0, 0, 0, 0, 0}};
        lane_energies<LJ, MODIFIER>(v, p, mine, slots, lj, i, sum);
        sum_block(sum, block_sums);
    } else lane_forces<LJ, MODIFIER, VANISHES>(v, p, mine, slots, lj, i);
    sum_lanes(v, i, (float *)shared, f);
}

/*  grid  one block     reads  block_sums [n][MD_N_SUMS]     writes  sums, in a fixed order */
static __global__ void add_blocks(const double *block_sums, int n, double *sums)
{
    const int k = threadIdx.x >> 5, lane = threadIdx.x & 31;
    double x = 0;
    for (int b = lane; b < n; b += 32) x += block_sums[(size_t)b * MD_N_SUMS + k];
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    if (lane == 0) sums[k] = x;
}

void unit_add_blocks(const double *block_sums, int n, double *sums, cudaStream_t stream)
{
    add_blocks<<<1, 32 * MD_N_SUMS, 0, stream>>>(block_sums, n, sums);
}

typedef void (*unit_kernel)(const md_unit_view, const unit_parameters<float>, md_unit_part,
                            const int4 *, float (*)[4], double *);

template <int LJ, int MODIFIER> static unit_kernel kernel_with(bool vanishes, bool energy)
{
    if (energy) return unit_force<LJ, MODIFIER, false, true>;
    if (MODIFIER == UNIT_PLAIN && vanishes)
        return unit_force<LJ, MODIFIER, MODIFIER == UNIT_PLAIN, false>;
    return unit_force<LJ, MODIFIER, false, false>;
}

template <int LJ> static unit_kernel kernel_of(unit_switch modifier, bool vanishes, bool energy)
{
    switch (modifier) {
    case UNIT_FORCE_SWITCH: return kernel_with<LJ, UNIT_FORCE_SWITCH>(vanishes, energy);
    case UNIT_POTENTIAL_SWITCH: return kernel_with<LJ, UNIT_POTENTIAL_SWITCH>(vanishes, energy);
    default: return kernel_with<LJ, UNIT_PLAIN>(vanishes, energy);
    }
}

static unit_kernel choose_kernel(const md_unit_force *force, bool energy)
{
    if (force->lj == UNIT_LJ_PRODUCT)
        return kernel_of<UNIT_LJ_PRODUCT>(force->modifier, force->vanishes, energy);
    return kernel_of<UNIT_LJ_TABLE>(force->modifier, force->vanishes, energy);
}

static int shared_bytes_of(const md_unit_view *view)
{
    int slots = view->slot_capacity * (int)(sizeof(float4) + sizeof(float2));
    int parts = 3 * MD_UNIT * (view->threads + 1) * (int)sizeof(float);
    return slots > parts ? slots : parts;
}

/* All there is, once: what is allowed holds for all domains on this device. */
cudaError_t unit_force_allow(const md_unit_force *force, int shared_bytes)
{
    for (int energy = 0; energy < 2; energy++) {
        const void *kernel = (const void *)choose_kernel(force, energy);
        cudaFuncAttributes a;
        cudaError_t error = cudaFuncGetAttributes(&a, kernel);
        if (error == cudaSuccess)
            error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         shared_bytes - (int)a.sharedSizeBytes);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

cudaError_t unit_force_start(const md_unit_force *force, const md_unit_view *view, const int4 *row,
                             float (*f)[4], bool energy, const md_unit_how *how)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)view->n_blocks);
    config.blockDim = dim3((unsigned)view->threads);
    config.dynamicSmemBytes = (size_t)shared_bytes_of(view);
    config.stream = (cudaStream_t)how->stream;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = how->early && force->starts_early ? 1 : 0;
    return cudaLaunchKernelEx(&config, choose_kernel(force, energy), *view, force->p, how->part,
                              row, f, force->d_block_sums);
}
