/* Dispersion correction of every modifier and kind, against values that gmx 2022.5 (double
 * precision) printed for the same systems and cut-offs; pressure against the derivative of energy;
 * the columns, and the checkpoint's fingerprint. Cannot catch: a wrong share in potential, pressure
 * and virial (test_single_points, test_trajectories). */
#include "md/core/units.h"
#include "md/in/top.h"
#include "md/run/dispersion.h"
#include "md/run/report.h"
#include "runs.h"

static const struct {
    const char *system;
    double edge; /* of the box, nm */
    md_vdw_modifier modifier;
    md_disp_corr what;
    double energy, pressure;
} cases[] = {
    {"lj/argon_4k", 5.8263101578, MD_VDW_NONE, MD_DISP_CORR_ALL_ENER_PRES, -1511.8127018,
     -253.6127754},
    {"lj/argon_4k", 5.8263101578, MD_VDW_POTENTIAL_SHIFT, MD_DISP_CORR_ALL_ENER_PRES, -2996.8078665,
     -253.6127754},
    {"lj/argon_4k", 5.8263101578, MD_VDW_FORCE_SWITCH, MD_DISP_CORR_ENER_PRES, -4008.0224918,
     -340.2060553},
    {"lj/argon_4k", 5.8263101578, MD_VDW_FORCE_SWITCH, MD_DISP_CORR_ALL_ENER, -3995.2981632, 0},
    {"lj/argon_4k", 5.8263101578, MD_VDW_FORCE_SWITCH, MD_DISP_CORR_ALL_ENER_PRES, -3995.2981632,
     -339.1202012},
    {"lj/argon_4k", 5.8263101578, MD_VDW_POTENTIAL_SWITCH, MD_DISP_CORR_ENER, -2183.9056295, 0},
    {"lj/argon_4k", 5.8263101578, MD_VDW_POTENTIAL_SWITCH, MD_DISP_CORR_ENER_PRES, -2183.9056295,
     -183.3589321},
    {"lj/argon_4k", 5.8263101578, MD_VDW_POTENTIAL_SWITCH, MD_DISP_CORR_ALL_ENER_PRES,
     -2179.1811182, -182.9622660},
    {"grappa-like/0001.5", 2.4734, MD_VDW_NONE, MD_DISP_CORR_ALL_ENER_PRES, -137.8722243,
     -302.4109550},
    {"grappa-like/0001.5", 2.4734, MD_VDW_POTENTIAL_SHIFT, MD_DISP_CORR_ALL_ENER_PRES,
     -275.1148327, -302.4109550},
    {"grappa-like/0001.5", 2.4734, MD_VDW_FORCE_SWITCH, MD_DISP_CORR_ALL_ENER_PRES,
     -367.8055260, -404.5479529},
    {"grappa-like/0001.5", 2.4734, MD_VDW_POTENTIAL_SWITCH, MD_DISP_CORR_ALL_ENER_PRES,
     -198.8172004, -218.1824872},
    {"lj/argon_4k", 5.8263101578, MD_VDW_FORCE_SWITCH, MD_DISP_CORR_NO, 0, 0},
};

/* Columns and their order are those of gmx energy. */
static void check_terms(void)
{
    static const char *const wanted[] = {"LJ (SR)",       "Disper. corr.", "Coulomb (SR)",
                                         "Potential",     "Kinetic En.",   "Total Energy",
                                         "Conserved En.", "Temperature",   "Pres. DC",
                                         "Pressure"};
    md_topology topology = {.n_atoms = 0};
    md_system system = {.topology = &topology, .dispersion = {.energy = true}};
    md_energy_report report = {.dispersion = -3, .dispersion_pressure = -5};
    md_term terms[MD_MAX_TERMS];
    int n = md_report_terms(&system, &report, terms), n_wanted = sizeof wanted / sizeof *wanted;
    CHECK(n == n_wanted + 18);
    for (int i = 0; i < n_wanted; i++) CHECK(strcmp(terms[i].name, wanted[i]) == 0);
    CHECK(terms[1].value == -3 && terms[8].value == -5 && strcmp(terms[8].unit, "bar") == 0);
    system.dispersion.energy = false;
    CHECK(md_report_terms(&system, &report, terms) == n - 2);
}

/* A checkpoint is not continued with another correction or switch; keys without effect are free. */
static void check_hash(void)
{
    md_params params;
    md_params_default(&params);
    uint64_t plain = md_params_hash(&params);
    params.rvdw_switch = 0.7;
    CHECK(md_params_hash(&params) == plain);
    params.vdw_modifier = MD_VDW_FORCE_SWITCH;
    uint64_t switched = md_params_hash(&params);
    params.rvdw_switch = 0.8;
    CHECK(md_params_hash(&params) != switched);
    params.rvdw_switch = 0.7;
    params.disp_corr = MD_DISP_CORR_ENER;
    CHECK(switched != plain && md_params_hash(&params) != switched);
}

int main(void)
{
    check_terms();
    check_hash();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        md_params params;
        md_params_default(&params);
        params.rvdw = params.rcoulomb = 0.9;
        params.rvdw_switch = 0.7;
        params.vdw_modifier = cases[c].modifier;
        params.disp_corr = cases[c].what;
        md_top_options options = {.define = "", .constraints = MD_CONSTRAINTS_NONE};
        md_topology *topology;
        CHECK_OK(md_top_read(reference_path("%s/topol.top", cases[c].system), &options, &topology));
        md_dispersion d = md_dispersion_make(topology, &params);
        double volume = pow(cases[c].edge, 3), energy = md_dispersion_energy(&d, volume);
        double pressure = md_dispersion_pressure(&d, volume);
        printf("%s modifier %d DispCorr %d: %.9g kJ/mol, %.9g bar\n", cases[c].system,
               (int)cases[c].modifier, (int)cases[c].what, energy, pressure);
        CHECK_NEAR(energy, cases[c].energy, 2e-6 * fabs(energy));
        CHECK_NEAR(pressure, cases[c].pressure, 2e-5 * fabs(pressure));
        /* The cut-off's jump is left out of the pressure; where there is none, P = -dE/dV. */
        double h = 1e-4 * volume;
        double low = md_dispersion_energy(&d, volume - h);
        double high = md_dispersion_energy(&d, volume + h);
        double slope = (low - high) / (2 * h) * MD_BAR_PER_KJ_MOL_NM3;
        if (pressure != 0 && cases[c].modifier != MD_VDW_NONE)
            CHECK_NEAR(pressure, slope, 1e-7 * fabs(pressure));
        md_topology_destroy(&topology);
    }
    return 0;
}
