/* Pair kernels against a double loop in double precision: all kernels, both schemes, one and
 * several cells, with every option that changes what a pair contributes. Also: the same rows give
 * the same bits, forces are the derivative of the energy, nothing turns into NaN where atoms are
 * excluded from one another and sit on the same spot.
 *
 * What this cannot catch: a mistake in how rows are made from a real topology (test_systems).
 */
#include "md/pairs/cells.h"

#include "md/core/units.h"
#include "md/force/nonbonded.h"

typedef struct sums {
    double (*f)[3];
    double lj, coulomb, virial[3][3];
} sums;

typedef enum rule { GEOMETRIC, BERTHELOT, ODD, N_RULES } rule;

/* Four types: two usual ones, one without Lennard-Jones, one purely repulsive where the rule
 * allows. */
static md_topology make_topology(rule how, int n_types)
{
    static const double sigma[4] = {0.25, 0.2, 0, 0.22}, eps[4] = {0.7, 0.3, 0, 0.5};
    md_topology top = {.n_atomtypes = n_types};
    top.c6 = base_alloc(sizeof(double) * (size_t)(n_types * n_types));
    top.c12 = base_alloc(sizeof(double) * (size_t)(n_types * n_types));
    for (int i = 0; i < n_types; i++)
        for (int j = 0; j < n_types; j++) {
            double s = how == BERTHELOT ? (sigma[i] + sigma[j]) / 2 : sqrt(sigma[i] * sigma[j]);
            double c6 = 4 * sqrt(eps[i] * eps[j]) * pow(s, 6), c12 = c6 * pow(s, 6);
            if (how == ODD && i + j == 4) c6 = 0;
            if (how == ODD && i + j == 1) c12 *= 1.5;
            top.c6[i * n_types + j] = c6;
            top.c12[i * n_types + j] = c12;
        }
    return top;
}

static double shortest(const cells_system *sys, int i, int j, double d[3])
{
    double r2 = 0;
    for (int k = 0; k < 3; k++) {
        d[k] = sys->x[i][k] - sys->x[j][k];
        d[k] -= sys->box[k] * floor(d[k] / sys->box[k] + 0.5);
        r2 += d[k] * d[k];
    }
    return r2;
}

/* r^-n and its force as the modifier has them; the manual's formulas for F_s and S. */
static void modified_power(const md_params *p, int n, double r, double out[2])
{
    double rc = p->rvdw, r1 = p->rvdw_switch, u = fmax(r - r1, 0) / (rc - r1);
    double v = pow(r, -n), f = n * v / r;
    double s = 1 - u * u * u * (10 - 15 * u + 6 * u * u), a, b, c;
    switch (p->vdw_modifier) {
    case MD_VDW_NONE: break;
    case MD_VDW_POTENTIAL_SHIFT: v -= pow(rc, -n); break;
    case MD_VDW_FORCE_SWITCH:
        a = -n * ((n + 4) * rc - (n + 1) * r1) / (pow(rc, n + 2) * pow(rc - r1, 2));
        b = n * ((n + 3) * rc - (n + 1) * r1) / (pow(rc, n + 2) * pow(rc - r1, 3));
        c = pow(rc, -n) - a / 3 * pow(rc - r1, 3) - b / 4 * pow(rc - r1, 4);
        u *= rc - r1;
        v -= a / 3 * pow(u, 3) + b / 4 * pow(u, 4) + c;
        f += a * u * u + b * pow(u, 3);
        break;
    case MD_VDW_POTENTIAL_SWITCH:
        f = f * s + v * 30 * u * u * (1 - u) * (1 - u) / (rc - r1);
        v *= s;
        break;
    }
    out[0] = v;
    out[1] = f;
}

/* F / r of one pair; the manual's formulas, nothing shared with the kernels. */
static double pair_force(const md_topology *top, const md_params *p, int ti, int tj, double qq,
                         double r2, bool excluded, sums *out)
{
    double f = 0, r = sqrt(r2), rc = p->rcoulomb, krf = 0, crf = 0;
    if (p->coulombtype == MD_COULOMB_REACTION_FIELD) {
        krf = p->epsilon_rf == 0 ? 1 / (2 * pow(rc, 3))
                                 : (p->epsilon_rf - p->epsilon_r) /
                                       ((2 * p->epsilon_rf + p->epsilon_r) * pow(rc, 3));
        crf = 1 / rc + krf * rc * rc;
    } else if (p->coulomb_modifier == MD_VDW_POTENTIAL_SHIFT) {
        crf = 1 / rc;
    }
    qq *= MD_ONE_4PI_EPS0 / p->epsilon_r;
    if (r < rc) {
        out->coulomb += qq * ((excluded ? 0 : 1 / r) + krf * r2 - crf);
        f += qq * ((excluded ? 0 : 1 / (r2 * r)) - 2 * krf);
    }
    if (r < p->rvdw && !excluded) {
        double c6 = top->c6[ti * top->n_atomtypes + tj], c12 = top->c12[ti * top->n_atomtypes + tj];
        double v6[2], v12[2];
        modified_power(p, 6, r, v6);
        modified_power(p, 12, r, v12);
        out->lj += c12 * v12[0] - c6 * v6[0];
        f += (c12 * v12[1] - c6 * v6[1]) / r;
    }
    return f;
}

