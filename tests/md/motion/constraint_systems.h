/* Small molecules with constraints, as topology and rows by hand, for the tests of this room. */
#ifndef CONSTRAINT_SYSTEMS_H
#define CONSTRAINT_SYSTEMS_H
#include "base/alloc.h"
#include "check.h"
#include "md/motion/constraints.h"
#include "md/motion/constraints_internal.h"
#include <math.h>
#include <string.h>

enum { SHAPE_MAX_ATOMS = 12, SHAPE_MAX_PAIRS = 12, SYSTEM_MAX_ROWS = 4096 };

typedef struct molecule_shape {
    const char *name;
    bool rigid_water;
    int n_atoms, n_pairs;
    double mass[SHAPE_MAX_ATOMS];
    double x[SHAPE_MAX_ATOMS][3]; /* nm; constraints have the lengths they have here */
    int pair[SHAPE_MAX_PAIRS][2];
} molecule_shape;

static const molecule_shape __attribute__((unused))
water = {"water",
         true,
         3,
         3,
         {15.9994, 1.008, 1.008},
         {{0, 0, 0}, {0.0816495809, 0.0577350269, 0}, {-0.0816495809, 0.0577350269, 0}},
         {{0, 1}, {0, 2}, {1, 2}}};
static const molecule_shape __attribute__((unused))
oh = {"OH", false, 2, 1, {15.9994, 1.008}, {{0, 0, 0}, {0.0945, 0, 0}}, {{1, 0}}};
static const molecule_shape __attribute__((unused))
ch2 = {"CH2",
       false,
       3,
       2,
       {12.011, 1.008, 1.008},
       {{0, 0, 0}, {0.09, 0.062, 0}, {-0.09, 0.062, 0}},
       {{0, 1}, {2, 0}}};
static const molecule_shape __attribute__((unused))
ch3 = {"CH3",
       false,
       4,
       3,
       {12.011, 1.008, 1.008, 1.008},
       {{0, 0, 0}, {0.1027, 0, -0.0365}, {-0.0514, 0.0889, -0.0365}, {-0.0514, -0.0889, -0.0365}},
       {{0, 1}, {0, 2}, {0, 3}}};
static const molecule_shape __attribute__((unused)) ch4 = {"CH4",
                                                           false,
                                                           5,
                                                           4,
                                                           {12.011, 1.008, 1.008, 1.008, 1.008},
                                                           {{0, 0, 0},
                                                            {0.063, 0.063, 0.063},
                                                            {-0.063, -0.063, 0.063},
                                                            {-0.063, 0.063, -0.063},
                                                            {0.063, -0.063, -0.063}},
                                                           {{0, 1}, {2, 0}, {0, 3}, {4, 0}}};
static const molecule_shape __attribute__((unused))
sf6 = {"SF6",
       false,
       7,
       6,
       {32.06, 18.998, 18.998, 18.998, 18.998, 18.998, 18.998},
       {{0, 0, 0},
        {0.156, 0, 0},
        {-0.156, 0, 0},
        {0, 0.156, 0},
        {0, -0.156, 0},
        {0, 0, 0.156},
        {0, 0, -0.156}},
       {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}}};
static const molecule_shape __attribute__((unused))
chain = {"chain",
         false,
         6,
         5,
         {12.011, 14.007, 12.011, 15.999, 12.011, 12.011},
         {{0, 0, 0},
          {0.12, 0.08, 0},
          {0.25, 0.01, 0.03},
          {0.37, 0.09, 0.02},
          {0.5, 0, 0},
          {0.6, 0.1, 0.05}},
         {{0, 1}, {2, 1}, {2, 3}, {3, 4}, {5, 4}}};
static const molecule_shape __attribute__((unused))
ring = {"ring",
        false,
        6,
        6,
        {12.011, 12.011, 12.011, 12.011, 12.011, 12.011},
        {{0.139, 0, 0},
         {0.07, 0.12, 0},
         {-0.07, 0.12, 0},
         {-0.139, 0, 0},
         {-0.07, -0.12, 0},
         {0.07, -0.12, 0}},
        {{0, 1}, {1, 2}, {3, 2}, {3, 4}, {4, 5}, {5, 0}}};
static const molecule_shape __attribute__((unused))
triangle = {"triangle",
            false,
            4,
            4,
            {15.999, 12.011, 12.011, 12.011},
            {{0, 0, 0}, {0.13, 0, 0}, {0.06, 0.12, 0}, {0.06, 0.2, 0.11}},
            {{0, 1}, {1, 2}, {0, 2}, {2, 3}}};
static const molecule_shape __attribute__((unused))
ethanol = {"ethanol",
           false,
           9,
           8,
           {12.011, 1.008, 1.008, 1.008, 12.011, 1.008, 1.008, 15.999, 1.008},
           {{0, 0, 0},
            {-0.05, 0.09, 0.03},
            {-0.05, -0.08, 0.05},
            {-0.03, 0, -0.105},
            {0.15, 0, 0.02},
            {0.18, 0.08, -0.06},
            {0.18, -0.09, -0.04},
            {0.21, 0.02, 0.145},
            {0.3, 0.02, 0.14}},
           {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {4, 5}, {4, 6}, {4, 7}, {7, 8}}};

