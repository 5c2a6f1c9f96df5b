/* The move on the device against its twin on the host: leap-frog, SETTLE and LINCS of all shapes, a
 * thermostat factor by group; frozen atoms; virial and deviations; the same bits in every run; what
 * cannot be constrained is reported. */
#include "constraint_systems.h"
#include "device.h"
#include "md/motion/leapfrog.h"
#include "md/motion/move.h"

static uint8_t frozen_atom[1000 + SYSTEM_MAX_ROWS]; /* by global atom, constraint_systems.h */
static const md_constrain_options options = {4, 1, 30, false, frozen_atom};
static const molecule_shape ion = {"ion", false, 1, 0, {22.99}, {{0, 0, 0}}, {{0}}};
static const double dt = 0.002, lambda[2] = {0.999, 1.002};

/* One system on the device. */
typedef struct on_device {
    int n;
    md_box box;
    md_move *move;
    md_move_jobs jobs;
    md_move_arrays arrays;
    md_move_sums *d_sums;
} on_device;

static void device_start(on_device *g, const constraint_system *s, const float (*f)[3],
                         const unsigned char *group, const unsigned char *frozen)
{
    const size_t n = (size_t)s->rows.n_owned;
    md_device_box device_box;
    *g = (on_device){.n = (int)n, .box = {{{20, 0, 0}, {3, 22, 0}, {-4, 5, 21}}}};
    double *inv_mass = base_alloc(n * sizeof *inv_mass);
    float(*f4)[4] = base_alloc_zero(n * sizeof *f4);
    md_device_row *row = base_alloc_zero(n * sizeof *row);
    for (size_t r = 0; r < n; r++) {
        inv_mass[r] = 1 / s->mass[r];
        for (int k = 0; k < 3; k++) f4[r][k] = f[r][k];
        row[r].charge = (float)r;
    }
    md_device_box_set(&g->box, &device_box);
    g->arrays.d_x = upload(s->x, n * sizeof *s->x);
    g->arrays.d_v = upload(s->v, n * sizeof *s->v);
    g->arrays.d_f = upload(f4, n * sizeof *f4);
    g->arrays.d_inv_mass = upload(inv_mass, n * sizeof *inv_mass);
    g->arrays.d_group = upload(group, n);
    g->arrays.d_frozen = frozen ? upload(frozen, n) : NULL;
    g->arrays.d_lambda = upload(lambda, sizeof lambda);
    g->arrays.d_box = upload(&device_box, sizeof device_box);
    g->arrays.d_row = upload(row, n * sizeof *row);
    g->d_sums = upload(&(md_move_sums){{{0}}, 0}, sizeof *g->d_sums);
    CHECK_OK(md_move_create(&options, &g->move));
    CHECK_OK(md_move_jobs_build(&g->jobs, md_constrain_settle(s->constrain),
                                md_constrain_lincs(s->constrain), (int)n));
    CHECK_OK(md_move_rebuild(g->move, &g->jobs, md_constrain_settle(s->constrain), NULL));
    base_free(inv_mass), base_free(f4), base_free(row);
}

static void device_end(on_device *g)
{
    void *all[] = {g->arrays.d_x,
                   g->arrays.d_v,
                   (void *)g->arrays.d_f,
                   g->arrays.d_row,
                   (void *)g->arrays.d_box,
                   (void *)g->arrays.d_inv_mass,
                   (void *)g->arrays.d_group,
                   (void *)g->arrays.d_frozen,
                   (void *)g->arrays.d_lambda,
                   g->d_sums};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) cudaFree(all[k]);
    md_move_jobs_free(&g->jobs);
    md_move_destroy(&g->move);
}

/* Every row in one job. */
static void check_jobs(const on_device *g)
{
    int *seen = base_alloc_zero((size_t)g->n * sizeof *seen);
    for (int k = 0; k < g->jobs.n_row; k++) seen[g->jobs.row[k]]++;
    for (int k = 0; k < g->jobs.networks.n_atoms; k++) seen[g->jobs.networks.row[k]]++;
    for (int r = 0; r < g->n; r++) CHECK(seen[r] == 1);
    base_free(seen);
}

