/* Every key of the GROMACS manual (2022 to 2026) is known, and each refusal is said: a table of the
 * documented keys, one of the documented values that are not supported, and what is generated from
 * the table of keys itself: a wrong value of each, both ends of each range. */
#include "md/in/mdp.h"
#include "md/in/mdp_keys.h"
#include "scratch.h"

#include <math.h>

/* The manual's keys, section by section; of numbered families one member. */
static const char *const documented[] = {
    "include",
    "define",
    "integrator",
    "tinit",
    "dt",
    "nsteps",
    "init-step",
    "simulation-part",
    "mts",
    "mts-levels",
    "mts-level2-forces",
    "mts-level2-factor",
    "mass-repartition-factor",
    "comm-mode",
    "nstcomm",
    "comm-grps",
    "bd-fric",
    "ld-seed",
    "emtol",
    "emstep",
    "nstcgsteep",
    "nbfgscorr",
    "niter",
    "fcstep",
    "rtpi",
    "nstxout",
    "nstvout",
    "nstfout",
    "nstlog",
    "nstcalcenergy",
    "nstenergy",
    "nstxout-compressed",
    "compressed-x-precision",
    "compressed-x-grps",
    "energygrps",
    "cutoff-scheme",
    "nstlist",
    "pbc",
    "periodic-molecules",
    "verlet-buffer-tolerance",
    "verlet-buffer-pressure-tolerance",
    "rlist",
    "coulombtype",
    "coulomb-modifier",
    "rcoulomb-switch",
    "rcoulomb",
    "epsilon-r",
    "epsilon-rf",
    "vdwtype",
    "vdw-modifier",
    "rvdw-switch",
    "rvdw",
    "DispCorr",
    "table-extension",
    "energygrp-table",
    "fourierspacing",
    "fourier-nx",
    "fourier-ny",
    "fourier-nz",
    "pme-order",
    "ewald-rtol",
    "ewald-rtol-lj",
    "lj-pme-comb-rule",
    "ewald-geometry",
    "epsilon-surface",
    "ensemble-temperature-setting",
    "ensemble-temperature",
    "tcoupl",
    "nsttcouple",
    "nh-chain-length",
    "print-nose-hoover-chain-variables",
    "tc-grps",
    "tau-t",
    "ref-t",
    "pcoupl",
    "pcoupltype",
    "nstpcouple",
    "tau-p",
    "compressibility",
    "ref-p",
    "refcoord-scaling",
    "annealing",
    "annealing-npoints",
    "annealing-time",
    "annealing-temp",
    "gen-vel",
    "gen-temp",
    "gen-seed",
    "constraints",
    "constraint-algorithm",
    "continuation",
    "Shake-SOR",
    "shake-tol",
    "lincs-order",
    "lincs-iter",
    "lincs-warnangle",
    "morse",
    "energygrp-excl",
    "nwall",
    "wall-atomtype",
    "wall-type",
    "wall-r-linpot",
    "wall-density",
    "wall-ewald-zfac",
    "pull",
    "pull-cylinder-r",
    "pull-constr-tol",
    "pull-print-com",
    "pull-print-ref-value",
    "pull-print-components",
    "pull-nstxout",
    "pull-nstfout",
    "pull-pbc-ref-prev-step-com",
    "pull-xout-average",
    "pull-fout-average",
    "pull-ngroups",
    "pull-ncoords",
    "pull-group1-name",
    "pull-group1-weights",
    "pull-group1-pbcatom",
    "pull-coord1-type",
    "pull-coord1-potential-provider",
    "pull-coord1-expression",
    "pull-coord1-dx",
    "pull-coord1-geometry",
    "pull-coord1-groups",
    "pull-coord1-dim",
    "pull-coord1-origin",
    "pull-coord1-vec",
    "pull-coord1-start",
    "pull-coord1-init",
    "pull-coord1-rate",
    "pull-coord1-k",
    "pull-coord1-kB",
    "awh",
    "awh-potential",
    "awh-seed",
    "awh-nstout",
    "awh-nstsample",
    "awh-nsamples-update",
    "awh-share-multisim",
    "awh-nbias",
    "awh1-error-init",
    "awh1-growth",
    "awh1-growth-factor",
    "awh1-equilibrate-histogram",
    "awh1-target",
    "awh1-target-beta-scaling",
    "awh1-target-cutoff",
    "awh1-target-metric-scaling",
    "awh1-user-data",
    "awh1-share-group",
    "awh1-ndim",
    "awh1-dim1-coord-provider",
    "awh1-dim1-coord-index",
    "awh1-dim1-force-constant",
    "awh1-dim1-start",
    "awh1-dim1-end",
    "awh1-dim1-diffusion",
    "awh1-dim1-cover-diameter",
    "rotation",
    "rot-nstrout",
    "rot-nstsout",
    "rot-ngroups",
    "rot-group0",
    "rot-type0",
    "rot-massw0",
    "rot-vec0",
    "rot-pivot0",
    "rot-rate0",
    "rot-k0",
    "rot-slab-dist0",
    "rot-min-gauss0",
    "rot-eps0",
    "rot-fit-method0",
    "rot-potfit-nsteps0",
    "rot-potfit-step0",
    "disre",
    "disre-weighting",
    "disre-mixed",
    "disre-fc",
    "disre-tau",
    "nstdisreout",
    "orire",
    "orire-fc",
    "orire-tau",
    "orire-fitgrp",
    "nstorireout",
    "free-energy",
    "init-lambda",
    "delta-lambda",
    "init-lambda-state",
    "fep-lambdas",
    "coul-lambdas",
    "vdw-lambdas",
    "bonded-lambdas",
    "restraint-lambdas",
    "mass-lambdas",
    "temperature-lambdas",
    "calc-lambda-neighbors",
    "sc-function",
    "sc-alpha",
    "sc-r-power",
    "sc-coul",
    "sc-power",
    "sc-sigma",
    "sc-gapsys-scale-linpoint-lj",
    "sc-gapsys-scale-linpoint-q",
    "sc-gapsys-sigma-lj",
    "couple-moltype",
    "couple-lambda0",
    "couple-lambda1",
    "couple-intramol",
    "nstdhdl",
    "dhdl-derivatives",
    "dhdl-print-energy",
    "separate-dhdl-file",
    "dh-hist-size",
    "dh-hist-spacing",
    "nstexpanded",
    "lmc-stats",
    "lmc-mc-move",
    "lmc-seed",
    "mc-temperature",
    "wl-ratio",
    "wl-scale",
    "init-wl-delta",
    "wl-oneovert",
    "lmc-repeats",
    "lmc-gibbsdelta",
    "lmc-forced-nstart",
    "nst-transition-matrix",
    "symmetrized-transition-matrix",
    "mininum-var-min",
    "init-lambda-weights",
    "init-wl-histogram-counts",
    "init-lambda-counts",
    "lmc-weights-equil",
    "weight-equil-wl-delta",
    "simulated-tempering",
    "sim-temp-low",
    "sim-temp-high",
    "simulated-tempering-scaling",
    "acc-grps",
    "accelerate",
    "freezegrps",
    "freezedim",
    "cos-acceleration",
    "deform",
    "deform-init-flow",
    "electric-field-x",
    "electric-field-y",
    "electric-field-z",
    "QMMM-grps",
    "QMMM",
    "swapcoords",
    "swap-frequency",
    "split-group0",
    "split-group1",
    "massw-split0",
    "massw-split1",
    "solvent-group",
    "coupl-steps",
    "iontypes",
    "iontype0-name",
    "iontype0-in-A",
    "iontype0-in-B",
    "bulk-offsetA",
    "bulk-offsetB",
    "threshold",
    "cyl0-r",
    "cyl0-up",
    "cyl0-down",
    "cyl1-r",
    "cyl1-up",
    "cyl1-down",
    "density-guided-simulation-active",
    "density-guided-simulation-group",
    "density-guided-simulation-similarity-measure",
    "density-guided-simulation-atom-spreading-weight",
    "density-guided-simulation-force-constant",
    "density-guided-simulation-gaussian-transform-spreading-width",
    "density-guided-simulation-gaussian-transform-spreading-range-in-multiples-of-width",
    "density-guided-simulation-reference-density-filename",
    "density-guided-simulation-nst",
    "density-guided-simulation-normalize-densities",
    "density-guided-simulation-adaptive-force-scaling",
    "density-guided-simulation-adaptive-force-scaling-time-constant",
    "density-guided-simulation-shift-vector",
    "density-guided-simulation-transformation-matrix",
    "qmmm-cp2k-active",
    "qmmm-cp2k-qmgroup",
    "qmmm-cp2k-qmmethod",
    "qmmm-cp2k-qmcharge",
    "qmmm-cp2k-qmmultiplicity",
    "qmmm-cp2k-qmfilenames",
    "colvars-active",
    "colvars-configfile",
    "colvars-seed",
    "nnpot-active",
    "nnpot-modelfile",
    "nnpot-input-group",
    "nnpot-embedding",
    "nnpot-model-input1",
    "pair-cutoff",
    "nnpot-link-type",
    "nnpot-link-distance",
    "metatomic-active",
    "metatomic-oniom",
    "metatomic-link-atoms",
    "fmm-backend",
    "fmm-exafmm-direct-provider",
    "fmm-exafmm-order",
    "fmm-fmsolvr-tree-depth",
    "user1-grps",
    "user2-grps",
    "userint1",
    "userint2",
    "userint3",
    "userint4",
    "userreal1",
    "userreal2",
    "userreal3",
    "userreal4",
    "adress",
    "implicit-solvent",
    /* what grompp 2022 writes into mdout.mdp beside these */
    "vdw-type",
    "dh_hist_size",
    "dh_hist_spacing",
    "IMD-group",
};

