/* Cutting molecules into units of three.
 *
 * A bonded part is walked as a tree (breadth first from its lowest atom), from the leaves up. Every
 * atom gathers what its branches have left over, and itself. While three or more are gathered, the
 * deepest and the two nearest to it (in bonds of the tree) become a unit; what is left, two at
 * most, goes up to the parent. So only the root can have less than a full unit, and units hang
 * together within a few bonds. Preferring the deepest keeps what is passed on near its next parent.
 */
#include "md/pairs/units.h"

#include "base/alloc.h"

#include <string.h>

typedef struct tree {
    int n_atoms;
    int *start, *bonded;        /* bonded atoms of each, CSR */
    int *order, *parent, *depth;        /* breadth first; parent -1: a root */
    int (*left)[2];             /* what an atom passes on */
    int *n_left;
    int *gathered;
} tree;

static const md_kind links[] = {MD_BOND, MD_BOND_G96, MD_CONSTRAINT, MD_SETTLE};

/* Calls count as bonds 0-1 and 0-2 of a settle. */
static void for_bonds(const md_moltype *m, tree *t, bool store)
{
    for (size_t l = 0; l < sizeof links / sizeof links[0]; l++) {
        const md_interactions *list = &m->list[links[l]];
        int width = md_kind_n_atoms(links[l]);
        for (int n = 0; n < list->n; n++)
            for (int k = 1; k < width; k++) {
                int a = list->atoms[n * width], b = list->atoms[n * width + k];
                if (store) {
                    t->bonded[--t->start[a + 1]] = b;
                    t->bonded[--t->start[b + 1]] = a;
                } else {
                    t->start[a + 1]++;
                    t->start[b + 1]++;
                }
            }
    }
}

/* After this, bonded[start[a + 1] .. start[a + 2]) are those of a. */
static void find_bonds(const md_moltype *m, tree *t)
{
    int n = t->n_atoms;
    t->start = base_alloc_zero((size_t)(n + 2) * sizeof *t->start);
    for_bonds(m, t, false);
    for (int a = 0; a < n; a++) t->start[a + 1] += t->start[a];
    t->start[n + 1] = t->start[n];
    t->bonded = base_alloc((size_t)(t->start[n] + 1) * sizeof *t->bonded);
    for_bonds(m, t, true);
}

static void walk(tree *t)
{
    int n = 0;
    for (int a = 0; a < t->n_atoms; a++) t->depth[a] = -1;
    for (int root = 0; root < t->n_atoms; root++) {
        if (t->depth[root] >= 0) continue;
        t->depth[root] = 0;
        t->parent[root] = -1;
        int next = n;
        t->order[n++] = root;
        while (next < n) {
            int a = t->order[next++];
            for (int k = t->start[a + 1]; k < t->start[a + 2]; k++) {
                int b = t->bonded[k];
                if (t->depth[b] >= 0) continue;
                t->depth[b] = t->depth[a] + 1;
                t->parent[b] = a;
                t->order[n++] = b;
            }
        }
    }
}

static int tree_distance(const tree *t, int a, int b)
{
    int steps = 0;
    while (a != b) {
        if (t->depth[a] < t->depth[b]) b = t->parent[b];
        else a = t->parent[a];
        steps++;
    }
    return steps;
}

/* Take the gathered atom that is nearest to `from` (the deepest of all, if that is -1) out of the
 * n; of equals the deeper, then the one with the lower number. */
static int take(const tree *t, int from, int n)
{
    int best = 0;
    for (int k = 1; k < n; k++) {
        int a = t->gathered[k], b = t->gathered[best];
        int da = from < 0 ? 0 : tree_distance(t, from, a);
        int db = from < 0 ? 0 : tree_distance(t, from, b);
        bool deeper = t->depth[a] > t->depth[b] || (t->depth[a] == t->depth[b] && a < b);
        if (da < db || (da == db && deeper)) best = k;
    }
    int taken = t->gathered[best];
    t->gathered[best] = t->gathered[n - 1];
    return taken;
}

static void add_unit(const tree *t, int n, md_moltype_units *out)
{
    int *atom = out->atom[out->n_units], first = -1;
    for (int k = 0; k < MD_UNIT; k++) {
        atom[k] = k < n ? take(t, first, n - k) : -1;
        if (k == 0) first = atom[0];
        if (atom[k] >= 0) out->unit_of_atom[atom[k]] = out->n_units;
    }
    out->n_units++;
}

static void cut(tree *t, md_moltype_units *out)
{
    for (int o = t->n_atoms - 1; o >= 0; o--) {
        int a = t->order[o], n = 0;
        t->gathered[n++] = a;
        for (int k = t->start[a + 1]; k < t->start[a + 2]; k++) {
            int b = t->bonded[k];
            if (t->parent[b] != a) continue;
            for (int l = 0; l < t->n_left[b]; l++) t->gathered[n++] = t->left[b][l];
            t->n_left[b] = 0;           /* a bond may be named twice */
        }
        for (; n >= MD_UNIT; n -= MD_UNIT) add_unit(t, n, out);
        if (t->parent[a] < 0) {
            if (n > 0) add_unit(t, n, out);
            continue;
        }
        t->n_left[a] = n;
        for (int l = 0; l < n; l++) t->left[a][l] = t->gathered[l];
    }
}

