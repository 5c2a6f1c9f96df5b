/* confout.gro: columns, wrapping numbers, whole molecules, triclinic boxes; re-read by columns. */
#include "folder.h"
#include "base/alloc.h"
#include "md/out/conf.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* "SOL" water held by a SETTLE and "CHN", a bent chain 0 - 2 - 1 by a bond and a constraint with a
 * loose fourth atom, two residues. */
static md_topology *make_topology(int n_water, int n_chains)
{
    md_topology *t = base_alloc_zero(sizeof *t);
    t->title = base_strdup("test");
    t->n_atomtypes = 1;
    t->atomtype = base_alloc_zero(sizeof *t->atomtype);
    t->c6 = base_alloc_zero(sizeof *t->c6);
    t->c12 = base_alloc_zero(sizeof *t->c12);
    t->n_moltypes = 2;
    t->moltype = base_alloc_zero(2 * sizeof *t->moltype);
    t->n_molblocks = 2;
    t->molblock = base_alloc_zero(2 * sizeof *t->molblock);
    t->molblock[0] = (md_molblock){.moltype = 0, .count = n_chains};
    t->molblock[1] = (md_molblock){.moltype = 1, .count = n_water};
    t->param = base_alloc_zero(sizeof *t->param);
    t->n_params = 1;
    t->param[0].p[0] = t->param[0].p[1] = 0.1;
    static const char *const names[2][4] = {{"CA", "LONGNAME", "C3", "X"},
                                            {"OW", "HW1", "HW2", ""}};
    for (int m = 0; m < 2; m++) {
        md_moltype *moltype = &t->moltype[m];
        moltype->name = base_strdup(m == 0 ? "CHN" : "SOL");
        moltype->n_atoms = m == 0 ? 4 : 3;
        moltype->n_residues = m == 0 ? 2 : 1;
        moltype->atom = base_alloc_zero(4 * sizeof *moltype->atom);
        moltype->residue = base_alloc_zero(2 * sizeof *moltype->residue);
        moltype->exclusion_start = base_alloc_zero(5 * sizeof(int));
        for (int i = 0; i < moltype->n_atoms; i++) {
            snprintf(moltype->atom[i].name, sizeof moltype->atom[i].name, "%s", names[m][i]);
            moltype->atom[i].mass = 1;
            moltype->atom[i].residue = m == 0 && i > 1;
        }
        moltype->residue[0].number = m == 0 ? 7 : 1;
        moltype->residue[1].number = 8;
        snprintf(moltype->residue[0].name, 16, "%s", m == 0 ? "RA" : "SOL");
        snprintf(moltype->residue[1].name, 16, "%s", "RBLONGER");
    }
    md_interactions_add(&t->moltype[0].list[MD_BOND], MD_BOND, (const int[]){2, 0}, 0);
    md_interactions_add(&t->moltype[0].list[MD_CONSTRAINT], MD_CONSTRAINT, (const int[]){1, 2}, 0);
    md_interactions_add(&t->moltype[1].list[MD_SETTLE], MD_SETTLE, (const int[]){0, 1, 2}, 0);
    CHECK_OK(md_topology_finish(t));
    return t;
}

static char *read_text(const char *path)
{
    size_t n;
    return (char *)file_read(path, &n);
}

