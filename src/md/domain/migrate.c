/* Migration: every group goes to the owner of the cell that its reference atom is in, wherever that
 * is (a group that flew across three cells arrives like any other), as records of position,
 * velocity and number through one all-to-all. Positions are wrapped here and nowhere else, by whole
 * groups.
 *
 * Broken runs are found here: positions that are not finite, groups torn apart.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"
#include "md/core/atom_text.h"
#include "md/core/vec.h"

#include <math.h>
#include <string.h>

bool md_group_owner(const md_domain *domain, const double x[3], int moved[3], int *rank)
{
    double s[3];
    int cell[3];
    md_box_to_fractional(&domain->box, x, s);
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        if (!(fabs(s[k]) < 1e6)) return false;  /* NaN too */
        inside = inside && s[k] >= 0 && s[k] < 1;
        moved[k] = 0;
    }
    if (!inside) {
        double wrapped[3] = {x[0], x[1], x[2]}, stored[3] = {x[0], x[1], x[2]};
        md_box_wrap(&domain->box, wrapped, moved);
        md_group_move(&domain->box, moved, stored);
        md_box_to_fractional(&domain->box, stored, s);
    }
    for (int k = 0; k < 3; k++) cell[k] = md_grid_find(&domain->grid, k, s[k]);
    *rank = md_grid_rank(&domain->grid, cell);
    return true;
}

/* Largest distance of an atom of a group to its reference, squared; NaN when one is not finite. */
static double group_radius2(const double (*x)[3], int size)
{
    double most = 0;
    for (int a = 1; a < size; a++) {
        double d[3];
        vec_sub(x[a], x[0], d);
        double norm2 = vec_norm2(d);
        if (!(norm2 <= most)) most = norm2;
        if (most != most) break;
    }
    return most;
}

static sundog_status lost_atom(const md_domain *domain, int row, int size)
{
    const md_rows *rows = &domain->rows;
    char text[MD_ATOM_TEXT];
    for (int last = row + size - 1; row < last; row++)
        if (!isfinite(rows->x[row][0] + rows->x[row][1] + rows->x[row][2])) break;
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "%s is lost: its position is (%g, %g, %g) nm; the system has blown up "
                     "(bad start, too large a time step or wrong parameters)",
                     md_atom_text(domain->topology, rows->gid[row], text), rows->x[row][0],
                     rows->x[row][1], rows->x[row][2]);
}

static sundog_status broken_group(const md_domain *domain, int row, double radius)
{
    const double *x = domain->rows.x[row];
    char text[MD_ATOM_TEXT];
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "the constrained atoms around %s at (%.4f, %.4f, %.4f) nm are %.4g nm apart, "
                     "at most %.4g nm is possible: constraints are broken",
                     md_atom_text(domain->topology, domain->rows.gid[row], text), x[0], x[1], x[2],
                     radius, domain->reach.group_radius);
}

/* How far an atom may be from its reference before the run must be considered broken: the bound by
 * constraint lengths, with room for a start from rounded or not yet constrained positions. */
static double radius_limit(const md_domain *domain)
{
    return 1.25 * domain->reach.group_radius + 0.05;
}

/* Wrap all groups, find their owners (destination, by group) and the largest radius. */
static sundog_status assign(md_domain *domain, size_t *n_groups, double *radius)
{
    md_rows *rows = &domain->rows;
    double most = 0;
    size_t g = 0;
    BASE_RESERVE(domain->destination, domain->capacity_destination, rows->n_owned + 1);
    for (int row = 0, size; row < rows->n_owned; row += size, g++) {
        int moved[3];
        size = domain->sites.site[domain->info[row].site].group_size;
        if (!md_group_owner(domain, rows->x[row], moved, &domain->destination[g]))
            return lost_atom(domain, row, size);
        if (moved[0] | moved[1] | moved[2])
            for (int a = row; a < row + size; a++) md_group_move(&domain->box, moved, rows->x[a]);
        if (size == 1) continue;
        double radius2 = group_radius2((const double(*)[3])rows->x + row, size);
        if (!isfinite(radius2)) return lost_atom(domain, row, size);
        if (radius2 <= most) continue;
        most = radius2;
        if (sqrt(most) > radius_limit(domain))
            return broken_group(domain, row, sqrt(most));
    }
    *n_groups = g;
    *radius = sqrt(most);
    return SUNDOG_OK;
}