static sums brute_force(const cells_system *sys, const md_topology *top, const md_params *p)
{
    sums out = {.f = base_alloc_zero(((size_t)sys->n_atoms + 1) * sizeof(double[3]))};
    for (int i = 0; i < sys->n_atoms; i++) {
        sums self = {0};
        double qq = (double)sys->charge[i] * (double)sys->charge[i];
        pair_force(top, p, 0, 0, 0.5 * qq, 0, true, &self);     /* -1/2 f crf q^2 */
        out.coulomb += self.coulomb;
        for (int j = i + 1; j < sys->n_atoms; j++) {
            double d[3], r2 = shortest(sys, i, j, d);
            qq = (double)sys->charge[i] * (double)sys->charge[j];
            double f =
                pair_force(top, p, sys->type[i], sys->type[j], qq, r2, cells_excluded(i, j), &out);
            for (int k = 0; k < 3; k++) {
                out.f[i][k] += f * d[k];
                out.f[j][k] -= f * d[k];
                for (int l = 0; l < 3; l++) out.virial[k][l] -= 0.5 * d[k] * f * d[l];
            }
        }
    }
    return out;
}

/* Forces of one part of one cell, collected by atom; in scheme shell only owned rows count. */
static void collect(const md_rows *rows, double weight, sums *out)
{
    int n = rows->scheme == MD_SCHEME_SHELL ? rows->n_owned : rows->n_rows;
    for (int row = 0; row < n; row++)
        for (int k = 0; k < 3; k++) out->f[rows->gid[row]][k] += (double)rows->f[row][k];
    for (int row = 0; row < rows->n_rows; row++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++)
                out->virial[k][l] -= 0.5 * weight * rows->x[row][k] * (double)rows->f[row][l];
}

static void add_cell(const md_nonbonded *nb, md_pairs *pairs, md_rows *rows, bool energy, sums *out)
{
    CHECK_OK(md_pairs_rebuild(pairs, rows));
    for (md_part part = MD_PART_LOCAL; part < MD_N_PARTS; part++) {
        md_pair_energy e = {0, 0};
        memset(rows->f, 0, rows->capacity * sizeof *rows->f);
        md_nonbonded_force(nb, pairs, rows, part, rows->f, energy ? &e : NULL);
        out->lj += e.lj;
        out->coulomb += e.coulomb;
        collect(rows, part == MD_PART_BORDER && rows->scheme == MD_SCHEME_SHELL ? 0.5 : 1, out);
    }
}

typedef struct run_options {
    const char *kernel;
    md_scheme scheme;
    const int *grid;
    bool energy;
    double rlist;
} run_options;

static sums all_cells(const cells_system *sys, const md_topology *top, const md_params *params,
                      const run_options *o)
{
    sums out = {.f = base_alloc_zero(((size_t)sys->n_atoms + 1) * sizeof(double[3]))};
    md_nonbonded *nb;
    md_pairs *pairs;
    md_pairs_options options = {.rlist = o->rlist};
    CHECK_OK(md_nonbonded_create(top, params, o->kernel, &nb, &options.j_cluster));
    options.type_has_lj = md_nonbonded_type_has_lj(nb);
    md_pairs_create(&options, &pairs);
    for (int c = 0; c < o->grid[0] * o->grid[1] * o->grid[2]; c++) {
        int cell[3] = {c % o->grid[0], c / o->grid[0] % o->grid[1], c / o->grid[0] / o->grid[1]};
        md_rows rows;
        cells_rows(sys, o->scheme, o->grid, cell, o->rlist, &rows);
        add_cell(nb, pairs, &rows, o->energy, &out);
        cells_free_rows(&rows);
    }
    md_pairs_destroy(&pairs);
    md_nonbonded_destroy(&nb);
    return out;
}

