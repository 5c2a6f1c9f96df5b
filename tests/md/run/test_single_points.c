/* Energies term by term and forces of every bundled system that has reaction-field or Lennard-Jones
 * references, against double precision: on one domain, and on 1D, 2D and 3D grids of 2 to 12
 * domains, both schemes. Arguments: part of a system's name; at most so many domains. Cannot catch:
 * anything that needs a second step. */
#include "runs.h"

typedef struct single_point {
    const char *system, *name;
    double force_limit;
    bool big; /* fewer grids, to save time */
} single_point;

static const single_point cases[] = {
    {"grappa-like/0001.5", "sp_rf", 1e-5, false},
    {"grappa-like/0001.5", "sp_rf_none", 1e-5, false},
    {"grappa-like/0001.5", "sp_rf_fsw", 1e-5, false},
    {"grappa-like/0001.5", "sp_rf_psw", 1e-5, false},
    {"grappa-like/0003", "sp_rf", 1e-5, false},
    {"grappa-like/0006", "sp_rf", 1e-5, false},
    {"grappa-like/0012", "sp_rf", 1e-5, true},
    {"grappa-like/0024", "sp_rf", 1e-5, true},
    {"grappa-like/0045", "sp_rf", 1e-5, true},
    {"water/spce_3k", "sp_rf", 1e-5, false},
    {"water/spce_3k", "sp_rf78", 1e-5, false},
    {"water/spce_24k", "sp_rf", 1e-5, true},
    {"water/tip3p_dodec", "sp_rf", 1e-5, false},
    {"lj/argon_4k", "sp_lj", 1e-5, false},
    {"lj/argon_4k", "sp_lj_none", 1e-5, false},
    {"lj/argon_4k", "sp_lj_fsw", 1e-5, false},
    {"lj/argon_4k", "sp_lj_psw", 1e-5, false},
    {"lj/argon_4k", "sp_lj_disp", 1e-5, false},
    {"ethanol/single", "sp_rf", 1e-5, false},
    {"ethanol/single", "sp_rf_nocons", 2e-5, false},
    {"ethanol/box_256", "sp_rf", 1e-5, false},
    {"ions/nacl_3k", "sp_rf", 1e-5, false},
    {"ions/nacl_3k", "sp_rf78", 1e-5, false},
    {"peptide/ala_dipeptide", "sp_rf", 1e-5, false},
    {"peptide/wkdpys_amber", "sp_rf", 1e-5, false},
    {"peptide/wkdpys_amber", "sp_rf78", 1e-5, false},
    {"peptide/fre_opls", "sp_rf", 1e-5, false},
    {"terms/many_terms", "sp_rf", 2e-5, false},
    {"terms/many_terms", "sp_rf_nocons", 2e-5, false},
    {"terms/urey_bradley", "sp_rf", 2e-5, false},
    {"terms/urey_bradley", "sp_rf_nocons", 2e-5, false},
};

#if RUN_ON_GPU
static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    /* the rest not for big systems */
    {{2, 1, 1}, MD_SCHEME_SHELL, "flit", "staged", {NULL, NULL, NULL}},
    {{1, 3, 1}, MD_SCHEME_SHELL, "fused", "direct", {NULL, NULL, NULL}},
    {{1, 1, 4}, MD_SCHEME_SHELL, "direct", "direct", {NULL, NULL, NULL}},
    {{1, 1, 4}, MD_SCHEME_RETURN, "fused", "staged", {NULL, NULL, NULL}},
    {{5, 1, 1}, MD_SCHEME_SHELL, "fused", "staged", {NULL, NULL, NULL}},
    {{1, 5, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{3, 2, 1}, MD_SCHEME_SHELL, NULL, NULL, {"2 3 2", "1 1.5", NULL}},
    {{1, 2, 3}, MD_SCHEME_SHELL, "pulse", "staged", {NULL, NULL, "2 3 2"}},
    {{2, 3, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{12, 1, 1}, MD_SCHEME_RETURN, "flit", "direct", {NULL, NULL, NULL}},
};
#else
static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    /* the rest not for big systems */
    {{2, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 3, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 1, 4}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{3, 2, 1}, MD_SCHEME_RETURN, NULL, NULL, {"2 3 2", "1 1.5", NULL}},
    {{2, 3, 2}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{4, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 2, 3}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, "2 3 2"}},
    {{2, 2, 3}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
};
#endif
enum {
    N_CASES = (int)(sizeof cases / sizeof cases[0]),
    N_WAYS = (int)(sizeof ways / sizeof ways[0]),
    N_BIG_WAYS = 4
};

static const char *forces_path(const single_point *point)
{
    const char *path = reference_path("reference/%s/%s.forces.txt.xz", point->system, point->name);
    size_t length = strlen(point->name);
    bool disp = length > 5 && strcmp(point->name + length - 5, "_disp") == 0;
    if (disp) /* no file of its own: the correction changes no force */
        path = reference_path("reference/%s/%.*s.forces.txt.xz", point->system, (int)length - 5,
                              point->name);
    CHECK(reference_exists(path));
    return path;
}

