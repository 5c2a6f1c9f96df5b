/* .gro files: layouts that must be read, damaged ones that must be refused with file and line. */
#include "md/in/gro.h"
#include "scratch.h"

#include <math.h>

#define ATOM(x) "    1SOL     OW    1" x "\n"

static void read_text(const char *text, md_gro *gro)
{
    CHECK_OK(md_gro_read(scratch_write("a.gro", text), gro));
}

static void test_layouts(void)
{
    md_gro gro;
    read_text("water t= 12.5 step= 1000\n2\n"
              "    1SOL     OW    1   1.230  -0.451  12.000  0.1230 -0.4560  7.8900\n"
              "99999SOLX   HW1    0   0.000   0.100   0.200  1.0000  2.0000  3.0000\n"
              "   3.00000   4.00000   5.00000\n", &gro);
    CHECK(gro.state.n_atoms == 2 && gro.decimals == 3 && gro.state.has_velocities);
    CHECK(gro.state.x[0][0] == 1.230 && gro.state.x[0][1] == -0.451 && gro.state.x[0][2] == 12.0);
    CHECK(gro.state.v[0][2] == 7.89 && gro.state.v[1][2] == 3.0);
    CHECK(strcmp(gro.atom[1].name, "HW1") == 0 && strcmp(gro.atom[1].residue, "SOLX") == 0);
    CHECK(gro.atom[1].residue_number == 99999);
    CHECK(gro.has_time && gro.time == 12.5 && gro.has_step && gro.step == 1000);
    CHECK(gro.state.time == 0.0 && gro.state.step == 0);
    CHECK(gro.state.box.m[0][0] == 3.0 && gro.state.box.m[2][2] == 5.0);
    md_gro_destroy(&gro);
    CHECK(gro.atom == NULL);

    /* Windows line ends, no velocities, blank lines, a second frame, nine box numbers. */
    read_text("lot=3\r\n1\r\n    1SOL     OW    1   1.230  -0.451  12.000\r\n"
              " 3 4 5 0 0 0.5 0 -0.25 0.75\r\n\r\n\r\nsecond\r\n1\r\n", &gro);
    CHECK(!gro.state.has_velocities && gro.state.v[0][0] == 0.0 && !gro.has_time);
    CHECK(gro.state.box.m[1][0] == 0.5 && gro.state.box.m[2][0] == -0.25);
    CHECK(gro.state.box.m[2][1] == 0.75 && gro.state.box.m[1][1] == 4.0);
    md_gro_destroy(&gro);

    /* No title, tabs in the free lines, velocities blank, stars for numbers, no last newline. */
    read_text("\n\t1 \n*****SOL     OW*****   1.230  -0.451  12.000   \t\n\t3\t4 5", &gro);
    CHECK(gro.title[0] == '\0' && !gro.state.has_velocities && gro.atom[0].residue_number == 0);
    CHECK(gro.state.x[0][2] == 12.0 && gro.state.box.m[1][1] == 4.0);
    md_gro_destroy(&gro);
    /* Numbers with exponents and signs, as long as they are in their columns. */
    read_text("t\n1\n" ATOM("   +1.2e0   -0.5e1    3.0e0") "3e0 +4 5.\n", &gro);
    CHECK(gro.state.x[0][0] == 1.2 && gro.state.x[0][1] == -5.0 && gro.state.x[0][2] == 3.0);
    md_gro_destroy(&gro);

    /* One and nine decimals; columns that touch. */
    read_text("few\n1\n" ATOM("   1.2-100.2 999.9  0.12  0.25-99.99") " 1000 1000 1000", &gro);
    CHECK(gro.decimals == 1 && gro.state.x[0][1] == -100.2 && gro.state.v[0][2] == -99.99);
    md_gro_destroy(&gro);
    read_text("many\n1\n" ATOM("   0.123456789  -1.123456789 123.123456789  0.1234567891 "
              "-1.1234567891"
                               "  2.1234567891") "5 5 5\n", &gro);
    CHECK(gro.decimals == 9 && gro.state.x[0][1] == -1.123456789);
    CHECK(gro.state.v[0][1] == -1.1234567891 && gro.state.x[0][2] == 123.123456789);
    md_gro_destroy(&gro);
}

/* Numbers in the file wrap at 100000; reading goes by position. */
static void test_wrapping_numbers(void)
{
    enum { N = 150000, LINE = 45 };
    char *text = malloc(64 + (size_t)N * LINE), *at = text;
    at += sprintf(at, "many\n%d\n", N);
    for (int i = 0; i < N; i++)
        at += sprintf(at, "%5dSOL  %5s%5d%8.3f%8.3f%8.3f\n", (i / 3 + 1) % 100000, "OW",
                      (i + 1) % 100000, 0.001 * (i % 5000), 0.5, 0.25);
    sprintf(at, "5 5 5\n");
    md_gro gro;
    read_text(text, &gro);
    CHECK(gro.state.n_atoms == N && gro.state.x[N - 1][0] == 4.999 && gro.state.x[5000][0] == 0.0);
    CHECK(gro.atom[N - 1].residue_number == 50000);
    md_gro_destroy(&gro);
    free(text);
}

