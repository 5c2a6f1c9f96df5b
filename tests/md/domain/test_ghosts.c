/* Brute force: on random systems in boxes of several shapes and grids of 1 to 12 domains with up to
 * five pulses an axis, both schemes,
 *   - every pair within rlist is computed exactly once (shell: its two halves),
 *   - every interaction is computed exactly once, with its atoms at their nearest images,
 *   - exclusions mark exactly the excluded pairs,
 *   - ghosts stand in place, zones say what they should,
 *   - forward brings moved coordinates, reverse adds every ghost's force exactly once.
 * Cannot catch: ghosts that nobody needs (counted only), wrong types of message overlap.
 */
#include "world.h"

typedef struct pair { int32_t i, j, weight; } pair;

typedef struct seen {
    pthread_mutex_t lock;
    world *w;
    int64_t n_atoms;
    uint8_t *pairs;             /* [n_atoms][n_atoms] halves seen */
    int *terms;                 /* [n_atoms][n_params] atoms seen, by first atom of the molecule */
    int64_t *force;             /* [n_atoms] expected force after reverse */
    int64_t n_ghosts;
} seen;

/* The atom's molecule, from the topology. */
static md_atom_place place_of(const md_topology *t, int64_t gid)
{
    md_atom_place place;
    md_topology_find(t, gid, &place);
    return place;
}

static bool excluded(const md_topology *t, int64_t a, int64_t b)
{
    md_atom_place p = place_of(t, a);
    const md_moltype *m = &t->moltype[p.moltype];
    for (int e = m->exclusion_start[p.atom]; e < m->exclusion_start[p.atom + 1]; e++)
        if (p.first_atom + m->exclusion[e] == b) return true;
    return false;
}

static bool listed(const md_rows *rows, int i, int j)
{
    for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
        if (rows->exclusion[e] == j) return true;
    return false;
}

/* Halves of a pair that the rule of rows.h gives to this domain. */
static int weight_of(const md_rows *rows, int i, int j)
{
    if (rows->scheme == MD_SCHEME_RETURN) return rows->zone[i] & rows->zone[j] ? 0 : 2;
    return (rows->zone[i] == 0) + (rows->zone[j] == 0);
}

static void see_pairs(seen *s, const md_rows *rows)
{
    double rlist2 = s->w->options.reach.rlist * s->w->options.reach.rlist;
    size_t n = 0, capacity = 0;
    pair *found = NULL;
    for (int i = 0; i < rows->n_rows; i++)
        for (int j = i + 1; j < rows->n_rows; j++) {
            double d[3];
            vec_sub(rows->x[i], rows->x[j], d);
            int weight = weight_of(rows, i, j);
            if (vec_norm2(d) > rlist2 || weight == 0) continue;
            CHECK(rows->gid[i] != rows->gid[j]);
            BASE_RESERVE(found, capacity, n + 1);
            found[n++] = (pair){(int32_t)rows->gid[i], (int32_t)rows->gid[j], weight};
            bool is_excluded = excluded(s->w->topology, rows->gid[i], rows->gid[j]);
            CHECK(listed(rows, i, j) == is_excluded);
            CHECK(listed(rows, j, i) == is_excluded);
        }
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; k < n; k++) {
        int64_t i = found[k].i, j = found[k].j;
        s->pairs[i < j ? i * s->n_atoms + j : j * s->n_atoms + i] += (uint8_t)found[k].weight;
    }
    pthread_mutex_unlock(&s->lock);
    base_free(found);
}

static void see_exclusions(const seen *s, const md_rows *rows)
{
    for (int i = 0; i < rows->n_rows; i++)
        for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++) {
            int j = rows->exclusion[e];
            CHECK(j >= 0 && j < rows->n_rows && j != i);
            CHECK(excluded(s->w->topology, rows->gid[i], rows->gid[j]));
            CHECK(listed(rows, j, i));
            CHECK(weight_of(rows, i, j) > 0);
        }
}