/* The force is not zero at the cut-off, so a pair whose distance rounds to the other side of it
 * changes two forces: the two worst atoms may be such a pair, if they are off by no more than a
 * pair force at the cut-off and by opposite vectors. They are left out then. */
static reference_deviation compare_forces(const double *forces, size_t n_atoms, float (*f)[3])
{
    reference_deviation all = reference_compare_float(forces, 3, 0, n_atoms, (const float(*)[3])f);
    enum { LARGEST_PAIR_FORCE_AT_CUTOFF = 4 }; /* Na Cl at 0.9 nm, epsilon-rf 78: kJ/mol/nm */
    if (n_atoms < 3 || all.largest > LARGEST_PAIR_FORCE_AT_CUTOFF) return all;
    float kept[2][3];
    size_t worst[2] = {all.worst, 0};
    for (int i = 0; i < 2; i++) {
        memcpy(kept[i], f[worst[i]], sizeof kept[i]);
        for (int k = 0; k < 3; k++) f[worst[i]][k] = (float)forces[3 * worst[i] + (size_t)k];
        if (i == 0)
            worst[1] = reference_compare_float(forces, 3, 0, n_atoms, (const float(*)[3])f).worst;
    }
    double sum2 = 0, size2 = 0;
    for (int k = 0; k < 3; k++) {
        double off0 = (double)kept[0][k] - forces[3 * worst[0] + (size_t)k];
        double off1 = (double)kept[1][k] - forces[3 * worst[1] + (size_t)k];
        sum2 += pow(off0 + off1, 2);
        size2 += off0 * off0;
    }
    reference_deviation rest = reference_compare_float(forces, 3, 0, n_atoms, (const float(*)[3])f);
    bool is_pair = sqrt(sum2) < 0.1 * sqrt(size2);
    if (is_pair && all.relative > rest.relative * 2)
        printf("  atoms %zu and %zu: one pair at the cut-off (%.2g kJ/mol/nm)\n", worst[0],
               worst[1], all.largest);
    return is_pair ? rest : all;
}

static bool check_way(const single_point *point, const run_way *way, const double *forces,
                      size_t n_atoms, int *n_run)
{
    run_frames frames = {.want = {0, -1}};
    md_run_options options = run_options(
        point->system, reference_path("reference/%s/%s.mdp", point->system, point->name), way);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 1;
    md_run_result result;
    if (!run_can(&options, &result)) return true;
    (*n_run)++;
    CHECK(frames.n == 1 && frames.frame[0].has_energy);
    CHECK((size_t)frames.frame[0].n_atoms == n_atoms);

    const char *json = reference_path("reference/%s/%s.energy.json", point->system, point->name);
    bool good = run_terms_agree(&frames.frame[0].energy, json, 2e-5, 0.01, 5e-6);
    reference_deviation d = compare_forces(forces, n_atoms, frames.frame[0].f);
    if (!(d.relative < point->force_limit)) {
        fprintf(stderr, "  forces: relative RMS deviation %.3g, limit %.3g, worst atom %zu: %.3g\n",
                d.relative, point->force_limit, d.worst, d.largest);
        good = false;
    }
    if (!good)
        fprintf(stderr, "FAILED %s %s %s\n", point->system, point->name, run_way_text(way));
    else if (way == &ways[0] || way == &ways[3])
        printf("%-24s %-14s %s: potential %.9g, forces off by %.2g relative RMS\n", point->system,
               point->name, run_way_text(way), frames.frame[0].energy.potential, d.relative);
    run_frames_free(&frames);
    return good;
}

/* Each system in two ways, two systems in all (run_all). */
static bool is_chosen(int c, int w)
{
    bool in_all =
        strcmp(cases[c].system, "grappa-like/0003") == 0 || (strcmp(cases[c].name, "sp_lj") == 0);
    int n_ways = cases[c].big ? N_BIG_WAYS : N_WAYS;
    return run_all() || in_all || w == 0 || w == 1 + c % (n_ways - 1);
}

int main(int argc, char **argv)
{
    int n_failed = 0, n_run = 0;
    /* With sanitizers one in a few cases is enough: what they look for is in all of them. */
    const char *every = getenv("SUNDOG_TEST_EVERY");
    int most = argc > 2 ? atoi(argv[2]) : 4096;
    int stride = every && atoi(every) > 0 ? atoi(every) : 1;
    for (int c = 0; c < N_CASES; c += stride) {
        const single_point *point = &cases[c];
        if (argc > 1 && !strstr(point->system, argv[1])) continue;
        double *forces;
        size_t n_atoms;
        CHECK(reference_table(forces_path(point), 3, &forces, &n_atoms));
        for (int w = 0; w < (point->big ? N_BIG_WAYS : N_WAYS); w++)
            if (is_chosen(c, w) && ways[w].grid[0] * ways[w].grid[1] * ways[w].grid[2] <= most &&
                !check_way(point, &ways[w], forces, n_atoms, &n_run))
                n_failed++;
        free(forces);
    }
    printf("%d runs, %d failed\n", n_run, n_failed);
    return n_failed ? 1 : 0;
}
