#include "md/in/mdp_keys.h"

#include "md/core/params.h"
#include "md/in/text.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#define AT(field)      offsetof(md_params, field), sizeof(((md_params *)0)->field)
#define NOWHERE        0, 0
#define ANY_INT        INT_MIN, INT_MAX
#define COUNT          0, INT_MAX
#define LARGE          1e9

static const md_mdp_choice integrators[] = {
    {"md", MD_INTEGRATOR_MD}, {"steep", MD_INTEGRATOR_STEEP}, {NULL, 0}};
static const md_mdp_choice comm_modes[] = {
    {"linear", MD_COMM_LINEAR}, {"none", MD_COMM_NONE}, {NULL, 0}};
static const md_mdp_choice coulomb_types[] = {
    {"cut-off", MD_COULOMB_CUTOFF}, {"reaction-field", MD_COULOMB_REACTION_FIELD}, {NULL, 0}};
static const md_mdp_choice coulomb_modifiers[] = {
    {"potential-shift", MD_VDW_POTENTIAL_SHIFT}, {"potential-shift-verlet", MD_VDW_POTENTIAL_SHIFT},
    {"none", MD_VDW_NONE}, {NULL, 0}};
static const md_mdp_choice vdw_modifiers[] = {
    {"potential-shift", MD_VDW_POTENTIAL_SHIFT}, {"potential-shift-verlet", MD_VDW_POTENTIAL_SHIFT},
    {"none", MD_VDW_NONE}, {"force-switch", MD_VDW_FORCE_SWITCH},
    {"potential-switch", MD_VDW_POTENTIAL_SWITCH}, {NULL, 0}};
static const md_mdp_choice dispersion_corrections[] = {
    {"no", MD_DISP_CORR_NO}, {"Ener", MD_DISP_CORR_ENER}, {"EnerPres", MD_DISP_CORR_ENER_PRES},
    {"AllEner", MD_DISP_CORR_ALL_ENER}, {"AllEnerPres", MD_DISP_CORR_ALL_ENER_PRES}, {NULL, 0}};
static const md_mdp_choice thermostats[] = {
    {"no", MD_TCOUPL_NO}, {"v-rescale", MD_TCOUPL_V_RESCALE}, {NULL, 0}};
static const md_mdp_choice barostats[] = {
    {"no", MD_PCOUPL_NO}, {"C-rescale", MD_PCOUPL_C_RESCALE}, {NULL, 0}};
static const md_mdp_choice barostat_types[] = {
    {"isotropic", MD_PCOUPLTYPE_ISOTROPIC}, {"semiisotropic", MD_PCOUPLTYPE_SEMIISOTROPIC},
    {NULL, 0}};
static const md_mdp_choice refcoord_scalings[] = {
    {"no", MD_REFCOORD_NO}, {"all", MD_REFCOORD_ALL}, {"com", MD_REFCOORD_COM}, {NULL, 0}};
static const md_mdp_choice constraints[] = {
    {"none", MD_CONSTRAINTS_NONE}, {"h-bonds", MD_CONSTRAINTS_H_BONDS},
    {"all-bonds", MD_CONSTRAINTS_ALL_BONDS}, {NULL, 0}};
#define WORDS(name, ...) static const md_mdp_choice name[] = {__VA_ARGS__, {NULL, 0}}
WORDS(only_verlet, {"verlet", 0});
WORDS(only_xyz, {"xyz", 0});
WORDS(only_no, {"no", 0});
WORDS(no_or_false, {"no", 0}, {"false", 0});
WORDS(only_cutoff, {"cut-off", 0});
WORDS(only_lincs, {"lincs", 0});
WORDS(only_inactive, {"inactive", 0});
WORDS(only_empty, {"", 0});
WORDS(only_one, {"1", 0});
WORDS(off_or_default, {"-1", 0}, {"0.5", 0});
WORDS(ensemble, {"auto", 0}, {"not-available", 0});

