/* Brute force over the wrapped rows of all domains of a team, for real and random systems.
 *
 * Each rank turns its owned atoms into fixed-point rows (core/device_row.h), exchanges them by an
 * exchange of its own on the domain's plan, and looks at nothing else:
 *   - every atom has one row at most; after a forward on either route, with its owner's bits,
 *   - pairs within rlist, by wrapped differences, are exactly those of the whole system: found by
 *     both owners (shell), once in the team (return),
 *   - every interaction is computed exactly once (its atoms' shares add up), by nearest images,
 *   - exclusions mark exactly the excluded pairs,
 *   - x of ghosts is in place along cut axes, zones say whose cell it is,
 *   - reverse brings every row's force home (return).
 * Cannot catch: ghosts that nobody needs (they are counted).
 */
#ifndef WRAPPED_H
#define WRAPPED_H
#include "md/core/device_row.h"
#include "world.h"

typedef struct wrapped {
    world w;
    int n_moves;    /* random moves, each with a repartition, before looking */
    md_state start; /* if n_moves > 0: in a larger box, which shrinks at first */
    int64_t n_atoms;
    md_atom_place *place; /* [n_atoms] */
    /* pairs i < j of the whole system: 2 within rlist, 0 not, 1 too close to rlist to tell */
    uint8_t *near;             /* [n_atoms][n_atoms] */
    int64_t terms[MD_N_KINDS]; /* checksum of all interactions, atoms counted */

    /* what the ranks see */
    pthread_mutex_t lock;
    uint8_t *halves;    /* [n_atoms][n_atoms], i < j */
    md_device_row *row; /* [n_atoms] of the owner */
    int64_t *force;     /* [n_atoms] */
    int64_t seen[MD_N_KINDS];
    int64_t n_ghosts, n_pulses;
} wrapped;

static const double wrapped_shrink = 0.98;

/* ---- the system ----------------------------------------------------------------------------- */

/* Displacement of a molecule in a move: some fly across the box. */
static inline void wrapped_move(const wrapped *s, int64_t gid, int move, double x[3])
{
    uint64_t seed = (uint64_t)(s->place[gid].first_atom * 1000 + move);
    double step = random_bits(&seed) % 12 == 0 ? 2.9 : 0.25;
    for (int k = 0; k < 3; k++) x[k] += (2 * random_uniform(&seed) - 1) * step;
}

static inline uint64_t wrapped_hash(uint64_t seed, int64_t value)
{
    seed ^= (uint64_t)value;
    return random_bits(&seed);
}

static inline void wrapped_create(const md_topology *topology, const md_state *state, int n_moves,
                                  double rlist, wrapped *s)
{
    int64_t n = topology->n_atoms;
    size_t n_pairs = (size_t)n * (size_t)n;
    *s = (wrapped){.w = {.topology = topology, .state = state},
                   .n_moves = n_moves,
                   .n_atoms = n,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    s->w.options.reach = (md_reach){
        .rlist = rlist, .group_radius = md_topology_group_radius(topology), .wrapped = true};
    s->place = base_alloc((size_t)n * sizeof *s->place);
    s->near = base_alloc_zero(n_pairs);
    s->halves = base_alloc(n_pairs);
    s->row = base_alloc((size_t)n * sizeof *s->row);
    s->force = base_alloc((size_t)n * sizeof *s->force);
    double(*x)[3] = base_alloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        md_topology_find(topology, i, &s->place[i]);
        memcpy(x[i], state->x[i], sizeof *x);
        for (int move = 0; move < n_moves; move++) wrapped_move(s, i, move, x[i]);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            double d[3];
            md_box_nearest(&state->box, x[i], x[j], d);
            double apart = sqrt(vec_norm2(d)) - rlist;
            s->near[i * n + j] = apart > 1e-7 ? 0 : apart < -1e-7 ? 2 : 1;
        }
    base_free(x);
    md_state_create(n, &s->start);
    for (int k = 0; k < 9; k++)
        s->start.box.m[k / 3][k % 3] = state->box.m[k / 3][k % 3] / wrapped_shrink;
    for (int64_t i = 0; i < 3 * n; i++)
        s->start.x[i / 3][i % 3] = state->x[i / 3][i % 3] / wrapped_shrink;
    for (int64_t i = 0; i < n; i++) {
        if (s->place[i].atom) continue;
        for (int kind = 0; kind < MD_N_KINDS; kind++) {
            const md_interactions *of = &topology->moltype[s->place[i].moltype].list[kind];
            int width = md_kind_n_atoms((md_kind)kind);
            for (int t = 0; t < of->n; t++) {
                uint64_t hash = wrapped_hash(7, of->param[t]);
                for (int a = 0; a < width; a++)
                    hash = wrapped_hash(hash, i + of->atoms[t * width + a]);
                s->terms[kind] += width * (int64_t)(hash >> 24);
            }
        }
    }
}

