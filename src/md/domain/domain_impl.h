/* Inside of md_domain, shared by the files of this room.
 *
 * A repartition, step by step:
 *
 *      migrate.c       wrap groups, send those that left to their new owners
 *      order.c         owned rows in canonical order
 *      zones.c         ghosts, pulse by pulse; the plan
 *      interactions.c  terms and exclusions as rows
 *      verify.c        is every interaction there, exactly once?
 */
#ifndef MD_DOMAIN_IMPL_H
#define MD_DOMAIN_IMPL_H
#include "md/domain/domain.h"
#include "md/domain/sites.h"

/* Beside what rows.h has, each row carries its site and its hops: how many cells away its group's
 * cell is along each axis, counted from this domain in the infinite lattice of cells. One byte an
 * axis, 128 is "here", so passing a row on adds or takes 1 from a byte at the receiver.
 * turn: most hops towards -1 along each axis (a byte each) before the way towards +1 is the shorter
 * one; used along `turning` axes of wrapped rows, zones.c. */
typedef struct md_row_info {
    int32_t site;
    int32_t hops;
    int32_t turn;
} md_row_info;
#define MD_HOPS_HERE 0x808080
static inline int md_hops_along(int32_t hops, int axis)
{
    return ((hops >> 8 * axis) & 255) - 128;
}
static inline unsigned md_hops_zone(int32_t hops)
{
    return (unsigned)(md_hops_along(hops, 0) != 0) | (unsigned)(md_hops_along(hops, 1) != 0) << 1 |
           (unsigned)(md_hops_along(hops, 2) != 0) << 2;
}

/* The bounding planes of this domain's cell. Height of a point above the plane through the origin:
 * h = normal . x (so h = fraction * thickness). */
typedef struct md_planes {
    bool orthogonal;
    double normal[3][3];
    double thickness[3];
    double lo[3], hi[3];            /* heights of the cell's own planes */
    double cosine[3][3];            /* normal . normal */
    double inverse[3][3];           /* of the matrix `cosine` */
} md_planes;

/* A group on its way, or waiting to be put in order: one record an atom. */
typedef struct md_traveller {
    double x[3], v[3];
    int64_t gid;
    int64_t site;
} md_traveller;

/* Where the atoms of a group are now; sorted by key. */
typedef struct md_group_key {
    uint64_t key;
    int32_t source;                 /* first row, or ~index of the first traveller */
    int32_t size;
} md_group_key;

/* Rows of atoms whose molecule has several groups, by global atom: a table of all atoms or, where
 * that would be much larger than this domain, open addressing; then a chain of their images. */
typedef struct md_row_map {
    bool is_table;
    size_t capacity_table;
    int32_t *table;                 /* [n_atoms] -1: no row */
    size_t n_slots, capacity_slot;  /* power of two */
    struct md_row_slot { int64_t gid; int32_t row; } *slot;     /* row -1: free */
    size_t capacity_next;
    int32_t *next;                  /* [n_rows] next image of the same atom, -1: none */
} md_row_map;

/* Terms computed here, as numbers of the whole system; recorded only to find a fault (verify.c). */
typedef struct md_term_record {
    int kind;                       /* -1: nothing is recorded */
    size_t n, capacity;
    struct md_term_seen { int64_t term; int64_t weight; } *seen;
} md_term_record;

struct md_domain {
    sundog_team *team;
    int rank, n_ranks;
    const md_topology *topology;
    md_sites sites;
    md_box box;
    bool stretched;                 /* what follows is still that of an earlier box */
    unsigned folded;                /* axes along which nearest images are not in place */
    md_grid grid;
    md_reach reach;
    int cell[3];
    md_planes planes;
    double limit2;                  /* squared distance below which an image is the nearest one */
    double order_scale, order_last_bin;     /* bins of the Morton curve */
    int order_gid_bits;
    double radius;                  /* largest distance of an atom to its reference, whole team */

    md_rows rows;
    size_t capacity_info;
    md_row_info *info;

