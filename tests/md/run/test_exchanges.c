/* Every rung, both routes, both schemes, on 1 to 12 domains: the reference values at the start, and
 * the same forces and energies, on 3D grids and on grids with two pulses in each axis in turn;
 * triclinic, ions and peptide too. Forward is exact, so in scheme shell all rungs and routes give
 * the same bits; in scheme return each route has one order of sums, so all rungs of a route give
 * the same bits. On GPUs, too. */
#include "runs.h"

static const struct {
    const char *system, *name;
    int grid[3];
} cases[] = {
    {"grappa-like/0001.5", "sp_rf", {2, 2, 2}}, /* two pulses in every axis */
    {"grappa-like/0003", "sp_rf", {1, 1, 1}},
    {"grappa-like/0003", "sp_rf", {2, 1, 1}},
    {"grappa-like/0003", "sp_rf", {1, 3, 1}}, /* two pulses in y */
    {"grappa-like/0003", "sp_rf", {4, 2, 1}}, /* two pulses in x */
    {"grappa-like/0003", "sp_rf", {2, 1, 4}}, /* two pulses in z */
    {"grappa-like/0003", "sp_rf", {1, 1, 6}},
    {"grappa-like/0003", "sp_rf", {12, 1, 1}}, /* five pulses in x */
    {"grappa-like/0003", "sp_rf", {2, 3, 2}},
    {"water/tip3p_dodec", "sp_rf", {2, 2, 2}},
    {"water/tip3p_dodec", "sp_rf", {3, 1, 2}},
    {"peptide/wkdpys_amber", "sp_rf", {2, 2, 2}},
    {"peptide/wkdpys_amber", "sp_rf", {1, 4, 1}},
#if RUN_ON_GPU /* larger boxes, for scheme return */
    {"grappa-like/0003", "sp_rf", {5, 1, 1}},
    {"lj/argon_4k", "sp_lj", {2, 3, 2}},
    {"grappa-like/0024", "sp_rf", {2, 2, 2}},
#endif
};

/* The rungs of the device; the first is what the others are held against. */
static int rungs_of_device(const char *rungs[16])
{
    int n, n_here = 0;
    const char *const *known = RUN_ON_GPU ? sundog_gpu_rungs(&n) : sundog_exchange_rungs(&n);
    CHECK(n == (RUN_ON_GPU ? 7 : 5));
    if (!RUN_ON_GPU) rungs[n_here++] = "reference";
    for (int i = 0; i < n; i++) {
        char text[512];
        if (RUN_ON_GPU &&
            sundog_gpu_rung_check(known[i], (const int[1]){0}, 1, text, sizeof text) != SUNDOG_OK)
            printf("%s is left out: %s\n", known[i], sundog_last_error());
        else
            rungs[n_here++] = known[i];
    }
    return n_here;
}

/* False where GPUs cannot run this scheme on this grid. */
static bool run_one(const char *system, const char *name, const run_way *way, run_frames *frames)
{
    memset(frames, 0, sizeof *frames);
    frames->want[0] = 0;
    frames->want[1] = 2;
    frames->want[2] = -1;
    md_run_options options =
        run_options(system, reference_path("reference/%s/%s.mdp", system, name), way);
    options.observe = run_keep;
    options.observe_arg = frames;
    options.observe_every = 2;
    options.nsteps_given = true;
    options.nsteps = 2;
    md_run_result result;
    if (!run_can(&options, &result)) return false;
    CHECK(frames->n == 2);
    /* A domain alone on a GPU exchanges nothing. */
    if (way->rung && (!RUN_ON_GPU || result.n_domains > 1)) {
        if (!strstr(result.exchange, way->rung) ||
            (way->route && !strstr(result.exchange, way->route))) {
            fprintf(stderr, "asked for %s, served by %s\n", run_way_text(way), result.exchange);
            exit(1);
        }
    }
    return true;
}

