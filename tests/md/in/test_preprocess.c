/* The preprocessor of .top files: lines, macros, conditions, where included files are looked for,
 * and refusals, which name file, line and the chain of includes. */
#include "md/in/preprocess.h"
#include "scratch.h"

/* All lines of a file, joined by '|', with their line numbers. */
static sundog_status preprocess_with(const char *path, const md_preprocess_options *options,
                                     char *out, size_t size)
{
    md_preprocessor *p;
    char *line;
    md_place place;
    out[0] = '\0';
    BASE_TRY(md_preprocessor_create(path, options, &p));
    for (;;) {
        sundog_status status = md_preprocessor_next(p, &line, &place);
        if (status != SUNDOG_OK || !line) {
            md_preprocessor_destroy(&p);
            return status;
        }
        size_t n = strlen(out);
        snprintf(out + n, size - n, "%d:%s|", place.line, line);
    }
}

static sundog_status preprocess(const char *path, const char *define, char *out, size_t size)
{
    const md_preprocess_options options = {.define = define};
    return preprocess_with(path, &options, out, size);
}

static void expect_lines(const char *text, const char *define, const char *wanted)
{
    char seen[1024];
    CHECK_OK(preprocess(scratch_write("p.top", text), define, seen, sizeof seen));
    if (strcmp(seen, wanted) == 0) return;
    fprintf(stderr, "input:\n%s\nexpected %s\ngot      %s\n", text, wanted, seen);
    exit(1);
}

static void test_preprocessor(void)
{
    expect_lines("a ; comment\n\n  b\t c  \n;d\n", NULL, "1:a|3:b\t c|");
    expect_lines("a \\\n b\\\nc ; x\nd", NULL, "1:a   b c|4:d|");
    expect_lines("; hidden \\\nhidden too\nc\n", NULL, "3:c|");
    expect_lines("a\r\nb \\\r\nc\r\n", NULL, "1:a|2:b  c|");
    expect_lines("#define A 1 2 ; no\n#define B\nA AA A_ (A) A-B B\n", NULL,
                 "3:1 2 AA A_ (1 2) 1 2-B B|");
    expect_lines("#define A B x\n#define B A y\nA\n", NULL, "3:A y x|");
    expect_lines("#define A 1\n#define A 2\nA\n#undef A\nA\n#undef A\n", NULL, "3:2|5:A|");
    expect_lines("X Y Z\n", "-DX=4.5 -DY  -DZ=a=b", "1:4.5 Y a=b|");
    expect_lines("#ifdef A\n1\n#else\n2\n#endif\n#ifndef A\n3\n#else\n4\n#endif\n", "-DA",
                 "2:1|9:4|");
    expect_lines("#ifdef A\n#ifdef B\n1\n#else\n2\n#endif\n#if 0\n#else\n#endif\n#include \"no\"\n"
                 "#else off\n # ifndef B\n3\n#  endif B\n#endif A\n", NULL, "13:3|");
    expect_lines("#ifdef A\n#error whatever\n\\\n#endif\n", NULL, "");
    scratch_write("one.itp", "1\n#include \"two.itp\"\n3\n");
    scratch_write("two.itp", "#define TWO 2\nTWO\n");
    expect_lines("#include \"one.itp\"\n#include <two.itp>\nTWO TWO\n", NULL,
                 "1:1|2:2|3:3|2:2|3:2 2|");
}

