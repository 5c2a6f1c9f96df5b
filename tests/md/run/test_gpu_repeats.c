/* The same bits every time: with -reproducible a run over several repartitions, with thermostat and
 * reports, repeats itself bit for bit on each grid, whichever exchange serves it (the two routes
 * differ in scheme return, by the order of sums). Cannot catch: what is wrong alike every time. */
#define RUN_ON_GPU 1
#include "runs.h"

#include <unistd.h>

static const char mdp_text[] =
    "dt = 0.002\nnsteps = 120\nnstlist = 20\nnstcalcenergy = 20\nnstenergy = 20\nrcoulomb = 0.9\n"
    "rvdw = 0.9\ncoulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\n"
    "tcoupl = v-rescale\ntc-grps = ETH SOL\ntau-t = 0.1 0.1\nref-t = 300 300\nld-seed = 3\n"
    "nsttcouple = 10\nnstcomm = 20\n";

static const struct {
    const char *system;
    int grid[3];
    md_scheme scheme;
} cases[] = {
    {"grappa-like/0003", {1, 1, 1}, MD_SCHEME_SHELL},
    {"grappa-like/0003", {2, 1, 1}, MD_SCHEME_SHELL},
    {"grappa-like/0003", {2, 2, 2}, MD_SCHEME_SHELL},
    {"grappa-like/0003", {1, 5, 1}, MD_SCHEME_SHELL},
    {"grappa-like/0003", {1, 1, 1}, MD_SCHEME_RETURN},
    {"grappa-like/0024", {2, 2, 1}, MD_SCHEME_RETURN},
};
static const char *const routes[2] = {"staged", "direct"};

static run_frame last_of(size_t c, const char *mdp, const char *rung, const char *route)
{
    run_frames frames = {.want = {120, -1}};
    run_way way = {.scheme = cases[c].scheme, .rung = rung, .route = route};
    memcpy(way.grid, cases[c].grid, sizeof way.grid);
    md_run_options options = run_options(cases[c].system, mdp, &way);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 120;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(frames.n == 1 && frames.frame[0].has_energy);
    return frames.frame[0];
}

static bool same_bits(const run_frame *a, const run_frame *b)
{
    size_t n = (size_t)a->n_atoms;
    return memcmp(a->x, b->x, n * sizeof *a->x) == 0 && memcmp(a->v, b->v, n * sizeof *a->v) == 0 &&
           memcmp(a->f, b->f, n * sizeof *a->f) == 0 &&
           a->energy.potential == b->energy.potential &&
           a->energy.conserved == b->energy.conserved && a->energy.pressure == b->energy.pressure;
}

static void forget(run_frame *frame)
{
    free(frame->x);
    free(frame->v);
    free(frame->f);
}

static int check(size_t c, const char *mdp, const char *route, const run_frame *first,
                 const char *rung)
{
    run_frame other = last_of(c, mdp, rung, route);
    bool same = same_bits(first, &other);
    if (!same)
        fprintf(stderr, "FAILED %s %d x %d x %d, exchange %s, route %s: other bits\n",
                cases[c].system, cases[c].grid[0], cases[c].grid[1], cases[c].grid[2], rung, route);
    forget(&other);
    return !same;
}

int main(void)
{
    char mdp[] = "test_gpu_repeats_XXXXXX.mdp";
    int n_rungs, n_failed = 0, n_runs = 0;
    run_need_device();
    const char *const *rungs = sundog_gpu_rungs(&n_rungs);
    int fd = mkstemps(mdp, 4);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    CHECK(file && fputs(mdp_text, file) >= 0 && fclose(file) == 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const int *n = cases[c].grid;
        bool alone = n[0] * n[1] * n[2] == 1;
        for (int r = 0; r < (alone ? 1 : 2); r++) {
            run_frame first = last_of(c, mdp, "fused", routes[r]);
            for (int i = 0; i < n_rungs; i++) {
                char text[512];
                bool direct_alone = strcmp(rungs[i], "direct") == 0 && r == 0;
                if (!run_all() && c != 1 && i != (int)c) continue;
                if (direct_alone || (alone && strcmp(rungs[i], "fused") != 0) ||
                    sundog_gpu_rung_check(rungs[i], (const int[1]){0}, 1, text, sizeof text) !=
                        SUNDOG_OK)
                    continue;
                n_failed += check(c, mdp, routes[r], &first, rungs[i]);
                n_runs++;
            }
            forget(&first);
        }
    }
    unlink(mdp);
    printf("%d runs, %d failed\n", n_runs, n_failed);
    return n_failed > 0;
}
