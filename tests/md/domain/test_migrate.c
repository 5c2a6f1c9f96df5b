/* Random walks with repartition: nothing is lost or changed, the result does not depend on the
 * grid, the order of rows is canonical; and what is broken is reported on every rank.
 */
#include "world.h"

typedef struct walk {
    world w;
    int n_moves;
    double step;                /* nm, of each move */
    bool flying;                /* some molecules jump across the box */
    md_state *end;              /* collected at rank 0 */
    float (*force)[3];
    /* rows of every rank after the walk, and after distributing the collected state */
    int64_t *order[64], *again[64];
} walk;

/* Displacement of a molecule in a move: whole molecules, so that constraints hold. */
static void move_rows(const walk *k, md_rows *rows, int move)
{
    for (int row = 0; row < rows->n_owned; row++) {
        md_atom_place place;
        md_topology_find(k->w.topology, rows->gid[row], &place);
        uint64_t seed = (uint64_t)(place.first_atom * 1000 + move);
        bool flies = k->flying && random_bits(&seed) % 10 == 0;
        for (int c = 0; c < 3; c++) {
            double d = (2 * random_uniform(&seed) - 1) * (flies ? 3.7 : k->step);
            rows->x[row][c] += d;
            rows->v[row][c] += 0.001 * d;
        }
    }
}

static int64_t *copy_order(const md_rows *rows)
{
    int64_t *order = base_alloc((size_t)(rows->n_owned + 1) * sizeof *order);
    order[0] = rows->n_owned;
    memcpy(order + 1, rows->gid, (size_t)rows->n_owned * sizeof *order);
    return order;
}

static void walk_rank(sundog_team *team, void *context)
{
    walk *k = context;
    int rank = sundog_team_rank(team);
    md_domain *domain = world_domain(team, &k->w);
    md_rows *rows = md_domain_rows(domain);
    for (int move = 0; move < k->n_moves; move++) {
        move_rows(k, rows, move);
        CHECK_OK(md_domain_repartition(domain));
        double s[3];
        for (int row = 0; row < rows->n_owned; row++) {
            md_box_to_fractional(&k->w.state->box, rows->x[row], s);
            for (int c = 0; c < 3; c++) CHECK(s[c] > -0.2 && s[c] < 1.2);
        }
    }
    for (int row = 0; row < rows->n_owned; row++)
        for (int c = 0; c < 3; c++) rows->f[row][c] = (float)(rows->gid[row] * 3 + c);
    const bool want[3] = {true, true, true};
    bool root = rank == 0;
    CHECK_OK(md_domain_collect(domain, want, root ? k->end->x : NULL, root ? k->end->v : NULL,
                               root ? k->force : NULL));
    CHECK_OK(sundog_team_barrier(team));
    k->order[rank] = copy_order(rows);
    CHECK_OK(md_domain_distribute(domain, k->end));
    k->again[rank] = copy_order(rows);
    for (int row = 0; row < rows->n_owned; row++) {     /* not a bit changes */
        CHECK(memcmp(rows->x[row], k->end->x[rows->gid[row]], sizeof *rows->x) == 0);
        CHECK(memcmp(rows->v[row], k->end->v[rows->gid[row]], sizeof *rows->v) == 0);
    }
    md_domain_destroy(&domain);
    CHECK(domain == NULL);
}

static void run_walk(walk *k, int nx, int ny, int nz, md_scheme scheme, md_state *end)
{
    const int n[3] = {nx, ny, nz};
    const double *const even[3] = {NULL, NULL, NULL};
    int64_t n_atoms = k->w.topology->n_atoms;
    md_state_create(n_atoms, end);
    end->box = k->w.state->box;
    end->has_velocities = true;
    k->end = end;
    k->force = base_alloc((size_t)n_atoms * sizeof *k->force);
    k->w.options.reach.scheme = scheme;
    CHECK_OK(md_grid_create(n, even, &k->w.options.grid));
    world_run(nx * ny * nz, walk_rank, k);
    md_grid_destroy(&k->w.options.grid);
    int64_t total = 0;
    for (int r = 0; r < nx * ny * nz; r++) {
        total += k->order[r][0];
        CHECK(k->order[r][0] == k->again[r][0]);
        size_t n_bytes = (size_t)(k->order[r][0] + 1) * sizeof(int64_t);
        CHECK(memcmp(k->order[r], k->again[r], n_bytes) == 0);
        base_free(k->order[r]);
        base_free(k->again[r]);
    }
    CHECK(total == n_atoms);
    for (int64_t i = 0; i < n_atoms; i++)
        for (int c = 0; c < 3; c++) CHECK(k->force[i][c] == (float)(i * 3 + c));
    base_free(k->force);
}

/* wrapped: the same with wrapped rows, scheme shell. */
static void walks(md_box box, double rlist, bool flying, bool wrapped)
{
    static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1},
                                   {2, 2, 1}, {3, 2, 2}, {1, 1, 8}};
    md_topology *topology = world_topology(150, 30, 20);
    md_state state, first;
    world_state(topology, &box, 11, &state);
    walk k = {.n_moves = 12, .step = 0.2, .flying = flying};
    k.w.topology = topology;
    k.w.state = &state;
    k.w.options.reach.rlist = rlist;
    k.w.options.reach.group_radius = md_topology_group_radius(topology);
    run_walk(&k, 1, 1, 1, MD_SCHEME_RETURN, &first);
    k.w.options.reach.wrapped = wrapped;
    size_t n_bytes = (size_t)topology->n_atoms * sizeof *first.x;
    for (int g = 0; g < 6; g++) {
        md_state end;
        md_scheme scheme = wrapped ? MD_SCHEME_SHELL : (md_scheme)(g & 1);
        run_walk(&k, grids[g][0], grids[g][1], grids[g][2], scheme, &end);
        CHECK(memcmp(first.x, end.x, n_bytes) == 0);
        CHECK(memcmp(first.v, end.v, n_bytes) == 0);
        md_state_destroy(&end);
    }
    md_state_destroy(&first);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

