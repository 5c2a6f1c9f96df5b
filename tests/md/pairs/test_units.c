/* Units and the plan of a domain's rows for the device: what can be checked without one.
 *
 *   molecules   every atom in exactly one unit, units within a bonded part and hanging together
 *               within a few bonds, at most one unit that is not full
 *   plan        every owned row in exactly one unit of exactly one block, blocks of equal size and
 *               below the limit; leaves hold every row once; tails hold all exclusions and no more
 *   frames      fractions and back, triclinic too
 */
#include "md/domain/world.h"

#include "md/in/gro.h"
#include "md/in/top.h"
#include "md/pairs/unit_plan.h"

/* ---- molecules ------------------------------------------------------------------------------ */

/* Bonds between a and b, at most `most`; -1: more or none. */
static int bonds_between(const md_moltype *m, int a, int b, int most)
{
    static const md_kind links[] = {MD_BOND, MD_BOND_G96, MD_CONSTRAINT, MD_SETTLE};
    if (a == b) return 0;
    if (most == 0) return -1;
    int best = -1;
    for (int l = 0; l < 4; l++) {
        int width = md_kind_n_atoms(links[l]);
        for (int n = 0; n < m->list[links[l]].n; n++) {
            const int *atom = m->list[links[l]].atoms + n * width;
            for (int k = 1; k < width; k++) {
                int next = atom[0] == a ? atom[k] : atom[k] == a ? atom[0] : -1;
                if (next < 0) continue;
                int rest = bonds_between(m, next, b, most - 1);
                if (rest >= 0 && (best < 0 || rest + 1 < best)) best = rest + 1;
            }
        }
    }
    return best;
}

static void check_molecule(const md_moltype *m, const md_units *units, const md_moltype_units *u)
{
    enum { FARTHEST = 4 };
    int *seen = base_alloc_zero(((size_t)m->n_atoms + 1) * sizeof *seen), n_open = 0;
    for (int k = 0; k < u->n_units; k++) {
        bool lj_before = true;
        CHECK(u->atom[k][0] >= 0);
        for (int a = 0; a < MD_UNIT; a++) {
            int atom = u->atom[k][a];
            if (atom < 0) {
                for (int b = a; b < MD_UNIT; b++) CHECK(u->atom[k][b] < 0);
                n_open++;
                break;
            }
            CHECK(atom < m->n_atoms && seen[atom]++ == 0);
            CHECK(u->unit_of_atom[atom] == k);
            bool lj = units->kind[u->kind_of_atom[atom]].has_lj;
            CHECK(lj_before || !lj);
            lj_before = lj;
            CHECK(bonds_between(m, u->atom[k][0], atom, FARTHEST) >= 0);
        }
    }
    for (int a = 0; a < m->n_atoms; a++) {
        const md_unit_kind *kind = &units->kind[u->kind_of_atom[a]];
        CHECK(seen[a] == 1);
        CHECK(kind->type == m->atom[a].type && kind->charge == (float)m->atom[a].charge);
    }
    CHECK(n_open <= 1); /* all molecules here are of one bonded part */
    CHECK(u->n_units == (m->n_atoms + MD_UNIT - 1) / MD_UNIT);
    base_free(seen);
}

/* ---- plan ----------------------------------------------------------------------------------- */

static bool excludes(const md_rows *rows, int i, int j)
{
    if (i == j) return true;
    for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
        if (rows->exclusion[e] == j) return true;
    return false;
}