static const md_mdp_key keys[] = {
    /* What md_params holds. */
    {"title", MDP_TEXT, AT(title), 0, 0, NULL, NULL},
    {"include", MDP_TEXT, AT(include), 0, 0, NULL, NULL},
    {"define", MDP_TEXT, AT(define), 0, 0, NULL, NULL},
    {"integrator", MDP_CHOICE, AT(integrator), 0, 0, integrators, NULL},
    {"emtol", MDP_REAL, AT(emtol), 0, LARGE, NULL, NULL},
    {"emstep", MDP_REAL, AT(emstep), 0, LARGE, NULL, NULL},
    {"tinit", MDP_REAL, AT(tinit), -LARGE, LARGE, NULL, NULL},
    {"dt", MDP_REAL, AT(dt), 1e-9, 1.0, NULL, NULL},
    {"nsteps", MDP_INT64, AT(nsteps), -1, 9e15, NULL, NULL},
    {"init-step", MDP_INT64, AT(init_step), 0, 9e15, NULL, NULL},
    {"simulation-part", MDP_IGNORED, NOWHERE, 0, 0, NULL, NULL},
    {"comm-mode", MDP_CHOICE, AT(comm_mode), 0, 0, comm_modes,
     "rotation has no centre in a periodic system"},
    {"nstcomm", MDP_INT, AT(nstcomm), COUNT, NULL, NULL},
    {"comm-grps", MDP_TEXT, AT(comm_grps), 0, 0, NULL, NULL},
    {"nstxout", MDP_INT, AT(nstxout), COUNT, NULL, NULL},
    {"nstvout", MDP_INT, AT(nstvout), COUNT, NULL, NULL},
    {"nstfout", MDP_INT, AT(nstfout), COUNT, NULL, NULL},
    {"nstlog", MDP_INT, AT(nstlog), COUNT, NULL, NULL},
    {"nstcalcenergy", MDP_INT, AT(nstcalcenergy), -1, INT_MAX, NULL, NULL},
    {"nstenergy", MDP_INT, AT(nstenergy), COUNT, NULL, NULL},
    {"nstxout-compressed", MDP_INT, AT(nstxout_compressed), COUNT, NULL, NULL},
    {"compressed-x-precision", MDP_REAL, AT(compressed_x_precision), 1, 1e6, NULL, NULL},
    {"compressed-x-grps", MDP_TEXT, AT(compressed_x_grps), 0, 0, NULL, NULL},
    {"energygrps", MDP_FIXED, NOWHERE, 0, 0, only_empty,
     "energies are those of the whole system; gmx mdrun -rerun splits them up"},
    {"cutoff-scheme", MDP_FIXED, NOWHERE, 0, 0, only_verlet, NULL},
    {"nstlist", MDP_INT, AT(nstlist), 1, INT_MAX, NULL, NULL},
    {"pbc", MDP_FIXED, NOWHERE, 0, 0, only_xyz, NULL},
    {"periodic-molecules", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"verlet-buffer-tolerance", MDP_REAL, AT(verlet_buffer_tolerance), -LARGE, LARGE, NULL, NULL},
    {"verlet-buffer-pressure-tolerance", MDP_FIXED, NOWHERE, 0, 0, off_or_default,
     "the pair-list buffer follows from verlet-buffer-tolerance alone"},
    {"rlist", MDP_REAL, AT(rlist), 0, LARGE, NULL, NULL},
    {"coulombtype", MDP_CHOICE, AT(coulombtype), 0, 0, coulomb_types, NULL},
    {"coulomb-modifier", MDP_CHOICE, AT(coulomb_modifier), 0, 0, coulomb_modifiers, NULL},
    {"rcoulomb-switch", MDP_IGNORED, NOWHERE, 0, 0, NULL, NULL},
    {"rcoulomb", MDP_REAL, AT(rcoulomb), 1e-3, LARGE, NULL, NULL},
    {"epsilon-r", MDP_REAL, AT(epsilon_r), 1e-3, LARGE, NULL, NULL},
    {"epsilon-rf", MDP_REAL, AT(epsilon_rf), 0, LARGE, NULL, NULL},
    {"vdwtype", MDP_FIXED, NOWHERE, 0, 0, only_cutoff, NULL},
    {"vdw-modifier", MDP_CHOICE, AT(vdw_modifier), 0, 0, vdw_modifiers, NULL},
    {"rvdw-switch", MDP_REAL, AT(rvdw_switch), 0, LARGE, NULL, NULL},
    {"rvdw", MDP_REAL, AT(rvdw), 1e-3, LARGE, NULL, NULL},
    {"DispCorr", MDP_CHOICE, AT(disp_corr), 0, 0, dispersion_corrections, NULL},
    {"tcoupl", MDP_CHOICE, AT(tcoupl), 0, 0, thermostats, NULL},
    {"nsttcouple", MDP_INT, AT(nsttcouple), -1, INT_MAX, NULL, NULL},
    {"tc-grps", MDP_TEXT, AT(tc_grps), 0, 0, NULL, NULL},
    {"tau-t", MDP_REALS, AT(tau_t), -LARGE, LARGE, NULL, NULL},
    {"ref-t", MDP_REALS, AT(ref_t), -LARGE, LARGE, NULL, NULL},
    {"pcoupl", MDP_CHOICE, AT(pcoupl), 0, 0, barostats,
     "C-rescale equilibrates like Berendsen and samples like Parrinello-Rahman or MTTK"},
    {"pcoupltype", MDP_CHOICE, AT(pcoupltype), 0, 0, barostat_types, NULL},
    {"nstpcouple", MDP_INT, AT(nstpcouple), -1, INT_MAX, NULL, NULL},
    {"tau-p", MDP_REAL, AT(tau_p), -LARGE, LARGE, NULL, "one value for all directions"},
    {"compressibility", MDP_REALS, AT(compressibility), -LARGE, LARGE, NULL, NULL},
    {"ref-p", MDP_REALS, AT(ref_p), -LARGE, LARGE, NULL, NULL},
    {"refcoord-scaling", MDP_CHOICE, AT(refcoord_scaling), 0, 0, refcoord_scalings, NULL},
    {"freezegrps", MDP_TEXT, AT(freezegrps), 0, 0, NULL, NULL},
    {"freezedim", MDP_TEXT, AT(freezedim), 0, 0, NULL, NULL},
    {"gen-vel", MDP_BOOL, AT(gen_vel), 0, 0, NULL, NULL},
    {"gen-temp", MDP_REAL, AT(gen_temp), 0, LARGE, NULL, NULL},
    {"gen-seed", MDP_INT64, AT(gen_seed), -9e15, 9e15, NULL, NULL},
    {"constraints", MDP_CHOICE, AT(constraints), 0, 0, constraints, NULL},
    {"constraint-algorithm", MDP_FIXED, NOWHERE, 0, 0, only_lincs, NULL},
    {"continuation", MDP_BOOL, AT(continuation), 0, 0, NULL, NULL},
    {"lincs-order", MDP_INT, AT(lincs_order), 1, 100, NULL, NULL},
    {"lincs-iter", MDP_INT, AT(lincs_iter), 1, 100, NULL, NULL},
    {"lincs-warnangle", MDP_REAL, AT(lincs_warnangle), 1e-3, 90, NULL, NULL},
    {"ld-seed", MDP_INT64, AT(ld_seed), -9e15, 9e15, NULL, NULL},

    /* Switches of what is not supported: off is all there is. */
    {"mts", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"mass-repartition-factor", MDP_FIXED, NOWHERE, 0, 0, only_one, NULL},
    {"ensemble-temperature-setting", MDP_FIXED, NOWHERE, 0, 0, ensemble, NULL},
    {"implicit-solvent", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"energygrp-table", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"energygrp-excl", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"QMMM", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"QMMM-grps", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"annealing", MDP_FIXED_LIST, NOWHERE, 0, 0, only_no, NULL},
    {"morse", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"nwall", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"pull", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"awh", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"rotation", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"IMD-group", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"disre", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"orire", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"free-energy", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"couple-moltype", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"acc-grps", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"accelerate", MDP_FIXED, NOWHERE, 0, 0, only_empty, NULL},
    {"cos-acceleration", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"deform", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"deform-init-flow", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"simulated-tempering", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"swapcoords", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"adress", MDP_FIXED, NOWHERE, 0, 0, only_no, NULL},
    {"electric-field-x", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"electric-field-y", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"electric-field-z", MDP_ZERO, NOWHERE, 0, 0, NULL, NULL},
    {"density-guided-simulation-active", MDP_FIXED, NOWHERE, 0, 0, no_or_false, NULL},
    {"qmmm-cp2k-active", MDP_FIXED, NOWHERE, 0, 0, no_or_false, NULL},
    {"colvars-active", MDP_FIXED, NOWHERE, 0, 0, no_or_false, NULL},
    {"nnpot-active", MDP_FIXED, NOWHERE, 0, 0, no_or_false, NULL},
    {"metatomic-active", MDP_FIXED, NOWHERE, 0, 0, no_or_false, NULL},
    {"fmm-backend", MDP_FIXED, NOWHERE, 0, 0, only_inactive, NULL},

    /* Details of what is off, which gmx reads and passes over as well. */
#define IGNORED(name) {name, MDP_IGNORED, NOWHERE, 0, 0, NULL, NULL}
    IGNORED("bd-fric"), IGNORED("niter"), IGNORED("fcstep"),
    IGNORED("nstcgsteep"), IGNORED("nbfgscorr"), IGNORED("rtpi"), IGNORED("table-extension"),
    IGNORED("fourierspacing"), IGNORED("fourier-nx"), IGNORED("fourier-ny"), IGNORED("fourier-nz"),
    IGNORED("pme-order"), IGNORED("ewald-rtol"), IGNORED("ewald-rtol-lj"),
    IGNORED("lj-pme-comb-rule"), IGNORED("ewald-geometry"), IGNORED("epsilon-surface"),
    IGNORED("ensemble-temperature"), IGNORED("nh-chain-length"),
    IGNORED("print-nose-hoover-chain-variables"),
    IGNORED("annealing-npoints"), IGNORED("annealing-time"), IGNORED("annealing-temp"),
    IGNORED("Shake-SOR"), IGNORED("shake-tol"),
    IGNORED("wall-type"), IGNORED("wall-r-linpot"), IGNORED("wall-atomtype"),
    IGNORED("wall-density"), IGNORED("wall-ewald-zfac"), IGNORED("disre-weighting"),
    IGNORED("disre-mixed"), IGNORED("disre-fc"), IGNORED("disre-tau"), IGNORED("nstdisreout"),
    IGNORED("orire-fc"), IGNORED("orire-tau"), IGNORED("orire-fitgrp"), IGNORED("nstorireout"),
    IGNORED("couple-lambda0"), IGNORED("couple-lambda1"), IGNORED("couple-intramol"),
    IGNORED("init-lambda"), IGNORED("init-lambda-state"), IGNORED("delta-lambda"),
    IGNORED("nstdhdl"), IGNORED("fep-lambdas"), IGNORED("mass-lambdas"), IGNORED("coul-lambdas"),
    IGNORED("vdw-lambdas"), IGNORED("bonded-lambdas"), IGNORED("restraint-lambdas"),
    IGNORED("temperature-lambdas"), IGNORED("calc-lambda-neighbors"),
    IGNORED("init-lambda-weights"), IGNORED("init-lambda-counts"),
    IGNORED("init-wl-histogram-counts"), IGNORED("dhdl-print-energy"), IGNORED("sc-function"),
    IGNORED("sc-alpha"), IGNORED("sc-power"), IGNORED("sc-r-power"), IGNORED("sc-sigma"),
    IGNORED("sc-coul"), IGNORED("sc-gapsys-scale-linpoint-lj"),
    IGNORED("sc-gapsys-scale-linpoint-q"), IGNORED("sc-gapsys-sigma-lj"),
    IGNORED("separate-dhdl-file"), IGNORED("dhdl-derivatives"), IGNORED("dh_hist_size"),
    IGNORED("dh_hist_spacing"), IGNORED("simulated-tempering-scaling"), IGNORED("sim-temp-low"),
    IGNORED("sim-temp-high"), IGNORED("user1-grps"), IGNORED("user2-grps"), IGNORED("userint1"),
    IGNORED("userint2"), IGNORED("userint3"), IGNORED("userint4"), IGNORED("userreal1"),
    IGNORED("userreal2"), IGNORED("userreal3"), IGNORED("userreal4"),
    /* Keys of former versions, without effect since. */
    IGNORED("cpp"), IGNORED("ns-type"), IGNORED("domain-decomposition"), IGNORED("andersen-seed"),
    IGNORED("dihre"), IGNORED("dihre-fc"), IGNORED("dihre-tau"), IGNORED("nstdihreout"),
    IGNORED("nstcheckpoint"), IGNORED("optimize-fft"), IGNORED("rlistlong"), IGNORED("nstcalclr"),
    IGNORED("adress-type"),

    /* Details of what is off, which gmx knows only when it is on. A name that ends in * is that of
     * a family. */
#define REFUSED(name, why) {name, MDP_REFUSED, NOWHERE, 0, 0, NULL, why}
    REFUSED("mts-*", "multiple time steps"), REFUSED("pull-*", "pulling"),
    REFUSED("awh*", "accelerated weight histogram biasing"),
    REFUSED("rot-*", "enforced rotation"), REFUSED("swap-frequency", "position swapping"),
    REFUSED("split-group*", "position swapping"), REFUSED("massw-split*", "position swapping"),
    REFUSED("solvent-group", "position swapping"), REFUSED("coupl-steps", "position swapping"),
    REFUSED("iontypes", "position swapping"), REFUSED("iontype*", "position swapping"),
    REFUSED("bulk-offset*", "position swapping"), REFUSED("threshold", "position swapping"),
    REFUSED("cyl0-*", "position swapping"), REFUSED("cyl1-*", "position swapping"),
    REFUSED("density-guided-simulation-*", "density-guided simulation"),
    REFUSED("qmmm-cp2k-*", "QM/MM"), REFUSED("QMmethod", "QM/MM"), REFUSED("QMbasis", "QM/MM"),
    REFUSED("QMMMscheme", "QM/MM"), REFUSED("QMcharge", "QM/MM"), REFUSED("QMmult", "QM/MM"),
    REFUSED("colvars-*", "collective variables"), REFUSED("nnpot-*", "neural network potentials"),
    REFUSED("pair-cutoff", "neural network potentials"),
    REFUSED("metatomic-*", "metatomic models"), REFUSED("fmm-*", "the fast multipole method"),
    REFUSED("nstexpanded", "expanded ensembles"), REFUSED("lmc-*", "expanded ensembles"),
    REFUSED("mc-temperature", "expanded ensembles"), REFUSED("wl-*", "expanded ensembles"),
    REFUSED("init-wl-delta", "expanded ensembles"),
    REFUSED("nst-transition-matrix", "expanded ensembles"),
    REFUSED("symmetrized-transition-matrix", "expanded ensembles"),
    REFUSED("mininum-var-min", "expanded ensembles"),
    REFUSED("weight-c-range", "expanded ensembles"),
    REFUSED("weight-equil-*", "expanded ensembles"),
    REFUSED("E-x", "the electric field of former versions"),
    REFUSED("E-xt", "the electric field of former versions"),
    REFUSED("E-y", "the electric field of former versions"),
    REFUSED("E-yt", "the electric field of former versions"),
    REFUSED("E-z", "the electric field of former versions"),
    REFUSED("E-zt", "the electric field of former versions"),
};
enum { N_KEYS = sizeof keys / sizeof keys[0], MAX_NAME = 64 };

