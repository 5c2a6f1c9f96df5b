/* How rows are moved, by the threads of whatever block: kick, constraints of a job, landing.
 *
 *      thread a row    start_of, kick_by    | old and new position to shared memory
 *      thread a job    constrain_job        | displacements in the place of new positions
 *      thread a row    add them, come_to_rest
 *
 * Equal forces give equal bits, whichever kernel does it. move.h says what; all in double. */
#ifndef MD_MOVE_ROWS_CUH
#define MD_MOVE_ROWS_CUH
#include "device/grid_sum.cuh"
extern "C" {
#include "md/motion/move.h"
#include "md/core/units.h"
}
#include "md/core/device_row.cuh"
#include "md/core/force_slots.cuh"
#include "md/motion/lincs_network.cuh"
#include "md/motion/lincs_star.cuh"
#include "md/motion/settle.cuh"

typedef struct move_segment {
    md_job_kind kind;
    int n, first_block;
    int n_rows, n_block_jobs;           /* of a job; of a block */
    const int *row;
    const double *length, *scale;
    settle_shape water;
} move_segment;

/* All that a launch reads, by value. */
typedef struct move_view {
    md_move_arrays arrays;
    int n_segments, n_job_blocks;
    move_segment segment[MD_JOB_MAX_SEGMENTS];
    network_view network;
    double dt, inv_dt, cos_warn;
    int order, iter;
    md_move_fault *fault;
    grid_sum_scratch scratch;
    double *sums;                       /* where they go */
} move_view;

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

/* What a row's step starts from. */
typedef struct at_start {
    double3 x, v;
    double inv_mass;
    unsigned frozen;
} at_start;

static __device__ __forceinline__ at_start start_of(const move_view &m, int row)
{
    at_start s;
    s.frozen = frozen_axes(m, row);
    s.x = vec3_load((const double (*)[3])m.arrays.d_x, row);
    s.v = vec3_load((const double (*)[3])m.arrays.d_v, row);
    s.inv_mass = s.frozen == 7 ? 1 / MD_IMMOVABLE_MASS : m.arrays.d_inv_mass[row];
    return s;
}

/* Of the thermostat. */
static __device__ __forceinline__ double lambda_of(const move_view &m, int row)
{
    return m.arrays.d_lambda[m.arrays.d_group ? m.arrays.d_group[row] : 0];
}

/* The step without constraints, by all that pulls at the row. */
static __device__ __forceinline__ moving kick_by(const move_view &m, int row, const at_start &s,
                                                 double lambda, float3 f)
{
    moving a;
    a.row = row;
    a.x = s.x;
    a.inv_mass = s.inv_mass;
    const double push = m.dt * a.inv_mass;
    a.v = vec3_scale(lambda, s.v);
    a.v = vec3_axpy(a.v, push, make_double3(f.x, f.y, f.z));
    a.x_new = vec3_axpy(a.x, m.dt, a.v);
    put_back(s.frozen, a.x, &a);
    return a;
}

/* By the forces of an earlier kernel. */
static __device__ __forceinline__ moving kick(const move_view &m, int row, const at_start &s)
{
    const float4 pair = *(const float4 *)m.arrays.d_f[row];
    return kick_by(m, row, s, lambda_of(m, row),
                   force_slots_add(m.arrays.slots, row, make_float3(pair.x, pair.y, pair.z)));
}

/* The end of a step: x_new and v are final, and this is the row. */
static __device__ __forceinline__ int3 come_to_rest(const move_view &m, unsigned frozen, moving *a)
{
    put_back(frozen, a->x, a);
    return row_position(*m.arrays.d_box, a->x_new);
}

static __device__ __forceinline__ void land(const move_view &m, moving a)
{
    const int3 s = come_to_rest(m, frozen_axes(m, a.row), &a);
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
template <int N> struct block_rows {
    double old[3][N], now[3][N], inv_mass[N];
};

template <int N> static __device__ __forceinline__ double3 load(const double (&x)[3][N], int at)
{
    return make_double3(x[0][at], x[1][at], x[2][at]);
}
template <int N>
static __device__ __forceinline__ void store(double (&x)[3][N], int at, double3 a)
{
    x[0][at] = a.x, x[1][at] = a.y, x[2][at] = a.z;
}

/* Job k of the segment, whose rows stand at `at`. */
template <bool SUMS, int N>
static __device__ __forceinline__ void constrain_water(const move_view &m, const move_segment &s,
                                                       int k, int at, block_rows<N> *rows,
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

template <bool SUMS, int N_ARMS, int N>
static __device__ __forceinline__ void constrain_star(const move_view &m, const move_segment &s,
                                                      int k, int at, block_rows<N> *rows,
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

template <bool SUMS, int N>
static __device__ __forceinline__ void constrain_job(const move_view &m, const move_segment &s,
                                                     int k, int at, block_rows<N> *rows,
                                                     double *sums)
{
    switch (s.kind) {
    case MD_JOB_WATER: constrain_water<SUMS, N>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_1: constrain_star<SUMS, 1, N>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_2: constrain_star<SUMS, 2, N>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_3: constrain_star<SUMS, 3, N>(m, s, k, at, rows, sums); break;
    case MD_JOB_STAR_4: constrain_star<SUMS, 4, N>(m, s, k, at, rows, sums); break;
    default: break;
    }
}

#endif
