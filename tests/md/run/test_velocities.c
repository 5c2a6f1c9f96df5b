/* gen-vel = yes: the velocities are Maxwell-Boltzmann ones of each mass, without motion of the
 * centre of mass, the same for any grid, and constrained at the start; gen-seed = -1 picks a seed
 * that repeats them. */
#include "md/core/units.h"
#include "md/core/vec.h"
#include "md/run/setup.h"
#include "md/run/velocities.h"
#include "runs.h"

#include <unistd.h>

/* A file of its own with these lines; the name lives until the next call. */
static const char *write_mdp(const char *more)
{
    static char name[64];
    strcpy(name, "test_velocities_XXXXXX.mdp");
    int fd = mkstemps(name, 4);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    CHECK(file);
    fprintf(file,
            "dt = 0.002\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\n"
            "nsteps = 0\ngen-vel = yes\n%s",
            more);
    CHECK(fclose(file) == 0);
    return name;
}

static md_system set_up(const char *system, const char *more)
{
    md_system out;
    run_way way = {.grid = {1, 1, 1}, .scheme = MD_SCHEME_RETURN};
    md_run_options options = run_options(system, write_mdp(more), &way);
    options.reproducible = false;
    sundog_status status = md_setup(&options, &out);
    unlink(options.mdp);
    CHECK_OK(status);
    return out;
}

static double mass_of(const md_topology *topology, int64_t atom)
{
    md_atom_place place;
    md_topology_find(topology, atom, &place);
    return topology->moltype[place.moltype].atom[place.atom].mass;
}

/* Of u = v sqrt(m / kT), atoms of one mass and of all: mean, variance, fourth moment and the tails
 * of a Gaussian, each within five standard errors; no correlation of the components. */
static void check_gaussian(const md_system *system, double least_mass, double most_mass)
{
    double n = 0, m1 = 0, m2 = 0, m4 = 0, cross = 0, n_tail[3] = {0};
    static const double bound[3] = {0.5, 1.5, 2.5}, beyond[3] = {0.6170751, 0.1336144, 0.0124193};
    for (int64_t i = 0; i < system->state.n_atoms; i++) {
        double mass = mass_of(system->topology, i), u[3];
        if (mass < least_mass || mass > most_mass) continue;
        for (int k = 0; k < 3; k++) {
            u[k] = system->state.v[i][k] * sqrt(mass / (MD_BOLTZ * 250));
            n++, m1 += u[k], m2 += u[k] * u[k], m4 += u[k] * u[k] * u[k] * u[k];
            for (int t = 0; t < 3; t++) n_tail[t] += fabs(u[k]) > bound[t];
        }
        cross += u[0] * u[1] + u[1] * u[2] + u[2] * u[0];
    }
    CHECK(n > 500);
    CHECK_NEAR(m1 / n, 0, 5 / sqrt(n));
    CHECK_NEAR(m2 / n, 1, 5 * sqrt(2 / n));
    CHECK_NEAR(m4 / n, 3, 5 * sqrt(96 / n));
    CHECK_NEAR(cross / n, 0, 5 / sqrt(n));
    for (int t = 0; t < 3; t++)
        CHECK_NEAR(n_tail[t] / n, beyond[t], 5 * sqrt(beyond[t] * (1 - beyond[t]) / n));
}

static void test_distribution(void)
{
    md_system system = set_up("grappa-like/0006", "gen-temp = 250\ngen-seed = 12\n");
    check_gaussian(&system, 1, 2);   /* hydrogen */
    check_gaussian(&system, 15, 17); /* oxygen */
    check_gaussian(&system, 0, 1e9);
    double momentum[3] = {0}, twice_ekin = 0, mass_sum = 0;
    for (int64_t i = 0; i < system.state.n_atoms; i++) {
        double mass = mass_of(system.topology, i);
        for (int k = 0; k < 3; k++) momentum[k] += mass * system.state.v[i][k];
        twice_ekin += mass * vec_norm2(system.state.v[i]);
        mass_sum += mass;
    }
    for (int k = 0; k < 3; k++) CHECK_NEAR(momentum[k] / mass_sum, 0, 1e-12);
    /* exact but for what the centre of mass took: some of its three degrees of freedom */
    double n_dof = 3 * (double)system.state.n_atoms;
    CHECK_NEAR(twice_ekin / (MD_BOLTZ * 250), n_dof, 20);
    CHECK_NEAR(md_velocities_temperature(system.topology, &system.state, n_dof),
               twice_ekin / (MD_BOLTZ * n_dof), 1e-9);
    CHECK(strstr(system.notes, "generated for 250 K with gen-seed = 12\n"));
    CHECK(system.temperature == 250);
    md_setup_destroy(&system);
}

