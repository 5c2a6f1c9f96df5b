/* Which block of the lists does which jobs of the move: those whose first row is in its units.
 *
 *      place_rows    row -> block and place in it
 *      list_work     block -> its jobs, by segment, and in the order of places; their rows; rows of
 *                    its units that belong to another block's jobs
 *
 * Places come from scans, none from an atomic: equal blocks give equal plans. */
#include "md/gpu/window_view.cuh"

/*   grid  a block of units each, thread  a row of them     writes  place */
static __global__ void place_rows(const __grid_constant__ window_view w)
{
    const int b = blockIdx.x, t = threadIdx.x, first = w.lists.block_start[b];
    if (t >= (w.lists.block_start[b + 1] - first) * MD_UNIT) return;
    const int row = w.lists.unit[first + t / MD_UNIT][t % MD_UNIT];
    if (row >= 0) w.plan.place[row] = b * WINDOW_PLACES + t;
}

/* How many of the threads before this one say yes; *total of all. Two barriers inside. */
static __device__ int count_before(bool yes, int *total)
{
    __shared__ int warp_sum[WINDOW_PLACES / 32];
    const unsigned mask = __ballot_sync(~0u, yes);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) warp_sum[warp] = __popc(mask);
    __syncthreads();
    int before = __popc(mask & ((1u << lane) - 1)), all = 0;
    for (int k = 0; k < WINDOW_PLACES / 32; k++) {
        if (k < warp) before += warp_sum[k];
        all += warp_sum[k];
    }
    *total = all;
    return before;
}

/*   grid  a block of units each, thread  a row of them     reads  place     writes  the plan */
static __global__ void __launch_bounds__(WINDOW_PLACES)
    list_work(const __grid_constant__ window_view w, const __grid_constant__ move_view m,
              const md_force_slots slots)
{
    const window_plan &p = w.plan;
    const int b = blockIdx.x, t = threadIdx.x, first = w.lists.block_start[b];
    const bool is = t < (w.lists.block_start[b + 1] - first) * MD_UNIT;
    const int row = is ? w.lists.unit[first + t / MD_UNIT][t % MD_UNIT] : -1;
    const int first_row = row >= 0 ? p.job_row[row] : -1;
    const int2 job = row >= 0 && first_row == row ? p.job[row] : make_int2(-1, -1);
    window_row *rows = p.row + (size_t)b * p.row_capacity;
    window_job *work = p.work + (size_t)b * p.row_capacity;
    window_counts counts = {0, 0, 0, 0};
    int total;
    for (int k = t; k < p.row_capacity; k += WINDOW_PLACES) work[k] = {-1, 0, 0, 0};
    for (int s = 0; s < m.n_segments; s++) {
        const move_segment &segment = m.segment[s];
        const int k = count_before(job.x == s, &total);
        const int at = counts.rows + k * segment.n_rows, to_do = counts.jobs + k;
        const bool fits = at + segment.n_rows <= p.row_capacity && to_do < p.row_capacity;
        if (job.x == s && fits) {
            if (segment.kind != MD_JOB_FREE) work[to_do] = {s, job.y, at, 0};
            for (int a = 0; a < segment.n_rows; a++) {
                const int mine = segment.row[a * segment.n + job.y], place = p.place[mine];
                window_row to = {mine, -1, 0, 0};
                if (place / WINDOW_PLACES == b) to.force = 3 * (place % WINDOW_PLACES);
                if (slots.d_start) {
                    to.first_slot = slots.d_start[mine];
                    to.end_slot = slots.d_start[mine + 1];
                }
                rows[at + a] = to;
            }
        }
        counts.rows += total * segment.n_rows;
        if (segment.kind == MD_JOB_FREE) counts.free = counts.rows;
        else counts.jobs = (counts.jobs + total + 31) / 32 * 32;    /* a kind to a warp */
    }
    const bool sent = first_row >= 0 && p.place[first_row] / WINDOW_PLACES != b;
    const int k = count_before(sent, &counts.exports);
    if (sent) p.sent[(size_t)b * WINDOW_PLACES + k] = {row, 3 * t};
    if (t > 0) return;
    p.counts[b] = counts;
    if (counts.rows > p.row_capacity || counts.jobs > p.row_capacity) p.fault->too_many = 1;
}

/*   grid.y  a segment, thread  a job     writes  job_row, job */
static __global__ void find_jobs(const __grid_constant__ move_view m, int *job_row, int2 *job)
{
    const int s = blockIdx.y;
    const move_segment &segment = m.segment[s];
    for (int k = (int)(blockIdx.x * blockDim.x + threadIdx.x); k < segment.n;
         k += (int)(gridDim.x * blockDim.x)) {
        const int first = segment.row[k];
        job[first] = make_int2(s, k);
        for (int a = 0; a < segment.n_rows; a++) job_row[segment.row[a * segment.n + k]] = first;
    }
}

cudaError_t window_launch_jobs(const move_view *move, int *job_row, int2 *job,
                               cudaStream_t stream)
{
    enum { BLOCKS = 64, THREADS = 256 };
    if (move->n_segments == 0) return cudaSuccess;
    find_jobs<<<dim3(BLOCKS, move->n_segments), THREADS, 0, stream>>>(*move, job_row, job);
    return cudaGetLastError();
}

cudaError_t window_launch_plan(const window_view *view, const move_view *move,
                               const md_force_slots *slots, cudaStream_t stream)
{
    const int n = view->lists.n_blocks;
    place_rows<<<n, WINDOW_PLACES, 0, stream>>>(*view);
    list_work<<<n, WINDOW_PLACES, 0, stream>>>(*view, *move, *slots);
    return cudaGetLastError();
}
