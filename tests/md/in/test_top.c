/* .top files: a topology that uses every directive, with parameters worked out by hand (and checked
 * against gmx grompp and dump), the preprocessor, and a table of refusals. */
#include "base/alloc.h"
#include "md/core/units.h"
#include "md/in/top.h"
#include "scratch.h"

#include <math.h>

static sundog_status read_top(const char *path, const char *define, md_constraints constraints,
                              md_topology **out)
{
    const char *const folders[] = {"no such folder", scratch_folder};
    md_top_options options = {.define = define, .include_dir = folders, .n_include_dirs = 2,
                              .constraints = constraints};
    return md_top_read(path, &options, out);
}

/* ---- every directive ------------------------------------------------------------------------ */

static const char everything[] =
    "* a header that force fields have\n"
    "[ Default_s ]\n 1 2 yes 0.5 0.8\n"
    "[ atomtypes ]\n"
    "AA  CB 6 12.0 0.1 A 0.33 0.5\n"
    "BB  CB   14.0 0.2 A 0.25 0.2 ; no atomic number\n"
    "C*1 8 16.0 0.0 A 0.2 0.07\n"
    "DD  1.0 -0.3 A 0.2 0.07\n"
    "E+  E1 1 2.0 0.0 A 0.2 0.07\n"
    "unused 1.0 0.0 D 0 0\n"
    "[ nonbond_params ]\nAA BB 1 0.31 0.9\n"
    "[ pairtypes ]\nDD C*1 1 0.22 0.03\n"
    "[ bondtypes ]\nCB CB 1 0.15 1000\nC*1 CB 2 0.14 2000\nDD C*1 1 0.13 3000\n"
    "CB DD 3 0.1 100 1 ; Morse: only a bond could use it\n"
    "[ constrainttypes ]\nCB DD 1 0.21\nCB DD 2 0.24\n"
    "[ angletypes ]\nC*1 CB CB 1 110 500\nDD C*1 CB 1 100 400\nE1 DD C*1 5 101 401 0.2 3\n"
    "CB CB C*1 2 60 650\n"
    "[ dihedraltypes ]\n"
    "X CB C*1 X 9 30 1.5 2\nX CB C*1 X 9 60 2.5 3\n"
    "CB CB C*1 DD 9 10 0.5 1\nCB CB C*1 DD 9 20 0.6 1\n"
    "C*1 DD 1 0 7.5 3\n"
    "CB E1 2 0 33\nDD X X CB 2 5 44\n"
    "X C*1 CB CB 4 5 4.25 2\n"
    "E1 DD C*1 CB 5 1 2 3 4\n"
    "[ cmaptypes ]\nC N C C N 1 24 24 \\\n0 0 0\n"
    "#define NM 0.111 7777\n"
    "[ moleculetype ]\nFOO 2\n"
    "[ atoms ]\n"
    "1 AA 5 RES A1 1\n2 BB 5 RES hB2 1 -0.1\n3 C*1 6 RES C3 1 0.0 15\n"
    "4 DD 6A RES D4 1 -0.3 1.0 DD -0.3 1.0\n5 E+ 6A RES E5 2\n6 AA 7 RES A6 3\n"
    "[ bonds ]\n1 2\n2 3 \\\n 2\n3 4 1 0.13 3000 0.13 3000\n5 4 1 NM\n"
    "[ pairs ]\n1 2\n1 3 1\n3 4 1\n5 1\n6 1 1\n4 1 1 0.3 0.25\n"
    "[ constraints ]\n6 4 1\n1 4 2\n"
    "[ angles ]\n3 2 1 1\n2 3 4\n5 4 3 5\n6 2 3 2\n"
    "[ dihedrals ]\n4 3 2 1 9\n1 2 3 5 9\n6 2 3 4 9\n1 2 3 5 4\n1 2 4 5 2\n4 3 5 1 2\n2 3 4 5 5\n"
    "2 3 4 5 1\n1 2 3 4 9 0 0 3\n"
    "[ exclusions ]\n1 4 5\n6 2\n"
    "[ moleculetype ]\nbar 1\n"
    "[ atoms ]\n1 BB 1 BAR B 1 0 3\n2 DD 1 BAR D 1 0 3\n"
    "#ifdef POSRES\n[ position_restraints ]\n1 1 100 200 300\n#endif\n"
    "#ifndef POSRES\n[ position_restraints ]\n2 1 10 20 30\n1 1 5 0 0 5 0 0\n#endif\n"
    "[ moleculetype ]\nwater 2\n"
    "[ atoms ]\n1 C*1 1 W O 1 -0.8 16\n2 DD 1 W H 1 0.4 1\n3 DD 1 W H 1 0.4 1\n"
    "[ settles ]\n1 1 0.1 0.16\n"
    "[ moleculetype ]\nnobody 1\n[ atoms ]\n1 E+ 1 N N 1 0 1\n"
    "[ system ]\nmy system\n"
    "[ molecules ]\nFOO 1\nbar 2\nFoo 2\nwater 3\nnobody 0\n";

