/* .mdp files: values, completion as grompp does it, refusals, and writing back. The adjusted
 * intervals are those that gmx grompp 2022.5 chose for the same lines. */
#include "md/in/mdp.h"
#include "md/in/mdp_keys.h"
#include "scratch.h"

static md_params read_text(const char *text)
{
    md_params params;
    CHECK_OK(md_mdp_read(scratch_write("a.mdp", text), &params));
    return params;
}

static void test_values(void)
{
    md_params p = read_text("; comment\n\n title = a = b ; not this\nNSTXOUT_compressed = 25\n  "
                            "dt=0.002\n"
                  "nsteps\t=\t-1\nCoulombType = Reaction_Field\nrcoulomb = 1.25\nrvdw = 1.25\n"
                  "epsilon-rf = 78\nconstraints = H-bonds\ncontinuation = YES\nnstlog =\n"
                  "define = -DPOSRES  -DX=3\ninclude = -I.. -Ia b\n"
                  "comm-mode = None\nvdw-modifier = none\n"
                  "verlet-buffer-drift = 0.01\nxtc-precision = 100\r\nld-seed = 7\n"
                  "tcoupl = no\npme-order = whatever\ntc-grps = SYSTEM\nelectric-field-x = 0 0 0 "
                  "0\n"
                  "verlet-buffer-pressure-tolerance = 0.5\n"
                  "pcoupl = No\nnwall = 0\nfreezegrps =\nlincs-order = 8\ninit-step = "
                  "5000000000\n");
    CHECK(strcmp(p.title, "a = b") == 0 && strcmp(p.define, "-DPOSRES  -DX=3") == 0 &&
          strcmp(p.include, "-I.. -Ia b") == 0);
    CHECK(p.nstxout_compressed == 25 && p.dt == 0.002 && p.nsteps == -1);
    CHECK(p.coulombtype == MD_COULOMB_REACTION_FIELD && p.rcoulomb == 1.25 && p.epsilon_rf == 78);
    CHECK(p.constraints == MD_CONSTRAINTS_H_BONDS && p.continuation && p.nstlog == 1000);
    CHECK(p.comm_mode == MD_COMM_NONE && p.vdw_modifier == MD_VDW_NONE);
    CHECK(p.verlet_buffer_tolerance == 0.01 && p.compressed_x_precision == 100 && p.ld_seed == 7);
    CHECK(p.lincs_order == 8 && p.init_step == 5000000000 && p.nsttcouple == -1);
    CHECK(p.notes[0] == '\0');
}

/* An empty file is a valid one: everything has a default. */
static void test_defaults(void)
{
    md_params p = read_text(""), d;
    md_params_default(&d);
    CHECK(memcmp(&p, &d, sizeof p) == 0);
    CHECK(p.dt == 0.001 && p.nstlist == 10 && p.nstcalcenergy == 100 && p.nstenergy == 1000);
}

#define COUPLED "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.5\nref-t = 300\n"

#define COUPLING(groups, tau_t, ref_t) \
    "tcoupl = v-rescale\ntc-grps = " groups "\ntau-t = " tau_t "\nref-t = " ref_t "\n"
#define PCOUPLED "pcoupl = C-rescale\ncompressibility = 4.5e-5\nref-p = 1\n"

