/* Pair energies of the bundled systems, and pair forces of those that have no others, against the
 * double-precision references: the limits of the project, for every kernel and both schemes. Rows
 * are one cell that is the whole box, with its own images as ghosts.
 *
 * What this cannot catch: rows that a decomposition makes otherwise; wrong bonded forces.
 */
#include "base/alloc.h"
#include "check.h"
#include "md/force/nonbonded.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"

#include <math.h>
#include <string.h>

typedef struct system_case {
    const char *system, *name;
    bool forces;                /* nothing but pair forces */
} system_case;

static const system_case cases[] = {
    {"lj/argon_4k", "lj", true},         {"lj/argon_4k", "lj_none", true},
    {"lj/argon_4k", "lj_fsw", true},     {"lj/argon_4k", "lj_psw", true},
    {"grappa-like/0001.5", "rf_fsw", false}, {"grappa-like/0001.5", "rf_psw", false},
    {"water/spce_3k", "rf", true},       {"water/spce_3k", "rf78", true},
    {"water/spce_24k", "rf", true},      {"water/tip3p_dodec", "rf", true},
    {"ions/nacl_3k", "rf", true},        {"ions/nacl_3k", "rf78", true},
    {"grappa-like/0001.5", "rf", false}, {"grappa-like/0001.5", "rf_none", false},
    {"grappa-like/0045", "rf", false},   {"ethanol/single", "rf", false},
    {"ethanol/box_256", "rf", false},    {"peptide/wkdpys_amber", "rf", false},
    {"peptide/fre_opls", "rf", false},   {"peptide/ala_dipeptide", "rf", false},
    {"terms/many_terms", "rf", false},   {"terms/urey_bradley", "rf", false},
};

/* Images of every atom with fractional coordinates up to `reach` beyond the box: above, and in
 * scheme shell below too. */
static void add_rows(const md_topology *top, const md_gro *gro, double reach, md_rows *rows)
{
    const md_box *box = &gro->state.box;
    int lowest = rows->scheme == MD_SCHEME_SHELL ? -1 : 0;
    for (int ghost = 0; ghost < 2; ghost++)
        for (int64_t atom = 0; atom < top->n_atoms; atom++) {
            double wrapped[3], s[3];
            md_atom_place place;
            memcpy(wrapped, gro->state.x[atom], sizeof wrapped);
            md_box_wrap(box, wrapped, NULL);
            md_box_to_fractional(box, wrapped, s);
            md_topology_find(top, atom, &place);
            for (int image = 0; image < 27; image++) {
                int shift[3] = {image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1}, zone = 0;
                bool wanted = true;
                double moved[3];
                for (int k = 0; k < 3; k++) {
                    double d = reach / md_box_thickness(box, k);
                    moved[k] = s[k] + shift[k];
                    zone |= shift[k] ? 1 << k : 0;
                    wanted &= shift[k] >= lowest && moved[k] < 1 + d && moved[k] > -d;
                }
                if (!wanted || (zone > 0) != ghost) continue;
                md_rows_reserve(rows, (size_t)rows->n_rows + 1);
                int row = rows->n_rows++;
                const md_atom *a = &top->moltype[place.moltype].atom[place.atom];
                rows->gid[row] = atom;
                md_box_from_fractional(box, moved, rows->x[row]);
                rows->type[row] = a->type;
                rows->charge[row] = (float)a->charge;
                rows->zone[row] = (uint8_t)zone;
                rows->n_owned += !ghost;
            }
        }
    double middle[3] = {0.5, 0.5, 0.5};
    md_box_from_fractional(box, middle, rows->origin);
}

/* Excluded rows within 1 nm: no molecule here reaches farther, no other image comes nearer. */
static void add_exclusions(const md_topology *top, md_rows *rows)
{
    int *last = base_alloc((size_t)top->n_atoms * sizeof *last), n = 0;
    int *next = base_alloc((size_t)rows->n_rows * sizeof *next);
    for (int64_t atom = 0; atom < top->n_atoms; atom++) last[atom] = -1;
    for (int row = 0; row < rows->n_rows; row++) {
        next[row] = last[rows->gid[row]];
        last[rows->gid[row]] = row;
    }
    BASE_RESERVE(rows->exclusion_start, rows->capacity_exclusion_start, rows->n_rows + 1);
    rows->exclusion_start[0] = 0;
    for (int i = 0; i < rows->n_rows; i++) {
        md_atom_place place;
        md_topology_find(top, rows->gid[i], &place);
        const md_moltype *mol = &top->moltype[place.moltype];
        const int *start = &mol->exclusion_start[place.atom];
        for (int e = start[0]; e < start[1]; e++)
            for (int j = last[place.first_atom + mol->exclusion[e]]; j >= 0; j = next[j]) {
                double d2 = 0;
                for (int k = 0; k < 3; k++) d2 += pow(rows->x[i][k] - rows->x[j][k], 2);
                if (d2 > 1) continue;
                BASE_RESERVE(rows->exclusion, rows->capacity_exclusion, n + 1);
                rows->exclusion[n++] = j;
            }
        rows->exclusion_start[i + 1] = n;
    }
    base_free(last);
    base_free(next);
}

