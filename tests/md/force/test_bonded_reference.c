/* Bonded energies, term by term, of real systems against the double-precision references: readers,
 * parameter conventions and kernels together. Rows are the whole system with molecules made whole
 * by nearest images. Forces are compared in whole runs, elsewhere. */
#include "base/alloc.h"
#include "check.h"
#include "md/force/bonded.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"
#include "whole_system.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *system, *point;
} cases[] = {
    {"terms/many_terms", "sp_rf"},       {"terms/many_terms", "sp_rf_nocons"},
    {"terms/urey_bradley", "sp_rf"},     {"terms/urey_bradley", "sp_rf_nocons"},
    {"ethanol/single", "sp_rf"},         {"ethanol/single", "sp_rf_nocons"},
    {"ethanol/box_256", "sp_rf"},        {"grappa-like/0001.5", "sp_rf"},
    {"peptide/ala_dipeptide", "sp_rf"},  {"peptide/wkdpys_amber", "sp_rf"},
    {"peptide/wkdpys_amber", "sp_rf78"}, {"peptide/fre_opls", "sp_rf"},
};

static void check_term(const char *json, const char *name, double value, double expected)
{
    const double limit = 1e-4 + 2e-6 * fabs(expected);
    if (fabs(value - expected) > limit) fprintf(stderr, "%s: %s\n", json, name);
    CHECK_NEAR(value, expected, limit);
}

static void test_system(const char *system, const char *point)
{
    const char *json = reference_path("reference/%s/%s.energy.json", system, point);
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_rows rows = {0};
    md_bonded *bonded;
    md_energy energy = {0};
    CHECK_OK(md_mdp_read(reference_path("reference/%s/%s.mdp", system, point), &params));
    const md_top_options options = {.define = params.define, .constraints = params.constraints};
    CHECK_OK(md_top_read(reference_path("%s/topol.top", system), &options, &topology));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", system), &gro));
    fill_rows(topology, &gro.state, &rows);
    memset(rows.f, 0, (size_t)rows.n_rows * sizeof rows.f[0]);
    CHECK_OK(md_bonded_create(topology, &params, &bonded));
    md_bonded_force(bonded, &rows, rows.f, &energy);

    int n_terms = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        double expected;
        if (kind == MD_CONSTRAINT || kind == MD_SETTLE || rows.list[kind].n == 0) continue;
        CHECK(reference_energy(json, md_kind_name((md_kind)kind), &expected));
        check_term(json, md_kind_name((md_kind)kind), energy.bonded[kind], expected);
        n_terms++;
        if (kind != MD_PAIR14) continue;
        CHECK(reference_energy(json, "Coulomb-14", &expected));
        check_term(json, "Coulomb-14", energy.coulomb14, expected);
    }
    CHECK(n_terms >= 3);

    md_bonded_destroy(&bonded);
    md_rows_destroy(&rows);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        test_system(cases[k].system, cases[k].point);
    return 0;
}