/* "key value value ...": documented, and refused. */
static const char *const refused[] = {
    "integrator md-vv md-vv-avek sd bd cg l-bfgs nm tpi tpic mimic",
    "mts yes",
    "mass-repartition-factor 3",
    "comm-mode Angular Linear-acceleration-correction",
    "energygrps Protein",
    "cutoff-scheme group",
    "pbc no xy",
    "periodic-molecules yes",
    "coulombtype Ewald PME P3M-AD User PME-Switch PME-User PME-User-Switch",
    "coulombtype Generalized-Reaction-Field Shift Switch",
    "coulomb-modifier Force-switch Potential-switch Exact-cutoff",
    "vdwtype PME Shift Switch User",
    "energygrp-table A",
    "ensemble-temperature-setting constant variable",
    "tcoupl berendsen nose-hoover andersen andersen-massive yes",
    "pcoupl Berendsen Parrinello-Rahman MTTK",
    "annealing single periodic",
    "constraints h-angles all-angles",
    "constraint-algorithm SHAKE",
    "morse yes",
    "energygrp-excl A",
    "nwall 1 2",
    "pull yes",
    "awh yes",
    "rotation yes",
    "IMD-group Protein",
    "disre simple ensemble",
    "orire yes",
    "free-energy yes expanded",
    "couple-moltype SOL system",
    "simulated-tempering yes",
    "acc-grps A",
    "accelerate 0.1",
    "cos-acceleration 0.1",
    "deform 0.1",
    "deform-init-flow yes",
    "electric-field-x 0.1",
    "electric-field-y 0.1",
    "electric-field-z 0.1",
    "QMMM yes",
    "QMMM-grps A",
    "swapcoords X Y Z",
    "adress yes",
    "implicit-solvent GBSA",
    "density-guided-simulation-active yes true",
    "qmmm-cp2k-active true",
    "colvars-active true",
    "nnpot-active true",
    "metatomic-active true",
    "fmm-backend exafmm fmsolvr",
};