/* ---- what is broken is reported, by every rank ---------------------------------------------- */

typedef enum fault { NOT_A_NUMBER, FAR_AWAY, TORN_GROUP, TORN_BOND, N_FAULTS } fault;

typedef struct broken {
    world w;
    fault fault;
    int64_t victim;
} broken;

static void break_rank(sundog_team *team, void *context)
{
    broken *b = context;
    static const char *const message[N_FAULTS] = {"is lost", "is lost", "constraints are broken",
                                                  "is missing"};
    md_domain *domain = world_domain(team, &b->w);
    md_rows *rows = md_domain_rows(domain);
    for (int row = 0; row < rows->n_owned; row++) {
        if (rows->gid[row] != b->victim) continue;
        if (b->fault == NOT_A_NUMBER) rows->x[row][1] = NAN;
        if (b->fault == FAR_AWAY) rows->x[row][2] = 1e9;
        if (b->fault == TORN_GROUP) rows->x[row][0] += 0.5;
        for (int k = 0; k < 3 && b->fault == TORN_BOND; k++) rows->x[row][k] += 1.2;
    }
    CHECK(md_domain_repartition(domain) == SUNDOG_ERR_PHYSICS);
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)b->victim + 1);
    if (!strstr(sundog_last_error(), message[b->fault]))
        fprintf(stderr, "%s\n", sundog_last_error());
    CHECK(strstr(sundog_last_error(), message[b->fault]) != NULL);
    if (b->fault != TORN_GROUP) CHECK(strstr(sundog_last_error(), number) != NULL);
    md_domain_destroy(&domain);
}

static void breaks(bool wrapped)
{
    const int n[3] = {2, 2, 1};
    const double *const even[3] = {NULL, NULL, NULL};
    md_box box = box_cubic(2.5, 2.5, 2.5);
    md_topology *topology = world_topology(60, 10, 4);
    md_state state;
    world_state(topology, &box, 5, &state);
    broken b = {.w = {.topology = topology, .state = &state}};
    b.w.options.reach.rlist = 0.8;
    b.w.options.reach.group_radius = md_topology_group_radius(topology);
    b.w.options.reach.wrapped = wrapped;
    CHECK_OK(md_grid_create(n, even, &b.w.options.grid));
    for (int scheme = wrapped; scheme < 2; scheme++)    /* too small a box for return, wrapped */
        for (int f = 0; f < N_FAULTS; f++) {
            b.w.options.reach.scheme = (md_scheme)scheme;
            b.fault = (fault)f;
            /* last atom of a chain (a group of its own), or a hydrogen of the second chain */
            b.victim = f == TORN_BOND || f == FAR_AWAY ? 6 : 7 + 1;
            world_run(4, break_rank, &b);
        }
    md_grid_destroy(&b.w.options.grid);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

static void refuse_rank(sundog_team *team, void *context)
{
    const world *w = context;
    md_domain *domain = NULL;
    world other = *w;
    if (w->options.reach.rlist > 1) {
        CHECK(md_domain_create(team, w->topology, &w->state->box, &w->options, &domain) ==
              SUNDOG_ERR_INPUT);
        CHECK(domain == NULL);
        return;
    }
    CHECK_OK(md_domain_create(team, w->topology, &w->state->box, &w->options, &domain));
    md_state bad = *w->state;
    bad.n_atoms--;
    CHECK(md_domain_distribute(domain, &bad) == SUNDOG_ERR_INPUT);
    CHECK_OK(md_domain_distribute(domain, other.state));    /* and it still works */
    md_domain_stats stats;
    md_domain_stats_of(domain, &stats);
    CHECK(stats.n_owned == w->topology->n_atoms && stats.n_ghost > 0 && stats.n_pulses == 3);
    CHECK(strlen(md_domain_describe(domain)) > 0);
    md_domain_destroy(&domain);
}

static void refuses(void)
{
    const int n[3] = {1, 1, 1};
    const double *const even[3] = {NULL, NULL, NULL};
    md_box box = box_cubic(2.5, 2.5, 2.5);
    md_topology *topology = world_topology(60, 10, 4);
    md_state state;
    world_state(topology, &box, 5, &state);
    world w = {.topology = topology, .state = &state};
    w.options.reach.group_radius = md_topology_group_radius(topology);
    CHECK_OK(md_grid_create(n, even, &w.options.grid));
    w.options.reach.rlist = 0.8;
    world_run(1, refuse_rank, &w);
    w.options.reach.rlist = 1.3;
    world_run(1, refuse_rank, &w);
    md_grid_destroy(&w.options.grid);
    md_state_destroy(&state);
    md_topology_destroy(&topology);
}

int main(void)
{
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        walks(box_cubic(2.6, 2.4, 3.0), 0.8, false, wrapped);
        walks(box_cubic(2.6, 2.4, 3.0), 0.8, true, wrapped);
        walks(box_dodecahedron(2.8), 0.9, true, wrapped);
        walks((md_box){{{2.5, 0, 0}, {1.1, 2.4, 0}, {-0.9, 1.0, 2.4}}}, 0.7, true, wrapped);
    }
    breaks(true);
    breaks(false);
    refuses();
    return 0;
}