/* The interaction of `kind` between these atoms (1-based), `nth` of its like; its parameters. */
static const double *param_of(const md_topology *t, int m, md_kind kind, const int *atoms, int nth)
{
    const md_interactions *list = &t->moltype[m].list[kind];
    int n_atoms = md_kind_n_atoms(kind);
    for (int n = 0; n < list->n; n++) {
        bool same = true;
        for (int k = 0; k < n_atoms; k++) same &= list->atoms[n * n_atoms + k] == atoms[k] - 1;
        if (same && nth-- == 0) return t->param[list->param[n]].p;
    }
    fprintf(stderr, "no such %s\n", md_kind_name(kind));
    exit(1);
}
#define ATOMS(...) ((const int[]){__VA_ARGS__})

static void expect_params(const double *p, int n, const double *wanted)
{
    for (int k = 0; k < n; k++) CHECK_NEAR(p[k], wanted[k], 1e-14 + 1e-13 * fabs(wanted[k]));
}
#define EXPECT(p, n, ...) expect_params(p, n, (const double[]){__VA_ARGS__})

static void lj(double sigma, double epsilon, double c[2])
{
    c[0] = 4.0 * epsilon * pow(sigma, 6);
    c[1] = 4.0 * epsilon * pow(sigma, 12);
}

static void check_parameters(const md_topology *t)
{
    const double deg = MD_DEG_TO_RAD;
    EXPECT(param_of(t, 0, MD_BOND, ATOMS(1, 2), 0), 2, 0.15, 1000);
    EXPECT(param_of(t, 0, MD_BOND_G96, ATOMS(2, 3), 0), 2, 0.14, 2000);
    EXPECT(param_of(t, 0, MD_BOND, ATOMS(3, 4), 0), 2, 0.13, 3000);
    EXPECT(param_of(t, 0, MD_BOND, ATOMS(5, 4), 0), 2, 0.111, 7777);
    EXPECT(param_of(t, 0, MD_CONSTRAINT, ATOMS(6, 4), 0), 1, 0.21);
    EXPECT(param_of(t, 0, MD_CONSTRAINT, ATOMS(1, 4), 0), 1, 0.24);
    EXPECT(param_of(t, 0, MD_ANGLE, ATOMS(3, 2, 1), 0), 2, 110 * deg, 500);
    EXPECT(param_of(t, 0, MD_ANGLE, ATOMS(2, 3, 4), 0), 2, 100 * deg, 400);
    EXPECT(param_of(t, 0, MD_ANGLE_G96, ATOMS(6, 2, 3), 0), 2, 60 * deg, 650);
    EXPECT(param_of(t, 0, MD_UREY_BRADLEY, ATOMS(5, 4, 3), 0), 4, 101 * deg, 401, 0.2, 3);
    /* four types named before two; two lines each; the reversed one */
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(4, 3, 2, 1), 0), 3, 10 * deg, 0.5, 1);
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(4, 3, 2, 1), 1), 3, 20 * deg, 0.6, 1);
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(1, 2, 3, 5), 0), 3, 30 * deg, 1.5, 2);
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(1, 2, 3, 5), 1), 3, 60 * deg, 2.5, 3);
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(6, 2, 3, 4), 1), 3, 20 * deg, 0.6, 1);
    EXPECT(param_of(t, 0, MD_DIH_PROPER, ATOMS(2, 3, 4, 5), 0), 3, 0, 7.5, 3);
    CHECK(t->moltype[0].list[MD_DIH_PROPER].n == 7);        /* the flat one is not there */
    EXPECT(param_of(t, 0, MD_DIH_PER_IMPROPER, ATOMS(1, 2, 3, 5), 0), 3, 5 * deg, 4.25, 2);
    EXPECT(param_of(t, 0, MD_DIH_IMPROPER, ATOMS(1, 2, 4, 5), 0), 2, 0, 33);
    EXPECT(param_of(t, 0, MD_DIH_IMPROPER, ATOMS(4, 3, 5, 1), 0), 2, 5 * deg, 44);
    EXPECT(param_of(t, 0, MD_DIH_FOURIER, ATOMS(2, 3, 4, 5), 0), 6, 4, 4, 14, -6, -16, 0);
    double c[2];
    lj(0.31, 0.45, c);      /* generated from [ nonbond_params ], fudge 0.5 */
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(1, 2), 0), 2, c[0], c[1]);
    lj(0.265, 0.5 * sqrt(0.5 * 0.07), c);
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(1, 3), 0), 2, c[0], c[1]);
    lj(0.22, 0.03, c);      /* [ pairtypes ], not scaled */
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(3, 4), 0), 2, c[0], c[1]);
    lj(0.3, 0.25, c);       /* given, not scaled */
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(4, 1), 0), 2, c[0], c[1]);
    EXPECT(param_of(t, 1, MD_POSRES, ATOMS(2), 0), 3, 10, 20, 30);
    EXPECT(param_of(t, 1, MD_POSRES, ATOMS(1), 0), 3, 5, 0, 0);
    EXPECT(param_of(t, 2, MD_SETTLE, ATOMS(1, 2, 3), 0), 2, 0.1, 0.16);
}

