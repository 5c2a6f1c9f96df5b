/* Groups of atoms in a run: degrees of freedom as gmx grompp 2022.5 counts them, refusals, and the
 * step itself with several temperature groups, seen from outside: each group has a factor of its
 * own, its temperature is that of its atoms, and the conserved energy counts the work on all.
 *
 * Cannot catch: a wrong random step (tests/md/motion/test_thermostat.c), wrong averages
 * (test_group_averages). */
#include "md/core/units.h"
#include "md/in/top.h"
#include "md/motion/thermostat.h"
#include "md/run/groups.h"
#include "runs.h"

#include <unistd.h>

static md_params coupled(const char *names, int n, double tau_t, double ref_t)
{
    md_params params;
    md_params_default(&params);
    params.tcoupl = MD_TCOUPL_V_RESCALE;
    snprintf(params.tc_grps, sizeof params.tc_grps, "%s", names);
    params.tau_t.n = params.ref_t.n = n;
    for (int g = 0; g < n; g++) {
        params.tau_t.value[g] = tau_t;
        params.ref_t.value[g] = ref_t;
    }
    return params;
}

/* ---- degrees of freedom --------------------------------------------------------------------- */

static void test_freedom(void)
{
    static const struct {
        const char *system, *names;
        md_constraints constraints;
        md_comm_mode comm_mode;
        int n;
        double n_dof[3];
    } table[] = {
        {"peptide/fre_opls",
         "Protein Non-Protein",
         MD_CONSTRAINTS_H_BONDS,
         MD_COMM_LINEAR,
         2,
         {155.912, 5139.09}},
        {"peptide/fre_opls",
         "SideChain MainChain+h Water_and_ions",
         MD_CONSTRAINTS_H_BONDS,
         MD_COMM_LINEAR,
         3,
         {108.44, 47.47, 5139.09}},
        {"peptide/fre_opls", "system", MD_CONSTRAINTS_H_BONDS, MD_COMM_LINEAR, 1, {5295}},
        {"grappa-like/0001.5",
         "ETH SOL",
         MD_CONSTRAINTS_H_BONDS,
         MD_COMM_LINEAR,
         2,
         {671.349, 2421.65}},
        {"grappa-like/0001.5", "ETH SOL", MD_CONSTRAINTS_H_BONDS, MD_COMM_NONE, 2, {672, 2424}},
        {"peptide/ala_dipeptide",
         "MainChain+H SideChain SOL",
         MD_CONSTRAINTS_ALL_BONDS,
         MD_COMM_LINEAR,
         3,
         {16.988, 27.9802, 4191.03}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        md_topology *topology;
        md_groups groups;
        char notes[512] = "";
        md_top_options options = {.define = "", .constraints = table[k].constraints};
        md_params params = coupled(table[k].names, table[k].n, 1, 300);
        CHECK_OK(md_top_read(reference_path("%s/topol.top", table[k].system), &options, &topology));
        CHECK_OK(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups));
        md_groups_count_freedom(&groups, topology, table[k].comm_mode);
        CHECK(groups.n_temperature == table[k].n && notes[0] == '\0');
        for (int g = 0; g < table[k].n; g++)
            CHECK_NEAR(groups.temperature[g].n_dof, table[k].n_dof[g], 0.006);
        CHECK_NEAR(md_groups_total_freedom(&groups), rint(md_groups_total_freedom(&groups)), 1e-6);
        md_groups_destroy(&groups);
        md_topology_destroy(&topology);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static void expect(sundog_status status, const char *wanted)
{
    if (status != SUNDOG_OK && strstr(sundog_last_error(), wanted)) return;
    fprintf(stderr, "expected an error with: %s\ngot: %s\n", wanted,
            status == SUNDOG_OK ? "no error" : sundog_last_error());
    exit(1);
}

static const char *write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return name;
}

static void test_names(void)
{
    md_topology *topology;
    md_groups groups;
    char notes[512] = "";
    CHECK_OK(md_top_read(reference_path("peptide/fre_opls/topol.top"),
                         &(md_top_options){.define = ""}, &topology));
    static const char *const refused[][2] = {
        {"Protein Water", "a.mdp: tc-grps: 6 atoms are not part of any of the groups"},
        {"Protein System", "a.mdp: tc-grps: atom 1 is in two groups, Protein and System"},
        {"Water Water_and_ions", "a.mdp: tc-grps: atom 63 is in two groups, Water and Water_and"},
        {"Protein XX", "a.mdp: tc-grps: there is no group XX in the topology; there are: System, "
                       "Protein, Protein-H, C-alpha"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        md_params params = coupled(refused[k][0], 2, 1, 300);
        expect(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups),
               refused[k][1]);
    }
    CHECK(notes[0] == '\0');
    /* names are those of groups also where they have no effect */
    md_params params = coupled("XX", 1, 1, 300);
    params.tcoupl = MD_TCOUPL_NO;
    expect(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups),
           "a.mdp: tc-grps: there is no group XX");
    params = coupled("SOL", 1, 1, 300);
    params.tcoupl = MD_TCOUPL_NO;
    CHECK_OK(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups));
    CHECK(groups.n_temperature == 1 && md_groups_temperature(&groups) == 0);
    md_groups_destroy(&groups);
    /* the hottest of those that are coupled */
    params = coupled("SOL Protein Ion", 3, 1, 300);
    params.tau_t.value[0] = -1;
    params.ref_t.value[0] = 500;
    params.ref_t.value[2] = 310;
    CHECK_OK(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups));
    CHECK(
        md_groups_temperature(&groups) == 310 &&
        strstr(notes, "1 temperature group is not coupled; the pair-list buffer is made for 310"));
    CHECK(strcmp(groups.temperature[0].name, "SOL") == 0 && groups.temperature_of[0] == 1);
    md_groups_destroy(&groups);

    /* an index file takes the place of all default groups */
    char ndx[] = "test_groups_XXXXXX.ndx";
    int fd = mkstemps(ndx, 4);
    CHECK(fd >= 0 && close(fd) == 0);
    params = coupled("System", 1, 1, 300);
    write_file(ndx, "[ other ]\n1 2\n");
    expect(md_groups_create(topology, &params, "a.mdp", ndx, notes, sizeof notes, &groups),
           "; there are: other");
    write_file(ndx, "[ System ]\n1 2\n");
    expect(md_groups_create(topology, &params, "a.mdp", ndx, notes, sizeof notes, &groups),
           "2628 atoms are not part of any");
    write_file(ndx, "[ System ]\n1 2 2 3\n[ system ]\n1\n");
    expect(md_groups_create(topology, &params, "a.mdp", ndx, notes, sizeof notes, &groups),
           "atom 2 is twice in group System");
    CHECK(strstr(notes, "Warning: 2 groups of test_groups_") &&
          strstr(notes, "are called System; tc-grps takes the first"));
    unlink(ndx);
    md_topology_destroy(&topology);
}

