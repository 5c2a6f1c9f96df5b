/* Lists on a GPU that run out of room: the piece is repeated with more, and what comes of it is the
 * trajectory, the energies and the work of the thermostat of a run whose lists had room. Limits are
 * those of test_trajectories. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <unistd.h>

static run_frames frames_of(const char *mdp, const int grid[3], bool tight, int64_t *n_overflows)
{
    run_frames frames = {.want = {0, 100, -1}};
    run_way way = {.scheme = MD_SCHEME_SHELL};
    memcpy(way.grid, grid, sizeof way.grid);
    md_run_options options = run_options("grappa-like/0006", mdp, &way);
    options.tight_lists = tight;
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 100;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(frames.n == 2);
    *n_overflows = result.n_overflows;
    return frames;
}

static void check(const char *mdp, const int grid[3])
{
    int64_t n_tight, n_roomy;
    run_frames tight = frames_of(mdp, grid, true, &n_tight);
    run_frames roomy = frames_of(mdp, grid, false, &n_roomy);
    const run_frame *a = &roomy.frame[1], *b = &tight.frame[1];
    double sum = 0, scale = a->energy.kinetic;
    for (int64_t i = 0; i < a->n_atoms; i++) {
        double d[3];
        md_box_nearest(&a->box, a->x[i], b->x[i], d);
        sum += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    }
    double rms = sqrt(sum / (double)a->n_atoms);
    double work[2] = {a->energy.conserved - a->energy.total, b->energy.conserved - b->energy.total};
    printf("%d x %d x %d: %lld overflows, %lld with room; positions differ by %.2g nm RMS, works "
           "%.6g and %.6g kJ/mol\n",
           grid[0], grid[1], grid[2], (long long)n_tight, (long long)n_roomy, rms, work[0],
           work[1]);
    CHECK(n_tight > 0 && n_tight > n_roomy);
    CHECK(rms < 2e-5);
    CHECK_NEAR(a->energy.potential, b->energy.potential, 1e-4 * scale);
    CHECK(fabs(work[0]) > 1e-2 * scale / 100);
    CHECK_NEAR(work[0], work[1], 1e-4 * scale);
    run_frames_free(&tight);
    run_frames_free(&roomy);
}

int main(void)
{
    char mdp[] = "test_gpu_overflow_XXXXXX.mdp";
    run_need_device();
    int fd = mkstemps(mdp, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(file);
    fputs("dt = 0.002\nnsteps = 100\nnstlist = 10\nnstcalcenergy = 50\nnstenergy = 50\n"
          "verlet-buffer-tolerance = -1\nrlist = 1.05\nrcoulomb = 0.9\nrvdw = 0.9\n"
          "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\n"
          "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\nref-t = 350\nnsttcouple = 5\n"
          "ld-seed = 11\n",
          file);
    CHECK(fclose(file) == 0);
    check(mdp, (const int[3]){1, 1, 1});
    check(mdp, (const int[3]){2, 1, 1});
    unlink(mdp);
    return 0;
}