static void check_exclusions(const md_moltype *m, int atom, const char *wanted)
{
    char text[64] = "";
    for (int e = m->exclusion_start[atom - 1]; e < m->exclusion_start[atom]; e++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", m->exclusion[e] + 1);
    if (strcmp(text, wanted) == 0) return;
    fprintf(stderr, "exclusions of %d: %s, expected %s\n", atom, text, wanted);
    exit(1);
}

static void test_everything(void)
{
    md_topology *t;
    const char *path = scratch_write("a.top", everything);
    CHECK_OK(read_top(path, NULL, MD_CONSTRAINTS_NONE, &t));
    CHECK(strcmp(t->title, "my system") == 0 && t->comb_rule == 2);
    CHECK(t->fudge_lj == 0.5 && t->fudge_qq == 0.8);
    CHECK(t->n_moltypes == 3 && t->n_molblocks == 4 && t->n_atoms == 31 && t->n_molecules == 8);
    CHECK(t->molblock[2].moltype == 0 && t->molblock[2].first_atom == 10);
    CHECK_NEAR(md_topology_total_charge(t), 3 * (0.1 - 0.1 - 0.3 + 0.1), 1e-12);
    const md_moltype *foo = &t->moltype[0];
    CHECK(foo->atom[2].mass == 15.0 && foo->atom[0].charge == 0.1 && foo->atom[3].mass == 1.0);
    CHECK(foo->n_residues == 4 && foo->residue[2].number == 6 && foo->atom[5].residue == 3);
    CHECK(t->n_atomtypes == 5 && t->atomtype[0].atomic_number == 6);    /* "unused" is gone */
    CHECK(strcmp(t->atomtype[1].bonded_name, "CB") == 0 && t->atomtype[1].atomic_number == 0);
    double c[2];
    lj(0.31, 0.9, c);
    CHECK_NEAR(t->c6[1], c[0], 1e-16);
    CHECK_NEAR(t->c12[5], c[1], 1e-16);
    lj(0.5 * (0.25 + 0.2), sqrt(0.2 * 0.07), c);
    CHECK_NEAR(t->c12[1 * 5 + 2], c[1], 1e-18);
    check_parameters(t);
    /* bonds 1-2-3-4-5, constraint 4-6 (type 1 counts, type 2 does not), [ exclusions ] */
    check_exclusions(foo, 1, "2 3 4 5 ");
    check_exclusions(foo, 2, "1 3 4 6 ");
    check_exclusions(foo, 3, "1 2 4 5 6 ");
    check_exclusions(foo, 6, "2 3 4 5 ");
    CHECK(md_topology_count(t, MD_SETTLE) == 3);
    md_topology_destroy(&t);

    CHECK_OK(read_top(path, NULL, MD_CONSTRAINTS_H_BONDS, &t));
    foo = &t->moltype[0];           /* hB2: case does not matter */
    CHECK(foo->list[MD_BOND].n == 2 && foo->list[MD_BOND_G96].n == 0);
    CHECK(foo->list[MD_CONSTRAINT].n == 4);
    EXPECT(param_of(t, 0, MD_CONSTRAINT, ATOMS(2, 3), 0), 1, 0.14);
    check_exclusions(foo, 1, "2 3 4 5 ");       /* a bond that became a constraint still excludes */
    md_topology_destroy(&t);

    CHECK_OK(read_top(path, NULL, MD_CONSTRAINTS_ALL_BONDS, &t));
    CHECK(t->moltype[0].list[MD_BOND].n == 0 && t->moltype[0].list[MD_CONSTRAINT].n == 6);
    CHECK(t->moltype[0].n_groups == 1);
    md_topology_destroy(&t);
}

/* Geometric combination: rule 1 with c6 and c12, rule 3 with sigma and epsilon. */
static void test_combination_rules(void)
{
    md_topology *t;
    const char *rest = "[ atomtypes ]\nA 1 0 A %s\nB 1 0 A %s\n[ moleculetype ]\nM 0\n[ atoms ]\n"
                       "1 A 1 M A 1 0 1\n2 B 1 M B 1 0 1\n[ pairs ]\n1 2 1\n[ system ]\nx\n"
                       "[ molecules ]\nM 1\n";
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "[ defaults ]\n1 1 yes 0.25\n");
    snprintf(text + n, sizeof text - n, rest, "4e-3 9e-6", "1e-3 4e-6");
    CHECK_OK(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_NONE, &t));
    CHECK_NEAR(t->c6[1], 2e-3, 1e-17);
    CHECK_NEAR(t->c12[1], 6e-6, 1e-20);
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(1, 2), 0), 2, 0.5e-3, 1.5e-6);
    CHECK(t->fudge_qq == 1.0);
    md_topology_destroy(&t);
    n = (size_t)snprintf(text, sizeof text, "[ defaults ]\n1 3 yes 0.25 0.5\n");
    snprintf(text + n, sizeof text - n, rest, "0.4 0.9", "0.1 0.4");
    CHECK_OK(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_NONE, &t));
    double c[2];
    lj(0.2, 0.6, c);
    CHECK_NEAR(t->c6[2], c[0], 1e-17);
    CHECK_NEAR(t->c12[2], c[1], 1e-20);
    EXPECT(param_of(t, 0, MD_PAIR14, ATOMS(1, 2), 0), 2, 0.25 * c[0], 0.25 * c[1]);
    md_topology_destroy(&t);
}