static inline void wrapped_destroy(wrapped *s)
{
    md_state_destroy(&s->start);
    base_free(s->place);
    base_free(s->near);
    base_free(s->halves);
    base_free(s->row);
    base_free(s->force);
}

/* ---- what a rank looks at ------------------------------------------------------------------- */

static inline md_device_row wrapped_encode(const md_box *box, const double x[3], float charge)
{
    double fraction[3];
    md_device_row row = {.charge = charge};
    md_box_to_fractional(box, x, fraction);
    for (int k = 0; k < 3; k++) row.s[k] = (int)(uint32_t)(int64_t)llrint(fraction[k] * 0x1p32);
    return row;
}

static inline double wrapped_distance2(const md_box *box, const md_device_row *a,
                                       const md_device_row *b)
{
    double fraction[3], d[3];
    for (int k = 0; k < 3; k++)
        fraction[k] = (int)((uint32_t)a->s[k] - (uint32_t)b->s[k]) * 0x1p-32;
    md_box_from_fractional(box, fraction, d);
    return vec_norm2(d);
}

/* Owners' rows to all, through both routes; returns them. */
static inline md_device_row *wrapped_forward(wrapped *s, md_domain *domain, sundog_team *team)
{
    const md_rows *rows = md_domain_rows(domain);
    md_device_row *row = base_alloc((size_t)(rows->n_rows + 1) * sizeof *row);
    for (int i = 0; i < rows->n_owned; i++)
        s->row[rows->gid[i]] = row[i] =
            wrapped_encode(&s->w.state->box, rows->x[i], rows->charge[i]);
    CHECK_OK(sundog_team_barrier(team));
    sundog_exchange_options options = {.struct_size = sizeof options, .deterministic = true};
    for (int route = 0; route < 2; route++) {
        sundog_exchange *exchange;
        sundog_field field = {row, SUNDOG_INT32, 4, false, 0};
        memset(row + rows->n_owned, 0xff, (size_t)(rows->n_rows - rows->n_owned) * sizeof *row);
        options.route = route ? SUNDOG_ROUTE_DIRECT : SUNDOG_ROUTE_STAGED;
        CHECK_OK(sundog_exchange_create(md_domain_plan(domain), &field, 1, &options, &exchange));
        CHECK_OK(sundog_forward_begin(exchange));
        CHECK_OK(sundog_forward_end(exchange));
        for (int i = 0; i < rows->n_rows; i++)
            CHECK(memcmp(&row[i], &s->row[rows->gid[i]], sizeof *row) == 0);
        sundog_exchange_destroy(&exchange);
    }
    return row;
}

