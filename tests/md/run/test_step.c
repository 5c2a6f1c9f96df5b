/* The step itself, as GROMACS's leap-frog does it, seen from outside on argon (no constraints):
 * with x, v, f of step s as observed,
 *
 *      v(s + 1/2) = lambda v(s - 1/2) + f(s) dt / m - drift,    x(s + 1) = x(s) + v(s + 1/2) dt
 *      K(s) = mean of both halves
 *      lambda   at steps 1, n + 1, 2 n + 1, ... of n = nsttcouple, at every step if n is 1
 *      drift    after steps 0, n, 2 n, ... of n = nstcomm; energies of the step are those before it
 *      conserved energy = total - work of the thermostat up to this step's coupling
 *
 * Cannot catch: a wrong random step of the thermostat (tests/md/motion/test_thermostat.c). */
#include "md/core/units.h"
#include "md/in/gro.h"
#include "md/motion/thermostat.h"
#include "runs.h"

#include <unistd.h>

enum { N_STEPS = 13, SEED = 77 };
static const double dt = 0.002, mass = 39.948, tau_t = 0.2, ref_t = 94.4;

static double kinetic(const run_frame *frame)
{
    double sum = 0;
    for (int64_t i = 0; i < frame->n_atoms; i++)
        for (int k = 0; k < 3; k++) sum += 0.5 * mass * frame->v[i][k] * frame->v[i][k];
    return sum;
}

static void mean_velocity(const run_frame *frame, double mean[3])
{
    for (int k = 0; k < 3; k++) {
        mean[k] = 0;
        for (int64_t i = 0; i < frame->n_atoms; i++) mean[k] += frame->v[i][k];
        mean[k] /= (double)frame->n_atoms;
    }
}

/* name: "...XXXXXX" and an ending of 4 characters; becomes that of a new file. */
static FILE *open_new(char *name)
{
    int fd = mkstemps(name, 4);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    CHECK(file);
    return file;
}

/* The argon of systems/, flying along x: as it is there, its momentum is zero. */
static void write_conf(FILE *file)
{
    md_gro gro;
    CHECK_OK(md_gro_read(reference_path("lj/argon_4k/conf.gro"), &gro));
    CHECK(gro.state.has_velocities);
    fprintf(file, "argon\n%lld\n", (long long)gro.state.n_atoms);
    for (int64_t i = 0; i < gro.state.n_atoms; i++) {
        const double *x = gro.state.x[i], *v = gro.state.v[i];
        fprintf(file, "%5d%-5s%5s%5d%14.9f%14.9f%14.9f%14.9f%14.9f%14.9f\n", (int)i + 1, "AR", "AR",
                (int)i + 1, x[0], x[1], x[2], v[0] + 0.05, v[1], v[2]);
    }
    const double(*m)[3] = gro.state.box.m;
    fprintf(file, "%.9f %.9f %.9f\n", m[0][0], m[1][1], m[2][2]);
    CHECK(fclose(file) == 0);
    md_gro_destroy(&gro);
}

static void run_argon(const char *more, run_frames *frames)
{
    char mdp[] = "test_step_XXXXXX.mdp", conf[] = "test_step_XXXXXX.gro";
    FILE *file = open_new(mdp);
    write_conf(open_new(conf));
    fprintf(file, "dt = %g\nnsteps = %d\nnstlist = 5\nnstcalcenergy = 1\nrcoulomb = 0.9\n"
                  "rvdw = 0.9\ncontinuation = yes\n%s", dt, N_STEPS, more);
    CHECK(fclose(file) == 0);
    *frames = (run_frames){.n = 0};
    for (int s = 0; s <= N_STEPS; s++) frames->want[s] = s;
    frames->want[N_STEPS + 1] = -1;
    run_way way = {.grid = {2, 1, 2}, .scheme = RUN_SCHEME};
    md_run_options options = run_options("lj/argon_4k", mdp, &way);
    options.conf = conf;
    options.observe = run_keep;
    options.observe_arg = frames;
    options.observe_every = 1;
    md_run_result result;
    sundog_status status = md_run(&options, &result);
    unlink(mdp);
    unlink(conf);
    CHECK_OK(status);
    run_was_there(&result);
    CHECK(frames->n == N_STEPS + 1);
}