static void test_refusals(void)
{
    static const char *const table[][2] = {
        {"", "a.gro: the file is empty"},
        {"title\n", "a.gro:1: the file ends where the number of atoms should follow"},
        {"title\nmany\n", "a.gro:2: expected the number of atoms, found \"many\""},
        {"title\n-1\n", "a.gro:2: -1 atoms"},
        {"title\n99999999999\n", "a.gro:2: 99999999999 atoms"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000"),
         "a.gro:3: the file ends where another atom should follow; does the number of atoms on"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000"), "a.gro:3: the file ends where the box"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000  0.1000  0.2000  0.3000")
         ATOM("   1.000   2.000   3.000  0.1000  0.2000  0.3000") "3 3 3\n",
         "a.gro:4: expected the box, 3 or 9 numbers, found \"1SOL\"; does the number of atoms on"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000") "   3.00000   3.00000   3.00000\n",
         "a.gro:4: expected a residue number in columns 1 to 5, found \"   3.\"; does the number"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") ATOM("   1.000   2.000   3.000") "3 3 3\n",
         "a.gro:4: expected the box, 3 or 9 numbers, found 6 words; does the number of atoms"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000") "3 3 3\n",
         "a.gro:4: expected atom 2 of 2, found \"3 3 3\"; does the number of atoms"},
        {"title\n1\n" ATOM("   1.000   2.000"), "a.gro:3: expected x, y and z with decimal points"},
        {"title\n1\n" ATOM("   1.000   2.000    3.000") "3 3 3\n",
         "a.gro:3: the decimal points of x, y and z are 8 and 9 columns apart"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000") ATOM("   1.000   2.0x0   3.000") "3 3 3\n",
         "a.gro:4: expected y in columns 29 to 36, found \"   2.0x0\""},
        {"title\n2\n" ATOM("   1.000   2.000   3.000") ATOM("   1.000     nan   3.000") "3 3 3\n",
         "a.gro:4: expected y in columns 29 to 36, found \"     nan\""},
        {"title\n1\n" ATOM("   1.000   2.000   3.000  0.1000  0.2000") "3 3 3\n",
         "a.gro:3: expected vz in columns 61 to 68"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000  0.1000  0.2000  0.3000")
         ATOM("   1.000   2.000   3.000") "3 3 3\n", "a.gro:4: this atom has no velocities"},
        {"title\n2\n" ATOM("   1.000   2.000   3.000")
         ATOM("   1.000   2.000   3.000  0.1000  0.2000  0.3000") "3 3 3\n",
         "a.gro:4: this atom has velocities, those before"},
        {"title\n1\n    aSOL     OW    1   1.000   2.000   3.000\n3 3 3\n",
         "a.gro:3: expected a residue number in columns 1 to 5, found \"    a\""},
        {"title\n1\n    1SOL          1   1.000   2.000   3.000\n3 3 3\n", "a.gro:3: no atom name"},
        {"title\n1\n" ATOM(" 9e99.00 9e99.00 9e99.00") "3 3 3\n", "a.gro:3: expected x in columns"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 3\n", "a.gro:4: expected the box"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 3 x\n", "a.gro:4: expected the box"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 0 3\n", "a.gro:4: box vector b has"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "0 0 0\n",
         "a.gro:4: no box; give one with gmx editconf -f FILE.gro -o conf.gro -box X Y Z"},
        {"title\n1\n1SOL\tOW\t1\t1.000\t2.000\t3.000\n3 3 3\n",
         "a.gro:3: a tab; the columns of a .gro file have fixed widths"},
        {"title\n1\n    1SOL     OW    1\t1.000\t2.000\t3.000\n3 3 3\n", "a.gro:3: a tab; the"},
        {"title\n1\n" ATOM(" 1.0 2.00 3.000") "3 3 3\n", "a.gro:3: the decimal points of x, y"},
        {"title\n1\n" ATOM("       1       2       3") "3 3 3\n",
         "a.gro:3: expected x, y and z with decimal points"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 -3 3\n", "a.gro:4: "},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 3 1e9\n", "a.gro:4: a box of 1e+09 nm"},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 3 3 1 0 0 0 0 0\n", "a.gro:4: "},
        {"title\n1\n" ATOM("   1.000   2.000   3.000") "3 3 3 0 0 2.5 0 0 0\n", "a.gro:4: "},
    };
    md_gro gro;
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        scratch_expect(md_gro_read(scratch_write("a.gro", table[k][0]), &gro), table[k][1],
                       table[k][0]);
    scratch_expect(md_gro_read(scratch_write_bytes("a.gro", "ti\0le\n1\n", 8), &gro),
                   "a.gro:1: a NUL byte", "");
    CHECK(md_gro_read("no such file.gro", &gro) == SUNDOG_ERR_IO);
    CHECK(strstr(sundog_last_error(), "cannot open no such file.gro"));
    CHECK(md_gro_read(".", &gro) == SUNDOG_ERR_IO);
}

int main(void)
{
    test_layouts();
    test_wrapping_numbers();
    test_refusals();
    return 0;
}