/* ---- the step ------------------------------------------------------------------------------- */

enum { N_STEPS = 8, SEED = 77 };
static const double dt = 0.002;

/* Kinetic energy of solute and solvent: all but water comes first in this system. */
static void kinetic(const run_frame *frame, const double *mass, int64_t n_first, double ekin[2])
{
    ekin[0] = ekin[1] = 0;
    for (int64_t i = 0; i < frame->n_atoms; i++)
        for (int k = 0; k < 3; k++)
            ekin[i >= n_first] += 0.5 * mass[i] * frame->v[i][k] * frame->v[i][k];
}

static double *masses_of(const md_topology *topology)
{
    double *mass = malloc((size_t)topology->n_atoms * sizeof *mass);
    CHECK(mass);
    for (int64_t i = 0; i < topology->n_atoms; i++) {
        md_atom_place place;
        md_topology_find(topology, i, &place);
        mass[i] = topology->moltype[place.moltype].atom[place.atom].mass;
    }
    return mass;
}

/* Without constraints the factor of each group is that of its own draw, at the steps that couple.
 */
static void test_step(void)
{
    char mdp[] = "test_groups_XXXXXX.mdp";
    int fd = mkstemps(mdp, 4);
    CHECK(fd >= 0 && close(fd) == 0);
    char text[1024];
    snprintf(text, sizeof text,
             "define = -DFLEXIBLE\ndt = %g\nnsteps = %d\nnstlist = 4\nnstcalcenergy = 1\n"
             "rcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\ncontinuation = yes\n"
             "comm-mode = none\ntcoupl = v-rescale\ntc-grps = ETH Water\ntau-t = 0.1 0.05\n"
             "ref-t = 250 350\nnsttcouple = 3\nld-seed = %d\n",
             dt / 4, N_STEPS, SEED);
    write_file(mdp, text);
    run_frames frames = {.n = 0};
    for (int s = 0; s <= N_STEPS; s++) frames.want[s] = s;
    frames.want[N_STEPS + 1] = -1;
    run_way way = {.grid = {2, 1, 2}, .scheme = RUN_SCHEME};
    md_run_options options = run_options("grappa-like/0001.5", mdp, &way);
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 1;
    md_run_result result;
    CHECK(run_can(&options, &result));
    unlink(mdp);
    CHECK(frames.n == N_STEPS + 1);

    md_topology *topology;
    CHECK_OK(md_top_read(options.top, &(md_top_options){.define = "-DFLEXIBLE"}, &topology));
    double *mass = masses_of(topology), work = 0, ref[2] = {250, 350}, tau[2] = {0.1, 0.05};
    int64_t n_first = 288;
    double n_dof[2] = {3 * 288, 3 * (1500 - 288)};
    for (int s = 0; s < N_STEPS; s++) {
        const run_frame *a = &frames.frame[s], *b = &frames.frame[s + 1];
        double before[2], behind[2], lambda[2] = {1, 1};
        kinetic(a, mass, n_first, before);
        kinetic(b, mass, n_first, behind);
        for (int g = 0; g < 2 && s % 3 == 1; g++) {
            double after = md_vrescale_ekin(
                before[g], 0.5 * n_dof[g] * MD_BOLTZ * ref[g], n_dof[g], 3 * dt / 4, tau[g],
                (md_vrescale_draw){.seed = SEED, .step = s, .group = g});
            lambda[g] = sqrt(after / before[g]);
            work += after - before[g];
            CHECK(fabs(lambda[g] - 1) > 1e-6);
        }
        for (int64_t i = 0; i < a->n_atoms; i++)
            for (int k = 0; k < 3; k++)
                CHECK_NEAR(b->v[i][k],
                           lambda[i >= n_first] * a->v[i][k] +
                               (double)a->f[i][k] * dt / 4 / mass[i],
                           1e-11);
        for (int g = 0; g < 2; g++)
            CHECK_NEAR(a->energy.group_temperature[g],
                       (before[g] + behind[g]) / (n_dof[g] * MD_BOLTZ), 1e-8);
        CHECK_NEAR(a->energy.conserved, a->energy.total - work, 1e-8);
    }
    CHECK(work != 0);
    free(mass);
    md_topology_destroy(&topology);
    run_frames_free(&frames);
}

