/* LINCS: stars of every size and networks (chain, ring, triangle, whole ethanol) converge to the
 * converged SHAKE with rising order and iterations; momentum, virial, velocities; faults. */
#include "constraint_systems.h"

static const double dt = 0.002;
static const molecule_shape *const all[] = {&oh,    &ch2,  &ch3,      &ch4,    &sf6,
                                            &chain, &ring, &triangle, &ethanol};
enum { N_ALL = sizeof all / sizeof all[0] };

/* Deviation after one step with this order and these iterations; all else is checked on the way. */
static double step(const molecule_shape *const *shapes, int n_shapes, int n_copies, int order,
                   int iter, double *error)
{
    const md_constrain_options options = {order, iter, 30, false, NULL};
    random_state = 4711;
    constraint_system *s = system_create(shapes, n_shapes, n_copies, dt, &options);
    const int n = s->rows.n_owned;
    double(*free)[3] = base_alloc(sizeof s->x), (*reference)[3] = base_alloc(sizeof s->x);
    double(*v)[3] = base_alloc(sizeof s->x), virial[3][3] = {{3, 2, 1}},
    expected[3][3] = {{3, 2, 1}};
    double max, sum_square;
    int64_t count;
    memcpy(free, s->x_new, sizeof s->x);
    memcpy(reference, s->x_new, sizeof s->x);
    memcpy(v, s->v, sizeof s->x);
    CHECK(worst_deviation(s, (const double(*)[3])free) > 1e-3);
    CHECK_OK(constrain(s, dt, virial));
    shake(s, reference);
    check_no_net_push(s, (const double(*)[3])free, (const double(*)[3])s->x_new, 1e-12 * n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 3; i++) {
            const double d = s->x_new[r][i] - free[r][i];
            CHECK_NEAR(s->v[r][i], v[r][i] + d / dt, 2e-11);
            for (int j = 0; j < 3; j++)
                expected[j][i] -= 0.5 * s->x[r][j] * s->mass[r] * d / (dt * dt);
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) CHECK_NEAR(virial[i][j], expected[i][j], 3e-6 * n);
    *error = largest_difference((const double(*)[3])s->x_new, (const double(*)[3])reference, n);
    const double deviation = worst_deviation(s, (const double(*)[3])s->x_new);
    md_constrain_deviation(s->constrain, &s->rows, (const double(*)[3])s->x_new, &max, &sum_square,
                           &count);
    CHECK(count == s->n_pairs);
    CHECK_NEAR(max, deviation, 1e-15);
    CHECK(sum_square <= (double)count * max * max && sum_square >= max * max);
    base_free(free), base_free(reference), base_free(v);
    system_destroy(s);
    return deviation;
}

static void test_convergence(void)
{
    for (int t = 0; t < N_ALL; t++) {
        double error, last = 1;
        const double usual = step(&all[t], 1, 37, 4, 1, &error);
        CHECK(usual < (all[t] == &triangle ? 1e-2 : all[t] == &ring ? 2e-4 : 1e-4));
        const double tight = step(&all[t], 1, 37, 8, 4, &error);
        CHECK(tight < (all[t] == &triangle ? 1e-5 : 1e-8));
        for (int iter = 1; iter <= 4; iter++) { /* falls with the iterations */
            const double now = step(&all[t], 1, 37, 8, iter, &error);
            CHECK(now < 0.5 * last || now < 1e-12);
            last = now;
        }
        last = 1;
        for (int order = 1; order <= 16; order *= 2) { /* and with the order */
            const double now = step(&all[t], 1, 37, order, 2, &error);
            CHECK(now <= last * 1.001 || now < 1e-6);
            last = now;
        }
        CHECK(step(&all[t], 1, 37, 40, 12, &error) < 1e-12);
        CHECK(error < 2e-11);
        for (int n = 1; n < 18; n += 3) CHECK(step(&all[t], 1, n, 40, 12, &error) < 1e-12);
    }
}

/* Shapes by turns: sorting into storages must not mix them up. */
static void test_mixtures(void)
{
    double error;
    for (int t = 0; t < N_ALL; t++) {
        const molecule_shape *const shapes[] = {all[t], all[(t + 1) % N_ALL], &water,
                                                all[(t + 4) % N_ALL]};
        const md_constrain_options options = {24, 10, 30, false, NULL};
        constraint_system *s = system_create(shapes, 4, 29, dt, &options);
        double(*reference)[3] = base_alloc(sizeof s->x);
        memcpy(reference, s->x_new, sizeof s->x);
        CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows)); /* a second time */
        CHECK_OK(constrain(s, dt, NULL));
        shake(s, reference);
        error = largest_difference((const double(*)[3])s->x_new, (const double(*)[3])reference,
                                   s->rows.n_owned);
        CHECK(error < 1e-9);
        base_free(reference);
        system_destroy(s);
    }
}