static void test_exact_text(void)
{
    static const char wanted[] =
        "a title\n"
        "   11\n"
        "    7RA      CA    1   0.100   0.100   0.100  0.1000 -0.2000  1.5000\n"
        "    7RA   LONGN    2  -0.200   0.100   0.100  0.0000  0.0000  0.0000\n"
        "    8RBLON   C3    3  -0.050   0.100   0.100  0.0000  0.0000  0.0000\n"
        "    8RBLON    X    4   4.900   0.100   0.100  0.0000  0.0000  0.0000\n"
        "    7RA      CA    5   1.000   2.000   3.000  0.0000  0.0000  0.0000\n"
        "    7RA   LONGN    6   1.000   2.000   3.000  0.0000  0.0000  0.0000\n"
        "    8RBLON   C3    7   1.000   2.000   3.000  0.0000  0.0000  0.0000\n"
        "    8RBLON    X    8   1.000   2.000   3.000  0.0000  0.0000  0.0000\n"
        "    9SOL     OW    9   4.990   5.990   6.990  0.0000  0.0000  0.0000\n"
        "    9SOL    HW1   10   5.050   6.010   6.990  0.0000  0.0000  0.0000\n"
        "    9SOL    HW2   11   4.990   5.990   7.040  0.0000  0.0000  0.0000\n"
        "   5.00000   6.00000   7.00000\n";
    md_topology *topology = make_topology(1, 2);
    md_state state;
    md_state_create(11, &state);
    state.has_velocities = true;
    state.box = (md_box){{{5, 0, 0}, {0, 6, 0}, {0, 0, 7}}};
    static const double x[11][3] = {{0.1, 0.1, 0.1},    {4.8, 0.1, 0.1},   {4.95, 0.1, 0.1},
                                    {4.9, 0.1, 0.1},    {1, 2, 3},         {1, 2, 3},
                                    {1, 2, 3},          {1, 2, 3},         {4.99, 5.99, 6.99},
                                    {0.05, 0.01, 6.99}, {4.99, 5.99, 0.04}};
    memcpy(state.x, x, sizeof x);
    state.v[0][0] = 0.1;
    state.v[0][1] = -0.2;
    state.v[0][2] = 1.49999;
    state.v[1][0] = -0.00004; /* rounds to nothing: no minus sign either */
    const char *path = in_folder("confout.gro");
    CHECK_OK(md_conf_write(path, "a title\nand more", topology, &state));
    char *text = read_text(path);
    if (strcmp(text, wanted) != 0) fprintf(stderr, "%s", text);
    CHECK(strcmp(text, wanted) == 0);
    free(text);
    CHECK(folder_count() == 1);

    state.has_velocities = false;
    state.box.m[2][0] = -1.5;
    state.box.m[2][1] = 2;
    CHECK_OK(md_conf_write(path, "t", topology, &state));
    text = read_text(path);
    CHECK(strstr(text, "\n    7RA      CA    1   0.100   0.100   0.100\n") != NULL);
    CHECK(strstr(text, "\n   5.00000   6.00000   7.00000   0.00000   0.00000   0.00000   0.00000"
                       "  -1.50000   2.00000\n") != NULL);
    free(text);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

/* 110,000 waters: atom and residue numbers go past 99,999; wrapped atom by atom, made whole again.
 */
static void test_large_triclinic(void)
{
    enum { N_WATER = 110000, N = 3 * N_WATER };
    md_topology *topology = make_topology(N_WATER, 0);
    md_state state;
    md_state_create(N, &state);
    state.box = (md_box){{{9, 0, 0}, {0, 9, 0}, {4.5, 4.5, 6.4}}};
    static const double offset[3][3] = {{0, 0, 0}, {0.08, 0.05, -0.03}, {-0.06, 0, 0.08}};
    double(*whole)[3] = malloc(N * sizeof *whole);
    for (int i = 0; i < N; i++) {
        double s[3] = {i / 3 * 0.6180339887, i / 3 * 0.7548776662, i / 3 * 0.5698402910};
        for (int k = 0; k < 3; k++) s[k] -= floor(s[k]);
        md_box_from_fractional(&state.box, s, whole[i]);
        for (int k = 0; k < 3; k++) whole[i][k] += offset[i % 3][k];
        memcpy(state.x[i], whole[i], sizeof *whole);
        if (i % 3 != 0) md_box_wrap(&state.box, state.x[i], NULL);
    }
    const char *path = in_folder("large.gro");
    CHECK_OK(md_conf_write(path, "water", topology, &state));
    FILE *file = fopen(path, "r");
    char line[128];
    int n;
    CHECK(fgets(line, sizeof line, file) && fgets(line, sizeof line, file));
    CHECK(sscanf(line, "%d", &n) == 1 && n == N);
    for (int i = 0; i < N; i++) {
        CHECK(fgets(line, sizeof line, file) && strlen(line) == 45);
        int residue, atom;
        CHECK(sscanf(line, "%5d", &residue) == 1 && sscanf(line + 15, "%5d", &atom) == 1);
        CHECK(residue == (i / 3 + 9) % 100000); /* behind the chain's own 7 and 8 */
        CHECK(atom == (i + 1) % 100000);
        for (int k = 0; k < 3; k++) {
            char number[9];
            memcpy(number, line + 20 + 8 * k, 8);
            number[8] = '\0';
            CHECK_NEAR(strtod(number, NULL), whole[i][k], 0.00051);
        }
    }
    fclose(file);
    free(whole);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

static void test_refusals(void)
{
    md_topology *topology = make_topology(1, 0);
    md_state state, other;
    md_state_create(3, &state);
    md_state_create(4, &other);
    state.has_velocities = true;
    state.box = (md_box){{{5, 0, 0}, {0, 6, 0}, {0, 0, 7}}};
    const char *path = in_folder("confout.gro");
    file_write(path, "old", 3);
    int n_names = folder_count();
    CHECK(md_conf_write(path, "t", topology, &other) == SUNDOG_ERR_ARGUMENT);
    static const double bad[] = {9999.9996, -999.9996, NAN, INFINITY, 1e300};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        state.x[0][1] = bad[k];
        CHECK(md_conf_write(path, "t", topology, &state) == SUNDOG_ERR_PHYSICS);
        CHECK(error_says("atom 1"));
        state.x[0][1] = 0;
        state.v[2][2] = bad[k] / 10;
        CHECK(md_conf_write(path, "t", topology, &state) == SUNDOG_ERR_PHYSICS);
        CHECK(error_says("atom 3"));
        state.v[2][2] = 0;
    }
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limited = old;
    limited.rlim_cur = 60;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    CHECK(md_conf_write(path, "t", topology, &state) == SUNDOG_ERR_IO);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    char *text = read_text(path);
    CHECK(strcmp(text, "old") == 0);
    CHECK(folder_count() == n_names);
    free(text);
    state.x[0][1] = state.x[1][1] = state.x[2][1] = 5.0;
    state.box.m[1][1] = 9000;
    state.x[0][0] = state.x[1][0] = state.x[2][0] = -999.9994;
    CHECK_OK(md_conf_write(path, "t", topology, &state)); /* the widest that fit */
    text = read_text(path);
    CHECK(strstr(text, "    1-999.999   5.000") != NULL);
    free(text);
    md_state_destroy(&state);
    md_state_destroy(&other);
    md_topology_destroy(&topology);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_conf");
    test_exact_text();
    test_large_triclinic();
    test_refusals();
    folder_remove();
    return 0;
}
