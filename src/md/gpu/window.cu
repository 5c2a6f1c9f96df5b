/* The kernel of window.h and its launch. */
#include "md/force/unit_pairs.cuh"
#include "md/gpu/window_view.cuh"

enum { FEWER_THREADS = 640, BONDED_THREADS = 128, BONDED_FORCES = MD_MAX_KIND_ATOMS * BONDED_BLOCK };
enum { A_ROW, A_FORCE, A_SLOT };        /* gpu_window_fault.what */

/* ---- waits ----------------------------------------------------------------------------------- */

/* After so many looks (a second or two) something is wrong; whether somebody else has given up is
 * asked now and then. */
enum { LOOKS = 1 << 22, ASK = 256 };

static __device__ __noinline__ bool gives_up(gpu_window_fault *fault, int look, int what, int row,
                                             unsigned epoch)
{
    if (*(volatile unsigned *)&fault->n > 0) return true;
    if (look < LOOKS) return false;
    if (atomicAdd(&fault->n, 1u) == 0) {
        fault->block = blockIdx.x;
        fault->row = row;
        fault->epoch = (int)epoch;
        fault->what = what;
    }
    return true;
}

static __device__ __forceinline__ sundog_flit wait_for(const sundog_flit *from, unsigned epoch,
                                                       gpu_window_fault *fault, int what, int row)
{
    sundog_flit flit = sundog_flit_load(from);
    for (int look = 1; flit.epoch != epoch; look++) {
        if (look % ASK == 0 && gives_up(fault, look, what, row, epoch)) break;
        flit = sundog_flit_load(from);
    }
    return flit;
}

static __device__ __forceinline__ float3 force_of(const sundog_flit &flit)
{
    return make_float3(__uint_as_float(flit.payload[0]), __uint_as_float(flit.payload[1]),
                       __uint_as_float(flit.payload[2]));
}

static __device__ __forceinline__ sundog_flit flit_of(float3 f, unsigned epoch)
{
    sundog_flit flit;
    flit.payload[0] = __float_as_uint(f.x);
    flit.payload[1] = __float_as_uint(f.y);
    flit.payload[2] = __float_as_uint(f.z);
    flit.epoch = epoch;
    return flit;
}

/* Rows of an epoch of this window, as they come: all that are missing are asked for together. */
typedef struct rows_of_epoch {
    const sundog_flit *row;
    const md_device_row *at_rest;       /* their charges */
    unsigned epoch;
    gpu_window_fault *fault;

    __device__ __forceinline__ void begin(void) const {}

    template <int MOST, class INDEX>
    __device__ __forceinline__ void take(const INDEX *at, int n, int4 *to) const
    {
#pragma unroll
        for (int k = 0; k < MOST; k++)
            if (k < n) look(at[k], &to[k]);
        for (int looks = 1;; looks++) {
            bool missing = false;
#pragma unroll
            for (int k = 0; k < MOST; k++)
                if (k < n && (unsigned)to[k].w != epoch) {
                    look(at[k], &to[k]);
                    missing = true;
                }
            if (!missing) return;
            if (looks % ASK == 0 && gives_up(fault, looks, A_ROW, (int)at[0], epoch)) return;
        }
    }

    template <int AHEAD>
    __device__ __forceinline__ void load(const uint32_t *at, int n, int4 *to) const
    {
        take<AHEAD>(at, n, to);
    }

    /* for bonded forces, with charges */
    __device__ __forceinline__ void load(const int *at, int n, int3 *s, float *charge) const
    {
        int4 to[MD_MAX_KIND_ATOMS];
#pragma unroll
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++)
            if (a < n) charge[a] = __ldg(&at_rest[at[a]].charge);
        take<MD_MAX_KIND_ATOMS>(at, n, to);
#pragma unroll
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++)
            if (a < n) s[a] = make_int3(to[a].x, to[a].y, to[a].z);
    }

