/* Drift of the conserved energy with the production settings of nve_*.mdp, as the slope of a line
 * fit from 0.5 ps on, per atom: at most 1.5 times GROMACS's mixed-precision entry. Label long.
 * A molecule alone in its box has too few atoms for that: over list lengths and grids, which mean
 * nothing to it but another rounding, its slope was seen from -3e-4 to 17e-4, so its limit is
 * the absolute one of systems/README.md.
 * Arguments: part of a system's name; number of domains; number of steps. Cannot catch: wrong
 * forces (those that are gradients of a wrong energy conserve it well). */
#include "runs.h"

typedef struct drift_fit {
    double start, n, sum_t, sum_e, sum_tt, sum_te;
} drift_fit;

static void add_point(void *arg, const md_observation *what)
{
    drift_fit *fit = arg;
    if (!what->energy || what->energy->time < 0.5) return;
    double t = what->energy->time, e = what->energy->conserved;
    if (fit->n == 0) fit->start = e;
    e -= fit->start;
    fit->n++;
    fit->sum_t += t;
    fit->sum_e += e;
    fit->sum_tt += t * t;
    fit->sum_te += t * e;
}

static const struct {
    const char *system, *name;
    int64_t n_steps; /* 0: as the mdp says */
    double limit;    /* kJ/mol/ps per atom; 0: that of GROMACS */
} cases[] = {
    {"grappa-like/0001.5", "rf", 0, 0},    {"grappa-like/0003", "rf", 0, 0},
    {"water/spce_3k", "rf", 0, 0},         {"lj/argon_4k", "lj", 0, 0},
    {"ethanol/box_256", "rf", 0, 0},       {"ions/nacl_3k", "rf", 0, 0},
    {"peptide/ala_dipeptide", "rf", 0, 0}, {"peptide/wkdpys_amber", "rf", 0, 0},
    {"peptide/fre_opls", "rf", 0, 0},      {"water/tip3p_dodec", "rf", 0, 0},
    {"ethanol/single", "rf", 0, 2e-3},     {"grappa-like/0045", "rf", 2000, 0},
};

int main(int argc, char **argv)
{
    int n_failed = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *system = cases[c].system;
        if (argc > 1 && !strstr(system, argv[1])) continue;
        const char *json = reference_path("reference/%s/nve_drift.json", system);
        char key[80];
        double wanted;
        snprintf(key, sizeof key, "%s_mixed/drift_kJ_per_mol_per_ps_per_atom", cases[c].name);
        CHECK(reference_number(json, key, &wanted));

        run_way way = {.scheme = RUN_SCHEME};
        drift_fit fit = {0};
        md_run_options options = run_options(
            system, reference_path("reference/%s/nve_%s.mdp", system, cases[c].name), &way);
        options.n_domains = argc > 2 ? atoi(argv[2]) : RUN_ON_GPU ? 0 : 2;
        options.observe = add_point;
        options.observe_arg = &fit;
        options.observe_every = 50;
        options.nsteps = argc > 3 ? atoll(argv[3]) : cases[c].n_steps;
        options.nsteps_given = options.nsteps > 0;
        md_run_result result;
        CHECK(run_can(&options, &result));
        double slope = (fit.n * fit.sum_te - fit.sum_t * fit.sum_e) /
                       (fit.n * fit.sum_tt - fit.sum_t * fit.sum_t) / (double)result.n_atoms;
        double limit = cases[c].limit > 0 ? cases[c].limit : 1.5 * fabs(wanted);
        bool good = fabs(slope) <= limit;
        printf(
            "%-24s drift %9.2e, GROMACS mixed precision %9.2e kJ/mol/ps per atom; rlist %.3f nm, "
            "%.3f ms/step%s\n",
            system, slope, wanted, result.rlist, result.ms_per_step, good ? "" : "  FAILED");
        fflush(stdout);
        if (!good) n_failed++;
    }
    return n_failed ? 1 : 0;
}