/* ---- centre of mass -------------------------------------------------------------------------- */

static void run_some(const char *mdp_text, const int grid[3], run_frames *frames, const char *out,
                     const char *cpi, int64_t n_steps)
{
    char mdp[] = "test_groups_XXXXXX.mdp";
    int fd = mkstemps(mdp, 4);
    CHECK(fd >= 0 && close(fd) == 0);
    write_file(mdp, mdp_text);
    run_way way = {.grid = {grid[0], grid[1], grid[2]}, .scheme = RUN_SCHEME};
    md_run_options options = run_options("peptide/fre_opls", mdp, &way);
    options.out_dir = out;
    options.cpi = cpi;
    options.nstlist = 5; /* taken as it is: restarts are exact where an interval begins */
    options.nsteps_given = true;
    options.nsteps = n_steps;
    if (frames) {
        options.observe = run_keep;
        options.observe_arg = frames;
        options.observe_every = 1;
    }
    md_run_result result;
    sundog_status status = md_run(&options, &result);
    unlink(mdp);
    CHECK_OK(status);
    run_was_there(&result);
}

#define FRE                                                                                        \
    "dt = 0.002\nnstlist = 5\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = reaction-field\n"          \
    "constraints = h-bonds\n"

/* Two groups at rest after steps 0 and 3, the ions in neither go on; the degrees of freedom. */
static void test_com(void)
{
    run_frames frames = {.want = {0, 1, 2, 3, 4, -1}};
    run_some(FRE "comm-grps = Protein SOL\nnstcomm = 3\n", (const int[3]){2, 1, 1}, &frames, NULL,
             NULL, 4);
    CHECK(frames.n == 5);
    md_topology *topology;
    CHECK_OK(md_top_read(reference_path("peptide/fre_opls/topol.top"),
                         &(md_top_options){.define = ""}, &topology));
    double *mass = masses_of(topology), drift[5][3] = {{0}};
    static const int64_t bound[4] = {0, 62, 62 + 2562, 2630};
    for (int s = 0; s < 5; s++)
        for (int part = 0; part < 3; part++) {
            double p[3] = {0}, m = 0;
            for (int64_t i = bound[part]; i < bound[part + 1]; i++) {
                m += mass[i];
                for (int k = 0; k < 3; k++) p[k] += mass[i] * frames.frame[s].v[i][k];
            }
            double speed = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / m;
            drift[s][part] = speed;
        }
    for (int part = 0; part < 2; part++) {
        /* v of frame s is that after step s - 1; removed at the start, after 0 and after 3 */
        CHECK(drift[0][part] < 1e-12 && drift[1][part] < 1e-12 && drift[4][part] < 1e-12);
        CHECK(drift[2][part] > 1e-9 && drift[3][part] > 1e-9);
    }
    for (int s = 0; s < 5; s++) CHECK(drift[s][2] > 1e-3);
    double t = frames.frame[0].energy.temperature;
    CHECK_NEAR(frames.frame[0].energy.kinetic * 2 / (t * MD_BOLTZ), 5292.58, 0.01);
    free(mass);
    md_topology_destroy(&topology);
    run_frames_free(&frames);
}