static inline void wrapped_see_reverse(wrapped *s, md_domain *domain, sundog_team *team)
{
    md_rows *rows = md_domain_rows(domain);
    sundog_exchange *exchange;
    sundog_field field = {rows->f, SUNDOG_FLOAT32, 3, false, 0};
    pthread_mutex_lock(&s->lock);
    for (int row = 0; row < rows->n_rows; row++) {
        int64_t force = (row * 7 + sundog_team_rank(team) * 13) % 1000;
        for (int k = 0; k < 3; k++) rows->f[row][k] = (float)(force * (k + 1));
        s->force[rows->gid[row]] += force;
    }
    pthread_mutex_unlock(&s->lock);
    CHECK_OK(sundog_exchange_create(md_domain_plan(domain), &field, 1, NULL, &exchange));
    CHECK_OK(sundog_reverse_begin(exchange));
    CHECK_OK(sundog_reverse_end(exchange));
    sundog_exchange_destroy(&exchange);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++)
            CHECK(rows->f[row][k] == (float)(s->force[rows->gid[row]] * (k + 1)));
}

/* One row an atom; zones and places. */
static inline void wrapped_see_rows(const wrapped *s, md_domain *domain, sundog_team *team)
{
    const md_rows *rows = md_domain_rows(domain);
    const md_grid *grid = md_domain_grid(domain);
    const md_box *box = &s->w.state->box;
    int me = sundog_team_rank(team), nz = grid->n[2], ny = grid->n[1];
    const int cell[3] = {me / (ny * nz), me / nz % ny, me % nz};
    int *owner = base_alloc((size_t)(rows->n_rows + 1) * sizeof *owner);
    sundog_idx *at = base_alloc((size_t)(rows->n_rows + 1) * sizeof *at);
    uint8_t *there = base_alloc_zero((size_t)s->n_atoms);
    CHECK_OK(sundog_plan_owners(md_domain_plan(domain), owner, at));
    for (int row = 0; row < rows->n_rows; row++) {
        CHECK(!there[rows->gid[row]]++);
        const int theirs[3] = {owner[row] / (ny * nz), owner[row] / nz % ny, owner[row] % nz};
        double fraction[3];
        md_device_row in_place = wrapped_encode(box, rows->x[row], rows->charge[row]);
        CHECK(wrapped_distance2(box, &in_place, &s->row[rows->gid[row]]) < 1e-16);
        md_box_to_fractional(box, rows->x[row], fraction);
        for (int k = 0; k < 3; k++) {
            CHECK((rows->zone[row] >> k & 1) == (theirs[k] != cell[k]));
            /* in place: in the half of the box on either side of the cell's centre (shell), or
             * above the cell (return); groups may stand out */
            double centre = 0.5 * (rows->cell_lo[k] + rows->cell_hi[k]), half = 0.5;
            double radius = s->w.options.reach.group_radius / md_box_thickness(box, k) + 1e-9;
            if (theirs[k] == cell[k]) half = 0.5 * (rows->cell_hi[k] - rows->cell_lo[k]) + radius;
            if (s->w.options.reach.scheme == MD_SCHEME_RETURN && theirs[k] != cell[k])
                CHECK(fraction[k] >= rows->cell_hi[k] - radius && fraction[k] < centre + 1);
            else
                CHECK(fabs(fraction[k] - centre) <= half + radius);
        }
    }
    base_free(there);
    base_free(at);
    base_free(owner);
}

static inline bool wrapped_excluded(const wrapped *s, int64_t a, int64_t b)
{
    const md_atom_place *p = &s->place[a];
    if (p->first_atom != s->place[b].first_atom) return false;
    const md_moltype *m = &s->w.topology->moltype[p->moltype];
    for (int e = m->exclusion_start[p->atom]; e < m->exclusion_start[p->atom + 1]; e++)
        if (p->first_atom + m->exclusion[e] == b) return true;
    return false;
}

static inline bool wrapped_listed(const md_rows *rows, int i, int j)
{
    for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
        if (rows->exclusion[e] == j) return true;
    return false;
}

static inline int wrapped_weight(const md_rows *rows, int i, int j)
{
    if (rows->scheme == MD_SCHEME_RETURN) return rows->zone[i] & rows->zone[j] ? 0 : 2;
    return (rows->zone[i] == 0) + (rows->zone[j] == 0);
}