static void cut_molecule(const md_moltype *m, md_moltype_units *out)
{
    size_t n = (size_t)m->n_atoms + 1;
    tree t = {.n_atoms = m->n_atoms};
    find_bonds(m, &t);
    t.order = base_alloc(n * sizeof *t.order);
    t.parent = base_alloc(n * sizeof *t.parent);
    t.depth = base_alloc(n * sizeof *t.depth);
    t.left = base_alloc(n * sizeof *t.left);
    t.n_left = base_alloc_zero(n * sizeof *t.n_left);
    t.gathered = base_alloc(2 * n * sizeof *t.gathered);
    out->atom = base_alloc(n * sizeof *out->atom);
    out->unit_of_atom = base_alloc(n * sizeof *out->unit_of_atom);
    walk(&t);
    cut(&t, out);
    base_free(t.start);
    base_free(t.bonded);
    base_free(t.order);
    base_free(t.parent);
    base_free(t.depth);
    base_free(t.left);
    base_free(t.n_left);
    base_free(t.gathered);
}

static bool type_has_lj(const md_topology *topology, int type)
{
    size_t n = (size_t)topology->n_atomtypes, first = (size_t)type * n;
    for (size_t k = first; k < first + n; k++)
        if (topology->c6[k] != 0 || topology->c12[k] != 0) return true;
    return false;
}

static int kind_of(md_units *units, size_t *capacity, const md_topology *topology,
                   const md_atom *atom)
{
    float charge = (float)atom->charge;
    for (int k = 0; k < units->n_kinds; k++)
        if (units->kind[k].type == atom->type && units->kind[k].charge == charge) return k;
    BASE_RESERVE(units->kind, *capacity, units->n_kinds + 1);
    units->kind[units->n_kinds] =
        (md_unit_kind){atom->type, charge, type_has_lj(topology, atom->type)};
    return units->n_kinds++;
}

static void find_kinds(const md_topology *topology, md_units *units)
{
    size_t capacity = 0;
    for (int m = 0; m < topology->n_moltypes; m++) {
        const md_moltype *mol = &topology->moltype[m];
        int *kind = base_alloc(((size_t)mol->n_atoms + 1) * sizeof *kind);
        for (int a = 0; a < mol->n_atoms; a++)
            kind[a] = kind_of(units, &capacity, topology, &mol->atom[a]);
        units->moltype[m].kind_of_atom = kind;
    }
    int64_t *count = base_alloc_zero(((size_t)units->n_kinds + 1) * sizeof *count);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        for (int a = 0; a < topology->moltype[block->moltype].n_atoms; a++)
            count[units->moltype[block->moltype].kind_of_atom[a]] += block->count;
    }
    units->charge_only = -1;
    for (int k = 0; k < units->n_kinds; k++) {
        if (units->kind[k].has_lj || count[k] == 0) continue;
        if (units->charge_only < 0 || count[k] > count[units->charge_only]) units->charge_only = k;
    }
    base_free(count);
}

/* Atoms with Lennard-Jones first: a kernel then skips what the others do not have. */
static void order_atoms(const md_units *units, md_moltype_units *m)
{
    for (int u = 0; u < m->n_units; u++) {
        int sorted[MD_UNIT], n = 0;
        for (int pass = 0; pass < 3; pass++)
            for (int k = 0; k < MD_UNIT; k++) {
                int a = m->atom[u][k];
                int is = a < 0 ? 2 : units->kind[m->kind_of_atom[a]].has_lj ? 0 : 1;
                if (is == pass) sorted[n++] = a;
            }
        memcpy(m->atom[u], sorted, sizeof sorted);
    }
}

void md_units_create(const md_topology *topology, md_units **out)
{
    md_units *units = base_alloc_zero(sizeof *units);
    units->n_moltypes = topology->n_moltypes;
    units->moltype = base_alloc_zero(((size_t)units->n_moltypes + 1) * sizeof *units->moltype);
    find_kinds(topology, units);
    for (int m = 0; m < units->n_moltypes; m++) {
        cut_molecule(&topology->moltype[m], &units->moltype[m]);
        order_atoms(units, &units->moltype[m]);
    }
    *out = units;
}

void md_units_destroy(md_units **units)
{
    md_units *u = *units;
    if (!u) return;
    for (int m = 0; m < u->n_moltypes; m++) {
        base_free(u->moltype[m].atom);
        base_free(u->moltype[m].unit_of_atom);
        base_free(u->moltype[m].kind_of_atom);
    }
    base_free(u->moltype);
    base_free(u->kind);
    base_free(u);
    *units = NULL;
}
