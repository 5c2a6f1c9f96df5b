/* .pdb files: what must be read (as gmx reads it), what must be refused with file and line. */
#include "md/in/pdb.h"
#include "scratch.h"

#include <math.h>

#define CELL "CRYST1   30.000   31.000   32.000  90.00  90.00  90.00 P 1           1\n"
#define XYZ  "      46.951  -6.567 126.996"
#define OW   "ATOM      1  OW  SOL     1" XYZ "  1.00  0.00\n"

static void read_text(const char *text, md_gro *pdb)
{
    CHECK_OK(md_pdb_read(scratch_write("a.pdb", text), pdb));
}

/* As gmx editconf writes a rhombic dodecahedron; box and positions are those it reads back. */
static void test_of_gmx(void)
{
    md_gro pdb;
    read_text("TITLE     TIP3P water t= 2.50000 step= 1250\n"
              "REMARK    THIS IS A SIMULATION BOX\n"
              "CRYST1   38.429   38.429   38.429  60.00  60.00  90.00 P 1           1\n"
              "MODEL        1\n"
              "ATOM      1  OW  SOL     1      46.951  36.567  26.996  1.00  0.00            \n"
              "HETATM    2 1HW1 SOLXA   2      46.924  36.934 -26.113\n"
              "TER\nENDMDL\n"
              "MODEL        2\n"
              "ATOM      1  OW  SOL     1       1.000   1.000   1.000  1.00  0.00            \n"
              "ENDMDL\nEND\n", &pdb);
    CHECK(pdb.state.n_atoms == 2 && !pdb.state.has_velocities && pdb.state.v[1][2] == 0.0);
    CHECK(pdb.has_time && pdb.time == 2.5 && pdb.has_step && pdb.step == 1250);
    CHECK(strcmp(pdb.title, "TIP3P water t= 2.50000 step= 1250") == 0);
    CHECK_NEAR(pdb.state.x[0][0], 4.6951, 1e-14);
    CHECK_NEAR(pdb.state.x[1][2], -2.6113, 1e-14);
    CHECK(strcmp(pdb.atom[0].name, "OW") == 0 && strcmp(pdb.atom[1].name, "1HW1") == 0);
    CHECK(strcmp(pdb.atom[0].residue, "SOL") == 0 && strcmp(pdb.atom[1].residue, "SOLX") == 0);
    CHECK(pdb.atom[1].residue_number == 2);
    static const double box[3][3] = {
        {3.8429, 0, 0}, {0, 3.8429, 0}, {1.92145, 1.92145, 2.71734}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) CHECK_NEAR(pdb.state.box.m[i][k], box[i][k], 5e-6);
    CHECK(pdb.state.box.m[1][0] == 0.0);        /* right angles are exact */
    md_gro_destroy(&pdb);

    read_text("CRYST1   30.000   30.000   30.000  70.53 109.47  70.53 P 1           1\n" OW, &pdb);
    CHECK_NEAR(pdb.state.box.m[1][0], 3.0 / 3.0, 1e-3);     /* truncated octahedron */
    CHECK_NEAR(pdb.state.box.m[2][0], -3.0 / 3.0, 1e-3);
    CHECK_NEAR(pdb.state.box.m[2][1], 3.0 * sqrt(2.0) / 3.0, 1e-3);
    CHECK_NEAR(pdb.state.box.m[2][2], 3.0 * sqrt(6.0) / 3.0, 1e-3);
    md_gro_destroy(&pdb);
}

/* Hybrid-36, wrapped and starred numbers, six-digit atom numbers, CR LF, no last newline or ENDMDL,
 * other records between. */
