/* Checkpoints and devices. A run on GPUs that is killed at any moment and goes on with -cpi writes
 * the bytes of the run that nobody killed. A checkpoint of the CPU goes on on GPUs and the other
 * way round, with the trajectory of a run on one device (limits of test_trajectories).
 *
 * Every run is a process of its own, so that none starts with what another left on the device, and
 * the parent, which forks, never touches it. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "test_gpu_restart_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[8][256];
    static int next;
    char *at = path[next++ % 8];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    return at;
}

static const char mdp_text[] =
    "dt = 0.002\nnstlist = 10\nnstcalcenergy = 10\nnstenergy = 10\nnstlog = 100\n"
    "nstxout-compressed = 50\nnstxout = 100\nnstvout = 100\nnstfout = 100\n"
    "verlet-buffer-tolerance = -1\nrlist = 1.05\nrcoulomb = 0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\ntcoupl = v-rescale\n"
    "tc-grps = System\ntau-t = 0.5\nref-t = 300\nld-seed = 1993\nnsttcouple = 10\n";

typedef struct job {
    const char *out;
    md_device_choice device;
    int grid[3];
    int64_t nsteps;
    bool go_on;
} job;

/* Positions at the end, for check_near. */
static void keep_positions(void *arg, const md_observation *what)
{
    FILE *file = fopen(arg, "wb");
    CHECK(file &&
          fwrite(what->x, sizeof *what->x, (size_t)what->n_atoms, file) == (size_t)what->n_atoms);
    CHECK(fclose(file) == 0);
}

/* The child: exit code 0 done, 1 failed, 77 no GPU. */
static int run_here(const job *j)
{
    char out[256], cpi[300], x[300];
    run_way way = {.scheme = j->device == MD_DEVICE_GPU ? MD_SCHEME_SHELL : MD_SCHEME_RETURN};
    memcpy(way.grid, j->grid, sizeof way.grid);
    snprintf(out, sizeof out, "%s", in_folder(j->out));
    snprintf(cpi, sizeof cpi, "%s/state.cpt", out);
    md_run_options options = run_options("grappa-like/0003", in_folder("md.mdp"), &way);
    options.device = j->device;
    options.out_dir = out;
    options.nstlist = 10;
    options.nsteps_given = true;
    options.nsteps = j->nsteps;
    options.checkpoint_minutes = 1e-4; /* at about every list */
    if (j->go_on) options.cpi = cpi;
    snprintf(x, sizeof x, "%s.x", out);
    options.observe = keep_positions;
    options.observe_arg = x;
    options.observe_every = (int)j->nsteps;
    md_run_result result;
    sundog_status status = md_run(&options, &result);
    if (status != SUNDOG_OK) {
        fprintf(stderr, "%s: %s\n", j->out, sundog_last_error());
        return 1;
    }
    CHECK((result.n_gpus > 0) == (j->device == MD_DEVICE_GPU));
    return 0;
}

static pid_t start(const job *j)
{
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(run_here(j));
    return pid;
}