static void test_barostat(void)
{
    md_params p = read_text(COUPLED PCOUPLED);
    CHECK(p.pcoupl == MD_PCOUPL_C_RESCALE && p.pcoupltype == MD_PCOUPLTYPE_ISOTROPIC);
    CHECK(p.tau_p == 5 && p.nstpcouple == 100 && p.ref_p.n == 1 && p.ref_p.value[0] == 1);
    CHECK(p.compressibility.n == 1 && p.compressibility.value[0] == 4.5e-5 && !p.notes[0]);
    p = read_text(COUPLED PCOUPLED "tau-p = 0.5\ndt = 0.002\n");
    CHECK(p.nstpcouple == 50 && !p.notes[0]);
    p = read_text(COUPLED PCOUPLED "tau-p = 0.49\ndt = 0.002\n");
    CHECK(p.nstpcouple == 25);
    p = read_text(COUPLED PCOUPLED "tau-p = 0.001\ndt = 0.002\n");
    CHECK(p.nstpcouple == 1 && strstr(p.notes, "tau-p = 0.001: less than five coupling intervals"));
    p = read_text(COUPLED "pcoupl = c_rescale\nPcoupltype = SemiIsotropic\nnstpcouple = 7\n"
                          "compressibility = 4.5e-5 0\nref_p = 1.5  -2\nrefcoord-scaling = COM\n");
    CHECK(p.pcoupltype == MD_PCOUPLTYPE_SEMIISOTROPIC && p.nstpcouple == 7 && p.ref_p.n == 2);
    CHECK(p.compressibility.value[1] == 0 && p.ref_p.value[1] == -2 && p.ref_p.value[0] == 1.5);
    CHECK(p.refcoord_scaling == MD_REFCOORD_COM);
    /* without coupling nothing of it counts */
    p = read_text("pcoupl = no\npcoupltype = semiisotropic\nref-p = 1 1 1 0 0 0\ntau-p = -1\n"
                  "nstpcouple = 0\ncompressibility =\n");
    CHECK(p.pcoupl == MD_PCOUPL_NO && p.notes[0] == '\0');
}

static void test_completion(void)
{
    md_params p = read_text("nstcalcenergy = 15\nnstenergy = 50\n");
    CHECK(p.nstcalcenergy == 15 && p.nstenergy == 60);
    CHECK(strstr(p.notes, "nstenergy = 50: raised to 60, a multiple of nstcalcenergy, 15"));
    p = read_text("nstcalcenergy = 100\nnstenergy = 50\nnstcomm = 10\n");
    CHECK(p.nstcalcenergy == 50 && p.nstenergy == 50 && p.nstcomm == 10);
    CHECK(strstr(p.notes, "nstcalcenergy = 100: lowered to nstenergy, 50"));
    p = read_text("nstcalcenergy = -1\nnstenergy = 50\nnstlist = 20\n");
    CHECK(p.nstcalcenergy == 10 && p.nstenergy == 50);
    p = read_text("nstcalcenergy = -1\nnstenergy = 0\nnstlist = 20\n");
    CHECK(p.nstcalcenergy == 20 && p.nstenergy == 0);
    p = read_text("nstcalcenergy = 0\nnstenergy = 7\n");
    CHECK(p.nstcalcenergy == 0 && p.nstenergy == 7 && p.notes[0] == '\0');
    p = read_text(COUPLED);
    CHECK(p.tcoupl == MD_TCOUPL_V_RESCALE && p.tau_t.n == 1 && p.tau_t.value[0] == 0.5 &&
          p.ref_t.n == 1 && p.ref_t.value[0] == 300 &&
          p.nsttcouple == 10);
    p = read_text(COUPLED "nsttcouple = 4\n");
    CHECK(p.nsttcouple == 4);
    p = read_text(COUPLING("Protein  non-Protein Other", "0.1 0 -3", "300\t310 0"));
    CHECK(strcmp(p.tc_grps, "Protein  non-Protein Other") == 0 && p.tau_t.n == 3 &&
          p.ref_t.n == 3 && p.tau_t.value[1] == 0 && p.tau_t.value[2] == -1 &&
          p.ref_t.value[0] == 300 && p.ref_t.value[1] == 310 && p.ref_t.value[2] == 0);
    p = read_text("nstcomm = 0\n");
    CHECK(p.comm_mode == MD_COMM_NONE && strstr(p.notes, "comm-mode set to none"));
    p = read_text("vdw-modifier = Force-switch\nrvdw_switch = 0.8\ndispcorr = allenerpres\n");
    CHECK(p.vdw_modifier == MD_VDW_FORCE_SWITCH && p.rvdw_switch == 0.8 && p.notes[0] == '\0' &&
          p.disp_corr == MD_DISP_CORR_ALL_ENER_PRES);
    p = read_text("vdw-modifier = potential-switch\n");
    CHECK(p.vdw_modifier == MD_VDW_POTENTIAL_SWITCH && p.rvdw_switch == 0 &&
          strstr(p.notes, "rvdw-switch = 0: the switch reaches over more than half of rvdw, 1"));
    p = read_text("rvdw-switch = 5\nDispCorr = Ener\n");      /* nothing is switched */
    CHECK(p.notes[0] == '\0' && p.disp_corr == MD_DISP_CORR_ENER);
    p = read_text("rlist = 1.3\n");
    CHECK(strstr(p.notes, "rlist = 1.3: not used"));
    p = read_text("rlist = 1.3\nverlet-buffer-tolerance = -1\n");
    CHECK(p.rlist == 1.3 && p.verlet_buffer_tolerance == -1.0 && p.notes[0] == '\0');
}

