/* Random systems and teams of threads for the tests of md/domain.
 *
 * Three kinds of molecules: rigid water (one group), a branched chain of seven atoms in four groups
 * with every kind of term across and within groups, an ion. Every term of the chain has parameters
 * of its own, so that (first atom of the molecule, parameter) names a term of the system.
 *
 *      chain:     1              bonds 0-3 3-5 5-6        constraints 0-1 0-2 3-4
 *                 |              groups {0 1 2} {3 4} {5} {6}
 *             2 - 0 = 3 = 5 = 6
 *                     |
 *                     4
 */
#ifndef WORLD_H
#define WORLD_H
#include "base/alloc.h"
#include "check.h"
#include "md/core/vec.h"
#include "md/domain/domain.h"

#include <pthread.h>
#include <string.h>

/* ---- random numbers (splitmix64) ------------------------------------------------------------ */

static inline uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline double random_uniform(uint64_t *state)
{
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

static inline void random_direction(uint64_t *state, double d[3])
{
    double norm2;
    do {
        for (int k = 0; k < 3; k++) d[k] = 2 * random_uniform(state) - 1;
        norm2 = vec_norm2(d);
    } while (norm2 > 1 || norm2 < 0.01);
    for (int k = 0; k < 3; k++) d[k] /= sqrt(norm2);
}

/* ---- topology ------------------------------------------------------------------------------- */

enum { WATER, CHAIN, ION };
static const double water_oh = 0.1, water_hh = 0.1633, chain_h = 0.11, chain_bond = 0.15;

static inline int world_param(md_topology *topology, double p0, double p1)
{
    BASE_RESERVE(topology->param, topology->param_capacity, topology->n_params + 1);
    topology->param[topology->n_params] = (md_param){{p0, p1, 0, 0, 0, 0}};
    return topology->n_params++;
}

static inline void world_term(md_topology *topology, int moltype, md_kind kind, int a, int b, int c,
                              int d, double p0)
{
    int atoms[4] = {a, b, c, d};
    md_interactions_add(&topology->moltype[moltype].list[kind], kind, atoms,
                        world_param(topology, p0, water_hh));
}

/* Excluded: up to `depth` links (bonds, constraints, settles) away. */
static inline void world_exclusions(md_moltype *m, int depth)
{
    enum { MOST = 16 };
    static const md_kind link[3] = {MD_BOND, MD_CONSTRAINT, MD_SETTLE};
    int distance[MOST][MOST];
    for (int i = 0; i < m->n_atoms; i++)
        for (int j = 0; j < m->n_atoms; j++) distance[i][j] = i == j ? 0 : 100;
    for (int l = 0; l < 3; l++) {
        int width = md_kind_n_atoms(link[l]);
        for (int n = 0; n < m->list[link[l]].n; n++) {
            const int *a = m->list[link[l]].atoms + n * width;
            for (int k = 1; k < width; k++) distance[a[0]][a[k]] = distance[a[k]][a[0]] = 1;
        }
    }
    for (int k = 0; k < m->n_atoms; k++)
        for (int i = 0; i < m->n_atoms; i++)
            for (int j = 0; j < m->n_atoms; j++)
                if (distance[i][k] + distance[k][j] < distance[i][j])
                    distance[i][j] = distance[i][k] + distance[k][j];
    m->exclusion_start = base_alloc((size_t)(m->n_atoms + 1) * sizeof(int));
    m->exclusion = base_alloc((size_t)(m->n_atoms * m->n_atoms + 1) * sizeof(int));
    int n = 0;
    for (int i = 0; i < m->n_atoms; i++) {
        m->exclusion_start[i] = n;
        for (int j = 0; j < m->n_atoms; j++)
            if (i != j && distance[i][j] <= depth) m->exclusion[n++] = j;
    }
    m->exclusion_start[m->n_atoms] = n;
}

static inline void world_moltype(md_topology *topology, int moltype, const char *name, int n_atoms)
{
    md_moltype *m = &topology->moltype[moltype];
    m->name = base_strdup(name);
    m->n_atoms = n_atoms;
    m->n_residues = 1;
    m->atom = base_alloc_zero((size_t)n_atoms * sizeof *m->atom);
    m->residue = base_alloc_zero(sizeof *m->residue);
    for (int i = 0; i < n_atoms; i++) {
        m->atom[i].type = (moltype + i) % 3;
        m->atom[i].charge = 0.25 * (i + 1) - moltype;
        m->atom[i].mass = 1.0 + i + 10 * moltype;
    }
}

static inline void world_chain_terms(md_topology *t)
{
    static const int bond[3][2] = {{0, 3}, {3, 5}, {5, 6}};
    static const int constraint[3][2] = {{0, 1}, {0, 2}, {3, 4}};
    static const int angle[7][3] = {{1, 0, 2}, {1, 0, 3}, {2, 0, 3}, {0, 3, 5},
                                    {0, 3, 4}, {4, 3, 5}, {3, 5, 6}};
    static const int dihedral[5][4] = {
        {0, 3, 5, 6}, {1, 0, 3, 5}, {2, 0, 3, 4}, {6, 5, 3, 4}, {3, 0, 4, 5}};
    for (int n = 0; n < 3; n++)
        world_term(t, CHAIN, MD_BOND, bond[n][0], bond[n][1], 0, 0, chain_bond);
    for (int n = 0; n < 3; n++)
        world_term(t, CHAIN, MD_CONSTRAINT, constraint[n][0], constraint[n][1], 0, 0, chain_h);
    for (int n = 0; n < 7; n++)
        world_term(t, CHAIN, MD_ANGLE, angle[n][0], angle[n][1], angle[n][2], 0, 2.0);
    for (int n = 0; n < 5; n++)
        world_term(t, CHAIN, n < 3 ? MD_DIH_RB : n == 3 ? MD_DIH_PROPER : MD_DIH_IMPROPER,
                   dihedral[n][0], dihedral[n][1], dihedral[n][2], dihedral[n][3], 0.0);
    world_term(t, CHAIN, MD_PAIR14, 0, 6, 0, 0, 0.0);
    world_term(t, CHAIN, MD_PAIR14, 5, 1, 0, 0, 0.0);
    world_term(t, CHAIN, MD_POSRES, 5, 0, 0, 0, 0.0);
    world_term(t, CHAIN, MD_POSRES, 1, 0, 0, 0, 0.0);
}

/* Blocks: chains, waters, ions, chains again. */
static inline md_topology *world_topology(int n_waters, int n_chains, int n_ions)
{
    md_topology *t = base_alloc_zero(sizeof *t);
    t->title = base_strdup("random");
    t->comb_rule = 2;
    t->n_atomtypes = 3;
    t->atomtype = base_alloc_zero(3 * sizeof *t->atomtype);
    t->c6 = base_alloc_zero(9 * sizeof(double));
    t->c12 = base_alloc_zero(9 * sizeof(double));
    t->n_moltypes = 3;
    t->moltype = base_alloc_zero(3 * sizeof *t->moltype);
    world_moltype(t, WATER, "SOL", 3);
    world_moltype(t, CHAIN, "CHN", 7);
    world_moltype(t, ION, "ION", 1);
    world_term(t, WATER, MD_SETTLE, 0, 1, 2, 0, water_oh);
    world_chain_terms(t);
    for (int m = 0; m < 3; m++) world_exclusions(&t->moltype[m], 3);
    t->n_molblocks = 4;
    t->molblock = base_alloc_zero(4 * sizeof *t->molblock);
    t->molblock[0] = (md_molblock){.moltype = CHAIN, .count = n_chains / 2};
    t->molblock[1] = (md_molblock){.moltype = WATER, .count = n_waters};
    t->molblock[2] = (md_molblock){.moltype = ION, .count = n_ions};
    t->molblock[3] = (md_molblock){.moltype = CHAIN, .count = n_chains - n_chains / 2};
    CHECK_OK(md_topology_finish(t));
    return t;
}

/* ---- positions ------------------------------------------------------------------------------ */

static inline void place_at(double (*x)[3], int atom, int from, double length, uint64_t *seed)
{
    double d[3];
    random_direction(seed, d);
    for (int k = 0; k < 3; k++) x[atom][k] = x[from][k] + length * d[k];
}

static inline void place_water(double (*x)[3], uint64_t *seed)
{
    double u[3], w[3], n[3], half = 0.5 * water_hh / water_oh, height = sqrt(1 - half * half);
    random_direction(seed, u);
    random_direction(seed, w);
    vec_cross(u, w, n);
    double length = sqrt(vec_norm2(n));
    for (int k = 0; k < 3; k++) {
        x[1][k] = x[0][k] + water_oh * (height * u[k] + half * n[k] / length);
        x[2][k] = x[0][k] + water_oh * (height * u[k] - half * n[k] / length);
    }
}

/* Random places, random velocities; some atoms moved by whole box vectors, so groups are broken. */
static inline void world_state(const md_topology *t, const md_box *box, uint64_t seed,
                               md_state *state)
{
    md_state_create(t->n_atoms, state);
    state->box = *box;
    state->has_velocities = true;
    for (int b = 0; b < t->n_molblocks; b++) {
        const md_molblock *block = &t->molblock[b];
        int n_atoms = t->moltype[block->moltype].n_atoms;
        for (int m = 0; m < block->count; m++) {
            double(*x)[3] = state->x + block->first_atom + (int64_t)m * n_atoms;
            double s[3];
            for (int k = 0; k < 3; k++) s[k] = random_uniform(&seed);
            md_box_from_fractional(box, s, x[0]);
            if (block->moltype == WATER) place_water(x, &seed);
            if (block->moltype == CHAIN) {
                place_at(x, 1, 0, chain_h, &seed);
                place_at(x, 2, 0, chain_h, &seed);
                place_at(x, 3, 0, chain_bond, &seed);
                place_at(x, 4, 3, chain_h, &seed);
                place_at(x, 5, 3, chain_bond, &seed);
                place_at(x, 6, 5, chain_bond, &seed);
            }
        }
    }
    for (int64_t i = 0; i < t->n_atoms; i++) {
        double whole[3], shift[3];
        for (int k = 0; k < 3; k++) {
            whole[k] = (double)(random_bits(&seed) % 3) - 1;
            state->v[i][k] = random_uniform(&seed) - 0.5;
        }
        if (random_bits(&seed) % 4) continue;
        md_box_from_fractional(box, whole, shift);
        for (int k = 0; k < 3; k++) state->x[i][k] += shift[k];
    }
}

static inline md_box box_cubic(double a, double b, double c)
{
    return (md_box){{{a, 0, 0}, {0, b, 0}, {0, 0, c}}};
}

/* Rhombic dodecahedron, xy-square, image distance d. */
static inline md_box box_dodecahedron(double d)
{
    return (md_box){{{d, 0, 0}, {0, d, 0}, {0.5 * d, 0.5 * d, sqrt(0.5) * d}}};
}

/* Is d a whole number of box vectors? */
static inline bool is_lattice(const md_box *box, const double d[3])
{
    double s[3];
    md_box_to_fractional(box, d, s);
    for (int k = 0; k < 3; k++)
        if (fabs(s[k] - rint(s[k])) > 1e-9) return false;
    return true;
}

/* ---- teams ---------------------------------------------------------------------------------- */

typedef struct world_rank {
    sundog_team *team;
    void (*body)(sundog_team *team, void *context);
    void *context;
} world_rank;

static inline void *world_thread(void *argument)
{
    world_rank *rank = argument;
    rank->body(rank->team, rank->context);
    sundog_team_destroy(&rank->team);
    return NULL;
}

/* Run body on n ranks and wait for them. */
static inline void world_run(int n_ranks, void (*body)(sundog_team *, void *), void *context)
{
    enum { MOST = 64 };
    sundog_team *teams[MOST];
    world_rank rank[MOST];
    pthread_t thread[MOST];
    CHECK(n_ranks <= MOST);
    CHECK_OK(sundog_team_create_threads(n_ranks, teams));
    for (int r = 0; r < n_ranks; r++) {
        rank[r] = (world_rank){teams[r], body, context};
        CHECK(pthread_create(&thread[r], NULL, world_thread, &rank[r]) == 0);
    }
    for (int r = 0; r < n_ranks; r++) CHECK(pthread_join(thread[r], NULL) == 0);
}

/* What a test runs on: shared by all ranks, read only. */
typedef struct world {
    const md_topology *topology;
    const md_state *state;
    md_domain_options options;
} world;

static inline int world_n_ranks(const world *w)
{
    return w->options.grid.n[0] * w->options.grid.n[1] * w->options.grid.n[2];
}

static inline md_domain *world_domain(sundog_team *team, const world *w)
{
    md_domain *domain;
    CHECK_OK(md_domain_create(team, w->topology, &w->state->box, &w->options, &domain));
    CHECK_OK(md_domain_distribute(domain, w->state));
    return domain;
}
#endif