/* ---- freezegrps ------------------------------------------------------------------------------ */

/* Side chains at rest, with the main chain constrained to them; ions along two axes. What is frozen
 * keeps its bits; the rest moves; constraints between the two hold. */
static void test_frozen(void)
{
    run_frames frames = {.want = {0, 20, -1}};
    run_some(FRE "freezegrps = SideChain Ion\nfreezedim = Y Y Y N Y y\nnstcomm = 5\n"
                 "tcoupl = v-rescale\ntc-grps = Protein Water_and_ions\ntau-t = 0.1 0.1\n"
                 "ref-t = 300 300\nld-seed = 9\ngen-vel = yes\ngen-seed = 4\n",
             (const int[3]){2, 1, 1}, &frames, NULL, NULL, 20);
    CHECK(frames.n == 2);
    const run_frame *a = &frames.frame[0], *b = &frames.frame[1];
    md_topology *topology;
    CHECK_OK(md_top_read(reference_path("peptide/fre_opls/topol.top"),
                         &(md_top_options){.define = "", .constraints = MD_CONSTRAINTS_H_BONDS},
                         &topology));
    md_groups groups;
    char notes[1024] = "";
    md_params params = coupled("System", 1, 1, 300);
    strcpy(params.freezegrps, "SideChain Ion");
    strcpy(params.freezedim, "Y Y Y N Y y");
    CHECK_OK(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups));
    CHECK(strstr(notes, "50 atoms are in frozen groups") && strstr(notes, "44 frozen atoms"));
    int n_frozen = 0;
    double box = a->box.m[0][0];
    for (int64_t i = 0; i < a->n_atoms; i++) {
        unsigned bits = groups.frozen[i];
        CHECK(bits == (i >= 62 + 2562 ? 6 : i < 62 ? bits : 0) && (bits == 0 || bits >= 6));
        for (int k = 0; k < 3; k++) {
            double moved = fabs(b->x[i][k] - a->x[i][k]);
            bool frozen = bits >> k & 1;
            n_frozen += frozen;
            /* by whole boxes, when its owner changes */
            if (frozen) CHECK(fmin(moved, fabs(moved - box)) < 1e-12);
            if (frozen) CHECK(a->v[i][k] == 0 && b->v[i][k] == 0);
            if (!frozen) CHECK(moved > 0 && b->v[i][k] != 0);
        }
    }
    CHECK(n_frozen == 3 * 44 + 2 * 6);
    const md_interactions *bonds = &topology->moltype[0].list[MD_CONSTRAINT];
    int n_mixed = 0;
    for (int c = 0; c < bonds->n; c++) {
        int i = bonds->atoms[2 * c], j = bonds->atoms[2 * c + 1];
        bool one = groups.frozen[i] != 0, other = groups.frozen[j] != 0;
        if (one && other) continue;
        n_mixed += one || other;
        double d[3];
        md_box_nearest(&b->box, b->x[i], b->x[j], d);
        double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        CHECK_NEAR(r, topology->param[bonds->param[c]].p[0], 2e-5);
    }
    CHECK(n_mixed > 0);
    md_groups_destroy(&groups);

    /* degrees of freedom: gmx 2022's, but for fully frozen atoms that leave the removal of
     * centre-of-mass motion (freedom.c) */
    static const struct {
        const char *groups, *axes, *com;
        md_comm_mode comm_mode;
        double n_dof[2];
    } table[] = {
        {"SideChain", "Y Y Y", "", MD_COMM_NONE, {46, 5142}},
        {"Ion", "Y Y N", "", MD_COMM_LINEAR, {155.911, 5127.09}},
        {"SideChain", "Y Y Y", "Protein non-Protein", MD_COMM_LINEAR, {43, 5139}},
        {"non-Protein", "N Y N", "Protein non-Protein", MD_COMM_NONE, {156, 5142 - 2568}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        params = coupled("Protein non-Protein", 2, 1, 300);
        strcpy(params.freezegrps, table[k].groups);
        strcpy(params.freezedim, table[k].axes);
        strcpy(params.comm_grps, table[k].com);
        params.comm_mode = table[k].comm_mode;
        sundog_status status =
            md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups);
        if (k == 3) {
            expect(status, "a.mdp: freezegrps: the rigid water of atom 63 is frozen in part");
            continue;
        }
        CHECK_OK(status);
        md_groups_count_freedom(&groups, topology, table[k].comm_mode);
        for (int g = 0; g < 2; g++)
            CHECK_NEAR(groups.temperature[g].n_dof, table[k].n_dof[g], 0.006);
        md_groups_destroy(&groups);
    }
    strcpy(params.freezegrps, "SideChain");
    strcpy(params.freezedim, "Y Y N");
    expect(md_groups_create(topology, &params, "a.mdp", NULL, notes, sizeof notes, &groups),
           "a.mdp: freezedim: atom 6 has constraints and is frozen along some axes only");
    md_topology_destroy(&topology);
    run_frames_free(&frames);
}

