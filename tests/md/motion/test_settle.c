/* SETTLE: constraints hold, no momentum or angular momentum appears, the result is that of a
 * converged SHAKE, virial and velocity change are the displacement's, variants agree bit for bit,
 * what cannot be solved is an error. */
#include "constraint_systems.h"

static const md_constrain_options options = {4, 1, 30, false, NULL};
static const double dt = 0.002;

static void test_positions(int n_waters)
{
    const molecule_shape *const shapes[] = {&water};
    constraint_system *s = system_create(shapes, 1, n_waters, dt, &options);
    const int n = s->rows.n_owned;
    double(*free)[3] = base_alloc(sizeof s->x), (*reference)[3] = base_alloc(sizeof s->x);
    double(*v)[3] = base_alloc(sizeof s->x), virial[3][3] = {{1, 2, 3}},
    expected[3][3] = {{1, 2, 3}};
    memcpy(free, s->x_new, sizeof s->x);
    memcpy(reference, s->x_new, sizeof s->x);
    memcpy(v, s->v, sizeof s->x);
    CHECK(worst_deviation(s, (const double(*)[3])free) > 1e-3);
    CHECK_OK(constrain(s, dt, virial));
    shake(s, reference);
    CHECK(worst_deviation(s, (const double(*)[3])s->x_new) < 1e-12);
    CHECK(largest_difference((const double(*)[3])s->x_new, (const double(*)[3])reference, n) <
          2e-12);
    check_no_net_push(s, (const double(*)[3])free, (const double(*)[3])s->x_new, 1e-12 * n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 3; i++) {
            const double d = s->x_new[r][i] - free[r][i];
            CHECK_NEAR(s->v[r][i], v[r][i] + d / dt, 1e-11);
            for (int j = 0; j < 3; j++)
                expected[j][i] -= 0.5 * s->x[r][j] * s->mass[r] * d / (dt * dt);
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) CHECK_NEAR(virial[i][j], expected[i][j], 2e-7 * n);
    base_free(free), base_free(reference), base_free(v);
    system_destroy(s);
}

/* Large steps: what SHAKE solves, SETTLE solves. */
static void test_large_displacements(void)
{
    const molecule_shape *const shapes[] = {&water};
    constraint_system *s = system_create(shapes, 1, 500, 0.006, &options);
    double(*reference)[3] = base_alloc(sizeof s->x);
    memcpy(reference, s->x_new, sizeof s->x);
    CHECK_OK(constrain(s, 0.006, NULL));
    shake(s, reference);
    CHECK(worst_deviation(s, (const double(*)[3])s->x_new) < 1e-12);
    CHECK(largest_difference((const double(*)[3])s->x_new, (const double(*)[3])reference,
                             s->rows.n_owned) < 1e-11);
    base_free(reference);
    system_destroy(s);
}

static double kinetic(const constraint_system *s)
{
    double sum = 0;
    for (int r = 0; r < s->rows.n_owned; r++)
        for (int k = 0; k < 3; k++) sum += 0.5 * s->mass[r] * s->v[r][k] * s->v[r][k];
    return sum;
}

static void test_velocities(int n_waters)
{
    const molecule_shape *const shapes[] = {&water};
    constraint_system *s = system_create(shapes, 1, n_waters, dt, &options);
    double(*v)[3] = base_alloc(sizeof s->x);
    const double before = kinetic(s);
    memcpy(v, s->v, sizeof s->x);
    CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
    CHECK(worst_rate(s, (const double(*)[3])s->v) < 1e-12);
    check_no_net_push(s, (const double(*)[3])v, (const double(*)[3])s->v, 1e-12 * n_waters);
    CHECK(kinetic(s) < before);
    memcpy(v, s->v, sizeof s->x);
    CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
    CHECK(largest_difference((const double(*)[3])v, (const double(*)[3])s->v, s->rows.n_owned) <
          1e-12);
    base_free(v);
    system_destroy(s);
}