/* Former names that still do the same. */
static const char *const aliases[][2] = {
    {"nstxtcout", "nstxout-compressed"},       {"xtc-precision", "compressed-x-precision"},
    {"xtc-grps", "compressed-x-grps"},         {"verlet-buffer-drift", "verlet-buffer-tolerance"},
    {"unconstrained-start", "continuation"},
};
enum { N_ALIASES = sizeof aliases / sizeof aliases[0] };

const md_mdp_key *md_mdp_keys(int *n)
{
    *n = N_KEYS;
    return keys;
}

/* Lower case, without '-' and '_'. */
static void normalize(const char *name, char out[MAX_NAME])
{
    int n = 0;
    for (; *name && n < MAX_NAME - 1; name++) {
        if (*name != '-' && *name != '_') out[n++] = (char)tolower((unsigned char)*name);
    }
    out[n] = '\0';
}

int md_mdp_find(const char *name)
{
    char wanted[MAX_NAME], family[MAX_NAME];
    for (int a = 0; a < N_ALIASES; a++) {
        if (md_text_same_name(aliases[a][0], name)) name = aliases[a][1];
    }
    for (int k = 0; k < N_KEYS; k++) {
        if (md_text_same_name(keys[k].name, name)) return k;
    }
    normalize(name, wanted);
    for (int k = 0; k < N_KEYS; k++) {
        normalize(keys[k].name, family);
        size_t n = strlen(family);
        if (n > 0 && family[n - 1] == '*' && strncmp(family, wanted, n - 1) == 0) return k;
    }
    return -1;
}

static int edit_distance(const char *a, const char *b)
{
    int row[MAX_NAME + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

int md_mdp_nearest(const char *name)
{
    char wanted[MAX_NAME], known[MAX_NAME];
    int nearest = -1, least;
    normalize(name, wanted);
    least = (int)strlen(wanted) / 3 + 1;
    for (int k = 0; k < N_KEYS; k++) {
        normalize(keys[k].name, known);
        int distance = edit_distance(wanted, known);
        if (distance >= least || strchr(keys[k].name, '*')) continue;
        least = distance;
        nearest = k;
    }
    return nearest;
}
