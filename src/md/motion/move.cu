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
#include "device/early.cuh"
#include "device/upload.h"
#include "md/motion/move_rows.cuh"

#include <climits>
#include <cmath>

enum { BLOCK = 192, N_SUMS = sizeof(md_move_sums) / sizeof(double) };

struct md_move {
    move_view view;
    int n_blocks;
    bool starts_early;
    device_upload upload;                 /* jobs */
    device_array scratch;          /* sums of blocks */
};

template <bool SUMS>
static __device__ __forceinline__ void move_jobs(const move_view &m, const move_segment &s,
                                                 double *sums)
{
    __shared__ block_rows<BLOCK> rows;
    const int first = (blockIdx.x - s.first_block) * s.n_block_jobs;
    const int n = min(s.n_block_jobs, s.n - first), t = threadIdx.x;
    const int job = t / s.n_rows, place = t - job * s.n_rows;
    moving a;
    int row = 0;
    at_start begun = {};
    if (job < n) {                      /* what the forces are not needed for */
        row = s.row[place * s.n + first + job];
        begun = start_of(m, row);
    }
    early_wait();
    if (job < n) {
        a = kick(m, row, begun);
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
    early_wait();
    for (int a = first_atom + threadIdx.x; a < last_atom; a += BLOCK) {
        const int row = w.row[a];
        const moving atom = kick(m, row, start_of(m, row));
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
 *   waits    early, for the forces      signals  nothing (the exchange does)
 * Launched early it finds x, v and what else it reads before the forces as the last move left them:
 * who lets it start has waited for that, and the kernels between write none of it. */
template <bool SUMS> __global__ void __launch_bounds__(BLOCK, 2) move_kernel(const move_view m)
{
    double sums[N_SUMS];
    early_let_next();
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
    move->starts_early = early_is_possible();
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
        move_segment *to = &view->segment[k];
        *to = move_segment{};
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
        return DEVICE_CHECK(early_launch(move_kernel<false>, move->n_blocks, BLOCK,
                                         arrays->early && move->starts_early, queue, move->view));
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
