/* Kernels and launchers of move.h.
 *
 * Why one kernel for all kinds of jobs: a step of 45,000 atoms has microseconds, a launch costs
 * half of one even in a graph. Blocks belong to one kind each, so warps do not diverge. In double,
 * since devices for computing do it at half the rate of float and the kernel waits for memory and
 * square roots, not for arithmetic; positions seen from a box's corner need the digits.
 *
 *      thread a row    kick, as if free     | old and new position to shared memory
 *      thread a job    SETTLE or LINCS      | displacements in the place of new positions
 *      thread a row    add them, land
 *
 * Rejected: a thread for a whole job from beginning to end. It loads and stores rows one after the
 * other, by code that is unrolled for each of them and fetched for a single pass: 5.4 us for any
 * number of waters, 11 us where there were stars of constraints with bonded forces.
 */
#include "device/grid_sum.cuh"
#include "device/upload.h"
extern "C" {
#include "md/motion/move.h"
#include "md/core/units.h"
}
#include "md/core/device_row.cuh"
#include "md/core/force_slots.cuh"
#include "md/motion/lincs_network.cuh"
#include "md/motion/lincs_star.cuh"
#include "md/motion/settle.cuh"

#include <climits>
#include <cmath>

enum { BLOCK = 192, N_SUMS = sizeof(md_move_sums) / sizeof(double) };

typedef struct device_segment {
    md_job_kind kind;
    int n, first_block;
    int n_rows, n_block_jobs;           /* of a job; of a block */
    const int *row;
    const double *length, *scale;
    settle_shape water;
} device_segment;

/* All that a launch reads, by value. */
typedef struct move_view {
    md_move_arrays arrays;
    int n_segments, n_job_blocks;
    device_segment segment[MD_JOB_MAX_SEGMENTS];
    network_view network;
    double dt, inv_dt, cos_warn;
    int order, iter;
    md_move_fault *fault;
    grid_sum_scratch scratch;
    double *sums;                       /* where they go */
} move_view;

struct md_move {
    move_view view;
    int n_blocks;
    device_upload upload;                 /* jobs */
    device_array scratch;          /* sums of blocks */
};

/* ---- one row -------------------------------------------------------------------------------- */

typedef struct moving {
    int row;
    double inv_mass;
    double3 x, v, x_new;
} moving;

static __device__ __forceinline__ unsigned frozen_axes(const move_view &m, int row)
{
    return m.arrays.d_frozen ? m.arrays.d_frozen[row] : 0;
}

static __device__ __forceinline__ double inv_mass_of(const move_view &m, int row)
{
    return frozen_axes(m, row) == 7 ? 1 / MD_IMMOVABLE_MASS : m.arrays.d_inv_mass[row];
}

/* Back to x, at rest, along frozen axes. */
static __device__ __forceinline__ void put_back(unsigned frozen, double3 x, moving *a)
{
    if (frozen & 1) a->x_new.x = x.x, a->v.x = 0;
    if (frozen & 2) a->x_new.y = x.y, a->v.y = 0;
    if (frozen & 4) a->x_new.z = x.z, a->v.z = 0;
}

/* The step without constraints. */
static __device__ __forceinline__ moving kick(const move_view &m, int row)
{
    moving a;
    const unsigned frozen = frozen_axes(m, row);
    a.row = row;
    a.x = vec3_load((const double (*)[3])m.arrays.d_x, row);
    a.inv_mass = frozen == 7 ? 1 / MD_IMMOVABLE_MASS : m.arrays.d_inv_mass[row];
    const float4 pair = *(const float4 *)m.arrays.d_f[row];
    const float3 f =
        force_slots_add(m.arrays.slots, row, make_float3(pair.x, pair.y, pair.z));
    const double lambda = m.arrays.d_lambda[m.arrays.d_group ? m.arrays.d_group[row] : 0];
    const double push = m.dt * a.inv_mass;
    a.v = vec3_scale(lambda, vec3_load((const double (*)[3])m.arrays.d_v, row));
    a.v = vec3_axpy(a.v, push, make_double3(f.x, f.y, f.z));
    a.x_new = vec3_axpy(a.x, m.dt, a.v);
    put_back(frozen, a.x, &a);
    return a;
}