typedef struct constraint_system {
    md_topology topology;
    md_moltype moltype[4];
    md_atom atom[4][SHAPE_MAX_ATOMS];
    md_param param[4 * SHAPE_MAX_PAIRS];
    int atoms[4][3 * SHAPE_MAX_PAIRS], index[4][SHAPE_MAX_PAIRS];
    const molecule_shape *shape[4];
    int n_shapes, first_param[4];
    md_rows rows;
    int64_t gid[SYSTEM_MAX_ROWS];
    double mass[SYSTEM_MAX_ROWS];
    double x[SYSTEM_MAX_ROWS][3], v[SYSTEM_MAX_ROWS][3], x_new[SYSTEM_MAX_ROWS][3];
    /* all constrained pairs, those of rigid water included */
    int n_pairs, (*pair)[2];
    double *length;
    md_constrain *constrain;
} constraint_system;

static uint64_t random_state = 99;
static inline double uniform(double low, double high)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(random_state >> 11) * 0x1p-53;
}

static inline double gaussian(void)
{
    double sum = -6;
    for (int k = 0; k < 12; k++) sum += uniform(0, 1);
    return sum;
}

static inline double pair_length(const molecule_shape *s, int k)
{
    const double *a = s->x[s->pair[k][0]], *b = s->x[s->pair[k][1]];
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

static inline void random_rotation(double m[3][3])
{
    double q[4], n = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = gaussian();
        n += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++) q[k] /= sqrt(n);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(m, r, sizeof r);
}

static inline void add_shape(constraint_system *s, int t, const molecule_shape *shape)
{
    md_moltype *moltype = &s->moltype[t];
    const md_kind kind = shape->rigid_water ? MD_SETTLE : MD_CONSTRAINT;
    const int n = shape->rigid_water ? 1 : shape->n_pairs;
    s->shape[t] = shape;
    s->first_param[t] = t * SHAPE_MAX_PAIRS;
    for (int k = 0; k < shape->n_pairs; k++)
        s->param[s->first_param[t] + k].p[0] = pair_length(shape, k);
    for (int k = 0; k < n; k++) {
        s->index[t][k] = s->first_param[t] + k;
        s->atoms[t][2 * k] = shape->pair[k][0];
        s->atoms[t][2 * k + 1] = shape->pair[k][1];
    }
    if (shape->rigid_water) {
        s->param[s->first_param[t]].p[1] = pair_length(shape, 2);
        for (int a = 0; a < 3; a++) s->atoms[t][a] = a;
    }
    for (int a = 0; a < shape->n_atoms; a++) s->atom[t][a].mass = shape->mass[a];
    *moltype =
        (md_moltype){.name = (char *)shape->name, .n_atoms = shape->n_atoms, .atom = s->atom[t]};
    moltype->list[kind] = (md_interactions){.n = n, .atoms = s->atoms[t], .param = s->index[t]};
}

/* n_copies of each shape by turns, at random places and turns, with thermal velocities; x_new is
 * x + v dt, not constrained. */
static inline constraint_system *system_create(const molecule_shape *const *shapes, int n_shapes,
                                               int n_copies, double dt,
                                               const md_constrain_options *options)
{
    constraint_system *s = base_alloc_zero(sizeof *s);
    size_t capacity[6] = {0};
    int n = 0;
    s->n_shapes = n_shapes;
    for (int t = 0; t < n_shapes; t++) add_shape(s, t, shapes[t]);
    s->topology = (md_topology){.n_params = 4 * SHAPE_MAX_PAIRS,
                                .param = s->param,
                                .n_moltypes = n_shapes,
                                .moltype = s->moltype};
    for (int copy = 0; copy < n_copies; copy++)
        for (int t = 0; t < n_shapes; t++) {
            const molecule_shape *shape = shapes[t];
            const md_kind kind = shape->rigid_water ? MD_SETTLE : MD_CONSTRAINT;
            md_row_interactions *list = &s->rows.list[kind];
            const int n_kind = md_kind_n_atoms(kind);
            double turn[3][3], place[3] = {uniform(0, 10), uniform(0, 10), uniform(0, 10)};
            random_rotation(turn);
            CHECK(n + shape->n_atoms <= SYSTEM_MAX_ROWS);
            for (int a = 0; a < shape->n_atoms; a++) {
                s->mass[n + a] = shape->mass[a];
                s->gid[n + a] = 1000 + n + a;
                for (int i = 0; i < 3; i++) {
                    s->x[n + a][i] = place[i];
                    for (int j = 0; j < 3; j++) s->x[n + a][i] += turn[i][j] * shape->x[a][j];
                    s->v[n + a][i] = gaussian() * sqrt(2.494 / shape->mass[a]);
                    s->x_new[n + a][i] = s->x[n + a][i] + dt * s->v[n + a][i];
                }
            }
            for (int k = 0; k < s->moltype[t].list[kind].n; k++) {
                BASE_RESERVE(list->rows, list->capacity_rows, (list->n + 1) * n_kind);
                BASE_RESERVE(list->param, list->capacity_param, list->n + 1);
                for (int a = 0; a < n_kind; a++)
                    list->rows[list->n * n_kind + a] = n + s->atoms[t][n_kind * k + a];
                list->param[list->n++] = s->index[t][k];
            }
            for (int k = 0; k < shape->n_pairs; k++) {
                BASE_RESERVE(s->pair, capacity[4], s->n_pairs + 1);
                BASE_RESERVE(s->length, capacity[5], s->n_pairs + 1);
                s->pair[s->n_pairs][0] = n + shape->pair[k][0];
                s->pair[s->n_pairs][1] = n + shape->pair[k][1];
                s->length[s->n_pairs++] = pair_length(shape, k);
            }
            n += shape->n_atoms;
        }
    s->rows.n_owned = s->rows.n_rows = n;
    s->rows.gid = s->gid, s->rows.mass = s->mass, s->rows.x = s->x, s->rows.v = s->v;
    CHECK_OK(md_constrain_create(&s->topology, options, &s->constrain));
    CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows));
    return s;
}