static void compare(const cells_system *sys, const sums *want, const sums *got, bool energy)
{
    double error2 = 0, size2 = 0, trace = 0;
    for (int i = 0; i < sys->n_atoms; i++)
        for (int k = 0; k < 3; k++) {
            CHECK(isfinite(got->f[i][k]));
            error2 += (got->f[i][k] - want->f[i][k]) * (got->f[i][k] - want->f[i][k]);
            size2 += want->f[i][k] * want->f[i][k];
        }
    CHECK_NEAR(sqrt(error2), 0, 5e-6 * sqrt(size2));
    for (int k = 0; k < 3; k++) trace += fabs(want->virial[k][k]);
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
            CHECK_NEAR(got->virial[k][l], want->virial[k][l], 2e-5 * trace + 1e-3);
    if (!energy) return;
    CHECK_NEAR(got->lj, want->lj, 5e-6 * fabs(want->lj) + 1e-3);
    CHECK_NEAR(got->coulomb, want->coulomb, 5e-6 * fabs(want->coulomb) + 2e-3);
}

static void check_case(const cells_system *sys, const md_topology *top, const md_params *params)
{
    static const int grids[3][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 3}};
    int n_kernels;
    const char *const *kernels = md_nonbonded_kernels(&n_kernels);
    sums want = brute_force(sys, top, params);
    double rlist = (params->rcoulomb > params->rvdw ? params->rcoulomb : params->rvdw) + 0.01;
    for (int k = 0; k < n_kernels; k++) {
        if (!md_nonbonded_kernel_runs(kernels[k])) continue;
        for (int variant = 0; variant < 12; variant++) {
            run_options o = {kernels[k], variant & 1 ? MD_SCHEME_SHELL : MD_SCHEME_RETURN,
                             grids[variant >> 2], variant >> 1 & 1, rlist};
            sums got = all_cells(sys, top, params, &o);
            compare(sys, &want, &got, o.energy);
            base_free(got.f);
        }
    }
    base_free(want.f);
}

enum { N_OPTIONS = 10, FORCE_SWITCH = 6, POTENTIAL_SWITCH };
static md_params params_of(int option)
{
    md_params p = {.coulombtype = MD_COULOMB_REACTION_FIELD, .rcoulomb = 0.6, .rvdw = 0.6,
                   .epsilon_r = 1, .vdw_modifier = MD_VDW_POTENTIAL_SHIFT};
    switch (option) {
    case 1: p.epsilon_rf = 78, p.epsilon_r = 2; break;
    case 2: p.vdw_modifier = MD_VDW_NONE, p.rvdw = 0.5; break;
    case 3: p.rcoulomb = 0.45, p.epsilon_rf = 1; break;
    case 4: p.coulombtype = MD_COULOMB_CUTOFF, p.coulomb_modifier = MD_VDW_POTENTIAL_SHIFT; break;
    case 5: p.coulombtype = MD_COULOMB_CUTOFF, p.coulomb_modifier = MD_VDW_NONE; break;
    case 6: p.vdw_modifier = MD_VDW_FORCE_SWITCH, p.rvdw_switch = 0.4; break;
    case 7: p.vdw_modifier = MD_VDW_POTENTIAL_SWITCH, p.rvdw_switch = 0.4; break;
    case 8: p.vdw_modifier = MD_VDW_FORCE_SWITCH, p.rvdw = 0.5, p.rvdw_switch = 0; break;
    case 9: p.vdw_modifier = MD_VDW_POTENTIAL_SWITCH, p.rcoulomb = 0.5, p.rvdw_switch = 0.55; break;
    default: break;
    }
    return p;
}

