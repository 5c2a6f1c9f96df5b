/* The canonical order of owned rows: groups along a Morton curve of the whole box by the place of
 * their reference atom, then by global atom number. It depends on positions and numbers alone, not
 * on where the group was before, so that a run that starts from a checkpoint has the same rows in
 * the same order. Bins of about 0.15 nm: neighbours in space are close in memory, and a finer curve
 * would gain nothing.
 *
 * A domain of wrapped rows that is alone keeps the order of atoms for good, so that it needs no
 * repartition: its GPU puts groups into the box and blocks of them in order by itself.
 *
 * Morton and not Hilbert: its key costs a few shifts. Keys are sorted by radix over the bits that
 * are in use (some 35 for 45,000 atoms), which is linear in the number of groups.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"
#include "md/core/vec.h"

#include <math.h>
#include <string.h>

static const double bin_nm = 0.15;
enum { MAX_BITS_PER_AXIS = 10, RADIX_BITS = 11 };

static int bits_for(int64_t largest)
{
    int bits = 0;
    while (bits < 63 && largest >> bits) bits++;
    return bits;
}

/* Move bit i of the lowest ten to bit 3 i. */
static uint64_t spread(uint64_t value)
{
    value = (value | value << 16) & 0x030000FF;
    value = (value | value << 8) & 0x0300F00F;
    value = (value | value << 4) & 0x030C30C3;
    return (value | value << 2) & 0x09249249;
}

void md_order_prepare(md_domain *domain)
{
    const double *thickness = domain->planes.thickness;
    double longest = fmax(thickness[0], fmax(thickness[1], thickness[2]));
    int bits = 0;
    while (bits < MAX_BITS_PER_AXIS && longest > bin_nm * (1 << bits)) bits++;
    domain->order_last_bin = (1 << bits) - 1;
    domain->order_scale = (1 << bits) / longest;
    domain->order_gid_bits = bits_for(domain->topology->n_atoms - 1);
}

uint64_t md_order_key(const md_domain *domain, const double x[3], int64_t gid)
{
    if (domain->reach.wrapped && domain->n_ranks == 1) return (uint64_t)gid;
    uint64_t curve = 0;
    for (int k = 0; k < 3; k++) {
        double bin = vec_dot(domain->planes.normal[k], x) * domain->order_scale;
        if (!(bin > 0)) bin = 0;
        if (bin > domain->order_last_bin) bin = domain->order_last_bin;
        curve |= spread((uint64_t)bin) << k;
    }
    return curve << domain->order_gid_bits | (uint64_t)gid;
}

static void radix_sort(md_domain *domain, size_t n)
{
    const uint64_t mask = (1 << RADIX_BITS) - 1;
    uint64_t used = 0;
    for (size_t i = 1; i < n; i++) used |= domain->key[i].key ^ domain->key[0].key;
    for (int shift = 0; shift < 64 && used >> shift; shift += RADIX_BITS) {
        if (!(used >> shift & mask)) continue;
        const md_group_key *from = domain->key;
        md_group_key *to = domain->key2;
        size_t count[(1 << RADIX_BITS) + 1] = {0};
        for (size_t i = 0; i < n; i++) count[(from[i].key >> shift & mask) + 1]++;
        for (int d = 0; d < 1 << RADIX_BITS; d++) count[d + 1] += count[d];
        for (size_t i = 0; i < n; i++) to[count[from[i].key >> shift & mask]++] = from[i];
        domain->key2 = domain->key;
        domain->key = to;
    }
}

static void reserve_spare(md_domain *domain, size_t n)
{
    size_t capacity[4] = {domain->spare_capacity, domain->spare_capacity, domain->spare_capacity,
                          domain->spare_capacity};
    if (n <= domain->spare_capacity) return;
    base_grow(&domain->spare_x, &capacity[0], n, sizeof *domain->spare_x);
    base_grow(&domain->spare_v, &capacity[1], n, sizeof *domain->spare_v);
    base_grow(&domain->spare_gid, &capacity[2], n, sizeof *domain->spare_gid);
    base_grow(&domain->spare_info, &capacity[3], n, sizeof *domain->spare_info);
    domain->spare_capacity = capacity[0];
}

/* Copy the groups in order into the spare arrays. */
static int gather(md_domain *domain, size_t n_groups)
{
    const md_rows *rows = &domain->rows;
    int to = 0;
    for (size_t g = 0; g < n_groups; g++) {
        const md_group_key *group = &domain->key[g];
        for (int a = 0; a < group->size; a++, to++) {
            if (group->source >= 0) {
                int from = group->source + a;
                memcpy(domain->spare_x[to], rows->x[from], sizeof *rows->x);
                memcpy(domain->spare_v[to], rows->v[from], sizeof *rows->v);
                domain->spare_gid[to] = rows->gid[from];
                domain->spare_info[to].site = domain->info[from].site;
            } else {
                const md_traveller *from = &domain->arrived[~group->source + a];
                memcpy(domain->spare_x[to], from->x, sizeof from->x);
                memcpy(domain->spare_v[to], from->v, sizeof from->v);
                domain->spare_gid[to] = from->gid;
                domain->spare_info[to].site = from->site;
            }
            domain->spare_info[to].hops = MD_HOPS_HERE;
        }
    }
    return to;
}

void md_order_rows(md_domain *domain, size_t n_groups)
{
    md_rows *rows = &domain->rows;
    radix_sort(domain, n_groups);
    size_t n = 0;
    for (size_t g = 0; g < n_groups; g++) n += (size_t)domain->key[g].size;
    reserve_spare(domain, n);
    rows->n_owned = rows->n_rows = gather(domain, n_groups);

    /* Copied back rather than swapped: capacities and the padding of rows stay as they are. */
    md_rows_reserve(rows, n + 1);
    BASE_RESERVE(domain->info, domain->capacity_info, n + 1);
    if (n == 0) return;
    memcpy(rows->x, domain->spare_x, n * sizeof *rows->x);
    memcpy(rows->v, domain->spare_v, n * sizeof *rows->v);
    memcpy(rows->gid, domain->spare_gid, n * sizeof *rows->gid);
    memcpy(domain->info, domain->spare_info, n * sizeof *domain->info);
}
