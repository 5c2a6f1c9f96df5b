/* Ten and a hundred constant-energy steps against double-precision trajectories: positions,
 * velocities, energies on the way, virial and pressure at step 0. Limits of systems/README.md. */
#include "md/core/units.h"
#include "runs.h"

static const struct {
    const char *system, *name;
} cases[] = {
    {"grappa-like/0001.5", "rf"},      {"grappa-like/0003", "rf"},
    {"grappa-like/0006", "rf"},        {"water/spce_3k", "rf"},
    {"water/tip3p_dodec", "rf"},       {"lj/argon_4k", "lj"},
    {"lj/argon_4k", "lj_disp"},        {"ethanol/single", "rf"},
    {"ethanol/box_256", "rf"},         {"ions/nacl_3k", "rf"},
    {"peptide/ala_dipeptide", "rf"},   {"peptide/wkdpys_amber", "rf"},
    {"peptide/fre_opls", "rf"},        {"terms/many_terms", "rf"},
    {"terms/many_terms", "rf_nocons"}, {"terms/urey_bradley", "rf_nocons"},
};

#if RUN_ON_GPU
static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{1, 1, 4}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
};
#else
static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 1, 2}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
};
#endif

static bool within(const char *what, double value, double limit)
{
    if (value <= limit) return true;
    fprintf(stderr, "  %s: %.3g, limit %.3g\n", what, value, limit);
    return false;
}

/* Positions and velocities of one step; positions are compared at the nearest image. */
static bool check_step(const char *system, const char *name, const run_frame *frame)
{
    const char *path =
        reference_path("reference/%s/traj_%s.step%d.txt", system, name, (int)frame->step);
    if (!reference_exists(path))
        path = reference_path("reference/%s/traj_%s.step%d.txt.xz", system, name, (int)frame->step);
    double *table;
    size_t n;
    CHECK(reference_table(path, 6, &table, &n));
    CHECK(n == (size_t)frame->n_atoms);
    double sum_x = 0, sum_v = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double d[3], d2 = 0, v2 = 0;
        md_box_nearest(&frame->box, frame->x[i], &table[6 * i], d);
        for (int k = 0; k < 3; k++) {
            d2 += d[k] * d[k];
            v2 += pow(frame->v[i][k] - table[6 * i + 3 + (size_t)k], 2);
        }
        sum_x += d2;
        sum_v += v2;
        largest = fmax(largest, sqrt(d2));
    }
    free(table);
    bool late = frame->step == 100;
    double rms_x = sqrt(sum_x / (double)n), rms_v = sqrt(sum_v / (double)n);
    printf("  step %3d: positions RMS %.2g largest %.2g nm, velocities RMS %.2g nm/ps\n",
           (int)frame->step, rms_x, largest, rms_v);
    bool good = within("positions, RMS (nm)", rms_x, late ? 2e-5 : 2e-6);
    good = within("positions, largest (nm)", largest, late ? 3e-4 : 1e-5) && good;
    return within("velocities, RMS (nm/ps)", rms_v, late ? 1e-3 : 2e-4) && good;
}

static bool check_start(const char *system, const char *name, const run_frame *frame)
{
    const md_energy_report *energy = &frame->energy;
    double volume = md_box_volume(&frame->box);
    const char *json = reference_path("reference/%s/traj_%s.step0.json", system, name);
    double virial[3][3], pressure[3][3], value, trace = 0;
    CHECK(reference_tensor(json, "virial_kJ_per_mol", virial));
    CHECK(reference_tensor(json, "pressure_bar", pressure));
    for (int k = 0; k < 3; k++) trace += fabs(virial[k][k]);
    double worst = 0, worst_pressure = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            worst = fmax(worst, fabs(energy->terms.virial[a][b] - virial[a][b]));
            worst_pressure =
                fmax(worst_pressure, fabs(energy->pressure_tensor[a][b] - pressure[a][b]));
        }
    CHECK(reference_energy(json, "Kinetic En.", &value));
    bool good = within("virial elements / trace", worst / trace, 2e-4);
    good = within("kinetic energy, relative", fabs(energy->kinetic / value - 1), 1e-5) && good;
    CHECK(reference_energy(json, "Temperature", &value));
    good = within("temperature, relative", fabs(energy->temperature / value - 1), 1e-5) && good;
    /* P = 2/V (K - virial): the same limit as the virial's, in bar. */
    double in_bar = 2 * MD_BAR_PER_KJ_MOL_NM3 / volume;
    good = within("pressure, bar", worst_pressure, 2 * 2e-4 * trace * in_bar) && good;
    printf("  step   0: virial off by %.2g of the trace, pressure by %.2g bar\n", worst / trace,
           worst_pressure);
    return run_terms_agree(energy, json, 1e-4, 0.02, 2e-5) && good;
}

/* Potential and total energy of every tenth step. */
static bool check_energies(const char *system, const char *name, const run_frames *frames)
{
    const char *path = reference_path("reference/%s/traj_%s.energy.txt", system, name);
    double *table;
    size_t n;
    int columns, potential, total;
    CHECK(reference_n_columns(path, &columns));
    CHECK(reference_table(path, columns, &table, &n));
    CHECK(reference_column(path, "Potential", &potential));
    CHECK(reference_column(path, "Total Energy", &total));
    bool good = true;
    for (int i = 0; i < frames->n; i++) {
        const double *row = &table[(size_t)columns * (size_t)frames->frame[i].step];
        CHECK((int64_t)row[0] == frames->frame[i].step);
        const md_energy_report *energy = &frames->frame[i].energy;
        double scale = fabs(row[potential]) + energy->kinetic;
        double off_potential = fabs(energy->potential - row[potential]) / scale;
        double off_total = fabs(energy->total - row[total]) / scale;
        good = within("potential, relative", off_potential, 1e-4) && good;
        good = within("total energy, relative", off_total, 1e-4) && good;
    }
    free(table);
    return good;
}

static bool check_case(const char *system, const char *name, const run_way *way)
{
    run_frames frames = {.want = {0, 10, 50, 100, -1}};
    md_run_options options =
        run_options(system, reference_path("reference/%s/traj_%s.mdp", system, name), way);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 10;
    md_run_result result;
    if (!run_can(&options, &result)) return true;
    CHECK(frames.n == 4);
    printf("%s %s %s\n", system, name, run_way_text(way));
    bool good = check_start(system, name, &frames.frame[0]);
    good = check_step(system, name, &frames.frame[1]) && good;
    good = check_step(system, name, &frames.frame[3]) && good;
    good = check_energies(system, name, &frames) && good;
    if (!good) fprintf(stderr, "FAILED %s %s %s\n", system, name, run_way_text(way));
    run_frames_free(&frames);
    return good;
}

int main(int argc, char **argv)
{
    int n_failed = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        if (argc > 1 && !strstr(cases[c].system, argv[1])) continue;
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            if ((run_all() || w == c % (sizeof ways / sizeof ways[0])) &&
                !check_case(cases[c].system, cases[c].name, &ways[w]))
                n_failed++;
    }
    printf("%d failed\n", n_failed);
    return n_failed ? 1 : 0;
}