static md_params params;

static void expect(const char *key, const char *value, const char *error)
{
    char text[256];
    snprintf(text, sizeof text, "\n%s = %s\n", key, value);
    scratch_expect(md_mdp_read(scratch_write("a.mdp", text), &params), error, text);
    CHECK(strstr(sundog_last_error(), "a.mdp:2: "));
}

static void test_documented(void)
{
    for (size_t k = 0; k < sizeof documented / sizeof *documented; k++) {
        if (md_mdp_find(documented[k]) >= 0) continue;
        fprintf(stderr, "%s is not known\n", documented[k]);
        exit(1);
    }
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        char line[256], *rest = line, wanted[300];
        snprintf(line, sizeof line, "%s", refused[k]);
        const char *key = strsep(&rest, " ");
        for (char *value; (value = strsep(&rest, " "));) {
            snprintf(wanted, sizeof wanted, " = %s is not supported; supported: ", value);
            expect(key, value, wanted);
        }
    }
}

/* A value beside the range, if a number of this kind can hold it. */
static void expect_range(const md_mdp_key *key)
{
    char value[64];
    bool whole = key->kind == MDP_INT || key->kind == MDP_INT64;
    for (int end = 0; end < 2; end++) {
        double bound = end ? key->max : key->min;
        double beside = bound + (end ? 1 : -1) * fmax(1, fabs(bound) * 1e-3);
        snprintf(value, sizeof value, whole ? "%.0f" : "%.17g", whole ? rint(beside) : beside);
        expect(key->name, value, ": must be ");
    }
    expect(key->name, "junk", whole ? ": expected an integer" : ": expected a number");
}