static inline void system_destroy(constraint_system *s)
{
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        base_free(s->rows.list[kind].rows);
        base_free(s->rows.list[kind].param);
    }
    base_free(s->pair);
    base_free(s->length);
    md_constrain_destroy(&s->constrain);
    base_free(s);
}

static inline sundog_status constrain(constraint_system *s, double dt, double virial[3][3])
{
    return md_constrain_positions(s->constrain, &s->rows, (const double(*)[3])s->x, s->x_new, s->v,
                                  dt, virial);
}

/* The slow reference: SHAKE, iterated until nothing changes. */
static inline void shake(const constraint_system *s, double (*x)[3])
{
    double worst = 1;
    for (int sweep = 0; worst > 3e-14 && sweep < 20000; sweep++) {
        worst = 0;
        for (int k = 0; k < s->n_pairs; k++) {
            const int i = s->pair[k][0], j = s->pair[k][1];
            double r2 = 0, along = 0;
            for (int a = 0; a < 3; a++) {
                const double d = x[i][a] - x[j][a];
                r2 += d * d;
                along += d * (s->x[i][a] - s->x[j][a]);
            }
            const double excess = r2 - s->length[k] * s->length[k];
            const double g = excess / (2 * along * (1 / s->mass[i] + 1 / s->mass[j]));
            worst = fmax(worst, fabs(excess) / (s->length[k] * s->length[k]));
            for (int a = 0; a < 3; a++) {
                const double d = s->x[i][a] - s->x[j][a];
                x[i][a] -= g * d / s->mass[i];
                x[j][a] += g * d / s->mass[j];
            }
        }
    }
    CHECK(worst < 1e-12);
}

/* Largest relative deviation of any constrained distance. */
static inline double worst_deviation(const constraint_system *s, const double (*x)[3])
{
    double worst = 0;
    for (int k = 0; k < s->n_pairs; k++) {
        double r2 = 0;
        for (int a = 0; a < 3; a++) {
            const double d = x[s->pair[k][0]][a] - x[s->pair[k][1]][a];
            r2 += d * d;
        }
        worst = fmax(worst, fabs(sqrt(r2) / s->length[k] - 1));
    }
    return worst;
}

/* Largest rate of change of a constrained distance, nm/ps. */
static inline double worst_rate(const constraint_system *s, const double (*v)[3])
{
    double worst = 0;
    for (int k = 0; k < s->n_pairs; k++) {
        const int i = s->pair[k][0], j = s->pair[k][1];
        double rate = 0, r2 = 0;
        for (int a = 0; a < 3; a++) {
            const double d = s->x[i][a] - s->x[j][a];
            rate += d * (v[i][a] - v[j][a]);
            r2 += d * d;
        }
        worst = fmax(worst, fabs(rate) / sqrt(r2));
    }
    return worst;
}

static inline double largest_difference(const double (*a)[3], const double (*b)[3], int n)
{
    double worst = 0;
    for (int r = 0; r < n; r++)
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(a[r][k] - b[r][k]));
    return worst;
}

/* Momentum and angular momentum about the origin that dx of unit time carries. */
static inline void check_no_net_push(const constraint_system *s, const double (*before)[3],
                                     const double (*after)[3], double limit)
{
    double p[3] = {0}, l[3] = {0};
    for (int r = 0; r < s->rows.n_owned; r++) {
        const double *x = s->x[r], m = s->mass[r];
        double d[3];
        for (int k = 0; k < 3; k++) {
            d[k] = m * (after[r][k] - before[r][k]);
            p[k] += d[k];
        }
        l[0] += x[1] * d[2] - x[2] * d[1];
        l[1] += x[2] * d[0] - x[0] * d[2];
        l[2] += x[0] * d[1] - x[1] * d[0];
    }
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(p[k], 0, limit);
        CHECK_NEAR(l[k], 0, limit);
    }
}
#endif