/* ---- refusals of the parser ----------------------------------------------------------------- */

#define DEF    "[ defaults ]\n1 2 no 1 1\n"                                         /* lines 1-2 */
#define TYPES  DEF "[ atomtypes ]\nA 12 0 A 0.3 0.5\nB 1 0 A 0.3 0.5\n"             /* 3-5 */
#define MOL    TYPES "[ moleculetype ]\nM 3\n"                                      /* 6-7 */
#define ATOM4  MOL "[ atoms ]\n1 A 1 R A 1\n2 B 1 R B 1\n3 A 1 R C 1\n4 B 1 R D 1\n"  /* 8-12 */
#define END    "[ system ]\nx\n[ molecules ]\nM 1\n"

/* A misspelt macro must not change the run without a word; those of the topology itself may. */
static void test_macros_nobody_asks_for(void)
{
    static const char *const table[][3] = {
        {"-DFLEXIBEL", "#ifdef FLEXIBLE\n#endif\n#define SPARE\n", "sets FLEXIBEL, but "},
        {"-DX -DY=2 -DZ", "#ifdef Y\n#endif\n", "sets X, Z, but "},
        {"-DX", "", "a.top never asks for it (#ifdef, #ifndef or as a parameter)"},
        {"-DX -DY=2", "#ifdef NO\n#ifdef X\nM Y\n#endif\n#endif\n", "a.top never asks for them"},
        {"-DX", "#undef X\n#ifdef X\n#endif\n", "sets X, but "},
        {"-DX", "; X\n", "sets X, but "},
        {"-DX", "#ifdef X\n#endif\n", NULL},
        {"-DX", "#ifndef X\n#endif\n", NULL},
        {"-DX=2", "#define Y X\nM Y\n", NULL},
        {"-DX=2", "M X\n", NULL},
    };
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
        char text[512];
        md_topology *t;
        snprintf(text, sizeof text, "%s%s", ATOM4 END, table[k][1]);
        sundog_status status = read_top(scratch_write("a.top", text), table[k][0],
                                        MD_CONSTRAINTS_NONE, &t);
        if (table[k][2]) {
            scratch_expect(status, table[k][2], text);
            continue;
        }
        CHECK_OK(status);
        md_topology_destroy(&t);
    }
}