static void test_preprocessor_refusals(void)
{
    static const char *const table[][2] = {
        {"#ifdef A\n", "p.top:1: no #endif for this condition"},
        {"#ifdef A\n#else\n", "p.top:1: no #endif for this condition"},
        {"a\n#else\n", "p.top:2: #else without #ifdef"},
        {"#endif\n", "p.top:1: #endif without #ifdef"},
        {"#ifdef A\n#else\n#else\n#endif\n", "p.top:3: a second #else for line 1"},
        {"#ifdef\n#endif\n", "p.top:1: expected #ifdef and one name"},
        {"#ifdef A B\n#endif\n", "p.top:1: expected #ifdef and one name, found \"A B\""},
        {"#define\n", "p.top:1: expected #define and a name"},
        {"#define 1A 2\n", "p.top:1: expected #define and a name, found \"1A 2\""},
        {"#define F(x) x\n", "p.top:1: macros with arguments are not supported"},
        {"#undef A B\n", "p.top:1: expected #undef and one name"},
        {"#if 1\n#endif\n", "p.top:1: #if 1 is not supported; supported are #include"},
        {"#pragma once\n", "p.top:1: #pragma once is not supported"},
        {"#\n", "p.top:1: # is not supported"},
        {"#include one.itp\n", "p.top:1: expected #include \"file\" or #include <file>"},
        {"#include \"one.itp\n", "p.top:1: expected #include"},
        {"#include \"\"\n", "p.top:1: expected #include"},
        {"\n#include \"none.itp\"\n", "p.top:2: no file \"none.itp\" beside"},
        {"#include \"out.itp\"\n", "out.itp:2: no file \"none.itp\" beside"},
        {"#include \"out.itp\"\n", "p.top:1)"},
        {"#include \"p.top\"\n", "p.top:1: #include of"},
        {"#include \"loop.itp\"\n", "loop.itp:1: #include of"},
        {"#include \"open.itp\"\n#endif\n", "open.itp:1: no #endif for this condition"},
        {"a \\", "p.top:1: the file ends behind a backslash"},
        {"#define A B B B B B B B B\n#define B C C C C C C C C\n#define C D D D D D D D D\n"
         "#define D E E E E E E E E\n#define E F F F F F F F F\n#define F G G G G G G G G\n"
         "#define G H H H H H H H H\n#define H I I I I I I I I\nA\n",
             "p.top:9: with #define values put in, the line has more than"},
    };
    char seen[1024];
    scratch_write("out.itp", "\n#include \"none.itp\"\n");
    scratch_write("loop.itp", "#include \"p.top\"\n");
    scratch_write("open.itp", "#ifdef A\n");
    for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
        scratch_expect(preprocess(scratch_write("p.top", table[k][0]), NULL, seen, sizeof seen),
                       table[k][1], table[k][0]);
    static const char *const defines[] = {"POSRES", "-D", "-D1=2", "-DA -D=2", "-I", "-I  ", "-UA",
                                          "-I. -Ddef ine"};
    for (size_t k = 0; k < sizeof defines / sizeof defines[0]; k++)
        scratch_expect(preprocess(scratch_write("p.top", "a\n"), defines[k], seen, sizeof seen),
                       "is neither -DNAME nor -DNAME=VALUE nor -IFOLDER", defines[k]);
    CHECK(preprocess("no such.top", NULL, seen, sizeof seen) == SUNDOG_ERR_IO);
}

/* ---- where included files are looked for ---------------------------------------------------- */

/* Each folder holds its own which.itp; the nearer one must win. A search as in an environment
 * without GROMACS, unless the test says so. */
static void make_folder(const char *name)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

/* A few lines that would take years: files that include the next one, values within values. */
static void test_bombs(void)
{
    char name[16], text[512], seen[64];
    for (int k = 0; k < 8; k++) {
        text[0] = '\0';
        for (int copy = 0; copy < 10 && k < 7; copy++)
            sprintf(text + strlen(text), "#include \"%d.itp\"\n", k + 1);
        snprintf(name, sizeof name, "%d.itp", k);
        scratch_write(name, text);
    }
    const char *includes = "#include \"0.itp\"\n";
    scratch_expect(preprocess(scratch_write("p.top", includes), NULL, seen, sizeof seen),
                   "more than 10000 #include in all", includes);

    char *values = malloc(1 << 16), *at = values;
    CHECK(values);
    for (int k = 0; k < 15; k++) at += sprintf(at, "#define A%d A%d A%d\n", k, k + 1, k + 1);
    char *lines = at;
    for (int k = 0; k < 1000; k++) at += sprintf(at, "A2\n");
    scratch_expect(preprocess(scratch_write("p.top", values), NULL, seen, sizeof seen),
                   "#define values make ", "A2 many times");
    strcpy(lines, "A0\n");
    scratch_expect(preprocess(scratch_write("p.top", values), NULL, seen, sizeof seen),
                   "p.top:16: with #define values put in, the line has more than 65536", "A0");
    free(values);
}

/* Only regular files are included: a device has no end, a pipe may have no beginning. */
static void test_devices(void)
{
    char seen[64];
    const char *text = "#include \"/dev/zero\"\n";
    scratch_expect(preprocess(scratch_write("p.top", text), NULL, seen, sizeof seen),
                   "p.top:1: no file \"/dev/zero\"", text);
}

static const char *in_scratch(const char *name)
{
    static char path[8][192];
    static int at;
    at = (at + 1) % 8;
    snprintf(path[at], sizeof path[at], "%s/%s", scratch_folder, name);
    return path[at];
}

static void expect_from(const md_preprocess_options *options, const char *include,
                        const char *wanted)
{
    char text[192], seen[256];
    snprintf(text, sizeof text, "#include \"%s\"\n", include);
    CHECK_OK(preprocess_with(scratch_write("p.top", text), options, seen, sizeof seen));
    if (strcmp(seen, wanted) == 0) return;
    fprintf(stderr, "%s: expected %s, got %s\n", include, wanted, seen);
    exit(1);
}