/* The start of a run against the double-precision reference. */
static bool start_is_right(const char *system, const char *name, const run_frame *frame)
{
    double *forces;
    size_t n;
    CHECK(reference_table(reference_path("reference/%s/%s.forces.txt.xz", system, name), 3, &forces,
                          &n));
    CHECK(n == (size_t)frame->n_atoms);
    reference_deviation d = reference_compare_float(forces, 3, 0, n, (const float(*)[3])frame->f);
    free(forces);
    if (d.relative >= 1e-5) fprintf(stderr, "  forces: relative RMS deviation %.3g\n", d.relative);
    return d.relative < 1e-5 &&
           run_terms_agree(&frame->energy,
                           reference_path("reference/%s/%s.energy.json", system, name), 2e-5, 0.01,
                           5e-6);
}

static double largest_difference(const run_frame *a, const run_frame *b)
{
    double largest = 0;
    for (int64_t i = 0; i < a->n_atoms; i++)
        for (int k = 0; k < 3; k++)
            largest = fmax(largest, fabs((double)a->f[i][k] - (double)b->f[i][k]));
    return largest;
}

static bool same_bits(const run_frame *a, const run_frame *b)
{
    size_t n = (size_t)a->n_atoms;
    return memcmp(a->f, b->f, n * sizeof *a->f) == 0 && memcmp(a->x, b->x, n * sizeof *a->x) == 0 &&
           memcmp(a->v, b->v, n * sizeof *a->v) == 0;
}

int main(void)
{
    static const char *const routes[2] = {"staged", "direct"};
    const char *rungs[16];
    run_need_device();
    int n_rungs = rungs_of_device(rungs), n_runs = 0, n_returning = 0;
    /* With sanitizers one in a few cases is enough: what they look for is in all of them. */
    const char *every = getenv("SUNDOG_TEST_EVERY");
    size_t stride = every && atoi(every) > 0 ? (size_t)atoi(every) : 1;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c += stride)
        for (int scheme = 0; scheme < 2; scheme++) {
            run_frames first[2];
            bool can = true;
            for (int route = 0; route < 2; route++) {
                run_way way = {
                    .scheme = (md_scheme)scheme, .rung = rungs[0], .route = routes[route]};
                memcpy(way.grid, cases[c].grid, sizeof way.grid);
                can = run_one(cases[c].system, cases[c].name, &way, &first[route]);
                if (!can) break;
                n_returning += scheme == MD_SCHEME_RETURN;
                if (!start_is_right(cases[c].system, cases[c].name, &first[route].frame[0])) {
                    fprintf(stderr, "%s %s: not the reference values: %s\n", cases[c].system,
                            cases[c].name, run_way_text(&way));
                    return 1;
                }
                for (int r = RUN_ON_GPU ? 0 : 1; r < n_rungs; r++) {
                    run_frames other;
                    way.rung = rungs[r];
                    if (strcmp(rungs[r], "direct") == 0 && route == 0) continue;
                    bool in_all = c == 8 || c + 1 == sizeof cases / sizeof cases[0];
                    if (!run_all() && !in_all && r != (int)c % n_rungs) continue;
                    CHECK(run_one(cases[c].system, cases[c].name, &way, &other));
                    n_runs++;
                    if (!same_bits(&first[route].frame[1], &other.frame[1])) {
                        fprintf(stderr, "%s %s: not the bits of the reference rung: %s\n",
                                cases[c].system, cases[c].name, run_way_text(&way));
                        return 1;
                    }
                    run_frames_free(&other);
                }
            }
            if (!can) continue;
            if (scheme == MD_SCHEME_SHELL) CHECK(same_bits(&first[0].frame[1], &first[1].frame[1]));
            CHECK(largest_difference(&first[0].frame[1], &first[1].frame[1]) < 1);
            run_frames_free(&first[0]);
            run_frames_free(&first[1]);
        }
    CHECK(n_returning >= (RUN_ON_GPU ? 8 : 1));
    printf("%d runs agree\n", n_runs);
    return 0;
}