static __device__ __forceinline__ void land(const move_view &m, moving a)
{
    put_back(frozen_axes(m, a.row), a.x, &a);
    const int3 s = row_position(*m.arrays.d_box, a.x_new);
    int *row = m.arrays.d_row[a.row].s;
    vec3_store(m.arrays.d_x, a.row, a.x_new);
    vec3_store(m.arrays.d_v, a.row, a.v);
    row[0] = s.x, row[1] = s.y, row[2] = s.z;
}

static __device__ void report(const move_view &m, bool turned, bool failed, const int *row)
{
    if (!turned && !failed) return;
    if (failed) atomicAdd(&m.fault->n_failed, 1u);
    else atomicAdd(&m.fault->n_turned, 1u);
    atomicMin(&m.fault->row, *row);
}

/* sums[0..8] += factor r (outer) g */
static __device__ __forceinline__ void add_virial(double *sums, double factor, double3 r,
                                                  double3 g)
{
    const double rc[3] = {r.x, r.y, r.z}, gc[3] = {g.x, g.y, g.z};
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) sums[3 * i + j] += factor * rc[i] * gc[j];
}

/* ---- jobs of a block ------------------------------------------------------------------------ */

/* Rows of a block, job by job. The displacements that constraints make take the place of new
 * positions. */
typedef struct block_rows {
    double old[3][BLOCK], now[3][BLOCK], inv_mass[BLOCK];
} block_rows;

static __device__ __forceinline__ double3 load(const double (*x)[BLOCK], int at)
{
    return make_double3(x[0][at], x[1][at], x[2][at]);
}
static __device__ __forceinline__ void store(double (*x)[BLOCK], int at, double3 a)
{
    x[0][at] = a.x, x[1][at] = a.y, x[2][at] = a.z;
}

/* Job k of the segment, whose rows stand at `at`. */
template <bool SUMS>
static __device__ __forceinline__ void constrain_water(const move_view &m, const device_segment &s,
                                                       int k, int at, block_rows *rows,
                                                       double *sums)
{
    const double3 o = load(rows->old, at);
    const double3 b0 = vec3_sub(load(rows->old, at + 1), o);
    const double3 c0 = vec3_sub(load(rows->old, at + 2), o);
    double3 da, db, dc;
    settle_displacements(s.water, b0, c0, vec3_sub(load(rows->now, at), o),
                         vec3_sub(load(rows->now, at + 1), o),
                         vec3_sub(load(rows->now, at + 2), o), &da, &db, &dc);
    store(rows->now, at, da), store(rows->now, at + 1, db), store(rows->now, at + 2, dc);
    const double sum = da.x + da.y + da.z + db.x + db.y + db.z + dc.x + dc.y + dc.z;
    report(m, false, !isfinite(sum), s.row + k);
    if (SUMS) {
        const double factor = -0.5 * s.water.mass_h * m.inv_dt * m.inv_dt;
        add_virial(sums, factor, b0, db);
        add_virial(sums, factor, c0, dc);
    }
}

