/* Constraint groups: connected components of the graph whose edges are constraints (length d) and
 * the three sides of each rigid water.
 *
 * A group travels as one, so a domain needs to know how far its atoms can be from the one that
 * decides where the group belongs. No constrained geometry can put two atoms farther apart than the
 * shortest path of constraints between them, so the reference atom is the centre of the graph: the
 * atom whose longest shortest path is smallest (O of water, C of CH3), and that path bounds the
 * radius for good, whatever the motion.
 *
 * Finding the exact centre takes a shortest-path search from every atom. For groups above
 * EXACT_LIMIT atoms (whole proteins with all bonds constrained) the search runs only from the atoms
 * near the middle of a longest path, which holds the centre when the group is a tree; the radius is
 * that of the atom chosen, so the bound stays true.
 */
#include "md/core/groups.h"

#include "base/alloc.h"

#include <string.h>

enum { EXACT_LIMIT = 64 };

/* The graph as rows: edges of atom i are [start[i], start[i + 1]) of neighbour and length. */
typedef struct graph {
    int n_atoms;
    int *start, *neighbour;
    double *length;
    /* work arrays of a search */
    double *distance;               /* [n_atoms] */
    int *queue;                     /* [n_atoms], a ring */
    bool *queued;                   /* [n_atoms], false between searches */
} graph;

/* The edges that one constraint (1) or settle (3) adds. */
static int edges_of(const md_topology *topology, const md_moltype *moltype, md_kind kind, int n,
                    int pairs[3][2], double length[3])
{
    const md_interactions *list = &moltype->list[kind];
    const double *p = topology->param[list->param[n]].p;
    const int *atoms = list->atoms + (size_t)n * (size_t)md_kind_n_atoms(kind);
    pairs[0][0] = atoms[0];
    pairs[0][1] = atoms[1];
    length[0] = p[0];
    if (kind == MD_CONSTRAINT) return 1;
    pairs[1][0] = atoms[0];
    pairs[1][1] = atoms[2];
    length[1] = p[0];
    pairs[2][0] = atoms[1];
    pairs[2][1] = atoms[2];
    length[2] = p[1];
    return 3;
}

static const md_kind edge_kinds[2] = {MD_CONSTRAINT, MD_SETTLE};

static void graph_create(const md_topology *topology, const md_moltype *moltype, graph *g)
{
    size_t n_atoms = (size_t)moltype->n_atoms;
    int pairs[3][2];
    double length[3];
    g->n_atoms = moltype->n_atoms;
    g->start = base_alloc_zero((n_atoms + 2) * sizeof *g->start);
    for (int k = 0; k < 2; k++) {
        for (int n = 0; n < moltype->list[edge_kinds[k]].n; n++) {
            int n_edges = edges_of(topology, moltype, edge_kinds[k], n, pairs, length);
            for (int e = 0; e < n_edges; e++) {
                g->start[pairs[e][0] + 2]++;
                g->start[pairs[e][1] + 2]++;
            }
        }
    }
    for (size_t i = 2; i < n_atoms + 2; i++) g->start[i] += g->start[i - 1];
    g->neighbour = base_alloc((size_t)g->start[n_atoms + 1] * sizeof *g->neighbour);
    g->length = base_alloc((size_t)g->start[n_atoms + 1] * sizeof *g->length);
    for (int k = 0; k < 2; k++) {       /* start[i + 1] is the fill mark of row i while filling */
        for (int n = 0; n < moltype->list[edge_kinds[k]].n; n++) {
            int n_edges = edges_of(topology, moltype, edge_kinds[k], n, pairs, length);
            for (int e = 0; e < n_edges; e++) {
                for (int end = 0; end < 2; end++) {
                    int at = g->start[pairs[e][end] + 1]++;
                    g->neighbour[at] = pairs[e][1 - end];
                    g->length[at] = length[e];
                }
            }
        }
    }
    g->distance = base_alloc(n_atoms * sizeof *g->distance);
    g->queue = base_alloc(n_atoms * sizeof *g->queue);
    g->queued = base_alloc_zero(n_atoms * sizeof *g->queued);
}

static void graph_destroy(graph *g)
{
    base_free(g->start);
    base_free(g->neighbour);
    base_free(g->length);
    base_free(g->distance);
    base_free(g->queue);
    base_free(g->queued);
}

/* Shortest paths from `source` to the atoms of its group (members [n]); label correcting with a
 * queue, linear for trees. Returns the largest, and the atom where it ends. */
static double longest_path(graph *g, const int *members, int n, int source, int *farthest)
{
    int n_queued = 1, head = 0;
    for (int k = 0; k < n; k++) g->distance[members[k]] = -1.0;
    g->distance[source] = 0.0;
    g->queue[0] = source;
    while (n_queued > 0) {
        int i = g->queue[head];
        head = head + 1 == g->n_atoms ? 0 : head + 1;
        n_queued--;
        g->queued[i] = false;
        for (int e = g->start[i]; e < g->start[i + 1]; e++) {
            int j = g->neighbour[e];
            double through = g->distance[i] + g->length[e];
            if (g->distance[j] >= 0.0 && g->distance[j] <= through) continue;
            g->distance[j] = through;
            if (g->queued[j]) continue;
            g->queued[j] = true;
            int tail = head + n_queued;
            g->queue[tail < g->n_atoms ? tail : tail - g->n_atoms] = j;
            n_queued++;
        }
    }
    double largest = 0.0;
    *farthest = source;
    for (int k = 0; k < n; k++) {
        if (g->distance[members[k]] <= largest) continue;
        largest = g->distance[members[k]];
        *farthest = members[k];
    }
    return largest;
}

