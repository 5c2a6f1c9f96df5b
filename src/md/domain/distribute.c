/* From one place to the domains and back. Both in rounds, so that beside the arrays of the whole
 * system, which are on rank 0 alone, no rank needs more memory than for its own rows and a round.
 *
 * distribute: rank 0 walks through all groups, makes each whole, and sends it to its owner. Serial,
 * some ten nanoseconds a group; that every rank looks at all groups takes as long, and asks for the
 * whole system everywhere.
 * collect: every rank sends its rows with their numbers to rank 0, which puts them in place.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Of all ranks together: some ten megabytes. */
enum { ROUND_ATOMS = 1 << 17, ROUND_BYTES = 1 << 23 };

/* The whole number of box vectors that brings x next to `parent`: zero, so that not a bit changes,
 * when it is there already. */
static void moves_to(const md_box *box, const double parent[3], const double x[3], int moved[3])
{
    double near[3], way[3], s[3];
    md_box_nearest(box, x, parent, near);
    for (int k = 0; k < 3; k++) way[k] = parent[k] + near[k] - x[k];
    md_box_to_fractional(box, way, s);
    for (int k = 0; k < 3; k++) moved[k] = (int)rint(s[k]);
}

static sundog_status no_position(int64_t gid, const double x[3])
{
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "atom %lld starts at (%g, %g, %g) nm, which is no position",
                     (long long)gid + 1, x[0], x[1], x[2]);
}

/* Groups that wait on rank 0 until a round is full. */
typedef struct sender {
    const md_state *state;
    size_t n;
    md_traveller *atom;             /* [n] */
    int *rank;                      /* [n] owner of each */
    size_t capacity_atom, capacity_rank;
    int block;                      /* the molecule that comes next */
    int64_t molecule;
} sender;

/* One group, whole, with the reference atom moved into the box. */
static sundog_status put_group(md_domain *domain, sender *out, const int *group, int64_t first_atom)
{
    const md_state *state = out->state;
    const md_site *sites = domain->sites.site;
    int size = sites[*group].group_size, moved[3], rank;
    int64_t reference = first_atom + sites[*group].atom;
    if (!md_group_owner(domain, state->x[reference], moved, &rank))
        return no_position(reference, state->x[reference]);
    BASE_RESERVE(out->atom, out->capacity_atom, out->n + (size_t)size);
    BASE_RESERVE(out->rank, out->capacity_rank, out->n + (size_t)size);
    md_traveller *begin = out->atom + out->n;
    for (int a = 0; a < size; a++) {
        const md_site *site = &sites[group[a]];
        md_traveller *to = begin + a;
        int whole[3] = {moved[0], moved[1], moved[2]};
        *to = (md_traveller){.gid = first_atom + site->atom, .site = group[a]};
        memcpy(to->x, state->x[to->gid], sizeof to->x);
        for (int k = 0; k < 3; k++)
            if (!(fabs(to->x[k]) < 1e6)) return no_position(to->gid, to->x);
        if (a > 0) moves_to(&domain->box, begin[site->parent].x, to->x, whole);
        md_group_move(&domain->box, whole, to->x);
        if (state->has_velocities) memcpy(to->v, state->v[to->gid], sizeof to->v);
        out->rank[out->n++] = rank;
    }
    return SUNDOG_OK;
}

static sundog_status put_molecule(md_domain *domain, sender *out, int moltype, int64_t first_atom)
{
    const md_sites *sites = &domain->sites;
    const int *group = sites->group_site + sites->first[moltype];
    const int *end = group + domain->topology->moltype[moltype].n_atoms;
    for (; group < end; group += sites->site[*group].group_size)
        BASE_TRY(put_group(domain, out, group, first_atom));
    return SUNDOG_OK;
}