private:
    __device__ __forceinline__ void look(int at, int4 *to) const
    {
        const sundog_flit flit = sundog_flit_load(row + at);
        *to = make_int4((int)flit.payload[0], (int)flit.payload[1], (int)flit.payload[2],
                        (int)flit.epoch);
    }
} rows_of_epoch;

/* Rows at rest may be written: every block has read them. One thread; a barrier follows before
 * any row is sent. */
static __device__ __forceinline__ void wait_for_readers(const window_view &w, unsigned epoch)
{
    for (int look = 1; *(volatile unsigned *)&w.clock->read < gridDim.x; look++)
        if (look % ASK == 0 && gives_up(w.plan.fault, look, A_ROW, -1, epoch)) return;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Shared memory of a block: slots while pairs are computed, and what follows in their place. */
typedef struct window_shared {
    char *slots, *lj;
    float (*bonded)[BONDED_FORCES];
    float *part, *force;                /* of lanes; of the block's units, 9 a unit */
    block_rows<MD_UNIT_THREADS> *rows;
} window_shared;

static __host__ __device__ __forceinline__ size_t round_up(size_t n)
{
    return (n + 15) / 16 * 16;
}

/* With base NULL: returns the bytes. */
static __host__ __device__ __forceinline__ size_t shared_layout(const md_unit_view &v,
                                                                bool has_bonded, char *base,
                                                                window_shared *to)
{
    const size_t slots = (size_t)v.slot_capacity * sizeof(float4);
    const size_t parts =
        round_up((size_t)unit_part_stride(v) * 3 * MD_UNIT * sizeof(float));
    const size_t forces = round_up(WINDOW_PLACES * 3 * sizeof(float));
    const size_t before = round_up(slots + (size_t)v.slot_capacity * sizeof(float2));
    const size_t behind = parts + forces + round_up(sizeof(block_rows<MD_UNIT_THREADS>));
    const size_t most = before > behind ? before : behind;
    const size_t bonded = has_bonded ? 3 * BONDED_FORCES * sizeof(float) : 0;
    if (base) {
        to->slots = base;
        to->lj = base + slots;
        to->part = (float *)base;
        to->force = (float *)(base + parts);
        to->rows = (block_rows<MD_UNIT_THREADS> *)(base + parts + forces);
        to->bonded = (float(*)[BONDED_FORCES])(base + most);
    }
    return most + bonded;
}

/* Among the threads that compute bonded forces. */
static __device__ __forceinline__ void bonded_barrier(void)
{
    static_assert(BONDED_THREADS == 128, "how many threads meet");
    asm volatile("bar.sync 1, 128;" : : : "memory");
}

/* The block's share of bonded forces, by threads beside those of pair forces: t of them. No part of
 * its caller, as constraints are none: they would take registers from pair forces. */
template <class ROWS>
static __device__ __noinline__ void bonded_step(const bonded_view &bonded, const ROWS &rows,
                                                   const md_device_box *d_box, unsigned epoch,
                                                   float (*force)[BONDED_FORCES], int t)
{
    for (int c = blockIdx.x; c < bonded.n_blocks; c += gridDim.x) {
        const int last = bonded.first_sum[c + 1];
        for (int lane = t; lane < BONDED_BLOCK; lane += BONDED_THREADS) {
            const md_kind kind = (md_kind)bonded.kind[c * BONDED_WARPS + lane / 32];
            const int param = bonded.param[(size_t)c * BONDED_BLOCK + lane];
            bonded_term term = {};
            if (param >= 0) lane_compute(bonded, rows, d_box, c, lane, kind, param, force, &term);
        }
        bonded_barrier();
        for (int i = bonded.first_sum[c] + t; i < last; i += BONDED_THREADS) {
            const bonded_row_sum sum = bonded.sum[i];
            sundog_flit_store((sundog_flit *)bonded.slot[sum.slot],
                              flit_of(row_sum(force, sum), epoch));
        }
        bonded_barrier();
    }
}

/* All that pulls at a row. */
static __device__ __forceinline__ float3 force_on(const window_view &w, const window_row &mine,
                                                  const sundog_flit *slot, unsigned epoch,
                                                  const float *force)
{
    float3 f;
    if (mine.force >= 0)
        f = make_float3(force[mine.force], force[mine.force + 1], force[mine.force + 2]);
    else
        f = force_of(
            wait_for(&w.force[mine.row], epoch, w.plan.fault, A_FORCE, mine.row));
    for (int k = mine.first_slot; k < mine.end_slot; k++) {
        const float3 s = force_of(wait_for(&slot[k], epoch, w.plan.fault, A_SLOT, mine.row));
        f = make_float3(f.x + s.x, f.y + s.y, f.z + s.z);
    }
    return f;
}

/* Where rows of a step go: to those who wait for them, or, after the last one, to rest. */
typedef struct rows_to {
    sundog_flit *row;                   /* NULL: to rest */
    unsigned epoch;
} rows_to;

static __device__ __forceinline__ void send(const move_view &m, const rows_to &to, unsigned frozen,
                                            moving a)
{
    const int3 s = come_to_rest(m, frozen, &a);
    if (to.row) {
        sundog_flit flit;
        flit.payload[0] = (unsigned)s.x;
        flit.payload[1] = (unsigned)s.y;
        flit.payload[2] = (unsigned)s.z;
        flit.epoch = to.epoch;
        sundog_flit_store(to.row + a.row, flit);
    } else {
        int *row = m.arrays.d_row[a.row].s;
        row[0] = s.x, row[1] = s.y, row[2] = s.z;
    }
    vec3_store(m.arrays.d_x, a.row, a.x_new);
    vec3_store(m.arrays.d_v, a.row, a.v);
}

static __device__ __noinline__ void constrain(const move_view &m, const window_job &job,
                                              block_rows<MD_UNIT_THREADS> *rows)
{
    constrain_job<false>(m, m.segment[job.segment], job.k, job.at, rows, NULL);
}

/* The block's jobs. `begun`: of this thread's row, asked for earlier. */
static __device__ __forceinline__ void move_step(const window_view &w, const move_view &m,
                                                 const sundog_flit *slot,
                                                 const window_counts &counts,
                                                 const window_row &mine, const at_start &begun,
                                                 double lambda, unsigned epoch, const rows_to &to,
                                                 const window_shared &shared)
{
    const int t = threadIdx.x;
    const size_t first = (size_t)blockIdx.x * w.plan.row_capacity;
    const bool moves = t < counts.rows, free = t < counts.free;
    moving a;
    if (moves) {
        a = kick_by(m, mine.row, begun, lambda, force_on(w, mine, slot, epoch, shared.force));
        if (free) {
            report(m, false, !isfinite(a.x_new.x + a.x_new.y + a.x_new.z), &a.row);
            send(m, to, begun.frozen, a);
        } else {
            store(shared.rows->old, t, a.x);
            store(shared.rows->now, t, a.x_new);
            shared.rows->inv_mass[t] = a.inv_mass;
        }
    }
    __syncthreads();
    if (t < counts.jobs) {
        const int4 found = __ldg((const int4 *)&w.plan.work[first + t]);
        const window_job job = {found.x, found.y, found.z, 0};
        if (job.segment >= 0) constrain(m, job, shared.rows);
    }
    __syncthreads();
    if (!moves || free) return;
    const double3 moved = load(shared.rows->now, t);
    a.x_new = vec3_add(a.x_new, moved);
    a.v = vec3_axpy(a.v, m.inv_dt, moved);
    send(m, to, begun.frozen, a);
}

/* Steps of a window.
 *   grid     a block of units each, all on the device at once
 *   thread   a lane of the lists or bonded interactions | a row, a job of the move
 *   reads    rows at rest, lists, x, v       writes   x, v, rows, forces of the last step
 *   waits    rows, forces and slots of an epoch, by others of the grid
 *   signals  by the epoch of what it writes */
template <int MOST, int LJ, int MODIFIER, bool VANISHES>
static __global__ void __launch_bounds__(MOST, 1)
    window_steps(const __grid_constant__ window_view w,
                 const __grid_constant__ unit_parameters<float> p,
                 const __grid_constant__ bonded_view bonded, const __grid_constant__ move_view m)
{
    extern __shared__ float4 memory[];
    const md_unit_view &v = w.lists;
    const int b = blockIdx.x, t = threadIdx.x, T = blockDim.x;
    const int n_components =
        (v.block_start[b + 1] - v.block_start[b]) * MD_UNIT * 3;
    const unsigned epoch_at_rest = *(volatile unsigned *)&w.clock->epoch;
    const int4 counted = *(const int4 *)&w.plan.counts[b];
    const window_counts counts = {counted.x, counted.y, counted.z, counted.w};
    const sundog_flit *slot = (const sundog_flit *)bonded.slot;
    const bool has_lane = t < v.threads;        /* the others compute bonded forces */
    window_shared shared;
    shared_layout(v, bonded.n_blocks > 0, (char *)memory, &shared);
    if (w.plan.fault->too_many || *w.overflow) return;  /* so do all; the piece is worth nothing */

    for (int s = 0; s < w.n_steps; s++) {
        const unsigned epoch = epoch_at_rest + (unsigned)s + 1;     /* of what this step makes */
        const bool last = s + 1 == w.n_steps;
        const int n_slots = __ldg(v.n_slots + b) & (MD_UNIT_BORDER_BLOCK - 1);
        lane_part part = {};
        if (has_lane) part = lane_part_of(v);
        const rows_of_epoch rows = {w.epoch_rows + (size_t)(s - 1) * w.n_rows, w.at_rest,
                                    epoch - 1, w.plan.fault};
        if (s == 0) {
            const rows_at_rest at_rest = {(const int4 *)w.at_rest};
            copy_slots<LJ>(v, p, n_slots, at_rest, (float4 *)shared.slots, (float2 *)shared.lj);
        } else copy_slots<LJ>(v, p, n_slots, rows, (float4 *)shared.slots, (float2 *)shared.lj);
        __syncthreads();
        lane_atoms i;
        if (has_lane) {
            lane_forces<LJ, MODIFIER, VANISHES>(v, p, part, shared.slots, shared.lj, i);
        } else if (s == 0) {
            const bonded_rows_at_rest at_rest = {w.at_rest};
            bonded_step(bonded, at_rest, m.arrays.d_box, epoch, shared.bonded, t - v.threads);
        } else {
            bonded_step(bonded, rows, m.arrays.d_box, epoch, shared.bonded, t - v.threads);
        }
        __syncthreads();
        if (s == 0 && t == 0) sundog_arrive_relaxed(&w.clock->read);
        if (has_lane) put_parts(v, i, shared.part);
        window_row mine = {};
        at_start begun = {};
        double lambda = 1;
        if (t < counts.rows) {          /* here when forces are */
            const int4 found =
                __ldg((const int4 *)&w.plan.row[(size_t)b * w.plan.row_capacity + t]);
            mine = {found.x, found.y, found.z, found.w};
            begun = start_of(m, mine.row);
            lambda = s == 0 ? lambda_of(m, mine.row) : 1;
        }
        __syncthreads();
        for (int k = t; k < n_components; k += T) {
            const uint32_t lanes =
                __ldg(v.lanes + (size_t)b * MD_UNIT_MOST + k / (3 * MD_UNIT));
            shared.force[k] = sum_parts(v, shared.part, k % (3 * MD_UNIT), lanes);
        }
        if (last && t == 0) wait_for_readers(w, epoch);
        __syncthreads();
        for (int k = t; k < counts.exports; k += T) {
            const int2 out = __ldg((const int2 *)&w.plan.sent[(size_t)b * WINDOW_PLACES + k]);
            const float *f = shared.force + out.y;
            sundog_flit_store(&w.force[out.x], flit_of(make_float3(f[0], f[1], f[2]), epoch));
        }
        if (last)
            for (int k = t; k < n_components; k += T) {
                const int row = __ldg(&v.unit[v.block_start[b] + k / (3 * MD_UNIT)]
                                             [k % (3 * MD_UNIT) / 3]);
                if (row >= 0) w.last_force[row][k % 3] = shared.force[k];
            }
        const rows_to to = {last ? NULL : w.epoch_rows + (size_t)s * w.n_rows, epoch};
        move_step(w, m, slot, counts, mine, begun, lambda, epoch, to, shared);
        __syncthreads();                /* slots come where rows were */
    }
    if (t > 0) return;
    if (sundog_arrive_relaxed(&w.clock->arrived) + 1 < gridDim.x) return;
    w.clock->arrived = w.clock->read = 0;       /* all have read the epoch */
    w.clock->epoch = epoch_at_rest + (unsigned)w.n_steps;
}

/* ---- choice ---------------------------------------------------------------------------------- */

typedef void (*window_kernel)(const window_view, const unit_parameters<float>, const bonded_view,
                              const move_view);

template <int MOST, int LJ, int MODIFIER> static window_kernel kernel_with(bool vanishes)
{
    if (MODIFIER == UNIT_PLAIN && vanishes)
        return window_steps<MOST, LJ, MODIFIER, MODIFIER == UNIT_PLAIN>;
    return window_steps<MOST, LJ, MODIFIER, false>;
}

template <int MOST, int LJ> static window_kernel kernel_of(const md_unit_force *force)
{
    switch (force->modifier) {
    case UNIT_FORCE_SWITCH: return kernel_with<MOST, LJ, UNIT_FORCE_SWITCH>(force->vanishes);
    case UNIT_POTENTIAL_SWITCH:
        return kernel_with<MOST, LJ, UNIT_POTENTIAL_SWITCH>(force->vanishes);
    default: return kernel_with<MOST, LJ, UNIT_PLAIN>(force->vanishes);
    }
}

template <int MOST> static window_kernel kernel_for(const md_unit_force *force)
{
    return force->lj == UNIT_LJ_PRODUCT ? kernel_of<MOST, UNIT_LJ_PRODUCT>(force)
                                        : kernel_of<MOST, UNIT_LJ_TABLE>(force);
}

static int threads_of(const md_unit_view *view, bool has_bonded)
{
    return view->threads + (has_bonded ? BONDED_THREADS : 0);
}

static window_kernel choose_kernel(const md_unit_force *force, int threads)
{
    return threads <= FEWER_THREADS ? kernel_for<FEWER_THREADS>(force)
                                    : kernel_for<MD_UNIT_THREADS>(force);
}

cudaError_t window_allow(const md_unit_force *force, const md_unit_view *view, bool has_bonded,
                         int *most_blocks)
{
    const int threads = threads_of(view, has_bonded);
    const window_kernel kernel = choose_kernel(force, threads);
    const size_t bytes = shared_layout(*view, has_bonded, NULL, NULL);
    int device, n_processors, most_bytes, a_processor = 0;
    cudaFuncAttributes attributes;
    *most_blocks = 0;                   /* also where there would be too many threads */
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&n_processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                       device);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, (const void *)kernel);
    if (error != cudaSuccess || threads > MD_UNIT_THREADS || bytes + attributes.sharedSizeBytes > (size_t)most_bytes)
        return error;
    error = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 most_bytes - (int)attributes.sharedSizeBytes);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_processor, (const void *)kernel,
                                                              threads, bytes);
    *most_blocks = a_processor * n_processors;
    return error;
}

cudaError_t window_start(const md_unit_force *force, const window_view *w,
                         const bonded_view *bonded, const move_view *m, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)w->lists.n_blocks);
    const int threads = threads_of(&w->lists, bonded->n_blocks > 0);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared_layout(w->lists, bonded->n_blocks > 0, NULL, NULL);
    config.stream = stream;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, choose_kernel(force, threads), *w, force->p,
                              *bonded, *m);
}