/* ---- compressed-x-grps ----------------------------------------------------------------------- */

static const char *in_folder(const char *folder, const char *name)
{
    static char path[4][128];
    static int next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", folder, name);
    return at;
}

static unsigned char *slurp(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    *n = (size_t)ftell(file);
    unsigned char *bytes = malloc(*n + 1);
    rewind(file);
    CHECK(bytes && fread(bytes, 1, *n, file) == *n && fclose(file) == 0);
    return bytes;
}

static float big_float(const unsigned char *at)
{
    uint32_t word = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void clear(const char *folder)
{
    static const char *const names[] = {"energy.csv", "ener.edr",    "traj_comp.xtc", "md.log",
                                        "state.cpt",  "confout.gro", "state_prev.cpt"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) unlink(in_folder(folder, names[k]));
    rmdir(folder);
}

static void check_same(const char *whole, const char *parts)
{
    static const char *const same[] = {"traj_comp.xtc", "energy.csv", "ener.edr", "confout.gro"};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        size_t n, n_parts;
        unsigned char *bytes = slurp(in_folder(whole, same[k]), &n);
        unsigned char *other = slurp(in_folder(parts, same[k]), &n_parts);
        CHECK(n == n_parts && memcmp(bytes, other, n) == 0);
        free(bytes);
        free(other);
    }
}

