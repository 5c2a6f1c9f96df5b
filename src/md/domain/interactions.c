/* Interactions as rows: which domain computes a term, and where its atoms stand there.
 *
 * Every row is tried as the first atom of its terms; the other atoms are their images nearest to
 * it. An image closer than half the box's shortest period is the nearest there is, whatever other
 * images are present; if none is that close, the nearest is not here and the term is not ours.
 * Wrapped rows (domain.h): an atom has one row, whose x is that of any image along `folded` axes,
 * so distances are folded along those. In scheme return the image along cut axes is the one in
 * place, which is what makes a term ours or not.
 *
 *   scheme return  ours if, along every axis, some atom is in this domain's own cell (AND of the
 *                  zone bits is 0). Ghosts come from + only, so that is the lowest cell along every
 *                  axis that the term touches: one domain, one image.
 *   scheme shell   ours if any atom is owned; weight = owned atoms / atoms.
 *
 * Groups are owned whole, and rows of a group stand together in a fixed order, so partners within
 * the group of an owned row need no search, and terms within a group are never those of ghosts
 * (whose zones are equal, hence the AND is not 0). Molecules of a single group, water above all,
 * are thus done without any search. Rows of other molecules go into a map by global atom number.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"
#include "md/core/vec.h"

#include <string.h>

/* ---- rows by global atom -------------------------------------------------------------------- */

/* A table of all atoms is fastest, as long as this domain has a fair share of them. */
enum { MOST_ATOMS_PER_ROW = 16 };

/* Runs of sixteen atoms stay together, so that a molecule is found in few cache lines. */
static size_t slot_of(const md_row_map *map, int64_t gid)
{
    uint64_t run = ((uint64_t)gid >> 4) * 0x9E3779B97F4A7C15u >> 32;
    size_t slot = (size_t)(run << 4 | ((uint64_t)gid & 15)) & (map->n_slots - 1);
    while (map->slot[slot].row >= 0 && map->slot[slot].gid != gid)
        slot = (slot + 1) & (map->n_slots - 1);
    return slot;
}

static void clear(md_domain *domain, size_t n)
{
    md_row_map *map = &domain->map;
    size_t n_atoms = (size_t)domain->topology->n_atoms;
    map->is_table = n_atoms <= MOST_ATOMS_PER_ROW * (size_t)domain->rows.n_rows;
    BASE_RESERVE(map->next, map->capacity_next, domain->rows.n_rows + 1);
    if (map->is_table) {
        BASE_RESERVE(map->table, map->capacity_table, n_atoms + 1);
        memset(map->table, 0xff, n_atoms * sizeof *map->table);     /* -1 */
        return;
    }
    map->n_slots = 16;
    while (map->n_slots < 2 * n) map->n_slots *= 2;
    BASE_RESERVE(map->slot, map->capacity_slot, map->n_slots);
    for (size_t slot = 0; slot < map->n_slots; slot++) map->slot[slot].row = -1;
}

static void map_fill(md_domain *domain)
{
    md_row_map *map = &domain->map;
    const md_rows *rows = &domain->rows;
    size_t n = 0;
    for (int row = 0; row < rows->n_rows; row++)
        n += domain->sites.site[domain->info[row].site].spans;
    if (n == 0) return;         /* and nobody will look */
    clear(domain, n);
    for (int row = 0; row < rows->n_rows; row++) {
        if (!domain->sites.site[domain->info[row].site].spans) continue;
        int32_t *first;
        if (map->is_table) {
            first = &map->table[rows->gid[row]];
        } else {
            size_t slot = slot_of(map, rows->gid[row]);
            map->slot[slot].gid = rows->gid[row];
            first = &map->slot[slot].row;
        }
        map->next[row] = *first;
        *first = row;
    }
}

static int first_image(const md_row_map *map, int64_t gid)
{
    return map->is_table ? map->table[gid] : map->slot[slot_of(map, gid)].row;
}

/* rint() for |x| < 2^51 without a call. */
static inline double whole(double x)
{
    const double shift = 0x1.8p52;
    return (x + shift) - shift;
}

/* Squared length of d after folding it to the nearest images along `axes`. */
static double folded2(const md_box *box, unsigned axes, double d[3])
{
    double s[3];
    md_box_to_fractional(box, d, s);
    for (int axis = 0; axis < 3; axis++)
        for (int k = 0; axes >> axis & 1 && k <= axis; k++)
            d[k] -= whole(s[axis]) * box->m[axis][k];
    return vec_norm2(d);
}

/* Row of the image of `gid` nearest to `row`; -1 if that image is not here. */
static int nearest_image(const md_domain *domain, int row, int64_t gid)
{
    const md_row_map *map = &domain->map;
    const double(*x)[3] = (const double(*)[3])domain->rows.x;
    for (int image = first_image(map, gid); image >= 0; image = map->next[image]) {
        double d[3];
        vec_sub(x[image], x[row], d);
        if (vec_norm2(d) < domain->limit2) return image;
        if (domain->folded && folded2(&domain->box, domain->folded, d) < domain->limit2)
            return image;
    }
    return -1;
}

/* ---- terms ---------------------------------------------------------------------------------- */

static inline void add_row_interaction(md_row_interactions *list, int width, const int *atoms,
                                       int param, float weight)
{
    size_t n = (size_t)list->n, w = (size_t)width;
    if (n == list->capacity_param || n == list->capacity_weight ||
        (n + 1) * w > list->capacity_rows) {
        BASE_RESERVE(list->rows, list->capacity_rows, (n + 1) * w);
        BASE_RESERVE(list->param, list->capacity_param, n + 1);
        BASE_RESERVE(list->weight, list->capacity_weight, n + 1);
    }
    for (size_t k = 0; k < w; k++) list->rows[n * w + k] = atoms[k];
    list->param[n] = param;
    list->weight[n] = weight;
    list->n++;
}