static void test_refusals(void)
{
    static const char *const table[][2] = {
        {"\nnstlist\n", "a.mdp:2: expected key = value, found \"nstlist\""},
        {"= 3\n", "a.mdp:1: expected key = value"},
        {"nstlits = 3\n", "a.mdp:1: unknown key \"nstlits\"; the nearest known one is nstlist"},
        {"foo-bar = 3\n", "a.mdp:1: unknown key \"foo-bar\"; docs/input.md lists those that are"},
        {"Nst-Lits = 3\n", "a.mdp:1: unknown key \"Nst-Lits\"; the nearest known one is nstlist"},
        {"pcb = xyz\n", "a.mdp:1: unknown key \"pcb\"; docs/input.md lists those that are known"},
        {"x = 3\n", "a.mdp:1: unknown key \"x\"; docs/input.md lists those that are known"},
        {"integratr = md\n",
         "a.mdp:1: unknown key \"integratr\"; the nearest known one is integrator"},
        {"nstlist = 3\nrvdw = 1\nnst_list = 4\n",
         "a.mdp:3: nstlist is given twice, first on line 1"},
        {"xtc-precision = 1000\ncompressed-x-precision = 1000\n",
         "a.mdp:2: compressed-x-precision is given"},
        {"nstlist = 1.5\n", "a.mdp:1: nstlist = 1.5: expected an integer"},
        {"nstlist = 0\n", "a.mdp:1: nstlist = 0: must be at least 1"},
        {"nstxout = -1\n", "a.mdp:1: nstxout = -1: must be at least 0"},
        {"nsteps = -2\n", "a.mdp:1: nsteps = -2: must be at least -1"},
        {"nsteps = 99999999999999999999\n",
         "a.mdp:1: nsteps = 99999999999999999999: must be at most 9e+15"},
        {"nsteps = -99999999999999999999\n",
         "a.mdp:1: nsteps = -99999999999999999999: must be at least -1"},
        {"nsteps = 1e30\n", "a.mdp:1: nsteps = 1e30: expected an integer"},
        {"nstxout = 3000000000\n", "a.mdp:1: nstxout = 3000000000: must be at most 2147483647"},
        {"ref-t = 1e30\n", "a.mdp:1: ref-t = 1e30: must be at most 1000000000"},
        {"ref-t = 1e999\n", "a.mdp:1: ref-t = 1e999: must be at most 1000000000"},
        {"tinit = 1e20\n", "a.mdp:1: tinit = 1e20: must be at most 1000000000"},
        {"tinit = -1e20\n", "a.mdp:1: tinit = -1e20: must be at least -1000000000"},
        {"tinit = inf\n", "a.mdp:1: tinit = inf: expected a number"},
        {"rvdw = 1e10\n", "a.mdp:1: rvdw = 1e10: must be at most 1000000000"},
        {"dt = 1e999\n", "a.mdp:1: dt = 1e999: must be between 1e-09 and 1"},
        {"dt = 2fs\n", "a.mdp:1: dt = 2fs: expected a number"},
        {"dt = -0.001\n", "a.mdp:1: dt = -0.001: must be between"},
        {"dt = 0\n", "a.mdp:1: dt = 0: must be between"},
        {"continuation = maybe\n", "a.mdp:1: continuation = maybe: expected yes or no"},
        {"integrator = sd\n", "a.mdp:1: integrator = sd is not supported; supported: md"},
        {"coulombtype = PME\n",
         "a.mdp:1: coulombtype = PME is not supported; supported: cut-off, reaction"},
        {"vdw-modifier = switch\n",
         "a.mdp:1: vdw-modifier = switch is not supported; supported: potential-shift"},
        {"coulomb-modifier = force-switch\n",
         "a.mdp:1: coulomb-modifier = force-switch is not supported; supported: potential-shift"},
        {"vdw-modifier = force-switch\nrvdw-switch = 1\n",
         "a.mdp:2: rvdw-switch = 1: must be smaller than rvdw, 1"},
        {"rvdw-switch = 1.1\nvdw-modifier = potential-switch\n",
         "a.mdp:1: rvdw-switch = 1.1: must be smaller than rvdw, 1"},
        {"rvdw-switch = -0.1\n", "a.mdp:1: rvdw-switch = -0.1: must be at least 0"},
        {"vdw-modifier = force-switch\nDispCorr = Ener\n",
         "a.mdp: rvdw-switch = 0: must be positive with DispCorr"},
        {"vdwtype = PME\n", "a.mdp:1: vdwtype = PME is not supported; supported: cut-off"},
        {"DispCorr = Pres\n",
         "a.mdp:1: DispCorr = Pres is not supported; supported: no, Ener, EnerPres, AllEner"},
        {"cutoff-scheme = group\n",
         "a.mdp:1: cutoff-scheme = group is not supported; supported: verlet"},
        {"pbc = no\n", "a.mdp:1: pbc = no is not supported; supported: xyz"},
        {"pcoupl = Berendsen\n",
         "a.mdp:1: pcoupl = Berendsen is not supported; supported: no, C-rescale"},
        {"pcoupl = Parrinello-Rahman\n",
         "a.mdp:1: pcoupl = Parrinello-Rahman is not supported; supported: no, C-rescale"},
        {"pcoupl = MTTK\n", "a.mdp:1: pcoupl = MTTK is not supported; supported: no, C-rescale"},
        {COUPLED PCOUPLED "pcoupltype = anisotropic\n",
         "a.mdp:8: pcoupltype = anisotropic is not supported; supported: isotropic, semiiso"},
        {COUPLED PCOUPLED "pcoupltype = Surface-tension\n",
         "a.mdp:8: pcoupltype = Surface-tension is not supported; supported: isotropic, semiiso"},
        {"pcoupltype = isotrop\n", "a.mdp:1: pcoupltype = isotrop is not supported"},
        {PCOUPLED, "a.mdp:1: pcoupl = C-rescale: needs tcoupl = v-rescale, as ref-t"},
        {COUPLED PCOUPLED "pcoupltype = semiisotropic\n",
         "a.mdp:6: pcoupl = C-rescale, semiisotropic: needs 2 values of compressibility, for x/y "
         "and z; there is 1"},
        {COUPLED "pcoupl = C-rescale\n",
         "a.mdp:5: pcoupl = C-rescale, isotropic: needs 1 value of compressibility, for all "
         "directions; there are 0"},
        {COUPLED "pcoupl = C-rescale\ncompressibility = 4e-5\nref-p = 1 1 1\n",
         "a.mdp:7: pcoupl = C-rescale, isotropic: needs 1 value of ref-p, for all directions; "
         "there are 3"},
        {COUPLED "pcoupl = C-rescale\ncompressibility = -1\nref-p = 1\n",
         "a.mdp:6: compressibility = -1: must not be negative"},
        {COUPLED PCOUPLED "tau-p = 0\n", "a.mdp:8: tau-p = 0: must be positive"},
        {"tau-p = 1 1\n", "a.mdp:1: tau-p = 1 1: expected a number (one value for all direc"},
        {COUPLED PCOUPLED "nstpcouple = 0\n", "a.mdp:8: nstpcouple = 0: must be positive, or"},
        {"ref-p = 1 x\n", "a.mdp:1: ref-p = x: expected a number"},
        {COUPLING("A B", "1 1", "300 310") PCOUPLED,
         "a.mdp:4: pcoupl = C-rescale: needs one temperature, so all groups"},
        {COUPLING("A B", "1 -1", "300 300") PCOUPLED,
         "a.mdp:3: pcoupl = C-rescale: needs one temperature, so all groups"},
        {"refcoord-scaling = yes\n",
         "a.mdp:1: refcoord-scaling = yes is not supported; supported: no, all, com"},
        {"tcoupl = nose-hoover\n",
         "a.mdp:1: tcoupl = nose-hoover is not supported; supported: no, v-resc"},
        {COUPLING("A B", "0.1 0.1", "300"),
         "a.mdp:2: tc-grps names 2 groups, but there are 1 ref-t values and 2 tau-t values"},
        {COUPLING("A", "0.1 0.1", "300"), "a.mdp:2: tc-grps names 1 group, but there are 1 ref-t"},
        {COUPLING("A", "0.1", "-1"), "a.mdp:4: ref-t = -1: must not be negative"},
        {COUPLING("A B", "0.1 x", "300 300"), "a.mdp:3: tau-t = x: expected a number"},
        {COUPLING("A B", "0.1 1e99", "300 300"), "a.mdp:3: tau-t = 1e99: must be at most"},
        {COUPLING("", "", ""), "a.mdp:2: tc-grps: no group is named"},
        {"tau-t = 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6\n",
         "a.mdp:1: tau-t: 33 values; at most 32 groups"},
        {"gen-vel = perhaps\n", "a.mdp:1: gen-vel = perhaps: expected yes or no"},
        {"gen-temp = -1\n", "a.mdp:1: gen-temp = -1: must be at least 0"},
        {"continuation = yes\ngen-vel = yes\n", "a.mdp:2: gen-vel = yes and continuation = yes"},
        {"constraints = h-angles\n",
         "a.mdp:1: constraints = h-angles is not supported; supported: none, h-b"},
        {"constraint-algorithm = shake\n",
         "a.mdp:1: constraint-algorithm = shake is not supported"},
        {"comm-mode = angular\n",
         "a.mdp:1: comm-mode = angular is not supported; supported: linear, none (rotation"},
        {"free-energy = yes\n", "a.mdp:1: free-energy = yes is not supported; supported: no"},
        {"freezegrps = A\n", "a.mdp: freezegrps names 1 group, but freezedim has 0 values: three"},
        {"freezegrps = A B\nfreezedim = Y Y Y Y Y\n",
         "a.mdp:2: freezegrps names 2 groups, but freezedim has 5 values: three a group"},
        {"freezedim = Y Y Y\n", "a.mdp:1: freezegrps names 0 groups, but freezedim has 3 values"},
        {"freezegrps = A\nfreezedim = Y Y X\n", "a.mdp:2: freezedim: X: expected Y or N"},
        {"nwall = 2\n", "a.mdp:1: nwall = 2 is not supported; supported: 0"},
        {"electric-field-z = 0 0.1 0 0\n",
         "a.mdp:1: electric-field-z = 0 0.1 0 0 is not supported"},
        {"pull-coord1-k = 1\n",
         "a.mdp:1: pull-coord1-k belongs to pulling, which is not supported"},
        {"awh1-dim1-force-constant = 1\n",
         "a.mdp:1: awh1-dim1-force-constant belongs to accelerated weight histogram"},
        {"energygrps = A B\n", "a.mdp:1: energygrps = A B is not supported"},
        {"rcoulomb = 0.9\n\nrvdw = 0.8\n", "a.mdp:3: rvdw = 0.8 and rcoulomb = 0.9: must be equal"},
        {"rcoulomb = 0.9\n", "a.mdp:1: rvdw = 1 and rcoulomb = 0.9: must be equal"},
        {"verlet-buffer-tolerance = 0\n", "a.mdp:1: verlet-buffer-tolerance = 0: must be positive"},
        {"verlet-buffer-tolerance = -1\nrlist = 0.99\n",
         "a.mdp:2: rlist = 0.99: must not be smaller"},
        {"coulombtype = reaction-field\nepsilon-rf = 0.5\n",
         "a.mdp:2: epsilon-rf = 0.5: must be 0 (inf"},
        {"epsilon-r = 0\n", "a.mdp:1: epsilon-r = 0: must be at least 0.001"},
        {"nstcalcenergy = -2\n", "a.mdp:1: nstcalcenergy = -2: must be at least -1"},
        {"tcoupl = v-rescale\n",
         "a.mdp:1: tcoupl = v-rescale: needs tc-grps, tau-t and ref-t; tc-grps"},
        {COUPLED "nsttcouple = 0\n", "a.mdp:5: nsttcouple = 0: must be positive"},
        {"verlet-buffer-pressure-tolerance = 0.1\n", "(the pair-list buffer follows from"},
        {"lincs-order = 0\n", "a.mdp:1: lincs-order = 0: must be between 1 and 100"},
        {"lincs-warnangle = 120\n", "a.mdp:1: lincs-warnangle = 120: must be between 0.001 and 90"},
    };
    md_params p;
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        scratch_expect(md_mdp_read(scratch_write("a.mdp", table[k][0]), &p), table[k][1],
                       table[k][0]);
    CHECK(md_mdp_read("no such.mdp", &p) == SUNDOG_ERR_IO);
    char text[1200] = "define = -D";
    memset(text + strlen(text), 'A', 1100);
    scratch_expect(md_mdp_read(scratch_write("a.mdp", text), &p),
                   "a.mdp:1: define: more than 1023", text);
}