/* Forces by atom, energies summed. */
static md_pair_energy compute(const md_nonbonded *nb, md_pairs *pairs, md_rows *rows,
                              double (*f)[3])
{
    md_pair_energy sum = {0, 0}, e;
    CHECK_OK(md_pairs_rebuild(pairs, rows));
    memset(rows->f, 0, rows->capacity * sizeof *rows->f);
    for (md_part part = MD_PART_LOCAL; part < MD_N_PARTS; part++) {
        md_nonbonded_force(nb, pairs, rows, part, rows->f, &e);
        sum.lj += e.lj;
        sum.coulomb += e.coulomb;
    }
    int n = rows->scheme == MD_SCHEME_SHELL ? rows->n_owned : rows->n_rows;
    for (int row = 0; row < n; row++)
        for (int k = 0; k < 3; k++) f[rows->gid[row]][k] += (double)rows->f[row][k];
    return sum;
}

static void check_forces(const system_case *c, size_t n, const double (*f)[3])
{
    const char *path = reference_path("reference/%s/sp_%s.forces.txt.xz", c->system, c->name);
    double *table;
    size_t n_rows;
    CHECK(reference_table(path, 3, &table, &n_rows));
    CHECK(n_rows == n);
    reference_deviation d = reference_compare(table, 3, 0, n, f);
    printf("  forces %.1e", d.relative);
    CHECK(d.relative < 1e-5);
    free(table);
}

static void check_kernel(const system_case *c, const md_topology *top, const md_params *params,
                         const char *kernel, md_rows *rows)
{
    md_nonbonded *nb;
    md_pairs *pairs;
    md_pairs_options options = {.rlist = 0.91};
    double (*f)[3] = base_alloc_zero((size_t)top->n_atoms * sizeof *f), lj, coulomb = 0;
    CHECK_OK(md_nonbonded_create(top, params, kernel, &nb, &options.j_cluster));
    options.type_has_lj = md_nonbonded_type_has_lj(nb);
    md_pairs_create(&options, &pairs);
    md_pair_energy e = compute(nb, pairs, rows, f);
    const char *json = reference_path("reference/%s/sp_%s.energy.json", c->system, c->name);
    CHECK(reference_energy(json, "LJ (SR)", &lj));
    if (strncmp(c->system, "lj/", 3)) CHECK(reference_energy(json, "Coulomb (SR)", &coulomb));
    printf("%-20s %-8s %-9s %s lj %+.1e coulomb %+.1e", c->system, c->name, kernel,
           rows->scheme == MD_SCHEME_SHELL ? "shell " : "return", e.lj - lj, e.coulomb - coulomb);
    CHECK_NEAR(e.lj, lj, 2e-5 * fabs(lj) + 0.01);
    CHECK_NEAR(e.coulomb, coulomb, 2e-5 * fabs(coulomb) + 0.01);
    CHECK_NEAR(e.lj + e.coulomb, lj + coulomb, 5e-6 * fabs(lj + coulomb) + 0.01);
    if (c->forces) check_forces(c, (size_t)top->n_atoms, (const double (*)[3])f);
    printf("\n");
    base_free(f);
    md_pairs_destroy(&pairs);
    md_nonbonded_destroy(&nb);
}

static void check_case(const system_case *c)
{
    md_params params;
    md_topology *top;
    md_gro gro;
    int n_kernels;
    const char *const *kernels = md_nonbonded_kernels(&n_kernels);
    CHECK_OK(md_mdp_read(reference_path("reference/%s/sp_%s.mdp", c->system, c->name), &params));
    md_top_options options = {.define = params.define, .constraints = params.constraints};
    CHECK_OK(md_top_read(reference_path("%s/topol.top", c->system), &options, &top));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", c->system), &gro));
    for (md_scheme scheme = MD_SCHEME_RETURN; scheme <= MD_SCHEME_SHELL; scheme++) {
        md_rows rows = {.scheme = scheme};
        add_rows(top, &gro, 0.92, &rows);
        add_exclusions(top, &rows);
        for (int k = 0; k < n_kernels; k++)
            if (md_nonbonded_kernel_runs(kernels[k]))
                check_kernel(c, top, &params, kernels[k], &rows);
        md_rows_destroy(&rows);
    }
    md_gro_destroy(&gro);
    md_topology_destroy(&top);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) check_case(&cases[k]);
    return 0;
}