/* Same rows, same bits; also from a kernel whose lists were used for another system before. */
static void check_repeats(const cells_system *sys, const cells_system *other,
                          const md_topology *top)
{
    const int grid[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    md_params params = params_of(0);
    md_nonbonded *nb;
    md_pairs_options options = {.rlist = 0.65};
    CHECK_OK(md_nonbonded_create(top, &params, NULL, &nb, &options.j_cluster));
    options.type_has_lj = md_nonbonded_type_has_lj(nb);
    md_rows rows[2];
    md_pairs *pairs[2];
    for (int k = 0; k < 2; k++) {
        md_pairs_create(&options, &pairs[k]);
        if (k) {
            cells_rows(other, MD_SCHEME_RETURN, grid, zero, 0.65, &rows[k]);
            CHECK_OK(md_pairs_rebuild(pairs[k], &rows[k]));
            cells_free_rows(&rows[k]);
        }
        cells_rows(sys, MD_SCHEME_RETURN, grid, zero, 0.65, &rows[k]);
        CHECK_OK(md_pairs_rebuild(pairs[k], &rows[k]));
        for (md_part part = MD_PART_LOCAL; part < MD_N_PARTS; part++)
            md_nonbonded_force(nb, pairs[k], &rows[k], part, rows[k].f, NULL);
        md_pairs_destroy(&pairs[k]);
    }
    CHECK(!memcmp(rows[0].f, rows[1].f, (size_t)rows[0].n_rows * sizeof *rows[0].f));
    cells_free_rows(&rows[0]);
    cells_free_rows(&rows[1]);
    md_nonbonded_destroy(&nb);
}

/* F = -dV/dx, on two atoms of the shifted potential, where no cut-off jump hides the slope. */
static void check_derivative(const char *kernel, int option)
{
    const int grid[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    md_topology top = make_topology(GEOMETRIC, 2);
    md_params params = params_of(option);
    cells_system sys = {.box = {3, 3, 3}};
    cells_alloc(&sys, 4);       /* atoms 0 and 3 interact, 0 and 1 exclude each other */
    for (int i = 0; i < 4; i++) {
        sys.type[i] = i % 2;
        sys.charge[i] = i == 2 ? 0 : 0.4f;
        for (int k = 0; k < 3; k++)
            sys.x[i][k] = 1.5 + (i == 2 ? 1.4 : i == 1 ? 0.08 * k : 0.09 * i * k / 2.0);
    }
    md_nonbonded *nb;
    md_pairs *pairs;
    md_pairs_options options = {.rlist = 0.7};
    CHECK_OK(md_nonbonded_create(&top, &params, kernel, &nb, &options.j_cluster));
    md_pairs_create(&options, &pairs);
    double energy[3], force = 0;
    const double h = 5e-4;
    for (int k = -1; k <= 1; k++) {
        md_rows rows;
        cells_system moved = sys;
        sys.x[0][1] += k * h;
        cells_rows(&moved, MD_SCHEME_RETURN, grid, zero, 0.7, &rows);
        sys.x[0][1] -= k * h;
        CHECK_OK(md_pairs_rebuild(pairs, &rows));
        md_pair_energy local, border;
        md_nonbonded_force(nb, pairs, &rows, MD_PART_LOCAL, rows.f, &local);
        md_nonbonded_force(nb, pairs, &rows, MD_PART_BORDER, rows.f, &border);
        energy[k + 1] = local.lj + local.coulomb + border.lj + border.coulomb;
        if (k == 0) force = (double)rows.f[0][1];
        cells_free_rows(&rows);
    }
    double slope = -(energy[2] - energy[0]) / (2 * h);
    CHECK(fabs(force) > 10);
    CHECK_NEAR(force, slope, 2e-3 * fabs(force));
    md_pairs_destroy(&pairs);
    md_nonbonded_destroy(&nb);
    base_free(top.c6);
    base_free(top.c12);
    cells_free(&sys);
}

static void check_refusals(void)
{
    md_topology top = make_topology(GEOMETRIC, 2);
    md_params params = params_of(0);
    md_nonbonded *nb = NULL;
    int j_cluster;
    CHECK(md_nonbonded_create(&top, &params, "abacus", &nb, &j_cluster) == SUNDOG_ERR_ARGUMENT);
    params = params_of(FORCE_SWITCH);
    params.rvdw_switch = params.rvdw;
    CHECK(md_nonbonded_create(&top, &params, NULL, &nb, &j_cluster) == SUNDOG_ERR_ARGUMENT);
    params.rvdw = 0;
    CHECK(md_nonbonded_create(&top, &params, NULL, &nb, &j_cluster) == SUNDOG_ERR_ARGUMENT);
    CHECK(nb == NULL);
    base_free(top.c6);
    base_free(top.c12);
}

int main(void)
{
    cells_system even = cells_make(1.7, 1.6, 1.9, 0.23, 4, 1);
    cells_system slab = cells_make(3.0, 1.4, 1.4, 0.22, 4, 0.3);
    cells_system one = cells_make(1.3, 1.3, 1.3, 1.0, 1, 1), none = one;
    none.n_atoms = 0;
    for (rule how = GEOMETRIC; how < N_RULES; how++) {
        md_topology top = make_topology(how, 4);
        for (int option = 0; option < N_OPTIONS; option++) {
            md_params params = params_of(option);
            check_case(&even, &top, &params);
            if (option == 0) check_case(&slab, &top, &params);
            if (option == 0) check_case(&one, &top, &params);
            if (option == 0) check_case(&none, &top, &params);
        }
        check_repeats(&even, &slab, &top);
        base_free(top.c6);
        base_free(top.c12);
    }
    int n_kernels;
    const char *const *kernels = md_nonbonded_kernels(&n_kernels);
    for (int k = 0; k < n_kernels; k++)
        if (!md_nonbonded_kernel_runs(kernels[k])) {
            printf("pair kernel %s: does not run here\n", kernels[k]);
        } else {
            printf("pair kernel %s: compared\n", kernels[k]);
            check_derivative(kernels[k], 0);
            check_derivative(kernels[k], FORCE_SWITCH);
            check_derivative(kernels[k], POTENTIAL_SWITCH);
        }
    check_refusals();
    cells_free(&even);
    cells_free(&slab);
    cells_free(&one);
    return 0;
}