template <bool SUMS, int N_ARMS>
static __device__ __forceinline__ void constrain_star(const move_view &m, const device_segment &s,
                                                      int k, int at, block_rows *rows,
                                                      double *sums)
{
    lincs_star<N_ARMS> star;
    const double3 centre = load(rows->old, at);
    star.centre = vec3_sub(load(rows->now, at), centre);
    star.inv_mass_centre = rows->inv_mass[at];
#pragma unroll
    for (int i = 0; i < N_ARMS; i++) {
        star.d[i] = vec3_sub(centre, load(rows->old, at + 1 + i));
        star.arm[i] = vec3_sub(load(rows->now, at + 1 + i), centre);
        star.inv_mass[i] = rows->inv_mass[at + 1 + i];
        star.length[i] = s.length[i * s.n + k];
        star.scale[i] = s.scale[i * s.n + k];
    }
    double deviation = 0, largest;
    const bool turned =
        lincs_star_positions<N_ARMS>(&star, m.order, m.iter, m.cos_warn, &deviation, &largest);
    double3 pull = make_double3(0, 0, 0);
#pragma unroll
    for (int i = 0; i < N_ARMS; i++) {
        pull = vec3_axpy(pull, star.lambda[i], star.b[i]);
        store(rows->now, at + 1 + i, vec3_scale(star.inv_mass[i] * star.lambda[i], star.b[i]));
    }
    store(rows->now, at, vec3_scale(-star.inv_mass_centre, pull));
    report(m, turned, !isfinite(deviation) || largest >= MD_LOST_CONSTRAINT, s.row + k);
    if (SUMS) {
#pragma unroll
        for (int i = 0; i < N_ARMS; i++)
            add_virial(sums, 0.5 * m.inv_dt * m.inv_dt * star.lambda[i], star.d[i], star.b[i]);
        sums[9] += deviation;
    }
}

template <bool SUMS>
static __device__ __forceinline__ void constrain_job(const move_view &m, const device_segment &s,
                                                     int k, int at, block_rows *rows, double *sums)
{
    switch (s.kind) {
    case MD_JOB_WATER: constrain_water<SUMS>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_1: constrain_star<SUMS, 1>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_2: constrain_star<SUMS, 2>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_3: constrain_star<SUMS, 3>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_4: constrain_star<SUMS, 4>(m, s, k, at, rows, sums); break;
    default: break;
    }
}

template <bool SUMS>
static __device__ __forceinline__ void move_jobs(const move_view &m, const device_segment &s,
                                                 double *sums)
{
    __shared__ block_rows rows;
    const int first = (blockIdx.x - s.first_block) * s.n_block_jobs;
    const int n = min(s.n_block_jobs, s.n - first), t = threadIdx.x;
    const int job = t / s.n_rows, place = t - job * s.n_rows;
    moving a;
    if (job < n) {
        a = kick(m, s.row[place * s.n + first + job]);
        if (s.kind == MD_JOB_FREE) {
            report(m, false, !isfinite(a.x_new.x + a.x_new.y + a.x_new.z), &a.row);
            land(m, a);
        }
    }
    if (s.kind == MD_JOB_FREE) return;
    if (job < n) {
        store(rows.old, t, a.x);
        store(rows.now, t, a.x_new);
        rows.inv_mass[t] = a.inv_mass;
    }
    __syncthreads();
    if (t < n) constrain_job<SUMS>(m, s, first + t, t * s.n_rows, &rows, sums);
    __syncthreads();
    if (job >= n) return;
    const double3 moved = load(rows.now, t);
    a.x_new = vec3_add(a.x_new, moved);
    a.v = vec3_axpy(a.v, m.inv_dt, moved);
    land(m, a);
}

/* ---- a network by a block ------------------------------------------------------------------- */