static void record_term(md_domain *domain, int row, const md_site *site, const md_term *term,
                        int weight)
{
    md_term_record *record = &domain->record;
    if (record->kind != (int)term->kind) return;
    BASE_RESERVE(record->seen, record->capacity, record->n + 1);
    record->seen[record->n++] = (struct md_term_seen){
        md_term_number(domain->topology, term->kind, domain->rows.gid[row] - site->atom,
                       term->index),
        weight};
}

static void add_terms(md_domain *domain, int row, const md_site *site, const int *partner_row)
{
    md_rows *rows = &domain->rows;
    const md_term *term = domain->sites.term + site->term;
    int first = rows->zone[row] ? site->n_terms_within : 0;
    for (int t = first; t < site->n_terms; t++) {
        int atoms[MD_MAX_KIND_ATOMS] = {row}, n_others = term[t].n_others;
        unsigned common = rows->zone[row];
        int n_owned = common == 0, k;
        for (k = 0; k < n_others; k++) {
            int other = partner_row[term[t].partner[k]];
            if (other < 0) break;
            atoms[k + 1] = other;
            common &= rows->zone[other];
            n_owned += rows->zone[other] == 0;
        }
        if (k < n_others) continue;
        bool alone = rows->scheme == MD_SCHEME_RETURN;
        if (alone ? common != 0 : n_owned == 0) continue;
        add_row_interaction(&rows->list[term[t].kind], n_others + 1, atoms, term[t].param,
                            alone ? 1.0f : (float)n_owned / (float)(n_others + 1));
        if (domain->record.kind >= 0)
            record_term(domain, row, site, &term[t], alone ? n_others + 1 : n_owned);
    }
}

/* ---- exclusions ----------------------------------------------------------------------------- */

static int add_exclusions(md_domain *domain, int row, const md_site *site, const int *partner_row,
                          int n)
{
    md_rows *rows = &domain->rows;
    const int *exclusion = domain->sites.exclusion + site->exclusion;
    unsigned zone = rows->zone[row];
    for (int e = 0; e < site->n_exclusions; e++) {
        int other = partner_row[exclusion[e]];
        if (other < 0) continue;
        unsigned other_zone = rows->zone[other];
        bool paired = rows->scheme == MD_SCHEME_RETURN ? (zone & other_zone) == 0
                                                       : zone == 0 || other_zone == 0;
        if (paired) rows->exclusion[n++] = other;
    }
    return n;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* An owned row of a molecule of a single group: all partners are there, at known distances in
 * rows. */
static int add_whole(md_domain *domain, int row, const md_site *site, int n_exclusions)
{
    md_rows *rows = &domain->rows;
    const md_partner *partner = domain->sites.partner + site->partner;
    const md_term *term = domain->sites.term + site->term;
    const int *exclusion = domain->sites.exclusion + site->exclusion;
    for (int t = 0; t < site->n_terms; t++) {
        int atoms[MD_MAX_KIND_ATOMS] = {row}, width = term[t].n_others + 1;
        for (int k = 1; k < width; k++)
            atoms[k] = row + partner[term[t].partner[k - 1]].row_delta;
        add_row_interaction(&rows->list[term[t].kind], width, atoms, term[t].param, 1.0f);
        if (domain->record.kind >= 0) record_term(domain, row, site, &term[t], width);
    }
    for (int e = 0; e < site->n_exclusions; e++)
        rows->exclusion[n_exclusions + e] = row + partner[exclusion[e]].row_delta;
    return n_exclusions + site->n_exclusions;
}

static int add_row(md_domain *domain, int row, const md_site *site, int n_exclusions)
{
    const md_partner *partner = domain->sites.partner + site->partner;
    int *partner_row = domain->partner_row, n_owned = domain->rows.n_owned;
    int64_t gid = domain->rows.gid[row];
    bool owned = row < n_owned, near = owned || domain->rows.scheme == MD_SCHEME_RETURN;
    for (int p = 0; p < site->n_partners; p++) {
        partner_row[p] = owned && partner[p].same_group
                             ? row + partner[p].row_delta
                             : nearest_image(domain, row, gid + partner[p].gid_delta);
        near |= partner_row[p] >= 0 && partner_row[p] < n_owned;
    }
    if (!near) return n_exclusions;     /* a ghost among ghosts has nothing to do in scheme shell */
    add_terms(domain, row, site, partner_row);
    return add_exclusions(domain, row, site, partner_row, n_exclusions);
}

void md_interactions_build(md_domain *domain)
{
    md_rows *rows = &domain->rows;
    const md_sites *sites = &domain->sites;
    int n = 0;
    map_fill(domain);
    for (int kind = 0; kind < MD_N_KINDS; kind++) rows->list[kind].n = 0;
    BASE_RESERVE(rows->exclusion_start, rows->capacity_exclusion_start, rows->n_rows + 1);
    BASE_RESERVE(domain->partner_row, domain->capacity_partner_row, sites->max_partners + 1);
    for (int row = 0; row < rows->n_rows; row++) {
        const md_site *site = &sites->site[domain->info[row].site];
        rows->exclusion_start[row] = n;
        if ((size_t)(n + site->n_exclusions) > rows->capacity_exclusion)
            BASE_RESERVE(rows->exclusion, rows->capacity_exclusion, n + site->n_exclusions);
        if (site->spans)
            n = add_row(domain, row, site, n);
        else if (row < rows->n_owned)
            n = add_whole(domain, row, site, n);
    }
    rows->exclusion_start[rows->n_rows] = n;
}