/* Leavers into `leaving`, sorted by destination (offset [n_ranks + 1], in atoms); stayers into
 * key. offset has one entry more, for the cursors. */
static size_t pack(md_domain *domain, size_t n_groups, size_t *offset)
{
    const md_rows *rows = &domain->rows;
    size_t n_keys = 0, *cursor = offset + 1;
    memset(offset, 0, ((size_t)domain->n_ranks + 2) * sizeof *offset);
    for (int pass = 0; pass < 2; pass++) {
        int row = 0;
        for (size_t g = 0; g < n_groups; g++) {
            int size = domain->sites.site[domain->info[row].site].group_size;
            int rank = domain->destination[g];
            if (rank == domain->rank) {
                if (pass == 0)
                    domain->key[n_keys++] = (md_group_key){
                        md_order_key(domain, rows->x[row], rows->gid[row]), row, size};
            } else if (pass == 0) {
                cursor[rank + 1] += (size_t)size;
            } else {
                for (int a = row; a < row + size; a++) {
                    md_traveller *to = &domain->leaving[cursor[rank]++];
                    memcpy(to->x, rows->x[a], sizeof to->x);
                    memcpy(to->v, rows->v[a], sizeof to->v);
                    to->gid = rows->gid[a];
                    to->site = domain->info[a].site;
                }
            }
            row += size;
        }
        if (pass == 1) break;
        for (int r = 0; r < domain->n_ranks; r++) cursor[r + 1] += cursor[r];
        BASE_RESERVE(domain->leaving, domain->capacity_leaving, cursor[domain->n_ranks] + 1);
    }
    return n_keys;
}

static void reserve_keys(md_domain *domain, size_t n)
{
    size_t capacity = domain->capacity_key;
    BASE_RESERVE(domain->key2, capacity, n);
    BASE_RESERVE(domain->key, domain->capacity_key, n);
}

sundog_status md_migrate(md_domain *domain, size_t *n_groups)
{
    size_t n_ranks = (size_t)domain->n_ranks, n = 0;
    double radius = 0;
    sundog_status status = assign(domain, &n, &radius);
    BASE_TRY(md_domain_agree(domain, status, &radius));
    domain->radius = radius;

    /* offset: two cursors of n_ranks + 2 entries, sending and receiving */
    size_t *offset = base_alloc_zero(2 * (n_ranks + 2) * sizeof *offset);
    size_t *received = offset + n_ranks + 2;
    reserve_keys(domain, n + 1);
    size_t n_keys = pack(domain, n, offset);
    for (size_t r = 0; r <= n_ranks; r++) offset[r] *= sizeof(md_traveller);
    status = sundog_team_alltoall_sizes(domain->team, offset, received);
    if (status == SUNDOG_OK) {
        BASE_RESERVE(domain->arrived, domain->capacity_arrived,
                     received[n_ranks] / sizeof(md_traveller) + 1);
        status = sundog_team_alltoall(domain->team, domain->leaving, offset, domain->arrived,
                                      received);
    }
    size_t n_arrived = received[n_ranks] / sizeof(md_traveller);
    base_free(offset);
    BASE_TRY(status);

    reserve_keys(domain, n_keys + n_arrived + 1);
    for (size_t a = 0; a < n_arrived;) {
        const md_traveller *reference = &domain->arrived[a];
        int size = domain->sites.site[reference->site].group_size;
        domain->key[n_keys++] = (md_group_key){
            md_order_key(domain, reference->x, reference->gid), ~(int32_t)a, size};
        a += (size_t)size;
    }
    *n_groups = n_keys;
    return SUNDOG_OK;
}