static void check_tail(const md_rows *rows, const md_unit_plan *plan, int u)
{
    const int *unit = plan->unit[u];
    int begin = plan->tail_start[u], end = plan->tail_start[u + 1], n_pairs = 0, n_wanted = 0;
    for (int a = 0; a < MD_UNIT && unit[a] >= 0; a++) {
        CHECK(plan->tail_row[begin + a] == unit[a]);
        n_wanted += 1 + rows->exclusion_start[unit[a] + 1] - rows->exclusion_start[unit[a]];
    }
    for (int t = begin; t < end; t++) {
        int row = plan->tail_row[t], mask = plan->tail_mask[t];
        CHECK(plan->row_gid[row] - plan->tail_gid[u][0] <= plan->tail_gid[u][1]);
        for (int other = begin; other < t; other++) CHECK(plan->tail_row[other] != row);
        for (int a = 0; a < MD_UNIT; a++) {
            int wanted = unit[a] < 0 ? 0 : excludes(rows, unit[a], row) ? 1 << (3 + a) : 1 << a;
            CHECK((mask & (9 << a)) == wanted);
            n_pairs += mask >> (3 + a) & 1;
        }
    }
    CHECK(n_pairs == n_wanted);
}

static void check_plan(const md_units *units, const md_rows *rows, const md_unit_plan *plan,
                       int most_units)
{
    int *seen = base_alloc_zero(((size_t)rows->n_rows + 1) * sizeof *seen);
    int least = MD_UNIT_MOST, most = 0;
    CHECK(plan->block_start[0] == 0 && plan->block_start[plan->n_blocks] == plan->n_units);
    for (int b = 0; b < plan->n_blocks; b++) {
        int n = plan->block_start[b + 1] - plan->block_start[b];
        if (n < least) least = n;
        if (n > most) most = n;
    }
    CHECK(plan->n_units == 0 || (least > 0 && most <= most_units && most - least <= 1));
    for (int u = 0; u < plan->n_units; u++) {
        int n_lj = 0;
        CHECK(plan->unit[u][0] >= 0);
        for (int a = 0; a < MD_UNIT; a++) {
            int row = plan->unit[u][a];
            if (row < 0) continue;
            CHECK(row < rows->n_owned && seen[row]++ == 0);
            double d[3];
            vec_sub(rows->x[row], rows->x[plan->unit[u][0]], d);
            CHECK(sqrt(vec_norm2(d)) < 0.6);
            int kind = (int)(plan->row_word[row] >> plan->row_bits);
            CHECK((int)(plan->row_word[row] & ((1u << plan->row_bits) - 1)) == row);
            CHECK(units->kind[kind].type == rows->type[row]);
            CHECK(units->kind[kind].charge == rows->charge[row]);
            if (units->kind[kind].has_lj) n_lj++;
            if (units->kind[kind].has_lj && a > 0) CHECK(plan->unit[u][3] == 1 || n_lj == 1);
        }
        CHECK(plan->unit[u][3] == (n_lj > 1));
        check_tail(rows, plan, u);
    }
    for (int row = 0; row < rows->n_owned; row++) CHECK(seen[row] == 1);
    memset(seen, 0, (size_t)rows->n_rows * sizeof *seen);
    for (int k = 0; k < plan->n_leaves * MD_UNIT_LEAF; k++)
        if (plan->leaf_row[k] >= 0) seen[plan->leaf_row[k]]++;
    for (int row = 0; row < rows->n_rows; row++) CHECK(seen[row] == 1);
    base_free(seen);
}

typedef struct job {
    world w;
    const md_units *units;
} job;

static void plan_rank(sundog_team *team, void *context)
{
    job *j = context;
    md_domain *domain = world_domain(team, &j->w);
    md_rows *rows = md_domain_rows(domain);
    static const md_unit_plan_options options[] = {
        {132, MD_UNIT_MOST, NULL, false}, {3, 24, NULL, true}, {1, 1, NULL, false}};
    md_unit_plan plan = {0};
    for (int k = 0; k < 3; k++) {
        CHECK_OK(md_unit_plan_make(j->units, j->w.topology, rows, &options[k], &plan));
        check_plan(j->units, rows, &plan, options[k].most_units);
    }
    md_unit_plan_destroy(&plan);
    md_domain_destroy(&domain);
}

/* ---- frames --------------------------------------------------------------------------------- */