template <bool SUMS>
static __device__ void move_network(const move_view &m, int c, double *sums)
{
    const network_view &w = m.network;
    const int first_atom = w.atom_start[c], last_atom = w.atom_start[c + 1];
    const int first = w.constraint_start[c], last = w.constraint_start[c + 1];
    const int order = w.triangles[c] ? 2 * m.order : m.order;
    const double (*x_old)[3] = (const double (*)[3])m.arrays.d_x;
    for (int a = first_atom + threadIdx.x; a < last_atom; a += BLOCK) {
        const moving atom = kick(m, w.row[a]);
        vec3_store(w.x, a, atom.x_new);
        vec3_store(m.arrays.d_v, atom.row, atom.v);
    }
    for (int k = first + threadIdx.x; k < last; k += BLOCK) {
        const double3 d = vec3_sub(vec3_load(x_old, w.row[w.atom[k][0]]),
                                   vec3_load(x_old, w.row[w.atom[k][1]]));
        vec3_store(w.b, k, vec3_scale(1.0 / sqrt(vec3_dot(d, d)), d));
        w.lambda[k] = 0;
    }
    __syncthreads();
    for (int k = first + threadIdx.x; k < last; k += BLOCK) {
        for (int e = w.start[k]; e < w.start[k + 1]; e++)
            w.a[e] = w.factor[e] * vec3_dot(vec3_load(w.b, k), vec3_load(w.b, w.other[e]));
        const double p = vec3_dot(vec3_load(w.b, k), network_bond(w, k));
        w.rhs[k] = w.scale[k] * (p > 0 ? p - w.length[k] : nan(""));
    }
    __syncthreads();
    for (int i = 0; i <= m.iter; i++) {
        network_solve(w, first, last, order);
        for (int a = first_atom + threadIdx.x; a < last_atom; a += BLOCK) {
            const double inv_mass = inv_mass_of(m, w.row[a]);
            vec3_store(w.x, a, vec3_axpy(vec3_load(w.x, a), inv_mass,
                                         network_pull(w, a, w.solution)));
        }
        __syncthreads();
        if (i == m.iter) break;
        for (int k = first + threadIdx.x; k < last; k += BLOCK) {
            const double3 d = network_bond(w, k);
            const double p2 = 2.0 * w.length[k] * w.length[k] - vec3_dot(d, d);
            w.rhs[k] = w.scale[k] * (w.length[k] - sqrt(p2 > 0 ? p2 : 0.0));
        }
        __syncthreads();
    }
    for (int k = first + threadIdx.x; k < last; k += BLOCK) {
        const double3 d = network_bond(w, k), b = vec3_load(w.b, k);
        const double r = sqrt(vec3_dot(d, d)), error = r / w.length[k] - 1.0;
        const bool failed = !isfinite(r) || fabs(error) >= MD_LOST_CONSTRAINT;
        report(m, vec3_dot(b, d) < m.cos_warn * r, failed, &w.row[w.atom[k][0]]);
        if (SUMS) {
            const double3 old = vec3_sub(vec3_load(x_old, w.row[w.atom[k][0]]),
                                         vec3_load(x_old, w.row[w.atom[k][1]]));
            add_virial(sums, 0.5 * m.inv_dt * m.inv_dt * w.lambda[k], old, b);
            sums[9] += error * error;
        }
    }
    __syncthreads();                    /* partners' old positions are read for the last time */
    for (int a = first_atom + threadIdx.x; a < last_atom; a += BLOCK) {
        moving atom;
        atom.row = w.row[a];
        atom.x = vec3_load(x_old, atom.row);
        atom.x_new = vec3_load(w.x, a);
        atom.v = vec3_axpy(vec3_load((const double (*)[3])m.arrays.d_v, atom.row),
                           m.inv_dt * inv_mass_of(m, atom.row),
                           network_pull(w, a, w.lambda));
        land(m, atom);
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* Move all owned rows by one step.
 *   grid     blocks of jobs, segment by segment; then a block a network
 *   thread   a row and a job, or its share of a network
 *   reads    f, v, x, lambda            writes   v, x, row; with SUMS sums (the last block)
 *   waits    nothing                    signals  nothing (the exchange does) */
template <bool SUMS> __global__ void __launch_bounds__(BLOCK, 2) move_kernel(const move_view m)
{
    double sums[N_SUMS];
    if (SUMS)
        for (int i = 0; i < N_SUMS; i++) sums[i] = 0;
    if ((int)blockIdx.x >= m.n_job_blocks) {
        move_network<SUMS>(m, blockIdx.x - m.n_job_blocks, sums);
    } else {
        int at = 0;
        while (at + 1 < m.n_segments && (int)blockIdx.x >= m.segment[at + 1].first_block) at++;
        move_jobs<SUMS>(m, m.segment[at], sums);
    }
    if (SUMS) {
        __shared__ grid_sum_shared<BLOCK, N_SUMS> shared;
        for (int i = 0; i < N_SUMS; i++) grid_sum_add(&shared, i, sums[i]);
        if (!grid_sum_finish(&shared, N_SUMS, m.scratch)) return;
        for (int i = threadIdx.x / 32; i < N_SUMS; i += BLOCK / 32) {
            const double sum = grid_sum_total(m.scratch, i);
            if (threadIdx.x % 32 == 0) m.sums[i] = sum;
        }
    }
}

__global__ void clear_fault(md_move_fault *fault)
{
    fault->n_turned = fault->n_failed = 0;
    fault->row = INT_MAX;
}

/* ---- host ----------------------------------------------------------------------------------- */

extern "C" sundog_status md_move_create(const md_constrain_options *options, md_move **out)
{
    md_move *move = (md_move *)base_alloc_zero(sizeof *move);
    move->view.order = options->lincs_order;
    move->view.iter = options->lincs_iter;
    move->view.cos_warn = cos(options->lincs_warnangle * MD_DEG_TO_RAD);
    sundog_status status = DEVICE_CHECK(cudaMalloc(&move->view.fault, sizeof *move->view.fault));
    if (status == SUNDOG_OK) {
        clear_fault<<<1, 1>>>(move->view.fault);
        status = DEVICE_CHECK(cudaDeviceSynchronize());
    }
    if (status != SUNDOG_OK) {
        md_move_destroy(&move);
        return status;
    }
    *out = move;
    return SUNDOG_OK;
}

extern "C" void md_move_destroy(md_move **move)
{
    if (*move == NULL) return;
    device_upload_free(&(*move)->upload);
    device_free(&(*move)->scratch);
    cudaFree((*move)->view.fault);
    base_free(*move);
    *move = NULL;
}

static void place_networks(device_upload *up, const md_job_networks *n, network_view *w)
{
    w->n = n->n;
    w->atom_start = DEVICE_PLACE(up, const int *, n->atom_start, n->n + 1);
    w->constraint_start = DEVICE_PLACE(up, const int *, n->constraint_start, n->n + 1);
    w->triangles = DEVICE_PLACE(up, const bool *, n->triangles, n->n);
    w->row = DEVICE_PLACE(up, const int *, n->row, n->n_atoms);
    w->at_start = DEVICE_PLACE(up, const int *, n->at_start, n->n_atoms + 1);
    w->at = DEVICE_PLACE(up, const int *, n->at, 2 * n->n_constraints);
    w->atom = DEVICE_PLACE(up, const int(*)[2], n->atom, n->n_constraints);
    w->length = DEVICE_PLACE(up, const double *, n->length, n->n_constraints);
    w->scale = DEVICE_PLACE(up, const double *, n->scale, n->n_constraints);
    w->start = DEVICE_PLACE(up, const int *, n->start, n->n_constraints + 1);
    w->other = DEVICE_PLACE(up, const int *, n->other, n->n_couplings);
    w->factor = DEVICE_PLACE(up, const double *, n->factor, n->n_couplings);
    w->x = DEVICE_PLACE_EMPTY(up, double(*)[3], n->n_atoms);
    w->b = DEVICE_PLACE_EMPTY(up, double(*)[3], n->n_constraints);
    w->a = DEVICE_PLACE_EMPTY(up, double *, n->n_couplings);
    w->rhs = DEVICE_PLACE_EMPTY(up, double *, n->n_constraints);
    w->rhs_next = DEVICE_PLACE_EMPTY(up, double *, n->n_constraints);
    w->solution = DEVICE_PLACE_EMPTY(up, double *, n->n_constraints);
    w->lambda = DEVICE_PLACE_EMPTY(up, double *, n->n_constraints);
}

static void set_segments(move_view *view, const md_move_jobs *jobs, const md_settle *settle,
                         const int *d_row, const double *d_length, const double *d_scale)
{
    int first_block = 0;
    for (int k = 0; k < jobs->n_segments; k++) {
        const md_job_segment *from = &jobs->segment[k];
        device_segment *to = &view->segment[k];
        *to = device_segment{};
        to->kind = from->kind;
        to->n = from->n;
        to->first_block = first_block;
        to->row = d_row + from->first_row;
        to->length = d_length + from->first_length;
        to->scale = d_scale + from->first_length;
        to->n_rows = md_job_n_rows(from->kind);
        to->n_block_jobs = BLOCK / to->n_rows;
        first_block += (from->n + to->n_block_jobs - 1) / to->n_block_jobs;
        if (from->kind != MD_JOB_WATER) continue;
        const md_settle_model *water = &settle->model[from->model];
        const double total = water->mass_o + 2.0 * water->mass_h;
        to->water = settle_shape{water->ra,
                                 water->rb,
                                 water->rc,
                                 1.0 / water->ra,
                                 0.5 / water->rc,
                                 water->mass_o / total,
                                 water->mass_h / total,
                                 water->mass_h};
    }
    view->n_segments = jobs->n_segments;
    view->n_job_blocks = first_block;
}

extern "C" sundog_status md_move_rebuild(md_move *move, const md_move_jobs *jobs,
                                         const md_settle *settle, void *stream)
{
    move_view *view = &move->view;
    device_upload *up = &move->upload;
    while (device_upload_pass(up)) {
        const int *d_row = DEVICE_PLACE(up, const int *, jobs->row, jobs->n_row);
        const double *d_length = DEVICE_PLACE(up, const double *, jobs->length, jobs->n_length);
        const double *d_scale = DEVICE_PLACE(up, const double *, jobs->scale, jobs->n_length);
        set_segments(view, jobs, settle, d_row, d_length, d_scale);
        if (jobs->networks.n > 0) place_networks(up, &jobs->networks, &view->network);
    }
    BASE_TRY(device_upload_finish(up, (cudaStream_t)stream));
    view->network.n = jobs->networks.n;
    move->n_blocks = view->n_job_blocks + view->network.n;
    BASE_TRY(device_reserve(&move->scratch,
                            (1 + (size_t)move->n_blocks * N_SUMS) * sizeof(double)));
    view->scratch.arrived = (unsigned *)move->scratch.d;
    view->scratch.partial = (double *)move->scratch.d + 1;
    return DEVICE_CHECK(
        cudaMemsetAsync(move->scratch.d, 0, sizeof(double), (cudaStream_t)stream));
}

extern "C" sundog_status md_move_launch(md_move *move, const md_move_arrays *arrays, double dt,
                                        md_move_sums *d_sums, void *stream)
{
    const cudaStream_t queue = (cudaStream_t)stream;
    move->view.arrays = *arrays;
    move->view.dt = dt;
    move->view.inv_dt = 1.0 / dt;
    move->view.sums = (double *)d_sums;
    if (move->n_blocks == 0)
        return d_sums == NULL ? SUNDOG_OK
                              : DEVICE_CHECK(cudaMemsetAsync(d_sums, 0, sizeof *d_sums, queue));
    if (d_sums == NULL)
        move_kernel<false><<<move->n_blocks, BLOCK, 0, queue>>>(move->view);
    else
        move_kernel<true><<<move->n_blocks, BLOCK, 0, queue>>>(move->view);
    return DEVICE_CHECK(cudaGetLastError());
}

extern "C" md_move_fault *md_move_fault_word(md_move *move)
{
    return move->view.fault;
}

extern "C" sundog_status md_move_fault_read(md_move *move, md_move_fault *fault, void *stream)
{
    const cudaStream_t queue = (cudaStream_t)stream;
    BASE_TRY(DEVICE_CHECK(cudaMemcpyAsync(fault, move->view.fault, sizeof *fault,
                                       cudaMemcpyDeviceToHost, queue)));
    clear_fault<<<1, 1, 0, queue>>>(move->view.fault);
    return DEVICE_CHECK(cudaStreamSynchronize(queue));
}