/* Molecules until the round is full; *more: that was not all. */
static sundog_status fill_round(md_domain *domain, sender *out, bool *more)
{
    const md_topology *topology = domain->topology;
    if (out->state->n_atoms != topology->n_atoms)
        return base_fail(SUNDOG_ERR_INPUT, "the configuration has %lld atoms, the topology %lld",
                         (long long)out->state->n_atoms, (long long)topology->n_atoms);
    for (out->n = 0; out->block < topology->n_molblocks; out->block++, out->molecule = 0) {
        const md_molblock *block = &topology->molblock[out->block];
        int n_atoms = topology->moltype[block->moltype].n_atoms;
        for (; out->molecule < block->count; out->molecule++) {
            *more = true;
            if (out->n >= ROUND_ATOMS) return SUNDOG_OK;
            BASE_TRY(put_molecule(domain, out, block->moltype,
                                  block->first_atom + out->molecule * n_atoms));
        }
    }
    *more = false;
    return SUNDOG_OK;
}

/* The round's atoms into `leaving`, by owner; offset [n_ranks + 1] in bytes, with one entry more
 * for the cursors. */
static void sort_round(md_domain *domain, const sender *out, size_t *offset)
{
    size_t *cursor = offset + 1;
    memset(offset, 0, ((size_t)domain->n_ranks + 2) * sizeof *offset);
    BASE_RESERVE(domain->leaving, domain->capacity_leaving, out->n + 1);
    for (size_t k = 0; k < out->n; k++) cursor[out->rank[k] + 1]++;
    for (int r = 0; r < domain->n_ranks; r++) cursor[r + 1] += cursor[r];
    for (size_t k = 0; k < out->n; k++) domain->leaving[cursor[out->rank[k]]++] = out->atom[k];
    for (int r = 0; r <= domain->n_ranks; r++) offset[r] *= sizeof(md_traveller);
}

static void take_arrived(md_domain *domain, size_t n)
{
    md_rows *rows = &domain->rows;
    int row = rows->n_owned;
    md_rows_reserve(rows, (size_t)row + n);
    BASE_RESERVE(domain->info, domain->capacity_info, (size_t)row + n);
    for (size_t k = 0; k < n; k++, row++) {
        const md_traveller *from = &domain->arrived[k];
        memcpy(rows->x[row], from->x, sizeof *rows->x);
        memcpy(rows->v[row], from->v, sizeof *rows->v);
        rows->gid[row] = from->gid;
        domain->info[row] = (md_row_info){(int32_t)from->site, MD_HOPS_HERE, 0};
    }
    rows->n_owned = rows->n_rows = row;
}

static sundog_status send_round(md_domain *domain, const sender *out)
{
    size_t n_ranks = (size_t)domain->n_ranks;
    size_t *offset = base_alloc(2 * (n_ranks + 2) * sizeof *offset);
    size_t *received = offset + n_ranks + 2;
    sort_round(domain, out, offset);
    sundog_status status = sundog_team_alltoall_sizes(domain->team, offset, received);
    if (status == SUNDOG_OK) {
        BASE_RESERVE(domain->arrived, domain->capacity_arrived,
                     received[n_ranks] / sizeof(md_traveller) + 1);
        status = sundog_team_alltoall(domain->team, domain->leaving, offset, domain->arrived,
                                      received);
    }
    if (status == SUNDOG_OK) take_arrived(domain, received[n_ranks] / sizeof(md_traveller));
    base_free(offset);
    return status;
}

sundog_status md_domain_distribute(md_domain *domain, const md_state *state)
{
    sender out = {.state = state};
    sundog_status status = SUNDOG_OK;
    domain->rows.n_owned = domain->rows.n_rows = 0;
    for (double another = 1; status == SUNDOG_OK && another > 0;) {
        bool more = false;
        if (domain->rank == 0) status = fill_round(domain, &out, &more);
        another = more;
        status = md_domain_agree(domain, status, &another);
        if (status == SUNDOG_OK) status = send_round(domain, &out);
    }
    base_free(out.atom);
    base_free(out.rank);
    BASE_TRY(status);
    return md_domain_repartition(domain);
}

/* ---- collect -------------------------------------------------------------------------------- */