static void test_odd_files(void)
{
    md_gro pdb;
    read_text("HEADER    PROTEIN\r\n" CELL
              "SCALE1      0.033  0.000000  0.000000        0.00000\r\n"
              "ATOM  A0000  OW  SOL  9999" XYZ "  1.00  0.00\r\n"
              "ATOM  99999  HW1 SOL  A000" XYZ "\r\n"
              "ANISOU99999  HW1 SOL  A000     2406   1892   1614    198    519   -328       H\r\n"
              "ATOM  100000 HW2 SOL  ZZZZ" XYZ "\r\n"
              "ATOM  *****  OW  SOL  a000" XYZ "\r\n"
              "HETATM1000001OW  SOL  ****" XYZ "\r\n"
              "HETATM    1 CA    CA A   1A" "     46.951  -6.567 126.996\r\n"
              "CONECT    1    2\r\nMASTER        0\r\n"
              "ATOM      7  OW  SOL      " XYZ, &pdb);
    CHECK(pdb.state.n_atoms == 7);
    static const int numbers[7] = {9999, 10000, 10000 + 26 * 46656 - 1, 10000 + 26 * 46656, 0, 1,
                                   0};
    for (int i = 0; i < 7; i++) {
        CHECK(pdb.atom[i].residue_number == numbers[i]);
        CHECK_NEAR(pdb.state.x[i][1], -0.6567, 1e-14);
    }
    CHECK(strcmp(pdb.atom[5].name, "CA") == 0 && strcmp(pdb.atom[5].residue, "CA") == 0);
    CHECK(pdb.title[0] == '\0' && !pdb.has_time);
    CHECK(pdb.state.box.m[0][0] == 3.0 && pdb.state.box.m[2][2] == 3.2);
    md_gro_destroy(&pdb);
    read_text(CELL "END\n" OW "END\n" OW, &pdb);
    CHECK(pdb.state.n_atoms == 1);
    md_gro_destroy(&pdb);
}

static void test_refusals(void)
{
    static const char *const table[][2] = {
        {"", "a.pdb: no atoms (no ATOM or HETATM records)"},
        {CELL "ATOMS\nHELIX\n", "a.pdb: no atoms"},
        {OW, "a.pdb: no box; give one with gmx editconf -f FILE.pdb -o conf.gro -box X Y Z"},
        {"CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n" OW,
         "a.pdb: no box; give one"},
        {"CRYST1    0.000    0.000    0.000  90.00  90.00  90.00 P 1           1\n" OW,
         "a.pdb: no box; give one"},
        {"CRYST1   30.000   31.000         \n" OW, "a.pdb:1: expected c in columns 25 to 33"},
        {"CRYST1   30.000   31.000   32.000  90.00  90.00\n" OW,
         "a.pdb:1: expected gamma in columns 48 to 54, found \"\""},
        {"CRYST1   30.000  -31.000   32.000  90.00  90.00  90.00 P 1\n" OW,
         "a.pdb:1: box vector b has length -3.1"},
        {"CRYST1   30.000   31.000   32.000  90.00 180.00  90.00 P 1\n" OW,
         "a.pdb:1: beta = 180 degrees is no angle of a box"},
        {"CRYST1   30.000   31.000   32.000 120.00 120.00 120.00 P 1\n" OW,
         "a.pdb:1: the angles do not make a box"},
        {"CRYST1   30.000   31.000   32.000  30.00  90.00  90.00 P 1\n" OW,
         "a.pdb:1: the triclinic box is too skewed"},
        {CELL "ATOM      1  OW  SOL     1      46.951  36.567\n",
         "a.pdb:2: expected z in columns 47 to 54, found \"\""},
        {CELL "ATOM      1  OW  SOL     1      46.951  36.5x7  26.996\n",
         "a.pdb:2: expected y in columns 39 to 46, found \"  36.5x7\""},
        {CELL "ATOM      1  OW  SOL     1   46.951  36.567  26.996\n",
         "a.pdb:2: expected x in columns 31 to 38, found \"6.951  3\""},
        {CELL "ATOM      1      SOL     1" XYZ "\n", "a.pdb:2: no atom name in columns 13 to 16"},
        {CELL "ATOM      1  OW  SOL     1     1234567890.0  6.567  26.996\n",
         "a.pdb:2: expected y"},
        {CELL "ATOM      1  OW  SOL     1      9.9e+99  36.567  26.996\n", "a.pdb:2: x = "},
    };
    md_gro pdb;
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        scratch_expect(md_pdb_read(scratch_write("a.pdb", table[k][0]), &pdb), table[k][1],
                       table[k][0]);
    scratch_expect(md_pdb_read(scratch_write_bytes("a.pdb", "AT\0M\n", 5), &pdb),
                   "a.pdb:1: a NUL byte", "");
    CHECK(md_pdb_read("no such file.pdb", &pdb) == SUNDOG_ERR_IO);
}

int main(void)
{
    test_of_gmx();
    test_odd_files();
    test_refusals();
    return 0;
}
