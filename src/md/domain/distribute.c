/* From one place to the domains and back.
 *
 * distribute: every rank looks at the reference atom of every group and takes the groups that are
 * its own, so nothing is sent; a look is some ten nanoseconds. Groups are made whole on the way.
 * collect: every rank sends its rows with their numbers to rank 0, which puts them in place.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

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

/* One group into new rows; whole, with the reference atom moved into the box. */
static sundog_status take_group(md_domain *domain, const md_state *state, const int *group,
                                int64_t first_atom, const int moved[3])
{
    md_rows *rows = &domain->rows;
    const md_site *sites = domain->sites.site;
    int begin = rows->n_owned, size = sites[*group].group_size;
    md_rows_reserve(rows, (size_t)(begin + size));
    BASE_RESERVE(domain->info, domain->capacity_info, begin + size);
    for (int a = 0; a < size; a++) {
        const md_site *site = &sites[group[a]];
        int row = begin + a, whole[3] = {moved[0], moved[1], moved[2]};
        int64_t gid = first_atom + site->atom;
        memcpy(rows->x[row], state->x[gid], sizeof *rows->x);
        for (int k = 0; k < 3; k++)
            if (!(fabs(rows->x[row][k]) < 1e6)) return no_position(gid, rows->x[row]);
        if (a > 0) moves_to(&domain->box, rows->x[begin + site->parent], rows->x[row], whole);
        md_group_move(&domain->box, whole, rows->x[row]);
        if (state->has_velocities)
            memcpy(rows->v[row], state->v[gid], sizeof *rows->v);
        else
            memset(rows->v[row], 0, sizeof *rows->v);
        rows->gid[row] = gid;
        domain->info[row] = (md_row_info){group[a], MD_HOPS_HERE, 0};
    }
    rows->n_owned = rows->n_rows = begin + size;
    return SUNDOG_OK;
}

static sundog_status take_molecule(md_domain *domain, const md_state *state, int moltype,
                                   int64_t first_atom)
{
    const md_sites *sites = &domain->sites;
    const int *group = sites->group_site + sites->first[moltype];
    const int *end = group + domain->topology->moltype[moltype].n_atoms;
    for (; group < end; group += sites->site[*group].group_size) {
        int64_t gid = first_atom + sites->site[*group].atom;
        int moved[3], rank;
        if (!md_group_owner(domain, state->x[gid], moved, &rank))
            return no_position(gid, state->x[gid]);
        if (rank == domain->rank)
            BASE_TRY(take_group(domain, state, group, first_atom, moved));
    }
    return SUNDOG_OK;
}

static sundog_status take_all(md_domain *domain, const md_state *state)
{
    const md_topology *topology = domain->topology;
    if (state->n_atoms != topology->n_atoms)
        return base_fail(SUNDOG_ERR_INPUT, "the configuration has %lld atoms, the topology %lld",
                         (long long)state->n_atoms, (long long)topology->n_atoms);
    domain->rows.n_owned = domain->rows.n_rows = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        int n_atoms = topology->moltype[block->moltype].n_atoms;
        for (int m = 0; m < block->count; m++)
            BASE_TRY(take_molecule(domain, state, block->moltype,
                                   block->first_atom + (int64_t)m * n_atoms));
    }
    return SUNDOG_OK;
}

sundog_status md_domain_distribute(md_domain *domain, const md_state *state)
{
    double unused = 0;
    sundog_status status = take_all(domain, state);
    BASE_TRY(md_domain_agree(domain, status, &unused));
    return md_domain_repartition(domain);
}

/* ---- collect -------------------------------------------------------------------------------- */

static size_t record_bytes(const bool want[3])
{
    return sizeof(int64_t) + (want[0] ? sizeof(double[3]) : 0) + (want[1] ? sizeof(double[3]) : 0) +
           (want[2] ? sizeof(float[3]) : 0);
}

static void pack_records(const md_rows *rows, const bool want[3], char *to)
{
    for (int row = 0; row < rows->n_owned; row++) {
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

sundog_status md_domain_collect(md_domain *domain, const bool want[3], double (*x)[3],
                                double (*v)[3], float (*f)[3])
{
    size_t n_ranks = (size_t)domain->n_ranks, bytes = record_bytes(want);
    size_t n_send = (size_t)domain->rows.n_owned * bytes;
    size_t *offset = base_alloc(2 * (n_ranks + 1) * sizeof *offset);
    size_t *received = offset + n_ranks + 1;
    char *send = base_alloc(n_send + 1), *recv = NULL;
    pack_records(&domain->rows, want, send);
    offset[0] = 0;
    for (size_t r = 1; r <= n_ranks; r++) offset[r] = n_send;
    sundog_status status = sundog_team_alltoall_sizes(domain->team, offset, received);
    if (status == SUNDOG_OK) {
        recv = base_alloc(received[n_ranks] + 1);
        status = sundog_team_alltoall(domain->team, send, offset, recv, received);
    }
    if (status == SUNDOG_OK) unpack_records(recv, received[n_ranks] / bytes, want, x, v, f);
    base_free(recv);
    base_free(send);
    base_free(offset);
    return status;
}