static void run(const job *j)
{
    int status;
    pid_t pid = start(j);
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) exit(77);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void pause_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* True when it was still running. */
static bool run_and_kill(const job *j, int ms)
{
    int status;
    pid_t pid = start(j);
    pause_ms(ms);
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static bool same_file(const char *a, const char *b, const char *name)
{
    char path[2][300];
    FILE *file[2];
    snprintf(path[0], sizeof path[0], "%s/%s", in_folder(a), name);
    snprintf(path[1], sizeof path[1], "%s/%s", in_folder(b), name);
    for (int k = 0; k < 2; k++) CHECK(file[k] = fopen(path[k], "rb"));
    int c[2];
    do
        for (int k = 0; k < 2; k++) c[k] = getc(file[k]);
    while (c[0] == c[1] && c[0] != EOF);
    for (int k = 0; k < 2; k++) fclose(file[k]);
    if (c[0] != c[1]) fprintf(stderr, "%s and %s differ\n", path[0], path[1]);
    return c[0] == c[1];
}

/* Checkpoints are where domains are made anew: with one domain every 200 steps or so, with
 * several in a small box every 10000. */
static void test_kills(const int grid[3], int64_t n_steps, const char *calm, const char *killed)
{
    enum { N_KILLS = 6 };
    static const char *const name[] = {"energy.csv", "ener.edr", "traj_comp.xtc", "traj.trr",
                                       "confout.gro"};
    job j = {.out = calm, .device = MD_DEVICE_GPU, .nsteps = n_steps};
    memcpy(j.grid, grid, sizeof j.grid);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    run(&j);
    clock_gettime(CLOCK_MONOTONIC, &after);
    int whole_ms =
        (int)(1000 * (after.tv_sec - before.tv_sec) + (after.tv_nsec - before.tv_nsec) / 1000000);
    j.out = killed;
    j.go_on = true; /* from the start structure, where there is no checkpoint yet */
    int n_killed = 0;
    for (int k = 0; k < N_KILLS; k++)
        n_killed += run_and_kill(&j, whole_ms * (2 * k + 3) / (2 * N_KILLS + 4));
    run(&j);
    printf("%d x %d x %d: killed %d times in a run of %d ms\n", grid[0], grid[1], grid[2], n_killed,
           whole_ms);
    CHECK(n_killed >= 2);
    for (int k = 0; k < 5; k++) CHECK(same_file(calm, killed, name[k]));
}

/* ---- from device to device ------------------------------------------------------------------ */

static double *positions_of(const char *run_name, size_t *n)
{
    char path[300];
    snprintf(path, sizeof path, "%s.x", in_folder(run_name));
    FILE *file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    *n = (size_t)ftell(file) / sizeof(double[3]);
    double *x = malloc(*n * sizeof(double[3]));
    rewind(file);
    CHECK(x && *n > 0 && fread(x, sizeof(double[3]), *n, file) == *n);
    fclose(file);
    return x;
}

static void check_near(const char *a, const char *b)
{
    const double box = 3.1163, limit = 2e-5; /* of grappa-like/0003; RMS */
    size_t n[2];
    double *x[2] = {positions_of(a, &n[0]), positions_of(b, &n[1])}, sum = 0;
    CHECK(n[0] == n[1]);
    for (size_t i = 0; i < 3 * n[0]; i++) {
        double d = x[0][i] - x[1][i];
        sum += pow(d - box * rint(d / box), 2);
    }
    double rms = sqrt(sum / (double)n[0]);
    printf("%s and %s: positions differ by %.2g nm RMS\n", a, b, rms);
    CHECK(rms < limit);
    free(x[0]);
    free(x[1]);
}

static void test_devices(void)
{
    static const job steps[] = {
        {"cpu", MD_DEVICE_CPU, {1, 1, 1}, 100, false},
        {"cpu_gpu", MD_DEVICE_CPU, {2, 1, 1}, 40, false},
        {"cpu_gpu", MD_DEVICE_GPU, {1, 1, 1}, 100, true},
        {"gpu_cpu", MD_DEVICE_GPU, {2, 2, 1}, 40, false},
        {"gpu_cpu", MD_DEVICE_CPU, {1, 1, 1}, 100, true},
        {"to_and_fro", MD_DEVICE_GPU, {1, 1, 1}, 30, false},
        {"to_and_fro", MD_DEVICE_CPU, {2, 1, 1}, 60, true},
        {"to_and_fro", MD_DEVICE_GPU, {2, 1, 1}, 100, true},
    };
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) run(&steps[s]);
    check_near("cpu", "cpu_gpu");
    check_near("cpu", "gpu_cpu");
    check_near("cpu", "to_and_fro");
}

int main(void)
{
    char command[300];
    CHECK(mkdtemp(folder));
    FILE *file = fopen(in_folder("md.mdp"), "w");
    CHECK(file && fputs(mdp_text, file) >= 0 && fclose(file) == 0);
    pid_t probe = fork();
    CHECK(probe >= 0);
    if (probe == 0) {
        run_need_device();
        _exit(0);
    }
    int status;
    CHECK(waitpid(probe, &status, 0) == probe && WIFEXITED(status));
    if (WEXITSTATUS(status) == 0) {
        test_devices();
        test_kills((const int[3]){1, 1, 1}, 20000, "calm1", "killed1");
        test_kills((const int[3]){2, 1, 1}, 30000, "calm2", "killed2");
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return WEXITSTATUS(status);
}