/* Rows are the positions, as fractions modulo 1. */
static void check_rows(const on_device *g, const double (*x)[3])
{
    md_device_row *row = base_alloc((size_t)g->n * sizeof *row);
    download(row, g->arrays.d_row, (size_t)g->n * sizeof *row);
    for (int r = 0; r < g->n; r++) {
        double s[3];
        md_box_to_fractional(&g->box, x[r], s);
        CHECK(row[r].charge == (float)r);
        for (int k = 0; k < 3; k++) {
            const double d = remainder(s[k] - row[r].s[k] * 0x1p-32, 1.0);
            CHECK_NEAR(d, 0, 0x1p-32);
        }
    }
    base_free(row);
}

/* Every third water as a whole, every fourth atom of what LINCS holds, ions along all sets of axes.
 */
static void freeze_some(constraint_system *s)
{
    int n = 0;
    for (int copy = 0; n < s->rows.n_owned; copy++)
        for (int t = 0; t < s->n_shapes; t++)
            for (int a = 0; a < s->shape[t]->n_atoms; a++, n++) {
                const molecule_shape *shape = s->shape[t];
                const int bits = shape->rigid_water    ? copy % 3 == 1 ? 7 : 0
                                 : shape->n_pairs == 0 ? copy % 8
                                 : (copy + a) % 4 == 0 ? 7
                                                       : 0;
                frozen_atom[s->gid[n]] = (uint8_t)bits;
            }
    CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows));
}

static void put_back(const constraint_system *s, double (*x)[3], double (*v)[3])
{
    for (int r = 0; r < s->rows.n_owned; r++)
        for (int k = 0; k < 3; k++)
            if (frozen_atom[s->gid[r]] >> k & 1) x[r][k] = s->x[r][k], v[r][k] = 0;
}

static void compare(const molecule_shape *const *shapes, int n_shapes, int n_copies, bool freeze)
{
    memset(frozen_atom, 0, sizeof frozen_atom);
    constraint_system *s = system_create(shapes, n_shapes, n_copies, dt, &options);
    if (freeze) freeze_some(s);
    const int n = s->rows.n_owned;
    const unsigned char *frozen = freeze ? frozen_atom + s->gid[0] : NULL;
    const size_t n_bytes = (size_t)n * sizeof *s->x;
    float(*f)[3] = base_alloc((size_t)n * sizeof *f);
    unsigned char *group = base_alloc((size_t)n);
    for (int r = 0; r < n; r++) {
        group[r] = (unsigned char)(r / 50 % 2);
        for (int k = 0; k < 3; k++) f[r][k] = (float)(500 * gaussian());
    }
    on_device g, again;
    device_start(&g, s, (const float(*)[3])f, group, frozen);
    device_start(&again, s, (const float(*)[3])f, group, frozen);
    check_jobs(&g);

    double(*x_host)[3] = base_alloc(n_bytes), (*v_host)[3] = base_alloc(n_bytes);
    memcpy(v_host, s->v, n_bytes);
    for (int r = 0; r < n; r++)
        for (int k = 0; k < 3; k++) {
            v_host[r][k] = lambda[group[r]] * v_host[r][k] + dt / s->mass[r] * (double)f[r][k];
            x_host[r][k] = s->x[r][k] + dt * v_host[r][k];
        }
    put_back(s, x_host, v_host);
    double virial[3][3] = {{0}}, max, square;
    int64_t n_distances;
    CHECK_OK(md_constrain_positions(s->constrain, &s->rows, (const double(*)[3])s->x, x_host,
                                    v_host, dt, virial));
    md_constrain_deviation(s->constrain, &s->rows, (const double(*)[3])x_host, &max, &square,
                           &n_distances);
    put_back(s, x_host, v_host);

    CHECK_OK(md_move_launch(g.move, &g.arrays, dt, g.d_sums, NULL));
    CHECK_OK(md_move_launch(again.move, &again.arrays, dt, NULL, NULL));
    double(*x)[3] = base_alloc(n_bytes), (*v)[3] = base_alloc(n_bytes);
    double(*x_again)[3] = base_alloc(n_bytes);
    md_move_sums sums;
    md_move_fault fault;
    CHECK_OK(md_move_fault_read(g.move, &fault, NULL));
    CHECK(fault.n_turned == 0 && fault.n_failed == 0);
    download(x, g.arrays.d_x, n_bytes);
    download(v, g.arrays.d_v, n_bytes);
    download(x_again, again.arrays.d_x, n_bytes);
    download(&sums, g.d_sums, sizeof sums);
    CHECK(largest_difference((const double(*)[3])x, (const double(*)[3])x_host, n) < 1e-13);
    CHECK(largest_difference((const double(*)[3])v, (const double(*)[3])v_host, n) < 1e-10);
    CHECK(memcmp(x, x_again, n_bytes) == 0);
    check_rows(&g, (const double(*)[3])x);
    double trace = fabs(virial[0][0]) + fabs(virial[1][1]) + fabs(virial[2][2]);
    /* Between two frozen atoms LINCS's force is rounding over next to nothing, on the host too. */
    for (int i = 0; i < 3 && !freeze; i++)
        for (int j = 0; j < 3; j++)
            CHECK_NEAR(sums.virial[i][j], virial[i][j], 1e-9 * trace + 1e-9);
    CHECK_NEAR(sums.deviation_square, square, 1e-6 * square + 1e-20);
    device_end(&g), device_end(&again);
    base_free(f), base_free(group), base_free(x), base_free(v), base_free(x_again);
    base_free(x_host), base_free(v_host);
    system_destroy(s);
}