static void see_terms(seen *s, const md_rows *rows)
{
    const md_topology *t = s->w->topology;
    pthread_mutex_lock(&s->lock);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_row_interactions *list = &rows->list[kind];
        int width = md_kind_n_atoms((md_kind)kind);
        for (int n = 0; n < list->n; n++) {
            const int *row = list->rows + n * width;
            md_atom_place place = place_of(t, rows->gid[row[0]]);
            const md_interactions *of = &t->moltype[place.moltype].list[kind];
            int index = 0, n_owned = 0;
            while (index < of->n && of->param[index] != list->param[n]) index++;
            CHECK(index < of->n);
            for (int k = 0; k < width; k++) {
                CHECK(rows->gid[row[k]] == place.first_atom + of->atoms[index * width + k]);
                n_owned += rows->zone[row[k]] == 0;
                double here[3], nearest[3];
                vec_sub(rows->x[row[k]], rows->x[row[0]], here);
                md_box_nearest(&s->w->state->box, rows->x[row[k]], rows->x[row[0]], nearest);
                for (int c = 0; c < 3; c++) CHECK_NEAR(here[c], nearest[c], 1e-9);
            }
            int share = rows->scheme == MD_SCHEME_RETURN ? width : n_owned;
            CHECK_NEAR(list->weight[n], (double)share / width, 1e-6);
            if (kind == MD_SETTLE || kind == MD_CONSTRAINT) CHECK(n_owned == width);
            s->terms[place.first_atom * t->n_params + list->param[n]] += share;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Ghosts in place: the row is its atom plus whole box vectors, moved as its group's reference atom
 * is, and the zone says along which axes that one is outside of the cell. */
static void see_places(seen *s, const md_rows *rows)
{
    const md_topology *t = s->w->topology;
    const md_box *box = &s->w->state->box;
    for (int row = 0; row < rows->n_rows; row++) {
        int64_t gid = rows->gid[row];
        md_atom_place p = place_of(t, gid);
        const md_moltype *m = &t->moltype[p.moltype];
        const md_atom *atom = &m->atom[p.atom];
        double d[3], reference[3], s_reference[3], near[3];
        vec_sub(rows->x[row], s->w->state->x[gid], d);
        CHECK(is_lattice(box, d));
        CHECK(rows->type[row] == atom->type && rows->charge[row] == (float)atom->charge);
        if (row < rows->n_owned) CHECK(rows->mass[row] == atom->mass);
        int group = m->group_of_atom[p.atom];
        int64_t gid_reference = p.first_atom + m->group_atom[m->group_start[group]];
        md_box_nearest(box, s->w->state->x[gid_reference], rows->x[row], near);
        for (int k = 0; k < 3; k++) reference[k] = rows->x[row][k] + near[k];
        md_box_to_fractional(box, reference, s_reference);
        unsigned zone = 0;
        for (int k = 0; k < 3; k++) {
            bool below = s_reference[k] < rows->cell_lo[k] - 1e-12;
            if (below) CHECK(rows->scheme == MD_SCHEME_SHELL);
            zone |= (unsigned)(below || s_reference[k] >= rows->cell_hi[k] + 1e-12) << k;
        }
        CHECK(rows->zone[row] == zone);
        CHECK((row < rows->n_owned) == (zone == 0));
    }
}

static double nudge(int64_t gid, int k)
{
    return (double)((gid * 31 + k * 17) % 64 - 32) / 1024;
}

static void see_exchange(seen *s, md_domain *domain, sundog_team *team)
{
    md_rows *rows = md_domain_rows(domain);
    double(*old)[3] = base_alloc((size_t)rows->n_rows * sizeof *old + 1);
    memcpy(old, rows->x, (size_t)rows->n_rows * sizeof *old);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->x[row][k] += nudge(rows->gid[row], k);
    for (int row = rows->n_owned; row < rows->n_rows; row++)
        for (int k = 0; k < 3; k++) rows->x[row][k] = NAN;
    CHECK_OK(md_domain_forward_begin(domain));
    CHECK_OK(md_domain_forward_end(domain));
    for (int row = 0; row < rows->n_rows; row++)
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(rows->x[row][k], old[row][k] + nudge(rows->gid[row], k), 1e-12);
    base_free(old);

    int rank = sundog_team_rank(team);
    pthread_mutex_lock(&s->lock);
    for (int row = 0; row < rows->n_rows; row++) {
        int64_t force = (row * 7 + rank * 13) % 1000;
        for (int k = 0; k < 3; k++) rows->f[row][k] = (float)(force * (k + 1));
        if (row < rows->n_owned || rows->scheme == MD_SCHEME_RETURN)
            s->force[rows->gid[row]] += force;
    }
    s->n_ghosts += rows->n_rows - rows->n_owned;
    pthread_mutex_unlock(&s->lock);
    CHECK_OK(sundog_team_barrier(team));
    CHECK_OK(md_domain_reverse_begin(domain));
    CHECK_OK(md_domain_reverse_end(domain));
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++)
            CHECK(rows->f[row][k] == (float)(s->force[rows->gid[row]] * (k + 1)));
}

static void look(sundog_team *team, void *context)
{
    seen *s = context;
    md_domain *domain = world_domain(team, s->w);
    const md_rows *rows = md_domain_rows(domain);
    see_places(s, rows);
    see_pairs(s, rows);
    see_exclusions(s, rows);
    see_terms(s, rows);
    see_exchange(s, domain, team);
    md_domain_destroy(&domain);
}

static void check_pairs(const seen *s)
{
    const md_state *state = s->w->state;
    double rlist2 = s->w->options.reach.rlist * s->w->options.reach.rlist;
    int64_t n_pairs = 0;
    for (int64_t i = 0; i < s->n_atoms; i++)
        for (int64_t j = i + 1; j < s->n_atoms; j++) {
            double d[3];
            md_box_nearest(&state->box, state->x[i], state->x[j], d);
            double norm2 = vec_norm2(d);
            if (fabs(norm2 - rlist2) < 1e-9) continue;      /* on the edge: either */
            int want = norm2 < rlist2 ? 2 : 0, got = s->pairs[i * s->n_atoms + j];
            if (got != want)
                fprintf(stderr, "pair %lld %lld at %.4f nm: %d halves\n", (long long)i,
                        (long long)j, sqrt(norm2), got);
            CHECK(got == want);
            n_pairs += norm2 < rlist2;
        }
    CHECK(n_pairs > s->n_atoms / 4);
}

static void check_terms(const seen *s)
{
    const md_topology *t = s->w->topology;
    for (int64_t gid = 0; gid < s->n_atoms; gid++) {
        md_atom_place p = place_of(t, gid);
        if (p.atom) continue;
        for (int kind = 0; kind < MD_N_KINDS; kind++) {
            const md_interactions *of = &t->moltype[p.moltype].list[kind];
            for (int n = 0; n < of->n; n++)
                CHECK(s->terms[gid * t->n_params + of->param[n]] == md_kind_n_atoms((md_kind)kind));
        }
    }
}

static void run_case(world *w, const int n[3], const double *const relative[3], md_scheme scheme)
{
    seen s = {.lock = PTHREAD_MUTEX_INITIALIZER, .w = w, .n_atoms = w->topology->n_atoms};
    size_t n_atoms = (size_t)s.n_atoms;
    CHECK_OK(md_grid_create(n, relative, &w->options.grid));
    w->options.reach.scheme = scheme;
    static int n_cases;         /* all rungs and both routes take turns */
    int n_rungs;
    const char *const *rungs = sundog_exchange_rungs(&n_rungs);
    w->options.rung = rungs[n_cases % n_rungs];
    w->options.route = n_cases / n_rungs % 2 && strcmp(w->options.rung, "direct")
                           ? SUNDOG_ROUTE_STAGED
                           : SUNDOG_ROUTE_DIRECT;
    n_cases++;
    CHECK_OK(md_grid_check(&w->options.grid, &w->state->box, &w->options.reach));
    int n_pulses[3];
    md_grid_pulses(&w->options.grid, &w->state->box, &w->options.reach, n_pulses);
    s.pairs = base_alloc_zero(n_atoms * n_atoms);
    s.terms = base_alloc_zero(n_atoms * (size_t)w->topology->n_params * sizeof *s.terms);
    s.force = base_alloc_zero(n_atoms * sizeof *s.force);
    world_run(world_n_ranks(w), look, &s);
    check_pairs(&s);
    check_terms(&s);
    printf("%s %d x %d x %d, pulses %d %d %d: %lld ghosts\n",
           scheme == MD_SCHEME_RETURN ? "return" : "shell ", n[0], n[1], n[2], n_pulses[0],
           n_pulses[1], n_pulses[2], (long long)s.n_ghosts);
    base_free(s.pairs);
    base_free(s.terms);
    base_free(s.force);
    md_grid_destroy(&w->options.grid);
}

static void run_box(md_box box, const int (*grids)[3], int n_grids, const double *uneven,
                    double rlist, int n_waters)
{
    md_topology *topology = world_topology(n_waters, 10, 12);
    md_state state;
    world_state(topology, &box, (uint64_t)n_waters, &state);
    world w = {.topology = topology, .state = &state};
    w.options.deterministic = true;
    w.options.reach.rlist = rlist;
    w.options.reach.group_radius = md_topology_group_radius(topology);
    for (int g = 0; g < n_grids; g++)
        for (int scheme = 0; scheme < 2; scheme++) {
            const double *relative[3];
            for (int k = 0; k < 3; k++) relative[k] = g % 2 ? uneven : NULL;
            run_case(&w, grids[g], relative, (md_scheme)scheme);
        }
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    static const int cubic[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {3, 1, 1},
                                   {1, 1, 3}, {2, 2, 1}, {1, 2, 2}, {1, 3, 2}, {2, 2, 2},
                                   {1, 8, 1}, {3, 2, 2}, {1, 3, 4}, {12, 1, 1}};
    static const int few[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 1, 3}, {3, 1, 1}, {1, 4, 1},
                                 {2, 1, 4}, {3, 2, 2}, {1, 6, 1}};
    static const double uneven[12] = {1, 1.7, 0.6, 1.2, 0.8, 1, 0.5, 1.5, 1, 0.9, 1.1, 1};
    run_box(box_cubic(2.0, 2.1, 2.2), cubic, COUNT(cubic), uneven, 0.8, 40);
    run_box(box_cubic(2.0, 1.5, 3.4), few, COUNT(few), uneven, 0.74, 41);
    run_box(box_dodecahedron(2.2), few, COUNT(few), uneven, 0.9, 42);
    run_box((md_box){{{2.2, 0, 0}, {1.0, 2.1, 0}, {-0.9, 0.8, 2.0}}}, few, COUNT(few), uneven, 0.8,
            43);
    /* smallest boxes: rlist at its limit, images of an atom on all sides */
    run_box(box_cubic(1.21, 1.21, 1.21), few, COUNT(few), uneven, 0.6, 44);
    /* dense enough to have pairs at the very edge of what the reach must cover */
    run_box(box_cubic(2.0, 2.1, 2.2), few, 3, uneven, 0.8, 300);
    run_box(box_dodecahedron(2.2), few, 2, uneven, 0.9, 301);
    return 0;
}