static const char *const refusals[][2] = {
    {"", "a.top: no molecules"},
    {"hello\n", "a.top:1: \"hello\" stands before any [ directive ]"},
    {"[ defaults\n", "a.top:1: expected [ directive ], found \"[ defaults\""},
    {"[ defaults ] 1 2\n", "a.top:1: expected [ directive ]"},
    {"[ defaults ]\n2 1\n", "a.top:2: [ defaults ]: function type 2; only 1"},
    {"[ defaults ]\n1 4\n", "a.top:2: [ defaults ]: combination rule 4; there are 1, 2 and 3"},
    {"[ defaults ]\n1 2 maybe\n", "a.top:2: [ defaults ]: gen-pairs is yes or no, not \"maybe\""},
    {"[ defaults ]\n1 2 no x\n", "a.top:2: [ defaults ]: expected a number, found \"x\""},
    {"[ defaults ]\n1 2 no 1e21\n", "a.top:2: [ defaults ]: 1e21 is absurd"},
    {"[ defaults ]\n1 2 no 1 1 10\n", "a.top:2: [ defaults ]: a repulsion power of 10"},
    {"[ defaults ]\n1\n", "a.top:2: [ defaults ]: expected function type and combination rule"},
    {DEF "1 2\n", "a.top:3: [ defaults ]: a second line"},
    {DEF "[ defaults ]\n", "a.top:3: [ defaults ] is not allowed here, among the force-field"},
    {"[ atomtypes ]\n", "a.top:1: [ atomtypes ] is not allowed here, at the start"},
    {"[ defaults ]\n[ atomtypes ]\n", "a.top:2: [ atomtypes ] needs lines of [ defaults ]"},
    {DEF "[ bondtypes ]\n", "a.top:3: [ bondtypes ] needs lines of [ atomtypes ] before it"},
    {DEF "[ atomtypes ]\nA 12 0 A 0.3\n", "a.top:4: [ atomtypes ]: expected name [bonded type]"},
    {DEF "[ atomtypes ]\nA x 12 0 A 0.3 y\n",
     "a.top:4: [ atomtypes ]: expected a number, found \"y\""},
    {DEF "[ atomtypes ]\nA 1x 12 0 A 0.3 1\n", "a.top:4: [ atomtypes ]: expected an atomic number"},
    {DEF "[ atomtypes ]\nA 12 0 Q 0.3 1\n", "a.top:4: [ atomtypes ]: the particle type Q"},
    {DEF "[ atomtypes ]\nA 12 0 A -0.3 1\n", "a.top:4: atom type A: a negative sigma (-0.3)"},
    {DEF "[ atomtypes ]\nA 12 0 A 0.3 -1\n", "a.top:4: atom type A: the parameters 0.3 and -1"},
    {TYPES "A 12 0 A 0.3 0.6\n", "a.top:6: atom type A was defined otherwise at "},
    {TYPES "A 12 0 A 0.3 0.6\n", "a.top:4"},
    {TYPES "[ nonbond_params ]\nA B 2 1 1 1\n",
     "a.top:7: [ nonbond_params ]: function type 2; only"},
    {TYPES "[ nonbond_params ]\nA Z 1 1 1\n", "a.top:7: [ nonbond_params ]: unknown atom type Z"},
    {TYPES "[ nonbond_params ]\nA B 1 1\n", "a.top:7: [ nonbond_params ]: expected 2 parameters"},
    {TYPES "[ nonbond_params ]\nA B 1 -1 1\n", "a.top:7: [ nonbond_params ]: a negative sigma"},
    {TYPES "[ nonbond_params ]\nA B 1 1 1\nB A 1 1 2\n", "a.top:8: B A was defined otherwise at"},
    {TYPES "[ bondtypes ]\nA Z 1 1 1\n", "a.top:7: [ bondtypes ]: unknown bonded type Z"},
    {TYPES "[ bondtypes ]\nA B 11 1 1\n",
     "a.top:7: [ bondtypes ]: function type 11 is not supported; supported: 1, 2"},
    {TYPES "[ bondtypes ]\nA B x 1 1\n", "a.top:7: [ bondtypes ]: expected a function type"},
    {TYPES "[ bondtypes ]\nA B 1 1\n",
     "a.top:7: [ bondtypes ]: parameters of function type 1: 2 expected, 1 found"},
    {TYPES "[ bondtypes ]\nA B 1 1 1 1 2\n",
     "a.top:7: [ bondtypes ]: 4 parameters with a free-energy B state that differs from A"},
    {TYPES "[ bondtypes ]\nA B 1 -1 1\n",
     "a.top:7: [ bondtypes ]: a bond length of -1 nm is negative"},
    {TYPES "[ bondtypes ]\nA B 1 1 1\nB A 1 1 2\n",
     "a.top:8: [ bondtypes ]: these types were defined otherwise at"},
    {TYPES "[ constrainttypes ]\nA B 1 0\n",
     "a.top:7: [ constrainttypes ]: a constraint length of 0"},
    {TYPES "[ dihedraltypes ]\nA B A B 9 0 1 1.5\n",
     "a.top:7: [ dihedraltypes ]: the multiplicity 1.5 is not an integer"},
    {TYPES "[ dihedraltypes ]\nA B A B 9 0 1 1\nA A A A 9 0 1 1\nB A B A 9 0 1 2\n",
     "a.top:9: [ dihedraltypes ]: these types have other lines at"},
    {TYPES "[ dihedraltypes ]\nA B A\n", "a.top:7: [ dihedraltypes ]: expected 4 types"},
    {TYPES "[ pairtypes ]\nA B 1 -1 1\n", "a.top:7: [ pairtypes ]: a negative sigma (-1)"},
    {TYPES "[ atoms ]\n",
     "a.top:6: [ atoms ] is not allowed here, among the force-field parameters"},
    {TYPES "[ moleculetype ]\n[ atoms ]\n", "a.top:7: [ atoms ] needs lines of [ moleculetype ]"},
    {TYPES "[ moleculetype ]\nM\n", "a.top:7: [ moleculetype ]: expected a name and the number"},
    {TYPES "[ moleculetype ]\nM -1\n", "a.top:7: [ moleculetype ]: expected a name and the number"},
    {MOL "N 3\n", "a.top:8: [ moleculetype ]: a second line"},
    {MOL "[ bonds ]\n", "a.top:8: [ bonds ] needs lines of [ atoms ] before it"},
    {MOL "[ moleculetype ]\n", "a.top:7: molecule M has no [ atoms ]"},
    {ATOM4 "[ moleculetype ]\nM 1\n", "a.top:14: molecule M is defined twice"},
    {ATOM4 "[ atomtypes ]\n", "a.top:13: [ atomtypes ] is not allowed here, among the molecules"},
    {MOL "[ atoms ]\n1 A 1 R A\n", "a.top:9: [ atoms ]: expected number, type"},
    {MOL "[ atoms ]\n2 A 1 R A 1\n", "a.top:9: [ atoms ]: expected atom 1, found \"2\""},
    {MOL "[ atoms ]\n1 Z 1 R A 1\n", "a.top:9: [ atoms ]: unknown atom type Z"},
    {MOL "[ atoms ]\n1 A x R A 1\n", "a.top:9: [ atoms ]: expected a residue number, found \"x\""},
    {MOL "[ atoms ]\n1 A 1 R A x\n", "a.top:9: [ atoms ]: expected a charge group number"},
    {MOL "[ atoms ]\n1 A 1 R A 1 q\n", "a.top:9: [ atoms ]: expected a number, found \"q\""},
    {MOL "[ atoms ]\n1 A 1 R A 1 0 0\n", "a.top:9: atom 1 (A) has mass 0; it must be positive"},
    {MOL "[ atoms ]\n1 A 1 R A 1 0 12 B\n", "a.top:9: [ atoms ]: columns 9 on are a free-energy B"},
    {MOL "[ atoms ]\n1 A 1 R A 1 0 12 A 0.1\n",
     "a.top:9: [ atoms ]: columns 9 on are a free-energy B"},
    {MOL "[ atoms ]\n1 A 1 R averylongatomname 1\n", "a.top:9: [ atoms ]: the atom name"},
    {DEF "[ atomtypes ]\nV 0 0 V 0 0\n[ moleculetype ]\nM 1\n[ atoms ]\n1 V 1 R V 1\n",
     "a.top:8: atom 1 (V) is of particle type V; only atoms (A)"},
    {ATOM4 "[ bonds ]\n1 5 1 0.1 1\n", "a.top:14: [ bonds ]: atom 5; molecule M has 4 atoms"},
    {ATOM4 "[ bonds ]\n1 0 1 0.1 1\n", "a.top:14: [ bonds ]: atom 0; molecule M has 4 atoms"},
    {ATOM4 "[ bonds ]\n1 1 1 0.1 1\n", "a.top:14: [ bonds ]: atom 1 is named twice"},
    {ATOM4 "[ bonds ]\n1\n", "a.top:14: [ bonds ]: expected 2 atoms"},
    {ATOM4 "[ bonds ]\n1 x 1\n", "a.top:14: [ bonds ]: expected an atom number, found \"x\""},
    {ATOM4 "[ bonds ]\n1 2 7 1 1\n",
     "a.top:14: [ bonds ]: function type 7 (FENE) is not supported; supported: 1, 2"},
    {ATOM4 "[ bonds ]\n1 2 1\n",
     "a.top:14: [ bonds ]: no parameters here and none of function type 1 for the types A B"},
    {ATOM4 "[ bonds ]\n1 2 1 0.1\n",
     "a.top:14: [ bonds ]: parameters of function type 1: 2 expected, 1 found"},
    {ATOM4 "[ bonds ]\n1 2 1 0.1 1 0.2 1\n",
     "a.top:14: [ bonds ]: 4 parameters with a free-energy B"},
    {ATOM4 "[ bonds ]\n1 2 1 0.1 1,5\n", "a.top:14: [ bonds ]: expected a number, found \"1,5\""},
    {ATOM4 "[ pairs ]\n1 2 1\n",
     "a.top:14: [ pairs ]: no parameters here and none of function type 1 "
                                 "for the types A B (gen-pairs is no)"},
    {ATOM4 "[ pairs ]\n1 2 2\n",
     "a.top:14: [ pairs ]: function type 2 (with charges of its own) is not supported; supported: "
     "1"},
    {ATOM4 "[ angles ]\n1 2 3 3\n",
     "a.top:14: [ angles ]: function type 3 (cross bond-bond) is not supported; supported: 1, 2, "
     "5"},
    {ATOM4 "[ dihedrals ]\n1 2 3 4 8\n",
     "a.top:14: [ dihedrals ]: function type 8 (tabulated) is not supported; supported: 1, 2, 3, "
     "4, 5, 9"},
    {ATOM4 "[ dihedrals ]\n1 2 3 4 1 0 1 2.5\n", "a.top:14: [ dihedrals ]: the multiplicity 2.5"},
    {ATOM4 "[ dihedrals ]\n1 2 3 4 3 1 2 3\n",
     "a.top:14: [ dihedrals ]: parameters of function type 3: 6 expected, 3 found"},
    {TYPES "[ dihedraltypes ]\nA B A B 9 0 1 1\nA B A B 9 0 1 2\n[ moleculetype ]\nM 1\n[ atoms ]\n"
     "1 A 1 R A 1\n2 B 1 R B 1\n3 A 1 R C 1\n4 B 1 R D 1\n[ dihedrals ]\n1 2 3 4 1\n",
     "a.top:17: [ dihedrals ]: several lines for the types A B A B"},
    {ATOM4 "[ constraints ]\n1 2 1 -0.1\n",
     "a.top:14: [ constraints ]: a constraint length of -0.1"},
    {ATOM4 "[ settles ]\n3 1 0.1 0.16\n",
     "a.top:14: [ settles ]: two hydrogens must follow atom 3"},
    {ATOM4 "[ settles ]\n1 1 0.1 0.3\n",
     "a.top:14: [ settles ]: OH and HH distances of 0.1 and 0.3"},
    {ATOM4 "[ settles ]\n1 1 0.1\n",
     "a.top:14: [ settles ]: parameters of function type 1: 2 expected, 1 found"},
    {ATOM4 "[ settles ]\n1 1 0.1 0.16\n[ constraints ]\n1 4 1 0.1\n" END,
     "a.top:7: molecule M: atom 1 is in a settle and in a constraint"},
    {ATOM4 "[ settles ]\n1 1 0.1 0.16\n2 1 0.1 0.16\n" END,
     "a.top:7: molecule M: atom 3 is in two settles"},
    {ATOM4 "[ constraints ]\n1 4 1 0.1\n2 3 1 0.1\n4 1 2 0.1\n" END,
     "a.top:7: molecule M: atoms 1 and 4 are constrained twice"},
    {ATOM4 "[ moleculetype ]\nN 1\n[ atoms ]\n1 A 1 R A 1\n2 A 1 R A 1\n"
     "[ constraints ]\n1 2 1 0.1\n1 2 1 0.1\n[ system ]\nx\n[ molecules ]\nN 1\n",
     "a.top:14: molecule N: atoms 1 and 2 are constrained twice"},
    {ATOM4 "[ exclusions ]\n1 9\n", "a.top:14: [ exclusions ]: atom 9; molecule M has 4 atoms"},
    {ATOM4 "[ position_restraints ]\n5 1 1 1 1\n",
     "a.top:14: [ position_restraints ]: atom 5; molecule M has 4 atoms"},
    {ATOM4 "[ position_restraints ]\n1 1 1 1\n",
     "a.top:14: [ position_restraints ]: parameters of function type 1: 3 expected, 2 found"},
    {ATOM4 "[ position_restraints ]\n1 1\n",
     "a.top:14: [ position_restraints ]: parameters of function type 1: 3 expected, 0 found"},
    {ATOM4 "[ position_restraints ]\n1 2 1 0.5 1000\n",
     "a.top:14: [ position_restraints ]: function type 2 (flat-bottomed) is not "
     "supported; supported: 1"},
    {ATOM4 "[ position_restraints ]\n1 1 1 1 1 2 2 2\n",
     "a.top:14: [ position_restraints ]: 6 parameters with a free-energy B state that differs"},
    {ATOM4 "[ settles ]\n1\n", "a.top:14: [ settles ]: expected an atom, a function type"},
    {ATOM4 "[ cmap ]\n", "a.top:13: [ cmap ] is not supported; supported: defaults, atomtypes,"},
    {ATOM4 "[ virtual_sites3 ]\n", "a.top:13: [ virtual_sites3 ] is not supported"},
    {ATOM4 "[ bnods ]\n", "a.top:13: unknown directive [ bnods ]; supported: defaults,"},
    {ATOM4 "[ molecules ]\n", "a.top:13: [ molecules ] is not allowed here, among the molecules"},
    {ATOM4 "[ system ]\nx\n", "a.top: no molecules"},
    {ATOM4 "[ system ]\nx\n[ bonds ]\n",
     "a.top:15: [ bonds ] is not allowed here, behind [ system ]"},
    {ATOM4 "[ system ]\nx\n[ molecules ]\nN 1\n",
     "a.top:16: [ molecules ]: no [ moleculetype ] N; there are: M"},
    {ATOM4 "[ system ]\nx\n[ molecules ]\nM -1\n",
     "a.top:16: [ molecules ]: expected a name and a number"},
    {ATOM4 "[ system ]\nx\n[ molecules ]\nM 0\n", "a.top: no molecules"},
    {ATOM4 END "[ system ]\n", "a.top:17: [ system ] is not allowed here, behind [ molecules ]"},
    {"#include \"bad.itp\"\n",
     "bad.itp:2: [ defaults ]: function type 2; only 1 (Lennard-Jones) is "
                               "supported (included from "},
};