static void expect_missing(const md_preprocess_options *options, const char *text,
                           const char *wanted)
{
    char seen[256];
    scratch_expect(preprocess_with(scratch_write("p.top", text), options, seen, sizeof seen),
                   wanted, text);
}

static void test_search(void)
{
    static const char *const folders[] = {"beside", "flag", "mdp", "other", "lib1", "lib2", "gmx",
                                          "gmx/bin", "gmx/share", "gmx/share/gromacs",
                                          "gmx/share/gromacs/top", "data", "data/top"};
    static const char *const files[][2] = {
        {"beside/a.itp", "beside"}, {"beside/in.itp", "#include \"a.itp\""}, {"flag/a.itp", "flag"},
        {"flag/b.itp", "flag"}, {"mdp/b.itp", "mdp"}, {"mdp/c.itp", "mdp"},
        {"other/c.itp", "other"}, {"other/d.itp", "other"}, {"lib1/d.itp", "lib1"},
        {"lib1/e.itp", "lib1"}, {"lib2/e.itp", "lib2"}, {"lib2/f.itp", "lib2"},
        {"data/top/f.itp", "data"},
        {"data/top/g.itp", "data"}, {"gmx/share/gromacs/top/g.itp", "gmx"},
        {"gmx/share/gromacs/top/h.itp", "gmx"}, {"gmx/bin/gmx", "#!/bin/sh"}};
    enum { N_FOLDERS = sizeof folders / sizeof *folders, N_FILES = sizeof files / sizeof *files };
    for (int k = 0; k < N_FOLDERS; k++) make_folder(folders[k]);
    for (int k = 0; k < N_FILES; k++) scratch_write(files[k][0], files[k][1]);
    CHECK(chmod(in_scratch("gmx/bin/gmx"), 0700) == 0);

    char define[256], include[256], gmxlib[512], path[512];
    snprintf(define, sizeof define, "-I%s -DX", in_scratch("mdp"));
    snprintf(include, sizeof include, "-DY -I %s/", in_scratch("other"));
    snprintf(gmxlib, sizeof gmxlib, ":%s::%s:", in_scratch("lib1"), in_scratch("lib2"));
    snprintf(path, sizeof path, "%s:%s", in_scratch("no such folder"), in_scratch("gmx/bin"));
    const char *const dirs[] = {in_scratch("flag")};
    const md_preprocess_options options = {define, include, dirs, 1};
    setenv("GMXLIB", gmxlib, 1);
    setenv("GMXDATA", in_scratch("data"), 1);
    setenv("PATH", path, 1);
    expect_from(&options, "beside/in.itp", "1:beside|");    /* beside the including file */
    expect_from(&options, "a.itp", "1:flag|");
    expect_from(&options, "b.itp", "1:flag|");
    expect_from(&options, "c.itp", "1:mdp|");
    expect_from(&options, "d.itp", "1:other|");
    expect_from(&options, "e.itp", "1:lib1|");
    expect_from(&options, "f.itp", "1:lib2|");
    expect_from(&options, "g.itp", "1:data|");
    expect_from(&options, "h.itp", "1:gmx|");

    /* Which folders were tried, and which of them are not there. */
    const char *const nowhere[] = {"no such folder"};
    const md_preprocess_options lost = {NULL, NULL, nowhere, 1};
    unsetenv("GMXDATA");
    setenv("GMXLIB", in_scratch("lib1"), 1);
    setenv("PATH", "", 1);
    expect_missing(&lost, "#include \"none.itp\"\n",
                   "p.top or in no such folder (-I, no such folder), scratch_");
    expect_missing(&lost, "#include \"none.itp\"\n", "/lib1 (GMXLIB)");
    expect_missing(&lost, "#include \"none.itp\"\n",
                   "; further folders to look in can be given with -I or in GMXLIB");
    expect_missing(&lost, "#include \"/none.itp\"\n", "p.top:1: no file \"/none.itp\" beside");
    unsetenv("GMXLIB");
    if (access("/usr/share/gromacs/top", F_OK) != 0 &&
        access("/usr/local/gromacs/share/gromacs/top", F_OK) != 0)
        expect_missing(&lost, "#include \"none.ff/forcefield.itp\"\n",
                       "(Debian: gromacs-data), or name the folder");
    for (int k = 0; k < N_FILES; k++) unlink(in_scratch(files[k][0]));
    for (int k = N_FOLDERS - 1; k >= 0; k--) CHECK(rmdir(in_scratch(folders[k])) == 0);
}

int main(void)
{
    /* Nothing outside of the test may be found. */
    unsetenv("GMXLIB");
    unsetenv("GMXDATA");
    setenv("PATH", "", 1);
    scratch_write("p.top", "");
    test_preprocessor();
    test_preprocessor_refusals();
    test_bombs();
    test_devices();
    test_search();
    return 0;
}