static void test_variants(void)
{
    if (!md_constrain_variant_runs(MD_CONSTRAIN_AVX2)) return;
    const molecule_shape *const shapes[] = {&water};
    constraint_system *s = system_create(shapes, 1, 101, dt, &options);
    double(*x)[3] = base_alloc(sizeof s->x), (*v)[3] = base_alloc(sizeof s->x);
    double(*start)[3] = base_alloc(sizeof s->x), virial[2][3][3] = {{{0}}};
    memcpy(start, s->x_new, sizeof s->x);
    memcpy(v, s->v, sizeof s->x);
    md_constrain_use_variant(s->constrain, MD_CONSTRAIN_PLAIN);
    CHECK_OK(constrain(s, dt, virial[0]));
    CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
    memcpy(x, s->x_new, sizeof s->x);
    memcpy(s->x_new, start, sizeof s->x);
    memcpy(start, s->v, sizeof s->x);
    memcpy(s->v, v, sizeof s->x);
    md_constrain_use_variant(s->constrain, MD_CONSTRAIN_AVX2);
    CHECK_OK(constrain(s, dt, virial[1]));
    CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
    CHECK(memcmp(x, s->x_new, sizeof s->x) == 0 && memcmp(start, s->v, sizeof s->x) == 0);
    CHECK(memcmp(virial[0], virial[1], sizeof virial[0]) == 0);
    base_free(x), base_free(v), base_free(start);
    system_destroy(s);
}

/* Two models of water, and one that is only a ghost. */
static void test_models(void)
{
    molecule_shape heavy = water;
    heavy.mass[1] = heavy.mass[2] = 2.014;
    heavy.name = "heavy water";
    const molecule_shape *const shapes[] = {&water, &heavy};
    constraint_system *s = system_create(shapes, 2, 21, dt, &options);
    double(*reference)[3] = base_alloc(sizeof s->x), ghost[3][3];
    memcpy(reference, s->x_new, sizeof s->x);
    shake(s, reference);
    s->rows.n_owned -= 3;
    memcpy(ghost, s->x_new[s->rows.n_owned], sizeof ghost);
    CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows));
    CHECK_OK(constrain(s, dt, NULL));
    CHECK(largest_difference((const double(*)[3])s->x_new, (const double(*)[3])reference,
                             s->rows.n_owned) < 2e-12);
    CHECK(memcmp(ghost, s->x_new[s->rows.n_owned], sizeof ghost) == 0);
    s->rows.n_owned += 1;
    CHECK(md_constrain_rebuild(s->constrain, &s->rows) == SUNDOG_ERR_PHYSICS);
    base_free(reference);
    system_destroy(s);
}

static void test_faults(void)
{
    const molecule_shape *const shapes[] = {&water};
    for (int fault = 0; fault < 4; fault++) {
        constraint_system *s = system_create(shapes, 1, 19, dt, &options);
        if (fault == 0) s->x_new[3 * 7 + 1][2] = NAN;
        if (fault == 1) s->x_new[3 * 7][0] = INFINITY;
        if (fault == 2) s->x_new[3 * 7][1] += 1.0; /* cannot be solved */
        if (fault == 3) memcpy(s->x[3 * 7 + 1], s->x[3 * 7 + 2], sizeof s->x[0]); /* no triangle */
        CHECK(constrain(s, dt, NULL) == SUNDOG_ERR_PHYSICS);
        CHECK(strstr(sundog_last_error(), "1022, 1023, 1024"));
        system_destroy(s);
    }
    constraint_system *s = system_create(shapes, 1, 19, dt, &options);
    s->v[3 * 7 + 1][2] = NAN;
    CHECK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v) ==
          SUNDOG_ERR_PHYSICS);
    CHECK(strstr(sundog_last_error(), "1022, 1023, 1024"));
    system_destroy(s);
}

static void test_input_errors(void)
{
    const molecule_shape *const shapes[] = {&water};
    constraint_system *s = system_create(shapes, 1, 1, dt, &options);
    md_constrain *other = NULL;
    s->atom[0][2].mass = 2;
    CHECK(md_constrain_create(&s->topology, &options, &other) == SUNDOG_ERR_INPUT);
    s->atom[0][2].mass = s->atom[0][1].mass = 0;
    CHECK(md_constrain_create(&s->topology, &options, &other) == SUNDOG_ERR_INPUT);
    s->atom[0][2].mass = s->atom[0][1].mass = 1;
    s->param[0].p[1] = 2.1 * s->param[0].p[0];
    CHECK(md_constrain_create(&s->topology, &options, &other) == SUNDOG_ERR_INPUT);
    CHECK(other == NULL);
    system_destroy(s);
}

int main(void)
{
    for (int n = 1; n < 20; n++) test_positions(n);
    test_positions(1000);
    test_large_displacements();
    test_velocities(1);
    test_velocities(777);
    test_variants();
    test_models();
    test_faults();
    test_input_errors();
    return 0;
}