/* An offer of a directive that is then refused would be no help. */
static void test_refused_directives_are_not_offered(void)
{
    md_topology *t;
    const char *text = ATOM4 "[ bnods ]\n";
    scratch_expect(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_NONE, &t),
                   "exclusions, position_restraints, system, molecules", text);
    CHECK(!strstr(sundog_last_error(), "distance_restraints"));
}

/* Force fields hold parameters of function types that are not here: without an interaction of that
 * kind they do no harm. */
static void test_unused_types(void)
{
    static const struct {
        const char *types, *names;
        int func[9];
    } functions[] = {
        {"bondtypes", "A B", {3, 4, 5, 6, 7, 8, 9, 10, 0}},
        {"angletypes", "A B A", {3, 4, 6, 8, 9, 10, 0}},
        {"dihedraltypes", "A B A B", {8, 10, 11, 0}},
        {"pairtypes", "A B", {2, 0}},
    };
    char text[1024];
    md_topology *t;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        for (const int *func = functions[k].func; *func; func++) {
            snprintf(text, sizeof text, "%s[ %s ]\n%s %d 1 2 3 4 5\n%s%s", TYPES,
                     functions[k].types, functions[k].names, *func, &ATOM4[strlen(TYPES)], END);
            CHECK_OK(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_NONE, &t));
            md_topology_destroy(&t);
        }
    }
}

