/* Pressure coupling through the whole engine. The trajectory does not depend on how the box is cut,
 * with couplings between pair lists and at them; a restart, also from between lists, gives the same
 * bytes; directions are kept apart; a skewed box keeps its shape; the conserved energy is
 * conserved; a box that shrinks below what its grid can do ends the run with step and reason.
 * Cannot catch: a wrong ensemble (test_barostat, test_npt). */
#include "md/core/units.h"
#include "runs.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "test_pressure_XXXXXX";

/* Path of a new file with this text, or of none yet, in the folder; storage of the eighth call
 * before is used again. */
static const char *file_of(const char *name, const char *text)
{
    static char path[8][128];
    static int next;
    char *at = path[next++ % 8];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    if (!text) return at;
    FILE *file = fopen(at, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return at;
}

/* A list radius that misses no pair, so that trajectories can be compared. */
#define COMMON                                                                                     \
    "dt = 0.002\nnsteps = 100\nnstlist = 10\nnstenergy = 10\nnstcalcenergy = 10\n"                 \
    "verlet-buffer-tolerance = -1\nrlist = 1.05\n"                                                 \
    "coulombtype = reaction-field\nepsilon-rf = 0\nrcoulomb = 0.9\nrvdw = 0.9\n"                   \
    "constraints = h-bonds\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.5\nref-t = 300\n"      \
    "nsttcouple = 10\nld-seed = 17\npcoupl = C-rescale\nDispCorr = EnerPres\n"
#define ISOTROPIC "tau-p = 0.5\ncompressibility = 4.5e-5\nref-p = 1\n"
#define SEMI      "pcoupltype = semiisotropic\ntau-p = 0.5\nref-p = 1 1\n"

static run_frames frames_of(const char *system, const char *mdp, const run_way *way)
{
    run_frames frames = {.want = {0, 10, 50, 100, -1}};
    md_run_options options = run_options(system, mdp, way);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 10;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(frames.n == 4);
    return frames;
}

static double rms_distance(const run_frame *a, const run_frame *b)
{
    double sum = 0;
    for (int64_t i = 0; i < a->n_atoms; i++) {
        double d[3];
        md_box_nearest(&a->box, a->x[i], b->x[i], d);
        sum += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    }
    return sqrt(sum / (double)a->n_atoms);
}

/* Limits: those of trajectories at constant volume. */
static void test_grids(const char *system, const char *mdp)
{
#if RUN_ON_GPU
    static const run_way ways[] = {
        {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
        {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
        {{2, 2, 2}, MD_SCHEME_SHELL, "fused", "staged", {NULL, NULL, NULL}},
        {{1, 3, 2}, MD_SCHEME_SHELL, "direct", "direct", {NULL, "1 2 1", NULL}},
        {{1, 1, 8}, MD_SCHEME_SHELL, "flit", "direct", {NULL, NULL, NULL}},
    };
#else
    static const run_way ways[] = {
        {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
        {{1, 1, 1}, MD_SCHEME_SHELL, "pulse", "staged", {NULL, NULL, NULL}},
        {{2, 2, 2}, MD_SCHEME_RETURN, "fused", "staged", {NULL, NULL, NULL}},
        {{1, 3, 2}, MD_SCHEME_SHELL, "direct", "direct", {NULL, "1 2 1", NULL}},
        {{1, 1, 8}, MD_SCHEME_RETURN, "reference", "direct", {NULL, NULL, NULL}},
    };
#endif
    run_frames first = frames_of(system, mdp, &ways[0]);
    double change = md_box_volume(&first.frame[3].box) / md_box_volume(&first.frame[0].box) - 1;
    CHECK(fabs(change) > 1e-4 && fabs(change) < 0.05);
    for (size_t w = 1; w < sizeof ways / sizeof ways[0]; w++) {
        run_frames other = frames_of(system, mdp, &ways[w]);
        for (int f = 0; f < 4; f++) {
            const run_frame *a = &first.frame[f], *b = &other.frame[f];
            for (int k = 0; k < 9; k++)
                CHECK_NEAR(b->box.m[k / 3][k % 3], a->box.m[k / 3][k % 3], 1e-6);
            double limit = a->step <= 10 ? 2e-6 : 2e-5;
            if (rms_distance(a, b) > limit) {
                fprintf(stderr, "%s, %s, step %lld: positions off by %g nm\n", system,
                        run_way_text(&ways[w]), (long long)a->step, rms_distance(a, b));
                exit(1);
            }
        }
        run_frames_free(&other);
    }
    run_frames_free(&first);
}

static void test_directions(void)
{
    run_way way = {.grid = {2, 1, 1}, .scheme = RUN_SCHEME};
    const char *z_alone = file_of("z.mdp", COMMON SEMI "compressibility = 0 4.5e-5\n");
    const char *xy_alone = file_of("xy.mdp", COMMON SEMI "compressibility = 4.5e-5 0\n");
    run_frames z = frames_of("water/spce_3k", z_alone, &way);
    run_frames xy = frames_of("water/spce_3k", xy_alone, &way);
    const md_box *start = &z.frame[0].box;
    for (int f = 1; f < 4; f++) {
        const md_box *a = &z.frame[f].box, *b = &xy.frame[f].box;
        CHECK(a->m[0][0] == start->m[0][0] && a->m[1][1] == start->m[1][1]);
        CHECK(a->m[2][2] != start->m[2][2] && b->m[2][2] == start->m[2][2]);
        CHECK(b->m[0][0] != start->m[0][0] && b->m[0][0] == b->m[1][1]);
    }
    run_frames_free(&z);
    run_frames_free(&xy);
}

static void test_skewed(const char *mdp)
{
    run_way way = {.grid = {2, 2, 1}, .scheme = RUN_SCHEME};
    run_frames frames = frames_of("water/tip3p_dodec", mdp, &way);
    const md_box *a = &frames.frame[0].box, *b = &frames.frame[3].box;
    double factor = b->m[0][0] / a->m[0][0];
    CHECK(fabs(factor - 1) > 1e-5);
    for (int k = 0; k < 9; k++) CHECK_NEAR(b->m[k / 3][k % 3], factor * a->m[k / 3][k % 3], 1e-12);
    run_frames_free(&frames);
}

/* ---- restart -------------------------------------------------------------------------------- */

static char *contents(const char *run, const char *name, size_t *n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", folder, run, name);
    FILE *file = fopen(path, "rb");
    CHECK(file);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n + 1);
    CHECK(bytes && fread(bytes, 1, *n, file) == *n);
    bytes[*n] = '\0';
    fclose(file);
    return bytes;
}

static void run_into(const char *run, const char *mdp, int64_t nsteps, bool go_on, md_scheme scheme)
{
    run_way way = {.grid = {2, 1, 2}, .scheme = scheme};
    if (RUN_ON_GPU) way.grid[0] = way.grid[2] = 1; /* several are made anew every 10000 steps */
    md_run_options options = run_options("grappa-like/0001.5", mdp, &way);
    char out[128], cpi[160];
    snprintf(out, sizeof out, "%s/%s", folder, run);
    snprintf(cpi, sizeof cpi, "%s/state.cpt", out);
    options.out_dir = out;
    options.nsteps_given = true;
    options.nsteps = nsteps;
    if (go_on) options.cpi = cpi;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(nsteps % result.nstpartition == 0);
}

static void test_restart(const char *mdp, md_scheme scheme)
{
    static const char *const name[] = {"energy.csv", "ener.edr", "traj_comp.xtc", "traj.trr",
                                       "confout.gro"};
    const int64_t part = RUN_ON_GPU ? 200 : 20;
    run_into("whole", mdp, 3 * part, false, scheme);
    run_into("parts", mdp, part, false, scheme);
    run_into("parts", mdp, 2 * part, true, scheme);
    run_into("parts", mdp, 3 * part, true, scheme);
    for (int k = 0; k < 5; k++) {
        size_t n[2];
        char *whole = contents("whole", name[k], &n[0]), *parts = contents("parts", name[k], &n[1]);
        if (n[0] != n[1] || memcmp(whole, parts, n[0]) != 0) {
            fprintf(stderr, "%s differs after a restart\n", name[k]);
            exit(1);
        }
        free(whole);
        free(parts);
    }
    size_t n;
    char *csv = contents("whole", "energy.csv", &n);
    CHECK(strstr(csv, "Pressure (bar),Constr. rmsd,Box-X (nm),Box-Y (nm),Box-Z (nm),Volume (nm^3),"
                      "Density (kg/m^3),pV (kJ/mol),Enthalpy (kJ/mol),Vir-XX (kJ/mol)"));
    free(csv);
}

/* ---- energy --------------------------------------------------------------------------------- */

/* The volume changes and work is done; what is conserved stays. 3000 atoms at 2 fs scatter by some
 * 3 kJ/mol. Not right after a coupling: that step meets the constraints again. */
static void test_conserved(const char *mdp)
{
    run_way way = {.grid = {1, 1, 2}, .scheme = RUN_SCHEME};
    run_frames frames = frames_of("water/spce_3k", mdp, &way);
    const md_energy_report *a = &frames.frame[0].energy, *b = &frames.frame[3].energy;
    CHECK_NEAR(a->conserved, b->conserved, 12);
    double volume = md_box_volume(&b->box);
    CHECK(memcmp(&b->box, &frames.frame[3].box, sizeof b->box) == 0);
    double trace = 0;
    for (int k = 0; k < 3; k++) trace += b->kinetic_tensor[k][k] - b->terms.virial[k][k];
    CHECK_NEAR(b->pressure, 2 * MD_BAR_PER_KJ_MOL_NM3 / (3 * volume) * trace, 1e-6);
    double ratio = md_box_volume(&a->box) / volume;
    CHECK(a->dispersion < 0 && a->dispersion != b->dispersion && ratio != 1);
    CHECK_NEAR(b->dispersion_pressure / a->dispersion_pressure, ratio * ratio, 1e-12);
    run_frames_free(&frames);
}

/* Nine domains along z, eight of them so thin that eight pulses just cover the list radius: the
 * first shrinking is too much. Argon has no constraint groups. */
static void test_too_thin(void)
{
    const char *mdp =
        file_of("thin.mdp", "dt = 0.002\nnsteps = 2000\nnstlist = 10\nrcoulomb = 0.9\n"
                            "rvdw = 0.9\n"
                            "verlet-buffer-tolerance = -1\nrlist = 1.0\ntcoupl = v-rescale\n"
                            "tc-grps = System\ntau-t = 0.5\nref-t = 94.4\npcoupl = C-rescale\n"
                            "nstpcouple = 10\ntau-p = 0.5\ncompressibility = 1e-4\n"
                            "ref-p = 3000\nld-seed = 1\n");
    char sizes[128];
    double length = 5.8263101578; /* of systems/lj/argon_4k */
    snprintf(sizes, sizeof sizes, "1 1 1 1 1 1 1 1 %.6f", 8 * (length / 1.003 - 1));
    run_way way = {.grid = {1, 1, 9}, .scheme = RUN_SCHEME, .sizes = {NULL, NULL, sizes}};
    md_run_options options = run_options("lj/argon_4k", mdp, &way);
    md_run_result result;
    CHECK(md_run(&options, &result) == SUNDOG_ERR_PHYSICS);
    const char *text = sundog_last_error();
    if (strncmp(text, "step ", 5) != 0 || !strstr(text, "pressure coupling has made the box ") ||
        !strstr(text, "too thin to cover 1 nm")) {
        fprintf(stderr, "unexpected: %s\n", text);
        exit(1);
    }
}

int main(void)
{
    run_need_device();
    CHECK(mkdtemp(folder));
    const char *between = file_of("between.mdp", COMMON ISOTROPIC "nstpcouple = 3\n");
    const char *at_lists =
        file_of("at.mdp", COMMON ISOTROPIC "nstpcouple = 10\n"
                                           "nstxout-compressed = 10\nnstxout = 15\nnstvout = 20\n");
    const char *semi =
        file_of("semi.mdp", COMMON SEMI "nstpcouple = 7\nnstxout-compressed = 10\n"
                                        "compressibility = 1e-4 4.5e-5\nnstvout = 15\n");
    test_grids("water/spce_3k", between);
    test_grids("grappa-like/0001.5", semi);
    test_directions();
    test_skewed(between);
    test_restart(at_lists, RUN_SCHEME);
    test_restart(semi, MD_SCHEME_SHELL);
    test_conserved(at_lists);
    /* On GPUs a domain has each atom once, so nine domains are never too thin. */
    if (!RUN_ON_GPU) test_too_thin();
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? 0 : 1;
}