static void test_velocities(void)
{
    for (int t = 0; t < N_ALL; t++) {
        const md_constrain_options options = {8, 4, 30, false, NULL},
                                   once = {8, 1, 30, false, NULL};
        random_state = 17;
        constraint_system *s = system_create(&all[t], 1, 21, dt, &options);
        double(*v)[3] = base_alloc(sizeof s->x), (*start)[3] = base_alloc(sizeof s->x);
        memcpy(start, s->v, sizeof s->x);
        CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
        const double rate = worst_rate(s, (const double(*)[3])s->v);
        CHECK(rate < (all[t] == &triangle ? 1e-3 : 1e-7));
        check_no_net_push(s, (const double(*)[3])start, (const double(*)[3])s->v, 1e-10);
        memcpy(v, s->v, sizeof s->x); /* a projection: twice is once */
        CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
        CHECK(largest_difference((const double(*)[3])v, (const double(*)[3])s->v,
                                 s->rows.n_owned) <= rate);
        system_destroy(s);

        random_state = 17; /* iterations help here too */
        s = system_create(&all[t], 1, 21, dt, &once);
        CHECK_OK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x, s->v));
        CHECK(worst_rate(s, (const double(*)[3])s->v) >= rate || rate < 1e-12);
        base_free(v), base_free(start);
        system_destroy(s);
    }
}

static void test_variants(void)
{
    if (!md_constrain_variant_runs(MD_CONSTRAIN_AVX2)) return;
    const md_constrain_options options = {4, 1, 30, false, NULL};
    const molecule_shape *const shapes[] = {&oh, &ch2, &ch3, &ch4};
    constraint_system *s[2];
    double virial[2][3][3] = {{{0}}};
    for (int k = 0; k < 2; k++) {
        random_state = 5;
        s[k] = system_create(shapes, 4, 43, dt, &options);
        md_constrain_use_variant(s[k]->constrain, k ? MD_CONSTRAIN_AVX2 : MD_CONSTRAIN_PLAIN);
        CHECK_OK(constrain(s[k], dt, virial[k]));
        CHECK_OK(md_constrain_velocities(s[k]->constrain, &s[k]->rows, (const double(*)[3])s[k]->x,
                                         s[k]->v));
    }
    CHECK(memcmp(s[0]->x_new, s[1]->x_new, sizeof s[0]->x_new) == 0);
    CHECK(memcmp(s[0]->v, s[1]->v, sizeof s[0]->v) == 0);
    CHECK(memcmp(virial[0], virial[1], sizeof virial[0]) == 0);
    system_destroy(s[0]), system_destroy(s[1]);
}

typedef enum outcome { GOOD, WARNED, FAILED } outcome;

/* Turn one bond by `degrees` within a step. */
static outcome turn(const molecule_shape *shape, double degrees, double warn)
{
    const md_constrain_options options = {8, 4, warn, false, NULL};
    constraint_system *s = system_create(&shape, 1, 11, 1e-9, &options);
    const int far = 5 * shape->n_atoms + shape->pair[0][1],
              near = 5 * shape->n_atoms + shape->pair[0][0];
    double d[3], side[3], length = pair_length(shape, 0), norm = 0;
    for (int k = 0; k < 3; k++) d[k] = (s->x[far][k] - s->x[near][k]) / length;
    side[0] = d[1], side[1] = -d[0], side[2] = 0;
    for (int k = 0; k < 3; k++) norm += side[k] * side[k];
    const double a = degrees * 3.14159265358979 / 180;
    for (int k = 0; k < 3; k++)
        s->x_new[far][k] =
            s->x_new[near][k] + length * (cos(a) * d[k] + sin(a) * side[k] / sqrt(norm));
    char atom[32];
    snprintf(atom, sizeof atom, " %d", 1001 + far);
    sundog_status status = constrain(s, dt, NULL);
    const char *warning = md_constrain_take_warning(s->constrain);
    if (status != SUNDOG_OK) CHECK(strstr(sundog_last_error(), atom));
    if (warning) {
        CHECK(strstr(warning, "LINCS WARNING: ") && strstr(warning, atom));
        CHECK(md_constrain_take_warning(s->constrain) == NULL);
    }
    CHECK(status == SUNDOG_OK || (status == SUNDOG_ERR_PHYSICS && !warning));
    system_destroy(s);
    return status != SUNDOG_OK ? FAILED : warning ? WARNED : GOOD;
}