/* Forces that no constraint can follow: counted, with the first row. */
static void test_fault(void)
{
    memset(frozen_atom, 0, sizeof frozen_atom);
    const molecule_shape *const shapes[] = {&water, &ch3, &chain};
    constraint_system *s = system_create(shapes, 3, 20, dt, &options);
    float(*f)[3] = base_alloc_zero((size_t)s->rows.n_owned * sizeof *f);
    unsigned char *group = base_alloc_zero((size_t)s->rows.n_owned);
    const int water_row = 13, ch3_row = 13 + 3; /* second copies */
    f[water_row + 1][0] = NAN;
    f[ch3_row + 1][1] = 3e7f;
    on_device g;
    md_move_fault fault;
    device_start(&g, s, (const float(*)[3])f, group, NULL);
    CHECK_OK(md_move_launch(g.move, &g.arrays, dt, NULL, NULL));
    CHECK_OK(md_move_fault_read(g.move, &fault, NULL));
    CHECK(fault.n_failed + fault.n_turned == 2);
    CHECK(fault.n_failed >= 1);
    CHECK(fault.row == water_row);
    CHECK_OK(md_move_fault_read(g.move, &fault, NULL));
    CHECK(fault.n_failed == 0 && fault.n_turned == 0);
    device_end(&g);
    base_free(f), base_free(group);
    system_destroy(s);
}

int main(void)
{
    device_required();
    const molecule_shape *const waters[] = {&water};
    const molecule_shape *const stars[] = {&oh, &ch2, &ch3, &ch4};
    const molecule_shape *const networks[] = {&chain, &ring, &triangle, &sf6};
    const molecule_shape *const all[] = {&water, &ethanol, &ch3, &triangle};
    const molecule_shape *const some[] = {&water, &ion, &ch3, &chain};
    compare(waters, 1, 1000, false);
    compare(waters, 1, 1, false);
    compare(stars, 4, 200, false);
    compare(networks, 4, 100, false);
    compare(all, 4, 100, false);
    compare(some, 4, 100, true);
    compare(stars, 4, 100, true);
    compare(networks, 4, 50, true);
    test_fault();
    return 0;
}
