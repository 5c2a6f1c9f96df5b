/* Is everything there? At each repartition the team adds up its atoms and, kind by kind, the atoms
 * of the interactions that it computes (scheme shell shares a term between its atoms' owners, so
 * atoms are what adds up to a whole number in both schemes). When a sum is wrong, the slow part
 * finds out which interaction is missing or computed twice.
 *
 * Failures are agreed on: every rank returns the same error, so that no rank is left waiting.
 */
#include "md/domain/domain_impl.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024, CHUNK = 1 << 16 };

typedef struct ballot {
    int64_t status;
    double value;
} ballot;

sundog_status md_domain_agree(md_domain *domain, sundog_status mine, double *largest)
{
    char text[TEXT_BYTES];
    ballot own = {mine, *largest};
    ballot *all = base_alloc((size_t)domain->n_ranks * sizeof *all);
    sundog_status status = sundog_team_allgather(domain->team, &own, sizeof own, all);
    int first = -1;
    for (int r = 0; r < domain->n_ranks && status == SUNDOG_OK; r++) {
        if (all[r].status != SUNDOG_OK && first < 0) first = r;
        if (all[r].value > *largest) *largest = all[r].value;
    }
    sundog_status found = first < 0 ? SUNDOG_OK : (sundog_status)all[first].status;
    base_free(all);
    BASE_TRY(status);
    if (first < 0) return SUNDOG_OK;
    char where[MD_GRID_TEXT];
    snprintf(text, sizeof text, "%s: %s", md_grid_text(&domain->grid, domain->rank, where),
             sundog_last_error());
    BASE_TRY(sundog_team_broadcast(domain->team, first, text, sizeof text));
    return base_fail(found, "%s", text);
}

int64_t md_term_number(const md_topology *topology, md_kind kind, int64_t first_atom, int index)
{
    int64_t number = index;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *moltype = &topology->moltype[block->moltype];
        int64_t molecule = (first_atom - block->first_atom) / moltype->n_atoms;
        if (molecule < block->count) return number + molecule * moltype->list[kind].n;
        number += (int64_t)block->count * moltype->list[kind].n;
    }
    return number;
}

/* The inverse: global atoms of a term. */
static void atoms_of_term(const md_topology *topology, md_kind kind, int64_t number,
                          int64_t atoms[MD_MAX_KIND_ATOMS])
{
    int width = md_kind_n_atoms(kind);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *moltype = &topology->moltype[block->moltype];
        const md_interactions *list = &moltype->list[kind];
        if (number < (int64_t)block->count * list->n) {
            int64_t molecule = number / list->n, index = number % list->n;
            for (int k = 0; k < width; k++)
                atoms[k] = block->first_atom + molecule * moltype->n_atoms +
                           list->atoms[index * width + k];
            return;
        }
        number -= (int64_t)block->count * list->n;
    }
}

static sundog_status report(const md_domain *domain, md_kind kind, int64_t number, int64_t seen)
{
    int64_t atoms[MD_MAX_KIND_ATOMS];
    int width = md_kind_n_atoms(kind), n_text = 0;
    char text[128];
    atoms_of_term(domain->topology, kind, number, atoms);
    for (int k = 0; k < width; k++)
        n_text += snprintf(text + n_text, sizeof text - (size_t)n_text, "%s%lld", k ? "-" : "",
                           (long long)atoms[k] + 1);
    if (seen > width)
        return base_fail(SUNDOG_ERR_PHYSICS, "%s of atoms %s is computed by more than one domain",
                         md_kind_name(kind), text);
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "%s of atoms %s is missing: its atoms are too far apart for the exchange "
                     "(rlist %.4g nm, half the box %.4g nm); the molecule is torn or the system "
                     "has blown up",
                     md_kind_name(kind), text, domain->reach.rlist, sqrt(domain->limit2));
}

/* Build the terms of `kind` again, recording them, and add them up one by one over the team. */
static sundog_status find_fault(md_domain *domain, md_kind kind)
{
    md_term_record *record = &domain->record;
    int64_t width = md_kind_n_atoms(kind), fault = -1, fault_seen = 0;
    record->kind = (int)kind;
    record->n = 0;
    md_interactions_build(domain);
    record->kind = -1;
    int64_t *seen = base_alloc(CHUNK * sizeof *seen);
    sundog_status status = SUNDOG_OK;
    for (int64_t begin = 0; begin < domain->expected[kind] && fault < 0; begin += CHUNK) {
        int64_t n = domain->expected[kind] - begin;
        if (n > CHUNK) n = CHUNK;
        memset(seen, 0, CHUNK * sizeof *seen);
        for (size_t k = 0; k < record->n; k++) {
            int64_t at = record->seen[k].term - begin;
            if (at >= 0 && at < n) seen[at] += record->seen[k].weight;
        }
        status = sundog_team_sum_int64(domain->team, seen, (int)n);
        if (status != SUNDOG_OK) break;
        for (int64_t k = 0; k < n && fault < 0; k++)
            if (seen[k] != width) {
                fault = begin + k;
                fault_seen = seen[k];
            }
    }
    base_free(seen);
    BASE_TRY(status);
    if (fault < 0)
        return base_fail(SUNDOG_ERR_PHYSICS, "the domains disagree on the number of %s terms",
                         md_kind_name(kind));
    return report(domain, kind, fault, fault_seen);
}

sundog_status md_verify(md_domain *domain)
{
    const md_rows *rows = &domain->rows;
    int64_t sum[MD_N_KINDS + 1];
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_row_interactions *list = &rows->list[kind];
        int width = md_kind_n_atoms((md_kind)kind);
        sum[kind] = (int64_t)list->n * width;
        if (rows->scheme == MD_SCHEME_RETURN) continue;
        sum[kind] = 0;
        for (int n = 0; n < list->n; n++) sum[kind] += lrintf(list->weight[n] * (float)width);
    }
    sum[MD_N_KINDS] = rows->n_owned;
    BASE_TRY(sundog_team_sum_int64(domain->team, sum, MD_N_KINDS + 1));
    if (sum[MD_N_KINDS] != domain->topology->n_atoms)
        return base_fail(SUNDOG_ERR_PHYSICS, "the domains hold %lld atoms, the system has %lld",
                         (long long)sum[MD_N_KINDS], (long long)domain->topology->n_atoms);
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        if (sum[kind] != domain->expected[kind] * md_kind_n_atoms((md_kind)kind))
            return find_fault(domain, (md_kind)kind);
    return SUNDOG_OK;
}