static void test_seed(void)
{
    const char *name = "ethanol/single";
    md_system a = set_up(name, ""), b = set_up(name, "gen-seed = -1\n");
    CHECK(a.params.gen_seed >= 0 && a.params.gen_seed != b.params.gen_seed);
    CHECK(a.params.gen_temp == 300);
    char said[64], more[64];
    snprintf(said, sizeof said, "gen-seed = %lld\n", (long long)a.params.gen_seed);
    CHECK(strstr(a.notes, said));
    snprintf(more, sizeof more, "gen-seed = %lld\n", (long long)a.params.gen_seed);
    md_system again = set_up(name, more);
    size_t n_bytes = (size_t)a.state.n_atoms * sizeof *a.state.v;
    CHECK(memcmp(a.state.v, again.state.v, n_bytes) == 0);
    CHECK(memcmp(a.state.v, b.state.v, n_bytes) != 0);
    md_setup_destroy(&a);
    md_setup_destroy(&b);
    md_setup_destroy(&again);
    md_system rest = set_up(name, "gen-temp = 0\n");
    for (int64_t i = 0; i < rest.state.n_atoms; i++) CHECK(vec_norm2(rest.state.v[i]) == 0);
    md_setup_destroy(&rest);
}

/* The start of a run with constraints. */
static void start(const char *mdp, const int grid[3], run_frames *frames)
{
    *frames = (run_frames){.want = {0, -1}};
    run_way way = {.grid = {grid[0], grid[1], grid[2]}, .scheme = MD_SCHEME_RETURN};
    md_run_options options = run_options("grappa-like/0001.5", mdp, &way);
    options.observe = run_keep;
    options.observe_arg = frames;
    options.observe_every = 1;
    md_run_result result;
    CHECK_OK(md_run(&options, &result));
    CHECK(frames->n == 1);
}

static void test_start(void)
{
    enum { N_SEEDS = 4 };
    double sum = 0;
    for (int seed = 0; seed < N_SEEDS; seed++) {
        char more[128];
        snprintf(more, sizeof more, "constraints = h-bonds\ngen-seed = %d\n", seed);
        const char *mdp = write_mdp(more);
        run_frames one, four;
        start(mdp, (const int[3]){1, 1, 1}, &one);
        start(mdp, (const int[3]){2, 1, 2}, &four);
        unlink(mdp);
        const run_frame *a = &one.frame[0], *b = &four.frame[0];
        for (int64_t i = 0; i < a->n_atoms; i++)
            for (int k = 0; k < 3; k++) CHECK_NEAR(a->v[i][k], b->v[i][k], 1e-9);
        /* water of atoms 289, 290, 291, and on: rigid now and half a step before */
        for (int64_t o = 288; o < a->n_atoms; o += 3)
            for (int h = 1; h < 3; h++) {
                double d[3], before[3];
                md_box_nearest(&a->box, a->x[o + h], a->x[o], d);
                CHECK_NEAR(sqrt(vec_norm2(d)), 0.1, 1e-6);
                for (int k = 0; k < 3; k++)
                    before[k] = d[k] - 0.002 * (a->v[o + h][k] - a->v[o][k]);
                CHECK_NEAR(sqrt(vec_norm2(before)), 0.1, 1e-6);
            }
        sum += a->energy.temperature;
        run_frames_free(&one);
        run_frames_free(&four);
    }
    /* canonical scatter of 3093 degrees of freedom, four times */
    CHECK_NEAR(sum / N_SEEDS, 300, 3 * 300 * sqrt(2.0 / 3093 / N_SEEDS));
}

static void test_refusal(void)
{
    md_system system;
    run_way way = {.grid = {1, 1, 1}};
    md_run_options options = run_options("ethanol/single", write_mdp("continuation = yes\n"), &way);
    CHECK(md_setup(&options, &system) == SUNDOG_ERR_INPUT);
    CHECK(strstr(sundog_last_error(), "gen-vel = yes and continuation = yes"));
    unlink(options.mdp);
}

int main(void)
{
    test_distribution();
    test_seed();
    test_start();
    test_refusal();
    return 0;
}