static inline void wrapped_see_pairs(wrapped *s, const md_rows *rows, const md_device_row *row)
{
    double rlist2 = s->w.options.reach.rlist * s->w.options.reach.rlist;
    bool returns = rows->scheme == MD_SCHEME_RETURN;
    size_t n = 0, capacity = 0;
    struct {
        int32_t i, j, weight;
    } *found = NULL;
    for (int i = 0; i < (returns ? rows->n_rows : rows->n_owned); i++)
        for (int j = i + 1; j < rows->n_rows; j++) {
            int weight = wrapped_weight(rows, i, j);
            if (weight == 0 || wrapped_distance2(&s->w.state->box, &row[i], &row[j]) > rlist2)
                continue;
            BASE_RESERVE(found, capacity, n + 1);
            found[n].i = (int32_t)rows->gid[i];
            found[n].j = (int32_t)rows->gid[j];
            found[n++].weight = weight;
            bool excluded = wrapped_excluded(s, rows->gid[i], rows->gid[j]);
            CHECK(wrapped_listed(rows, i, j) == excluded);
            CHECK(wrapped_listed(rows, j, i) == excluded);
        }
    for (int i = 0; i < rows->n_rows; i++)
        for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++) {
            int j = rows->exclusion[e];
            CHECK(j >= 0 && j < rows->n_rows && j != i && wrapped_listed(rows, j, i));
            CHECK(wrapped_excluded(s, rows->gid[i], rows->gid[j]));
            CHECK(wrapped_weight(rows, i, j) > 0);
        }
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; k < n; k++) {
        int64_t i = found[k].i, j = found[k].j;
        s->halves[i < j ? i * s->n_atoms + j : j * s->n_atoms + i] += (uint8_t)found[k].weight;
    }
    pthread_mutex_unlock(&s->lock);
    base_free(found);
}

static inline void wrapped_see_terms(wrapped *s, const md_rows *rows, const md_device_row *row)
{
    const md_box *box = &s->w.state->box;
    int64_t sum[MD_N_KINDS] = {0};
    double range = md_box_max_range(box);
    for (int k = 0; k < 3; k++) range = fmin(range, 0.5 * md_box_thickness(box, k));
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_row_interactions *list = &rows->list[kind];
        int width = md_kind_n_atoms((md_kind)kind);
        for (int n = 0; n < list->n; n++) {
            const int *at = list->rows + n * width;
            uint64_t hash = wrapped_hash(7, list->param[n]);
            int n_owned = 0;
            for (int k = 0; k < width; k++) {
                hash = wrapped_hash(hash, rows->gid[at[k]]);
                n_owned += at[k] < rows->n_owned;
                CHECK(wrapped_distance2(box, &row[at[k]], &row[at[0]]) < range * range);
            }
            int share = rows->scheme == MD_SCHEME_RETURN ? width : n_owned;
            CHECK_NEAR(list->weight[n], (double)share / width, 1e-6);
            if (kind == MD_SETTLE || kind == MD_CONSTRAINT) CHECK(n_owned == width);
            sum[kind] += share * (int64_t)(hash >> 24);
        }
    }
    pthread_mutex_lock(&s->lock);
    for (int kind = 0; kind < MD_N_KINDS; kind++) s->seen[kind] += sum[kind];
    s->n_ghosts += rows->n_rows - rows->n_owned;
    pthread_mutex_unlock(&s->lock);
}