/* Every row of the table, whatever it holds. */
static void test_rows(void)
{
    int n;
    const md_mdp_key *keys = md_mdp_keys(&n);
    for (int k = 0; k < n; k++) {
        const md_mdp_key *key = &keys[k];
        char name[128], text[256];
        char *star = strchr(strcpy(name, key->name), '*');
        if (star) strcpy(star, "7-thing");
        switch (key->kind) {
        case MDP_INT:
        case MDP_INT64:
        case MDP_REAL:
        case MDP_REALS: expect_range(key); break;
        case MDP_CHOICE:
        case MDP_FIXED_LIST:
        case MDP_FIXED: expect(name, "junk", " = junk is not supported; supported: "); break;
        case MDP_BOOL: expect(name, "junk", " = junk: expected yes or no"); break;
        case MDP_ZERO: expect(name, "0 junk", " = 0 junk is not supported; supported: 0"); break;
        case MDP_REFUSED:
            snprintf(text, sizeof text, "%s belongs to ", name);
            expect(name, "junk", text);
            CHECK(strstr(sundog_last_error(), ", which is not supported"));
            break;
        case MDP_IGNORED:
            snprintf(text, sizeof text, "%s = junk\n", name);
            CHECK_OK(md_mdp_read(scratch_write("a.mdp", text), &params));
            break;
        case MDP_TEXT: break;
        }
    }
}

/* What switches missing features off is accepted, as mdout.mdp has it. */
static void test_off(void)
{
    CHECK_OK(md_mdp_read(scratch_write("a.mdp",
                                       "annealing = no no no\nfmm-backend = inactive\npull = no\n"
                                       "colvars-active = false\ndeform = 0 0 0 0 0 0\nnwall = 0\n"
                                       "gen-seed = -610731038\nld-seed = -17\nacc-grps =\n"),
                         &params));
    CHECK(params.gen_seed == -610731038 && params.ld_seed == -17);
    expect("annealing", "no single", "annealing = no single is not supported; supported: no");
}

int main(void)
{
    test_documented();
    test_rows();
    test_off();
    return 0;
}
