/* Sites (sites.h). Built once per domain from the molecule kinds; costs nothing that grows with the
 * number of molecules.
 *
 * The rows of a group stand in breadth-first order of its constraints from the reference atom, so
 * that each atom follows one that it is tied to: a group broken over the periodic boundary is made
 * whole link by link, which is right even if it is longer than half the box.
 */
#include "md/domain/sites.h"

#include "base/alloc.h"

#include <string.h>

/* ---- groups --------------------------------------------------------------------------------- */

static const md_kind tie_kinds[2] = {MD_CONSTRAINT, MD_SETTLE};

/* Constraint neighbours of each atom of a molecule, as rows: start [n_atoms + 1], atom. */
typedef struct ties {
    int *start, *atom;
} ties;

static void ties_create(const md_moltype *moltype, ties *out)
{
    int n_atoms = moltype->n_atoms;
    int *start = base_alloc_zero(((size_t)n_atoms + 2) * sizeof *start);
    int *atom = NULL;
    /* Pass 0 counts into start[a + 2], pass 1 places at start[a + 1] and leaves it at the end. */
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < 2; t++) {
            const md_interactions *list = &moltype->list[tie_kinds[t]];
            int width = md_kind_n_atoms(tie_kinds[t]);
            for (int n = 0; n < list->n; n++)
                for (int i = 0; i < width; i++)
                    for (int j = 0; j < width; j++) {
                        int a = list->atoms[n * width + i];
                        if (i == j) continue;
                        if (pass == 0)
                            start[a + 2]++;
                        else
                            atom[start[a + 1]++] = list->atoms[n * width + j];
                    }
        }
        if (pass == 1) break;
        for (int a = 0; a < n_atoms; a++) start[a + 2] += start[a + 1];
        atom = base_alloc(((size_t)start[n_atoms + 1] + 1) * sizeof *atom);
    }
    out->start = start;
    out->atom = atom;
}

/* Order the groups of one molecule kind; sites [first, first + n_atoms). */
static void order_groups(const md_moltype *moltype, int first, md_sites *sites)
{
    ties tie;
    ties_create(moltype, &tie);
    int n_placed = 0;
    bool *seen = base_alloc_zero((size_t)moltype->n_atoms * sizeof *seen);
    for (int g = 0; g < moltype->n_groups; g++) {
        int *queue = sites->group_site + first + n_placed;
        int begin = moltype->group_start[g], size = moltype->group_start[g + 1] - begin;
        int n = 0, reference = moltype->group_atom[begin];
        queue[n++] = first + reference;
        seen[reference] = true;
        sites->site[first + reference].parent = -1;
        for (int k = 0; k < n; k++) {
            int atom = queue[k] - first;
            sites->site[queue[k]].group_position = k;
            for (int e = tie.start[atom]; e < tie.start[atom + 1]; e++) {
                int next = tie.atom[e];
                if (seen[next]) continue;
                seen[next] = true;
                sites->site[first + next].parent = k;
                queue[n++] = first + next;
            }
        }
        for (int k = 0; k < size; k++) {
            sites->site[queue[k]].group_size = size;
            sites->group_first[queue[k]] = first + n_placed;
        }
        n_placed += size;
    }
    base_free(seen);
    base_free(tie.start);
    base_free(tie.atom);
}

/* ---- partners, terms, exclusions ------------------------------------------------------------ */

/* Partner number of `atom` for the site now being filled (its partners are the last ones). */
static int add_partner(md_sites *sites, md_site *site, int atom, bool same_group, int row_delta)
{
    int delta = atom - site->atom;
    for (int p = 0; p < site->n_partners; p++)
        if (sites->partner[site->partner + p].gid_delta == delta) return p;
    BASE_RESERVE(sites->partner, sites->capacity_partner, sites->n_partners + 1);
    sites->partner[sites->n_partners++] = (md_partner){delta, row_delta, same_group};
    return site->n_partners++;
}

static int add_atom(md_sites *sites, const md_moltype *moltype, md_site *site, int atom)
{
    int first = sites->first[site->moltype];
    bool same_group = moltype->group_of_atom[atom] == moltype->group_of_atom[site->atom];
    return add_partner(sites, site, atom, same_group,
                       sites->site[first + atom].group_position - site->group_position);
}

/* Terms of a molecule kind sorted by first atom: of[start[a] .. start[a + 1]) are (kind, index). */
typedef struct first_terms {
    int *start;
    struct { int kind, index; } *of;
} first_terms;