/* From one frame to the next. */
static void check_move(const run_frame *a, const run_frame *b, double lambda, const double drift[3])
{
    for (int64_t i = 0; i < a->n_atoms; i++) {
        double reached[3], off[3];
        for (int k = 0; k < 3; k++) {
            double v = lambda * a->v[i][k] + (double)a->f[i][k] * dt / mass;
            CHECK_NEAR(b->v[i][k], v - drift[k], 1e-12);
            reached[k] = a->x[i][k] + v * dt;
        }
        md_box_nearest(&a->box, b->x[i], reached, off);
        for (int k = 0; k < 3; k++) CHECK_NEAR(off[k], 0, 1e-12);
    }
}

static void check_thermostat(int nsttcouple)
{
    char more[256];
    run_frames frames;
    snprintf(more, sizeof more, "comm-mode = none\ntcoupl = v-rescale\ntc-grps = System\n"
             "tau-t = %g\nref-t = %g\nnsttcouple = %d\nld-seed = %d\n", tau_t, ref_t, nsttcouple,
             SEED);
    run_argon(more, &frames);
    double n_dof = 3.0 * (double)frames.frame[0].n_atoms, work = 0;
    double reference = 0.5 * n_dof * MD_BOLTZ * ref_t;
    int n_couplings = 0;
    for (int s = 0; s < N_STEPS; s++) {
        const run_frame *a = &frames.frame[s], *b = &frames.frame[s + 1];
        double before = kinetic(a), lambda = 1;
        if (nsttcouple == 1 || s % nsttcouple == 1) {
            double after = md_vrescale_ekin(before, reference, n_dof, nsttcouple * dt, tau_t,
                                            (md_vrescale_draw){.seed = SEED, .step = s});
            lambda = sqrt(after / before);
            work += after - before;
            n_couplings++;
            CHECK(fabs(lambda - 1) > 1e-6);
        }
        check_move(a, b, lambda, (const double[3]){0, 0, 0});
        double mean = 0.5 * (before + kinetic(b));
        CHECK_NEAR(a->energy.kinetic, mean, 1e-9 * mean);
        CHECK_NEAR(a->energy.temperature, 2 * mean / (n_dof * MD_BOLTZ), 1e-7);
        CHECK_NEAR(a->energy.total - a->energy.conserved, work, 1e-7);
    }
    CHECK(n_couplings == (nsttcouple == 1 ? N_STEPS : 3));
    run_frames_free(&frames);
}

static void check_drift_removal(void)
{
    enum { NSTCOMM = 4 };
    run_frames frames;
    double n_dof, mean[3];
    run_argon("comm-mode = linear\nnstcomm = 4\n", &frames);
    n_dof = 3.0 * (double)frames.frame[0].n_atoms - 3;
    for (int s = 0; s < N_STEPS; s++) {
        const run_frame *a = &frames.frame[s], *b = &frames.frame[s + 1];
        double drift[3] = {0, 0, 0};
        if (s % NSTCOMM == 0) {
            mean_velocity(b, mean);
            for (int k = 0; k < 3; k++) CHECK_NEAR(mean[k], 0, 1e-14);
            mean_velocity(a, drift);
            for (int64_t i = 0; i < a->n_atoms; i++)
                for (int k = 0; k < 3; k++)
                    drift[k] += (double)a->f[i][k] * dt / mass / (double)a->n_atoms;
            if (s == 0) CHECK_NEAR(drift[0], 0.05, 1e-6);
        }
        check_move(a, b, 1, drift);
        CHECK_NEAR(a->energy.temperature, 2 * a->energy.kinetic / (n_dof * MD_BOLTZ), 1e-9);
        CHECK(a->energy.total == a->energy.conserved);
    }
    run_frames_free(&frames);
}

int main(void)
{
    run_need_device();
    check_thermostat(1);
    check_thermostat(5);
    check_drift_removal();
    return 0;
}
