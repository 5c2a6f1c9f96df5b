/* The real systems: starting positions with broken molecules, three decimals, a triclinic box, a
 * molecule alone in its box, a peptide with all bonds constrained. Every pair within rlist must be
 * there exactly once, by its number, a checksum over atom numbers, and the sum of distances;
 * that interactions are complete is checked by the repartition itself, and the number of rows of
 * exclusions within rlist is counted here.
 */
#include "md/domain/world.h"

#include "md/in/gro.h"
#include "md/in/top.h"

typedef struct totals {
    int64_t n_pairs, checksum, n_excluded;
    double distance;
} totals;

typedef struct job {
    world w;
    pthread_mutex_t lock;
    totals sum;                 /* in halves of pairs */
} job;

static int64_t mix(int64_t i, int64_t j)
{
    uint64_t seed = (uint64_t)(i < j ? i * 1000003 + j : j * 1000003 + i);
    return (int64_t)(random_bits(&seed) >> 32);
}

static bool listed(const md_rows *rows, int i, int j)
{
    for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
        if (rows->exclusion[e] == j) return true;
    return false;
}

static void count_rows(const md_rows *rows, double rlist, totals *out)
{
    bool returns = rows->scheme == MD_SCHEME_RETURN;
    for (int i = 0; i < (returns ? rows->n_rows : rows->n_owned); i++) {
        const double *x = rows->x[i];
        for (int j = i + 1; j < rows->n_rows; j++) {
            double d[3] = {rows->x[j][0] - x[0], rows->x[j][1] - x[1], rows->x[j][2] - x[2]};
            double norm2 = vec_norm2(d);
            if (norm2 > rlist * rlist) continue;
            if (returns && (rows->zone[i] & rows->zone[j])) continue;
            int weight = returns ? 2 : (rows->zone[i] == 0) + (rows->zone[j] == 0);
            out->n_pairs += weight;
            out->checksum += weight * mix(rows->gid[i], rows->gid[j]);
            out->distance += weight * sqrt(norm2);
            if (listed(rows, i, j)) out->n_excluded += weight;
        }
    }
}

static void count_rank(sundog_team *team, void *context)
{
    job *j = context;
    totals mine = {0, 0, 0, 0};
    md_domain *domain = world_domain(team, &j->w);
    count_rows(md_domain_rows(domain), j->w.options.reach.rlist, &mine);
    md_domain_destroy(&domain);
    pthread_mutex_lock(&j->lock);
    j->sum.n_pairs += mine.n_pairs;
    j->sum.checksum += mine.checksum;
    j->sum.n_excluded += mine.n_excluded;
    j->sum.distance += mine.distance;
    pthread_mutex_unlock(&j->lock);
}

static totals count_all(const md_topology *topology, const md_state *state, double rlist)
{
    totals sum = {0, 0, 0, 0};
    for (int64_t i = 0; i < state->n_atoms; i++) {
        md_atom_place place;
        md_topology_find(topology, i, &place);
        const md_moltype *m = &topology->moltype[place.moltype];
        int first = m->exclusion_start[place.atom], end = m->exclusion_start[place.atom + 1];
        for (int64_t j = i + 1; j < state->n_atoms; j++) {
            double d[3];
            md_box_nearest(&state->box, state->x[i], state->x[j], d);
            double norm2 = vec_norm2(d);
            if (norm2 > rlist * rlist) continue;
            sum.n_pairs += 2;
            sum.checksum += 2 * mix(i, j);
            sum.distance += 2 * sqrt(norm2);
            if (j >= place.first_atom + m->n_atoms) continue;
            for (int e = first; e < end; e++)
                if (place.first_atom + m->exclusion[e] == j) sum.n_excluded += 2;
        }
    }
    return sum;
}

static void run_system(const char *name, md_constraints constraints)
{
    static const int grids[3][3] = {{1, 1, 1}, {2, 2, 2}, {1, 5, 1}};
    const double *const even[3] = {NULL, NULL, NULL};
    char path[512];
    md_topology *topology;
    md_gro gro;
    md_top_options top_options = {.constraints = constraints};
    snprintf(path, sizeof path, "%s/systems/%s/topol.top", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_top_read(path, &top_options, &topology));
    snprintf(path, sizeof path, "%s/systems/%s/conf.gro", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_gro_read(path, &gro));
    job j = {.w = {.topology = topology, .state = &gro.state}, .lock = PTHREAD_MUTEX_INITIALIZER};
    double rlist = fmin(0.97, md_box_max_range(&gro.state.box));
    j.w.options.reach.rlist = rlist;
    j.w.options.reach.group_radius = md_topology_group_radius(topology);
    totals want = count_all(topology, &gro.state, rlist);
    for (int g = 0; g < 3; g++) {
        CHECK_OK(md_grid_create(grids[g], even, &j.w.options.grid));
        j.w.options.reach.scheme = g == 1 ? MD_SCHEME_RETURN : MD_SCHEME_SHELL;
        j.sum = (totals){0, 0, 0, 0};
        world_run(world_n_ranks(&j.w), count_rank, &j);
        md_grid_destroy(&j.w.options.grid);
        CHECK(j.sum.n_pairs == want.n_pairs);
        CHECK(j.sum.checksum == want.checksum);
        CHECK(j.sum.n_excluded == want.n_excluded);
        CHECK_NEAR(j.sum.distance, want.distance, 1e-9 * want.distance);
    }
    printf("%s: %lld pairs, group radius %.3f nm\n", name, (long long)want.n_pairs / 2,
           j.w.options.reach.group_radius);
    fflush(stdout);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    run_system("grappa-like/0001.5", MD_CONSTRAINTS_H_BONDS);
    run_system("water/spce_3k", MD_CONSTRAINTS_NONE);
    run_system("water/tip3p_dodec", MD_CONSTRAINTS_NONE);
    run_system("lj/argon_4k", MD_CONSTRAINTS_NONE);
    run_system("ethanol/single", MD_CONSTRAINTS_ALL_BONDS);
    run_system("ethanol/box_256", MD_CONSTRAINTS_H_BONDS);
    run_system("ions/nacl_3k", MD_CONSTRAINTS_NONE);
    run_system("peptide/ala_dipeptide", MD_CONSTRAINTS_H_BONDS);
    run_system("peptide/wkdpys_amber", MD_CONSTRAINTS_ALL_BONDS);
    run_system("peptide/fre_opls", MD_CONSTRAINTS_NONE);
    run_system("terms/many_terms", MD_CONSTRAINTS_H_BONDS);
    run_system("terms/urey_bradley", MD_CONSTRAINTS_NONE);
    return 0;
}