/* Frames of three atoms are plain numbers (src/md/out/xtc.c): compared with what was observed. A
 * restart goes on in the file, bit for bit, and refuses other atoms without changing a file. */
static void test_compressed(void)
{
    char whole[] = "test_groups_XXXXXX", parts[] = "test_groups_XXXXXX";
    CHECK(mkdtemp(whole) && mkdtemp(parts));
    static const char text[] =
        FRE "verlet-buffer-tolerance = -1\nrlist = 1\nnstcalcenergy = 2\nnstenergy = "
            "8\nnstxout-compressed = 5\ncompressed-x-grps = C-alpha\n"
            "tcoupl = v-rescale\ntc-grps = Protein Water_and_ions\n"
            "tau-t = 0.1 0.2\nref-t = 300 310\nld-seed = 3\n";
    const int grid[3] = {2, 1, 1};
    run_frames frames = {.want = {0, 5, 10, -1}};
    run_some(text, grid, &frames, whole, NULL, 20);
    size_t n;
    unsigned char *bytes = slurp(in_folder(whole, "traj_comp.xtc"), &n);
    enum { FRAME = 16 + 36 + 4 + 36 };
    CHECK(n == 5 * FRAME && frames.n == 3);
    for (int s = 0; s < 3; s++) {
        const unsigned char *frame = bytes + s * FRAME;
        static const int atoms[3] = {4, 24, 48}; /* CA of the three residues */
        CHECK(frame[7] == 3 && frame[11] == 5 * s && frame[55] == 3);
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++)
                CHECK_NEAR(big_float(frame + 56 + 4 * (3 * a + k)), frames.frame[s].x[atoms[a]][k],
                           1e-6);
    }
    run_frames_free(&frames);

    run_some(text, grid, NULL, parts, NULL, 10);
    const char *cpi = in_folder(parts, "state.cpt");
    run_some(text, grid, NULL, parts, cpi, 20);
    /* On GPUs bits are the same after other numbers of steps: test_gpu_restart. */
    if (!RUN_ON_GPU) check_same(whole, parts);
    free(bytes);

    static const struct {
        const char *from, *to, *error;
    } changes[] = {
        {"C-alpha", "C-alpha Ion", "holds frames of 3 atoms, this run would append some of 9"},
        {"Water_and_ions", "non-Protein", NULL},
        {"Protein Water_and_ions", "Water_and_ions Protein", "written with other run parameters"},
        {"0.1 0.2", "0.1 0.3", "written with other run parameters"},
    };
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        char changed[sizeof text + 64], mdp[] = "test_groups_XXXXXX.mdp";
        const char *at = strstr(text, changes[k].from);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, changes[k].to,
                 at + strlen(changes[k].from));
        int fd = mkstemps(mdp, 4);
        CHECK(fd >= 0 && close(fd) == 0);
        write_file(mdp, changed);
        md_run_options options =
            run_options("peptide/fre_opls", mdp,
                        &(run_way){.grid = {2, 1, 1}, .scheme = RUN_SCHEME});
        options.out_dir = parts;
        options.nstlist = 5;
        options.cpi = in_folder(parts, "state.cpt");
        options.nsteps_given = true;
        options.nsteps = 30;
        md_run_result result;
        sundog_status status = md_run(&options, &result);
        unlink(mdp);
        /* the same atoms under another name are the same groups: only the columns' names differ */
        if (changes[k].error)
            expect(status, changes[k].error);
        else
            expect(status, "has other");
    }
    if (!RUN_ON_GPU) check_same(whole, parts);
    clear(whole);
    clear(parts);
}

int main(void)
{
    run_need_device();
    test_freedom();
    test_names();
    test_step();
    test_com();
    test_frozen();
    test_compressed();
    return 0;
}
