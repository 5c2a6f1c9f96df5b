/* Coordinate files: kinds by their names, and whether they belong to a topology. */
#include "md/in/conf.h"
#include "scratch.h"

#include <math.h>

#define GRO "t\n1\n    1SOL     OW    1   1.000   2.000   3.000\n3 3 3\n"
#define PDB "CRYST1   30.000   30.000   30.000  90.00  90.00  90.00\n" \
            "ATOM      1  OW  SOL     1      10.000  20.000  30.000\n"

static void test_kinds(void)
{
    static const char *const readable[][2] = {
        {"a.gro", GRO}, {"b.GRO", GRO}, {"no_ending", GRO}, {".hidden", GRO}, {"a.pdb", PDB},
        {"b.PDB", PDB}, {"a.ent", PDB}};
    md_gro conf;
    for (size_t k = 0; k < sizeof readable / sizeof readable[0]; k++) {
        CHECK_OK(md_conf_read(scratch_write(readable[k][0], readable[k][1]), &conf));
        CHECK_NEAR(conf.state.x[0][1], 2.0, 1e-14);
        CHECK_NEAR(conf.state.box.m[2][2], 3.0, 1e-14);
        md_gro_destroy(&conf);
    }
    static const char *const refused[][2] = {
        {"a.g96", "a.g96: coordinates are read from .gro and .pdb files, not from .g96; gmx edit"},
        {"a.tpr", "not from .tpr; gmx editconf -f FILE -o conf.gro makes a .gro of it"},
        {"a.cpt", "not from .cpt; gmx trjconv -f FILE -s topol.tpr -dump TIME -o conf.gro"},
        {"a.xtc", "not from .xtc; gmx trjconv"},
        {"a.trr", "not from .trr; gmx trjconv"},
        {"a.tng", "not from .tng; gmx trjconv"},
        {"a.gro.gz", "a.gro.gz is compressed; unpack it first"},
        {"a.pdb.xz", "a.pdb.xz is compressed; unpack it first"},
        {"a.top", "a.top: coordinates are read from .gro and .pdb files, .top is not known"},
        {"gro.cif", "gro.cif: coordinates are read from .gro and .pdb files, .cif is not known"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        sundog_status status = md_conf_read(scratch_write(refused[k][0], GRO), &conf);
        CHECK(status == SUNDOG_ERR_UNSUPPORTED);
        scratch_expect(status, refused[k][1], refused[k][0]);
    }
}

/* Water of two atoms, 30 molecules; every second hydrogen has another name. */
static void test_match(void)
{
    md_atom atoms[2] = {{.name = "OW"}, {.name = "HW1"}};
    md_moltype water = {.name = "SOL", .n_atoms = 2, .atom = atoms};
    md_molblock block = {.moltype = 0, .count = 30};
    md_topology topology = {.n_moltypes = 1, .moltype = &water, .n_molblocks = 1,
                            .molblock = &block, .n_atoms = 60};
    char file[8192] = "t\n60\n", text[2048];
    for (int i = 0; i < 60; i++)
        snprintf(file + strlen(file), sizeof file - strlen(file),
                 "%5dSOL  %5s%5d   1.000   2.000   3.000\n", i / 2 + 1,
                 i % 2 == 0 ? "OW" : i % 4 == 1 || i < 16 ? "HW1" : "H", i + 1);
    strcat(file, "3 3 3\n");
    md_gro conf;
    CHECK_OK(md_gro_read(scratch_write("a.gro", file), &conf));
    int64_t n = -1;
    CHECK_OK(md_conf_match(&conf, "c.gro", &topology, "t.top", &n, text, sizeof text));
    CHECK(n == 11);
    static const char first[] = "  atom 20: HW1 in the topology, H in the coordinates\n  atom 24: ";
    CHECK(strncmp(text, first, strlen(first)) == 0);
    CHECK(strstr(text, "  atom 60: HW1 in the topology, H in the coordinates\n") &&
          !strstr(text, "more"));
    strcpy(atoms[0].name, "O");     /* now 41 differ; 20 are listed */
    CHECK_OK(md_conf_match(&conf, "c.gro", &topology, "t.top", &n, text, sizeof text));
    CHECK(n == 41 && strstr(text, "  atom 1: O in the topology, OW in the coordinates\n"));
    CHECK(strstr(text, "\n  and 21 more\n"));
    int lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    CHECK(lines == 21);
    CHECK_OK(md_conf_match(&conf, "c.gro", &topology, "t.top", &n, text, 8));
    CHECK(n == 41 && strcmp(text, "  atom ") == 0);

    topology.n_atoms = 62;
    block.count = 31;
    scratch_expect(md_conf_match(&conf, "c.gro", &topology, "t.top", &n, text, sizeof text),
                   "c.gro has 60 atoms, t.top has 62 (31 SOL of 2): they do not belong together",
                   file);
    md_molblock many[12];
    for (int b = 0; b < 12; b++) many[b] = (md_molblock){.moltype = 0, .count = b + 1};
    topology.molblock = many;
    topology.n_molblocks = 12;
    scratch_expect(md_conf_match(&conf, "c.gro", &topology, "t.top", &n, text, sizeof text),
                   "7 SOL of 2, 8 SOL of 2, ...): they", file);
    md_gro_destroy(&conf);
}

int main(void)
{
    test_kinds();
    test_match();
    return 0;
}
