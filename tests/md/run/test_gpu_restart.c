/* Checkpoints and devices. A run on GPUs that is killed at any moment, or stopped, and goes on with
 * -cpi writes the bytes of the run that nobody stopped, also when its lists have another amount of
 * room and overflow elsewhere. A checkpoint of the CPU goes on on GPUs and the other way round,
 * with the trajectory of a run on one device (limits of test_trajectories).
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

static const char common_text[] =
    "dt = 0.002\nnstcalcenergy = 10\nnstenergy = 10\nnstlog = 100\n"
    "nstxout-compressed = 50\nnstxout = 100\nnstvout = 100\nnstfout = 100\n"
    "rcoulomb = 0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\ntcoupl = v-rescale\n"
    "tc-grps = System\ntau-t = 0.5\nref-t = 300\nld-seed = 1993\nnsttcouple = 10\n";

/* Run parameters beside these, a file each. */
static const struct {
    const char *name, *text;
    int nstlist;
} settings[] = {
    {"md.mdp", "verlet-buffer-tolerance = -1\nrlist = 1.05\nnstlist = 10\n", 10},
    {"filter.mdp", "verlet-buffer-tolerance = 0.01\nnstlist = 40\n", 40},
    {"npt.mdp",
     "verlet-buffer-tolerance = 0.01\nnstlist = 40\npcoupl = C-rescale\n"
     "pcoupltype = isotropic\ntau-p = 0.5\nref-p = 400\ncompressibility = 4.5e-5\n"
     "nstpcouple = 10\n",
     40},
};
enum { SETTING_MD, SETTING_FILTER, SETTING_NPT, N_SETTINGS };

typedef struct job {
    const char *out;
    md_device_choice device;
    int grid[3];
    int64_t nsteps;
    bool go_on;
    int setting;
    bool tight; /* lists that overflow at once */
    md_ghosts ghosts;
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
    md_run_options options =
        run_options("grappa-like/0003", in_folder(settings[j->setting].name), &way);
    options.device = j->device;
    options.out_dir = out;
    options.nstlist = settings[j->setting].nstlist;
    options.tight_lists = j->tight;
    options.ghosts = j->ghosts;
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

static bool same_outputs(const char *a, const char *b)
{
    static const char *const name[] = {"energy.csv", "ener.edr", "traj_comp.xtc", "traj.trr",
                                       "confout.gro"};
    bool same = true;
    for (int k = 0; k < 5; k++) same = same_file(a, b, name[k]) && same;
    return same;
}

/* Checkpoints are where domains are made anew: with one domain every 200 steps or so, with
 * several in a small box every 10000. */
static void test_kills(const int grid[3], int64_t n_steps, const char *calm, const char *killed)
{
    enum { N_KILLS = 6 };
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
    for (int k = 0; k < N_KILLS; k++) {
        j.tight = k % 2;
        n_killed += run_and_kill(&j, whole_ms * (2 * k + 3) / (2 * N_KILLS + 4));
    }
    run(&j);
    printf("%d x %d x %d: killed %d times in a run of %d ms\n", grid[0], grid[1], grid[2], n_killed,
           whole_ms);
    CHECK(n_killed >= 2);
    CHECK(same_outputs(calm, killed));
}

/* Stopped twice where a checkpoint is due anyway, each part with other lists. */
static void test_stops(void)
{
    static const struct {
        const char *calm, *stopped;
        int setting, grid[3];
        md_ghosts ghosts;
        int64_t steps[3];
    } runs[] = {
        {"whole1", "parts1", SETTING_FILTER, {1, 1, 1}, MD_GHOSTS_AUTO, {200, 1000, 1500}},
        {"whole2", "parts2", SETTING_NPT, {1, 1, 1}, MD_GHOSTS_AUTO, {400, 2000, 2500}},
        {"whole3", "parts3", SETTING_MD, {2, 1, 1}, MD_GHOSTS_NEAR, {500, 1200, 1500}},
        {"whole4", "parts4", SETTING_FILTER, {2, 1, 1}, MD_GHOSTS_AUTO, {10000, 20000, 21000}},
        {"whole5", "parts5", SETTING_NPT, {2, 1, 1}, MD_GHOSTS_AUTO, {10000, 20000, 20500}},
    };
    bool good = true;
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
        job j = {.out = runs[k].calm,
                 .device = MD_DEVICE_GPU,
                 .nsteps = runs[k].steps[2],
                 .setting = runs[k].setting,
                 .ghosts = runs[k].ghosts};
        memcpy(j.grid, runs[k].grid, sizeof j.grid);
        run(&j);
        j.out = runs[k].stopped;
        for (int part = 0; part < 3; part++) {
            j.nsteps = runs[k].steps[part];
            j.go_on = part > 0;
            j.tight = part != 1;
            run(&j);
        }
        bool same = same_outputs(runs[k].calm, runs[k].stopped);
        printf("%s, %d x %d x %d, in three parts: %s\n", settings[j.setting].name, j.grid[0],
               j.grid[1], j.grid[2], same ? "the same bytes" : "other bytes");
        good = good && same;
    }
    CHECK(good);
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
        {.out = "cpu", .device = MD_DEVICE_CPU, .grid = {1, 1, 1}, .nsteps = 100},
        {.out = "cpu_gpu", .device = MD_DEVICE_CPU, .grid = {2, 1, 1}, .nsteps = 40},
        {.out = "cpu_gpu",
         .device = MD_DEVICE_GPU,
         .grid = {1, 1, 1},
         .nsteps = 100,
         .go_on = true},
        {.out = "gpu_cpu", .device = MD_DEVICE_GPU, .grid = {2, 2, 1}, .nsteps = 40},
        {.out = "gpu_cpu",
         .device = MD_DEVICE_CPU,
         .grid = {1, 1, 1},
         .nsteps = 100,
         .go_on = true},
        {.out = "fro", .device = MD_DEVICE_GPU, .grid = {1, 1, 1}, .nsteps = 30},
        {.out = "fro", .device = MD_DEVICE_CPU, .grid = {2, 1, 1}, .nsteps = 60, .go_on = true},
        {.out = "fro", .device = MD_DEVICE_GPU, .grid = {2, 1, 1}, .nsteps = 100, .go_on = true},
    };
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) run(&steps[s]);
    check_near("cpu", "cpu_gpu");
    check_near("cpu", "gpu_cpu");
    check_near("cpu", "fro");
}

int main(void)
{
    char command[300];
    CHECK(mkdtemp(folder));
    for (int k = 0; k < N_SETTINGS; k++) {
        FILE *file = fopen(in_folder(settings[k].name), "w");
        CHECK(file && fputs(common_text, file) >= 0 && fputs(settings[k].text, file) >= 0);
        CHECK(fclose(file) == 0);
    }
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
        test_stops();
        test_kills((const int[3]){1, 1, 1}, 20000, "calm1", "killed1");
        test_kills((const int[3]){2, 1, 1}, 30000, "calm2", "killed2");
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return WEXITSTATUS(status);
}