static void first_terms_create(const md_moltype *moltype, first_terms *out)
{
    int n_atoms = moltype->n_atoms, n_terms = 0;
    out->start = base_alloc_zero(((size_t)n_atoms + 2) * sizeof *out->start);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *list = &moltype->list[kind];
        int width = md_kind_n_atoms((md_kind)kind);
        for (int n = 0; n < list->n; n++) out->start[list->atoms[n * width] + 2]++;
        n_terms += list->n;
    }
    for (int a = 0; a < n_atoms; a++) out->start[a + 2] += out->start[a + 1];
    out->of = base_alloc(((size_t)n_terms + 1) * sizeof *out->of);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *list = &moltype->list[kind];
        int width = md_kind_n_atoms((md_kind)kind);
        for (int n = 0; n < list->n; n++) {
            int k = out->start[list->atoms[n * width] + 1]++;
            out->of[k].kind = kind;
            out->of[k].index = n;
        }
    }
}

static void add_term(md_sites *sites, const md_moltype *moltype, md_site *site, md_kind kind,
                     int index)
{
    const md_interactions *list = &moltype->list[kind];
    int width = md_kind_n_atoms(kind);
    const int *atoms = list->atoms + (size_t)index * (size_t)width;
    md_term term = {kind, list->param[index], index, width - 1, {0}};
    for (int k = 1; k < width; k++)
        term.partner[k - 1] = add_atom(sites, moltype, site, atoms[k]);
    BASE_RESERVE(sites->term, sites->capacity_term, sites->n_terms + 1);
    sites->term[sites->n_terms++] = term;
    site->n_terms++;
}

static bool within_group(const md_moltype *moltype, md_kind kind, int index)
{
    int width = md_kind_n_atoms(kind);
    const int *atoms = moltype->list[kind].atoms + (size_t)index * (size_t)width;
    for (int k = 1; k < width; k++)
        if (moltype->group_of_atom[atoms[k]] != moltype->group_of_atom[atoms[0]]) return false;
    return true;
}

static void fill_site(md_sites *sites, const md_moltype *moltype, const first_terms *terms,
                      md_site *site)
{
    int atom = site->atom;
    site->partner = (int)sites->n_partners;
    site->term = (int)sites->n_terms;
    site->exclusion = (int)sites->n_exclusions;
    for (int within = 1; within >= 0; within--) {
        for (int k = terms->start[atom]; k < terms->start[atom + 1]; k++) {
            md_kind kind = (md_kind)terms->of[k].kind;
            if (within_group(moltype, kind, terms->of[k].index) == (within == 1))
                add_term(sites, moltype, site, kind, terms->of[k].index);
        }
        if (within) site->n_terms_within = site->n_terms;
    }
    for (int e = moltype->exclusion_start[atom]; e < moltype->exclusion_start[atom + 1]; e++) {
        int partner = add_atom(sites, moltype, site, moltype->exclusion[e]);
        BASE_RESERVE(sites->exclusion, sites->capacity_exclusion, sites->n_exclusions + 1);
        sites->exclusion[sites->n_exclusions++] = partner;
        site->n_exclusions++;
    }
    if (site->n_partners > sites->max_partners) sites->max_partners = site->n_partners;
}

void md_sites_create(const md_topology *topology, md_sites *out)
{
    memset(out, 0, sizeof *out);
    out->first = base_alloc(((size_t)topology->n_moltypes + 1) * sizeof *out->first);
    for (int m = 0; m < topology->n_moltypes; m++) {
        out->first[m] = out->n_sites;
        out->n_sites += topology->moltype[m].n_atoms;
    }
    size_t n = (size_t)out->n_sites + 1;
    out->site = base_alloc_zero(n * sizeof *out->site);
    out->group_site = base_alloc(n * sizeof *out->group_site);
    out->group_first = base_alloc(n * sizeof *out->group_first);
    for (int m = 0; m < topology->n_moltypes; m++) {
        const md_moltype *moltype = &topology->moltype[m];
        first_terms terms;
        first_terms_create(moltype, &terms);
        order_groups(moltype, out->first[m], out);
        for (int a = 0; a < moltype->n_atoms; a++) {
            md_site *site = &out->site[out->first[m] + a];
            site->moltype = m;
            site->atom = a;
            site->type = moltype->atom[a].type;
            site->charge = (float)moltype->atom[a].charge;
            site->mass = moltype->atom[a].mass;
            site->spans = moltype->n_groups > 1;
            fill_site(out, moltype, &terms, site);
        }
        base_free(terms.start);
        base_free(terms.of);
    }
}

void md_sites_destroy(md_sites *sites)
{
    base_free(sites->site);
    base_free(sites->first);
    base_free(sites->group_site);
    base_free(sites->group_first);
    base_free(sites->partner);
    base_free(sites->term);
    base_free(sites->exclusion);
    memset(sites, 0, sizeof *sites);
}