static inline void wrapped_look(sundog_team *team, void *context)
{
    wrapped *s = context;
    world start = s->w;
    if (s->n_moves > 0) start.state = &s->start;
    md_domain *domain = world_domain(team, &start);
    md_rows *rows = md_domain_rows(domain);
    if (s->n_moves > 0) {
        const double factor[3] = {wrapped_shrink, wrapped_shrink, wrapped_shrink};
        for (int row = 0; row < rows->n_owned; row++)
            for (int k = 0; k < 3; k++) rows->x[row][k] *= factor[k];
        CHECK_OK(md_domain_stretch(domain, &s->w.state->box, factor));
    }
    for (int move = 0; move < s->n_moves; move++) {
        for (int row = 0; row < rows->n_owned; row++)
            wrapped_move(s, rows->gid[row], move, rows->x[row]);
        CHECK_OK(md_domain_repartition(domain));
    }
    CHECK(md_domain_forward_begin(domain) == SUNDOG_ERR_ARGUMENT);
    md_device_row *row = wrapped_forward(s, domain, team);
    wrapped_see_rows(s, domain, team);
    wrapped_see_pairs(s, rows, row);
    wrapped_see_terms(s, rows, row);
    if (rows->scheme == MD_SCHEME_RETURN) wrapped_see_reverse(s, domain, team);
    if (sundog_team_rank(team) == 0) s->n_pulses = sundog_plan_n_pulses(md_domain_plan(domain));
    base_free(row);
    md_domain_destroy(&domain);
}

/* One grid and scheme; false if it cannot run. relative as md_grid_create has it. */
static inline bool wrapped_run(wrapped *s, const int n[3], const double *const relative[3],
                               md_scheme scheme)
{
    int n_pulses[3], want_pulses = 0;
    md_domain_options *options = &s->w.options;
    options->reach.scheme = scheme;
    CHECK_OK(md_grid_create(n, relative, &options->grid));
    if (md_grid_check(&options->grid, &s->w.state->box, &options->reach) != SUNDOG_OK) {
        CHECK(strstr(sundog_last_error(), "scheme shell"));
        md_grid_destroy(&options->grid);
        return false;
    }
    md_grid_pulses(&options->grid, &s->w.state->box, &options->reach, n_pulses);
    for (int k = 0; k < 3; k++) {
        CHECK((n_pulses[k] == 0) == (n[k] == 1) && n_pulses[k] < n[k]);
        want_pulses += n_pulses[k] * (scheme == MD_SCHEME_SHELL && n[k] > 2 ? 2 : 1);
    }
    memset(s->halves, 0, (size_t)(s->n_atoms * s->n_atoms));
    memset(s->force, 0, (size_t)s->n_atoms * sizeof *s->force);
    memset(s->seen, 0, sizeof s->seen);
    s->n_ghosts = 0;
    world_run(world_n_ranks(&s->w), wrapped_look, s);
    int64_t n_near = 0, n_wrong = 0;
    for (int64_t i = 0; i < s->n_atoms; i++)
        for (int64_t j = i + 1; j < s->n_atoms; j++) {
            int want = s->near[i * s->n_atoms + j], got = s->halves[i * s->n_atoms + j];
            n_near += want == 2;
            if (want == 1 || got == want) continue;
            if (n_wrong++ < 5)
                fprintf(stderr, "pair %lld %lld: %d halves, not %d\n", (long long)i, (long long)j,
                        got, want);
        }
    CHECK(n_wrong == 0 && n_near > s->n_atoms / 4);
    for (int kind = 0; kind < MD_N_KINDS; kind++) CHECK(s->seen[kind] == s->terms[kind]);
    /* radius measured, not by bound: there can be fewer */
    CHECK(s->n_pulses <= want_pulses);
    printf("%s%s %d x %d x %d, %lld pulses: %lld ghosts, %lld pairs\n",
           scheme == MD_SCHEME_RETURN ? "return" : "shell ",
           options->reach.complete ? " all" : "", n[0], n[1], n[2],
           (long long)s->n_pulses, (long long)s->n_ghosts, (long long)n_near);
    if (n[0] * n[1] * n[2] == 1) CHECK(s->n_ghosts == 0 && s->n_pulses == 0);
    if (options->reach.complete) CHECK(s->n_ghosts == (n[0] * n[1] * n[2] - 1) * s->n_atoms);
    md_grid_destroy(&options->grid);
    return true;
}
#endif