static void check_frame(const md_unit_frame *frame, const double a[3], const double b[3],
                        const double nearest[3])
{
    int32_t ia[3], ib[3];
    double d[3];
    md_unit_frame_encode(frame, a, ia);
    md_unit_frame_encode(frame, b, ib);
    for (int k = 0; k < 3; k++) d[k] = (double)(int32_t)((uint32_t)ia[k] - (uint32_t)ib[k]);
    const float *s = frame->scale;
    double x[3] = {d[0] * (double)s[0] + d[1] * (double)s[1] + d[2] * (double)s[3],
                   d[1] * (double)s[2] + d[2] * (double)s[4], d[2] * (double)s[5]};
    for (int k = 0; k < 3; k++) CHECK_NEAR(x[k], nearest[k], 2e-7 * (1 + fabs(nearest[k])));
}

static void check_frames(void)
{
    uint64_t seed = 5;
    const md_box boxes[2] = {box_cubic(4, 5, 7), box_dodecahedron(5)};
    for (int b = 0; b < 2; b++)
        for (int n = 0; n < 1000; n++) {
            md_unit_frame frame;
            double x[3], y[3], direction[3], s[3], d[3];
            md_unit_frame_of_box(&boxes[b], &frame);
            for (int k = 0; k < 3; k++) s[k] = 3 * random_uniform(&seed) - 1;
            md_box_from_fractional(&boxes[b], s, x);
            random_direction(&seed, direction);
            for (int k = 0; k < 3; k++) y[k] = x[k] + 1.5 * direction[k];
            vec_sub(x, y, d);
            md_box_wrap(&boxes[b], y, NULL);
            check_frame(&frame, x, y, d);
        }
}

static void check_system(const char *name, md_constraints constraints)
{
    static const int grids[3][3] = {{1, 1, 1}, {2, 2, 1}, {1, 3, 1}};
    const double *const even[3] = {NULL, NULL, NULL};
    char path[512];
    md_topology *topology;
    md_gro gro;
    md_units *units;
    md_top_options options = {.constraints = constraints};
    snprintf(path, sizeof path, "%s/systems/%s/topol.top", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_top_read(path, &options, &topology));
    snprintf(path, sizeof path, "%s/systems/%s/conf.gro", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_gro_read(path, &gro));
    md_units_create(topology, &units);
    for (int m = 0; m < topology->n_moltypes; m++)
        check_molecule(&topology->moltype[m], units, &units->moltype[m]);
    job j = {.w = {.topology = topology, .state = &gro.state}, .units = units};
    j.w.options.reach = (md_reach){.scheme = MD_SCHEME_SHELL,
                                   .rlist = fmin(1.0, md_box_max_range(&gro.state.box)),
                                   .group_radius = md_topology_group_radius(topology)};
    for (int g = 0; g < 3; g++) {
        CHECK_OK(md_grid_create(grids[g], even, &j.w.options.grid));
        world_run(world_n_ranks(&j.w), plan_rank, &j);
        md_grid_destroy(&j.w.options.grid);
    }
    printf("%s: %d kinds, %d kinds of molecules\n", name, units->n_kinds, topology->n_moltypes);
    md_units_destroy(&units);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    check_frames();
    check_system("water/spce_3k", MD_CONSTRAINTS_NONE);
    check_system("water/tip3p_dodec", MD_CONSTRAINTS_NONE);
    check_system("lj/argon_4k", MD_CONSTRAINTS_NONE);
    check_system("ethanol/box_256", MD_CONSTRAINTS_H_BONDS);
    check_system("ions/nacl_3k", MD_CONSTRAINTS_NONE);
    check_system("peptide/ala_dipeptide", MD_CONSTRAINTS_H_BONDS);
    check_system("peptide/wkdpys_amber", MD_CONSTRAINTS_ALL_BONDS);
    check_system("peptide/fre_opls", MD_CONSTRAINTS_NONE);
    check_system("terms/many_terms", MD_CONSTRAINTS_H_BONDS);
    check_system("grappa-like/0012", MD_CONSTRAINTS_H_BONDS);
    return 0;
}