static void test_refusals(void)
{
    md_topology *t;
    scratch_write("bad.itp", "[ defaults ]\n2 1\n");
    for (size_t k = 0; k < sizeof refusals / sizeof refusals[0]; k++)
        scratch_expect(read_top(scratch_write("a.top", refusals[k][0]), NULL, MD_CONSTRAINTS_NONE,
                                &t),
                       refusals[k][1], refusals[k][0]);
    CHECK_OK(read_top(scratch_write("a.top", ATOM4 END), NULL, MD_CONSTRAINTS_NONE, &t));
    md_topology_destroy(&t);
    const char *zero = ATOM4 "[ bonds ]\n1 2 1 0 1\n" END;
    scratch_expect(read_top(scratch_write("a.top", zero), NULL, MD_CONSTRAINTS_ALL_BONDS, &t),
                   "a.top:7: molecule M: the bond of atoms 1 and 2 cannot be constrained", zero);
    const char *both = ATOM4 "[ bonds ]\n1 2 1 0.1 1\n[ constraints ]\n1 2 1 0.1\n" END;
    scratch_expect(read_top(scratch_write("a.top", both), NULL, MD_CONSTRAINTS_ALL_BONDS, &t),
                   "a.top:7: molecule M: atoms 1 and 2 are constrained twice", both);
}