/* The atom with the smallest longest path among members [n]; its path in *radius. */
static int exact_centre(graph *g, const int *members, int n, double *radius)
{
    int best = members[0], unused;
    *radius = longest_path(g, members, n, best, &unused);
    for (int k = 1; k < n; k++) {
        double r = longest_path(g, members, n, members[k], &unused);
        if (r >= *radius) continue;
        *radius = r;
        best = members[k];
    }
    return best;
}

/* The two atoms on a longest path that are nearest to its middle; the better one of them. */
static int path_centre(graph *g, const int *members, int n, double *radius)
{
    int from, to, unused;
    longest_path(g, members, n, members[0], &from);
    double length = longest_path(g, members, n, from, &to);
    int walk = to, before = to;
    while (g->distance[walk] > 0.5 * length) {      /* step back along the path to `from` */
        before = walk;
        for (int e = g->start[walk]; e < g->start[walk + 1]; e++) {
            int j = g->neighbour[e];
            if (g->distance[j] + g->length[e] == g->distance[walk]) {
                walk = j;
                break;
            }
        }
        if (walk == before) break;                  /* zero length: no way back */
    }
    double r_before = longest_path(g, members, n, before, &unused);
    *radius = longest_path(g, members, n, walk, &unused);
    if (r_before >= *radius) return walk;
    *radius = r_before;
    return before;
}

sundog_status md_moltype_check_settles(const md_moltype *moltype)
{
    const md_interactions *settle = &moltype->list[MD_SETTLE], *c = &moltype->list[MD_CONSTRAINT];
    bool *rigid = base_alloc_zero((size_t)moltype->n_atoms * sizeof *rigid);
    int twice = -1, mixed = -1;
    for (int n = 0; n < 3 * settle->n; n++) {
        if (rigid[settle->atoms[n]]) twice = settle->atoms[n];
        rigid[settle->atoms[n]] = true;
    }
    for (int n = 0; n < 2 * c->n; n++) {
        if (rigid[c->atoms[n]]) mixed = c->atoms[n];
    }
    base_free(rigid);
    if (twice >= 0)
        return base_fail(SUNDOG_ERR_INPUT, "molecule %s: atom %d is in two settles", moltype->name,
                         twice + 1);
    if (mixed >= 0)
        return base_fail(SUNDOG_ERR_INPUT,
                         "molecule %s: atom %d is in a settle and in a constraint, which is not "
                         "supported", moltype->name, mixed + 1);
    return SUNDOG_OK;
}

/* Number the groups by their lowest atom and list their atoms, ascending, in group_atom. */
static void label_groups(const graph *g, md_moltype *moltype)
{
    int n_atoms = g->n_atoms, *stack = g->queue;
    for (int i = 0; i < n_atoms; i++) moltype->group_of_atom[i] = -1;
    moltype->n_groups = 0;
    for (int i = 0; i < n_atoms; i++) {
        if (moltype->group_of_atom[i] >= 0) continue;
        int n_stack = 1;
        stack[0] = i;
        moltype->group_of_atom[i] = moltype->n_groups;
        while (n_stack > 0) {
            int a = stack[--n_stack];
            for (int e = g->start[a]; e < g->start[a + 1]; e++) {
                int b = g->neighbour[e];
                if (moltype->group_of_atom[b] >= 0) continue;
                moltype->group_of_atom[b] = moltype->n_groups;
                stack[n_stack++] = b;
            }
        }
        moltype->n_groups++;
    }
    base_free(moltype->group_start);
    int *mark = base_alloc_zero(((size_t)moltype->n_groups + 2) * sizeof *mark);
    for (int i = 0; i < n_atoms; i++) mark[moltype->group_of_atom[i] + 2]++;
    for (int k = 2; k < moltype->n_groups + 2; k++) mark[k] += mark[k - 1];
    for (int i = 0; i < n_atoms; i++) {
        moltype->group_atom[mark[moltype->group_of_atom[i] + 1]++] = i;
    }
    moltype->group_start = mark;
}

sundog_status md_moltype_find_groups(const md_topology *topology, md_moltype *moltype)
{
    BASE_TRY(md_moltype_check_settles(moltype));
    graph g;
    graph_create(topology, moltype, &g);
    base_free(moltype->group_of_atom);
    base_free(moltype->group_atom);
    moltype->group_of_atom = base_alloc((size_t)moltype->n_atoms * sizeof *moltype->group_of_atom);
    moltype->group_atom = base_alloc((size_t)moltype->n_atoms * sizeof *moltype->group_atom);
    label_groups(&g, moltype);
    moltype->group_radius = 0.0;
    for (int k = 0; k < moltype->n_groups; k++) {
        int *members = moltype->group_atom + moltype->group_start[k];
        int n = moltype->group_start[k + 1] - moltype->group_start[k];
        double radius;
        int centre = n <= EXACT_LIMIT ? exact_centre(&g, members, n, &radius)
                                      : path_centre(&g, members, n, &radius);
        if (radius > moltype->group_radius) moltype->group_radius = radius;
        int at = 0;                     /* the centre first, the others stay ascending */
        while (members[at] != centre) at++;
        memmove(members + 1, members, (size_t)at * sizeof *members);
        members[0] = centre;
    }
    graph_destroy(&g);
    return SUNDOG_OK;
}