static void test_turned_bonds(void)
{
    const molecule_shape *const shapes[] = {&ch2, &ch3, &chain};
    for (int t = 0; t < 3; t++) {
        CHECK(turn(shapes[t], 10, 30) == GOOD);
        CHECK(turn(shapes[t], 45, 30) == WARNED);
        CHECK(turn(shapes[t], 10, 3) == WARNED);
        CHECK(turn(shapes[t], 100, 90) == FAILED);
        CHECK(turn(shapes[t], 170, 90) == FAILED);
    }
}

static void test_not_finite(void)
{
    const md_constrain_options options = {4, 1, 30, false, NULL};
    for (int t = 0; t < N_ALL; t++)
        for (int fault = 0; fault < 3; fault++) {
            constraint_system *s = system_create(&all[t], 1, 13, dt, &options);
            const int row = 6 * all[t]->n_atoms + 1;
            if (fault == 0) s->x_new[row][1] = NAN;
            if (fault == 1) s->x_new[row][0] = -INFINITY;
            if (fault == 2) s->v[row][2] = NAN;
            if (fault < 2) {
                CHECK(constrain(s, dt, NULL) == SUNDOG_ERR_PHYSICS);
                CHECK(strstr(sundog_last_error(), "not finite"));
            } else {
                CHECK(md_constrain_velocities(s->constrain, &s->rows, (const double(*)[3])s->x,
                                              s->v) == SUNDOG_ERR_PHYSICS);
            }
            system_destroy(s);
        }
}

static void test_ghosts(void)
{
    const md_constrain_options options = {4, 1, 30, false, NULL};
    const molecule_shape *const shapes[] = {&ch3, &chain};
    constraint_system *s = system_create(shapes, 2, 5, dt, &options);
    double ghost[6][3];
    s->rows.n_owned -= 6;
    memcpy(ghost, s->x_new[s->rows.n_owned], sizeof ghost);
    CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows));
    CHECK_OK(constrain(s, dt, NULL));
    CHECK(memcmp(ghost, s->x_new[s->rows.n_owned], sizeof ghost) == 0);
    s->rows.n_owned += 2;
    CHECK(md_constrain_rebuild(s->constrain, &s->rows) == SUNDOG_ERR_PHYSICS);
    CHECK(strstr(sundog_last_error(), "not whole"));
    s->rows.n_owned = 0;
    CHECK_OK(md_constrain_rebuild(s->constrain, &s->rows));
    CHECK_OK(constrain(s, dt, NULL));
    system_destroy(s);
}

static void test_input_errors(void)
{
    const md_constrain_options good = {4, 1, 30, false, NULL};
    const md_constrain_options bad[] = {{0, 1, 30, false, NULL},
                                        {4, 0, 30, false, NULL},
                                        {4, 1, 0, false, NULL},
                                        {4, 1, 91, false, NULL},
                                        {4, 1, NAN, false, NULL}};
    const molecule_shape *const shapes[] = {&ch3};
    md_constrain *other = NULL;
    constraint_system *s = system_create(shapes, 1, 1, dt, &good);
    for (int k = 0; k < 5; k++)
        CHECK(md_constrain_create(&s->topology, &bad[k], &other) == SUNDOG_ERR_INPUT);
    s->param[1].p[0] = 0;
    CHECK(md_constrain_create(&s->topology, &good, &other) == SUNDOG_ERR_INPUT);
    s->param[1].p[0] = 0.1;
    s->atom[0][2].mass = 0;
    CHECK(md_constrain_create(&s->topology, &good, &other) == SUNDOG_ERR_INPUT);
    s->atom[0][2].mass = 1;
    s->atoms[0][4] = 2, s->atoms[0][5] = 0; /* 0-2 again */
    CHECK(md_constrain_create(&s->topology, &good, &other) == SUNDOG_ERR_INPUT);
    CHECK(strstr(sundog_last_error(), "twice"));
    CHECK(other == NULL);
    system_destroy(s);
}

int main(void)
{
    test_convergence();
    test_mixtures();
    test_velocities();
    test_variants();
    test_turned_bonds();
    test_not_finite();
    test_ghosts();
    test_input_errors();
    return 0;
}