    sundog_plan *plan;
    sundog_exchange *forward, *reverse;     /* reverse: scheme return only */
    char *rung;
    sundog_route route;
    bool deterministic;

    int64_t expected[MD_N_KINDS];   /* interactions in the whole system */
    md_row_map map;
    md_term_record record;

    /* scratch of a repartition, kept for its memory */
    size_t capacity_destination, capacity_leaving, capacity_arrived, capacity_key, capacity_index,
        capacity_partner_row;
    int *destination;               /* of each owned group */
    md_traveller *leaving, *arrived;
    md_group_key *key, *key2;       /* [capacity_key] both */
    sundog_idx *index;
    int *partner_row;
    size_t spare_capacity;          /* second copy of the owned arrays, while order.c sorts */
    double (*spare_x)[3], (*spare_v)[3];
    int64_t *spare_gid;
    md_row_info *spare_info;
};

/* grid.c */
void md_grid_copy(const md_grid *grid, md_grid *out);
int md_grid_find(const md_grid *grid, int axis, double fraction);
double md_grid_thickest(const md_grid *grid, int axis);     /* cell, as a fraction */
/* Below this distance an image of an atom is the nearest one. */
double md_grid_range(const md_box *box, const md_reach *reach);
/* Wrapped rows, scheme return: is every pair in reach on one side only? */
sundog_status md_grid_check_sides(const md_grid *grid, const md_box *box, const md_reach *reach);
static inline int md_grid_rank(const md_grid *grid, const int cell[3])
{
    return (cell[0] * grid->n[1] + cell[1]) * grid->n[2] + cell[2];
}
static inline void md_grid_cell(const md_grid *grid, int rank, int cell[3])
{
    cell[2] = rank % grid->n[2];
    cell[1] = rank / grid->n[2] % grid->n[1];
    cell[0] = rank / grid->n[2] / grid->n[1];
}

/* zones.c */
void md_planes_create(const md_box *box, const double cell_lo[3], const double cell_hi[3],
                      md_planes *out);
/* Squared distance, from below, of a point to the region that lies behind all planes of `axes`
 * (bits): excess[k] is how far the point is beyond plane k, whose normal has sign[k]. */
double md_planes_distance2(const md_planes *planes, unsigned axes, const double excess[3],
                           const double sign[3]);
/* Ghosts and the committed plan, from owned rows in order. Collective. */
sundog_status md_zones_build(md_domain *domain);

/* migrate.c */
/* Owner of a group by its reference atom: the rank, and how many box vectors to add to the whole
 * group so that the reference atom is in the box. False when x is no position. */
bool md_group_owner(const md_domain *domain, const double x[3], int moved[3], int *rank);
static inline void md_group_move(const md_box *box, const int moved[3], double x[3])
{
    for (int axis = 2; axis >= 0; axis--)
        for (int k = 0; moved[axis] && k <= axis; k++) x[k] += moved[axis] * box->m[axis][k];
}
/* Send groups away; those that stay and those that come are in domain->key, unsorted. Sets
 * domain->radius. Collective; fails on every rank when it fails on one. */
sundog_status md_migrate(md_domain *domain, size_t *n_groups);

/* order.c */
void md_order_prepare(md_domain *domain);
uint64_t md_order_key(const md_domain *domain, const double x[3], int64_t gid);
void md_order_rows(md_domain *domain, size_t n_groups);

/* interactions.c */
void md_interactions_build(md_domain *domain);

/* verify.c */
/* Agree on failure: if any rank's `mine` is one, all return the first of them, with its text.
 * *largest becomes the team's largest. Collective. */
sundog_status md_domain_agree(md_domain *domain, sundog_status mine, double *largest);
/* Atoms and interactions of the whole team add up, or an error on every rank. Collective. */
sundog_status md_verify(md_domain *domain);
/* A term's number in the whole system, among those of its kind. */
int64_t md_term_number(const md_topology *topology, md_kind kind, int64_t first_atom, int index);
#endif
