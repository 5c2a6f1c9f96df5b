/* Exclusions: atom j is excluded from pair interactions with i when at most nrexcl bonds lie
 * between them, or when [ exclusions ] names the pair. One breadth-first search an atom, cut off at
 * nrexcl, so the work grows with the number of atoms times the size of such a neighbourhood. */
#include "base/alloc.h"
#include "md/in/top_parser.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Partners of each atom, both ways: those of atom i are partner[start[i]] .. [start[i + 1]). */
static void pairs_by_atom(int n_atoms, const top_pair *pair, size_t n_pairs, int **start,
                          int **partner)
{
    int *mark = base_alloc_zero(((size_t)n_atoms + 2) * sizeof *mark);
    int *to = base_alloc(2 * n_pairs * sizeof *to);
    for (size_t k = 0; k < n_pairs; k++) {
        mark[pair[k][0] + 2]++;
        mark[pair[k][1] + 2]++;
    }
    for (int i = 2; i < n_atoms + 2; i++) mark[i] += mark[i - 1];
    for (size_t k = 0; k < n_pairs; k++) {      /* mark[i + 1] is the fill mark of row i */
        to[mark[pair[k][0] + 1]++] = pair[k][1];
        to[mark[pair[k][1] + 1]++] = pair[k][0];
    }
    *start = mark;
    *partner = to;
}

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int64_t md_exclusions_limit(int n_atoms)
{
    int64_t limit = (INT64_C(1) << 24) + INT64_C(256) * n_atoms;
    return limit < INT_MAX ? limit : INT_MAX;
}

bool md_exclusions_build(int n_atoms, const top_pair *bond, size_t n_bonds, int nrexcl,
                         const top_pair *extra, size_t n_extra, int **start, int **excluded)
{
    int *bond_start, *bonded, *extra_start, *extra_partner;
    pairs_by_atom(n_atoms, bond, n_bonds, &bond_start, &bonded);
    pairs_by_atom(n_atoms, extra, n_extra, &extra_start, &extra_partner);
    int *found = base_alloc((size_t)n_atoms * sizeof *found);
    int *seen = base_alloc_zero((size_t)n_atoms * sizeof *seen);    /* i + 1: found for atom i */
    int *all = NULL;
    size_t capacity = 0, n = 0;
    const int64_t limit = md_exclusions_limit(n_atoms);
    *start = base_alloc(((size_t)n_atoms + 1) * sizeof **start);
    for (int i = 0; i < n_atoms && (int64_t)n <= limit; i++) {
        int n_found = 1, begin = 0;
        found[0] = i;
        seen[i] = i + 1;
        for (int depth = 0; depth < nrexcl && begin < n_found; depth++) {
            int end = n_found;
            for (; begin < end; begin++) {
                for (int e = bond_start[found[begin]]; e < bond_start[found[begin] + 1]; e++) {
                    if (seen[bonded[e]] == i + 1) continue;
                    seen[bonded[e]] = i + 1;
                    found[n_found++] = bonded[e];
                }
            }
        }
        for (int e = extra_start[i]; e < extra_start[i + 1]; e++) {
            if (seen[extra_partner[e]] == i + 1) continue;
            seen[extra_partner[e]] = i + 1;
            found[n_found++] = extra_partner[e];
        }
        qsort(found + 1, (size_t)n_found - 1, sizeof *found, compare_int);
        BASE_RESERVE(all, capacity, n + (size_t)n_found);
        (*start)[i] = (int)n;
        memcpy(all + n, found + 1, ((size_t)n_found - 1) * sizeof *all);
        n += (size_t)n_found - 1;
    }
    bool fits = (int64_t)n <= limit;
    (*start)[n_atoms] = fits ? (int)n : 0;
    *excluded = all;
    base_free(bond_start);
    base_free(bonded);
    base_free(extra_start);
    base_free(extra_partner);
    base_free(found);
    base_free(seen);
    return fits;
}