/* A chain of many atoms, each bonded to the next: reading must not be quadratic. */
static void test_long_molecule(void)
{
    enum { N = 200000 };
    char *text = malloc(64 * (size_t)N), *at = text;
    at += sprintf(at, TYPES "[ bondtypes ]\nA A 1 0.15 1\n[ moleculetype ]\nM 3\n[ atoms ]\n");
    for (int i = 1; i <= N; i++) at += sprintf(at, "%d A %d R A %d\n", i, i, i);
    at += sprintf(at, "[ bonds ]\n");
    for (int i = 1; i < N; i++) at += sprintf(at, "%d %d 1\n", i, i + 1);
    sprintf(at, END);
    md_topology *t;
    CHECK_OK(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_ALL_BONDS, &t));
    CHECK(t->n_params == 2 && t->moltype[0].n_groups == 1);
    CHECK(t->moltype[0].exclusion_start[N] == 6 * N - 12);
    CHECK_NEAR(t->moltype[0].group_radius, 0.15 * N / 2, 1e-6);
    md_topology_destroy(&t);
    free(text);
}

/* A large nrexcl excludes all pairs of a molecule: a small file must not ask for much memory. */
static void test_many_exclusions(void)
{
    enum { N = 5000 };
    char *text = malloc(64 * (size_t)N), *at = text;
    CHECK(text);
    at += sprintf(at, TYPES "[ moleculetype ]\nM 1000000\n[ atoms ]\n");
    for (int i = 1; i <= N; i++) at += sprintf(at, "%d A 1 R A 1\n", i);
    at += sprintf(at, "[ bonds ]\n");
    for (int i = 1; i < N; i++) at += sprintf(at, "%d %d 1 0.1 1\n", i, i + 1);
    sprintf(at, END);
    md_topology *t;
    scratch_expect(read_top(scratch_write("a.top", text), NULL, MD_CONSTRAINTS_NONE, &t),
                   "molecule M: nrexcl = 1000000 makes more than 18057216 exclusions", "M");
    free(text);
}

int main(void)
{
    scratch_write("a.top", "");
    test_everything();
    test_combination_rules();
    test_macros_nobody_asks_for();
    test_refusals();
    test_unused_types();
    test_refused_directives_are_not_offered();
    test_long_molecule();
    test_many_exclusions();
    return 0;
}
