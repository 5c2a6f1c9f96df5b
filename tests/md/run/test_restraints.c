/* Position restraints against gmx in double: energies, forces and pressure for each way of
 * refcoord-scaling, with references in a larger box than the run's, on several grids and in both
 * schemes. */
#include "runs.h"

static const char *const scalings[] = {"no", "all", "com"};

static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 2}, RUN_SCHEME, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
    {{3, 1, 1}, MD_SCHEME_SHELL, NULL, NULL, {NULL, NULL, NULL}},
};

static const char system_name[] = "peptide/ala_dipeptide";

static void check_single_point(const char *scaling, const run_way *way)
{
    char json[1024];
    snprintf(json, sizeof json, "%s",
             reference_path("reference/%s/sp_rf_posres_%s.energy.json", system_name, scaling));
    double *forces;
    size_t n_atoms;
    CHECK(reference_table(
        reference_path("reference/%s/sp_rf_posres_%s.forces.txt.xz", system_name, scaling), 3,
        &forces, &n_atoms));
    run_frames frames = {.want = {0, -1}};
    md_run_options options = run_options(
        system_name, reference_path("reference/%s/sp_rf_posres_%s.mdp", system_name, scaling), way);
    options.reference = reference_path("%s/restraints.gro", system_name);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 1;
    md_run_result result;
    CHECK(run_can(&options, &result));
    CHECK(frames.n == 1 && (size_t)frames.frame[0].n_atoms == n_atoms);
    const md_energy_report *energy = &frames.frame[0].energy;

    reference_deviation d =
        reference_compare_float(forces, 3, 0, n_atoms, (const float(*)[3])frames.frame[0].f);
    printf("refcoord-scaling %-3s %s: restraints %.6f kJ/mol, forces off by %.2g\n", scaling,
           run_way_text(way), energy->terms.bonded[MD_POSRES], d.relative);
    CHECK(run_terms_agree(energy, json, 2e-5, 0.01, 5e-6));
    CHECK(d.relative < 1e-5);
    double expected;
    CHECK(reference_energy(json, "Position Rest.", &expected));
    CHECK_NEAR(energy->terms.bonded[MD_POSRES], expected, 1e-5 * expected);
    for (int a = 0; a < 3; a++) {
        const char *const name[3] = {"pressure_bar/Pres-XX", "pressure_bar/Pres-YY",
                                     "pressure_bar/Pres-ZZ"};
        CHECK(reference_number(json, name[a], &expected));
        CHECK_NEAR(energy->pressure_tensor[a][a], expected, 0.5);
    }
    run_frames_free(&frames);
    free(forces);
}

int main(void)
{
    for (size_t s = 0; s < sizeof scalings / sizeof scalings[0]; s++)
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            check_single_point(scalings[s], &ways[w]);
    return 0;
}