/* What is written reads back to the same parameters, for defaults and for odd values. */
static void test_round_trip(void)
{
    static const char *const texts[] = {
        "", COUPLED "dt = 0.0012345678901234567\ntinit = -3e-7\nnsteps = 123456789012\n",
        "title = some run\ndefine = -DA -DB=2\nverlet-buffer-tolerance = -1\nrlist = 1.05\n"
        "rcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\nepsilon-rf = 78.5\n"
        "continuation = yes\nconstraints = all-bonds\nvdw-modifier = none\ncomm-mode = none\n"
        "coulomb-modifier = none\nld-seed = 12345678901\nnstenergy = 0\nnstcalcenergy = 1\n",
        "vdw-modifier = force-switch\nrvdw-switch = 0.77\nDispCorr = EnerPres\n",
        COUPLING("A B", "0.1 0.30000000000000004", "300 310"),
        "vdw-modifier = potential-switch\nrvdw-switch = 0.9\nDispCorr = AllEner\n",
        COUPLED "pcoupl = C-rescale\npcoupltype = semiisotropic\ntau-p = 1.5\nref-p = 1 -2.25\n"
                "compressibility = 4.5e-5 3e-4\nnstpcouple = 12\nrefcoord-scaling = all\n"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        md_params p = read_text(texts[k]), q;
        FILE *file = fopen(scratch_write("b.mdp", ""), "w");
        CHECK(file);
        md_mdp_write(&p, file);
        CHECK(fclose(file) == 0);
        CHECK_OK(md_mdp_read(scratch_write("a.mdp", texts[k]), &p));
        char path[192];
        snprintf(path, sizeof path, "%s/b.mdp", scratch_folder);
        CHECK_OK(md_mdp_read(path, &q));
        memset(p.notes, 0, sizeof p.notes);
        memset(q.notes, 0, sizeof q.notes);
        CHECK(memcmp(&p, &q, sizeof p) == 0);
    }
}

/* Each row of the table is found by its own name, and no two rows have the same one. */
static void test_table(void)
{
    int n;
    const md_mdp_key *keys = md_mdp_keys(&n);
    CHECK(n > 200);
    for (int k = 0; k < n; k++) {
        CHECK(md_mdp_find(keys[k].name) == k);
        md_mdp_kind kind = keys[k].kind;
        bool has_words = kind == MDP_CHOICE || kind == MDP_FIXED || kind == MDP_FIXED_LIST;
        CHECK(has_words == (keys[k].choice != NULL));
    }
    CHECK(md_mdp_find("no-such-key") < 0 && md_mdp_find("") < 0);
    CHECK(strcmp(keys[md_mdp_find("pull-group3-name")].name, "pull-*") == 0);
    CHECK(strcmp(keys[md_mdp_find("pull")].name, "pull") == 0);
}

int main(void)
{
    test_values();
    test_defaults();
    test_completion();
    test_barostat();
    test_refusals();
    test_round_trip();
    test_table();
    return 0;
}