static size_t record_bytes(const bool want[3])
{
    return sizeof(int64_t) + (want[0] ? sizeof(double[3]) : 0) + (want[1] ? sizeof(double[3]) : 0) +
           (want[2] ? sizeof(float[3]) : 0);
}

static void pack_records(const md_rows *rows, int begin, int end, const bool want[3], char *to)
{
    for (int row = begin; row < end; row++) {
        memcpy(to, &rows->gid[row], sizeof *rows->gid);
        to += sizeof *rows->gid;
        if (want[0]) memcpy(to, rows->x[row], sizeof *rows->x), to += sizeof *rows->x;
        if (want[1]) memcpy(to, rows->v[row], sizeof *rows->v), to += sizeof *rows->v;
        if (want[2]) memcpy(to, rows->f[row], sizeof *rows->f), to += sizeof *rows->f;
    }
}

static void unpack_records(const char *from, size_t n, const bool want[3], double (*x)[3],
                           double (*v)[3], float (*f)[3])
{
    for (size_t k = 0; k < n; k++) {
        int64_t gid;
        memcpy(&gid, from, sizeof gid);
        from += sizeof gid;
        if (want[0] && x) memcpy(x[gid], from, sizeof *x);
        if (want[0]) from += sizeof *x;
        if (want[1] && v) memcpy(v[gid], from, sizeof *v);
        if (want[1]) from += sizeof *v;
        if (want[2] && f) memcpy(f[gid], from, sizeof *f);
        if (want[2]) from += sizeof *f;
    }
}

/* Scratch of one round: what this rank sends, what rank 0 receives. */
typedef struct round_trip {
    char *send, *recv;
    size_t capacity_recv;
    size_t *offset, *received;      /* [n_ranks + 1] both */
} round_trip;

static sundog_status collect_round(md_domain *domain, int begin, int end, const bool want[3],
                                   round_trip *trip, size_t *n_records)
{
    size_t n_ranks = (size_t)domain->n_ranks, bytes = record_bytes(want);
    pack_records(&domain->rows, begin, end, want, trip->send);
    trip->offset[0] = 0;
    for (size_t r = 1; r <= n_ranks; r++) trip->offset[r] = (size_t)(end - begin) * bytes;
    BASE_TRY(sundog_team_alltoall_sizes(domain->team, trip->offset, trip->received));
    BASE_RESERVE(trip->recv, trip->capacity_recv, trip->received[n_ranks] + 1);
    *n_records = trip->received[n_ranks] / bytes;
    return sundog_team_alltoall(domain->team, trip->send, trip->offset, trip->recv,
                                trip->received);
}

sundog_status md_domain_collect(md_domain *domain, const bool want[3], double (*x)[3],
                                double (*v)[3], float (*f)[3])
{
    const int n_owned = domain->rows.n_owned;
    const size_t n_ranks = (size_t)domain->n_ranks, bytes = record_bytes(want);
    const int n_rows = (int)(ROUND_BYTES / bytes / n_ranks) + 1;        /* of a rank and round */
    double n_rounds = ceil((double)n_owned / n_rows);
    BASE_TRY(sundog_team_max_double(domain->team, &n_rounds, 1));
    round_trip trip = {.send = base_alloc((size_t)n_rows * bytes),
                       .offset = base_alloc(2 * (n_ranks + 1) * sizeof *trip.offset)};
    trip.received = trip.offset + n_ranks + 1;
    sundog_status status = SUNDOG_OK;
    int begin = 0;
    for (double round = 0; status == SUNDOG_OK && round < n_rounds; round++) {
        int end = n_owned - begin > n_rows ? begin + n_rows : n_owned;
        size_t n_records = 0;
        status = collect_round(domain, begin, end, want, &trip, &n_records);
        if (status == SUNDOG_OK) unpack_records(trip.recv, n_records, want, x, v, f);
        begin = end;
    }
    base_free(trip.recv);
    base_free(trip.send);
    base_free(trip.offset);
    return status;
}
