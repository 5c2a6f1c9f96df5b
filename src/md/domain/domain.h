/* Domain decomposition: who owns which atoms, which ghosts each domain needs, and the exchange.
 *
 * The box is cut by planes into n[0] x n[1] x n[2] cells, one domain (rank) each,
 * rank = (ix ny + iy) nz + iz.
 * Constraint groups (topology.h) stay whole: a group belongs to the cell that holds its reference
 * atom, so an atom may stand outside its owner's cell by up to the group radius. Ghosts within
 * reach = rlist + group radius of the cell are mirrored; an axis has the smallest number of pulses
 * n with  n * cell >= rlist + 2 * group radius.
 */
#ifndef MD_DOMAIN_H
#define MD_DOMAIN_H
#include "md/core/rows.h"
#include "md/core/state.h"

typedef struct md_grid {
    int n[3];
    double *bound[3];               /* [n[k] + 1], fractions 0 .. 1, rising; owned by the grid */
} md_grid;

/* wrapped: ghosts for rows whose differences wrap by themselves (core/device_row.h). Then
 *   - only axes that are cut have pulses: a domain alone has no ghosts;
 *   - an atom has one row in a domain at most, owned or ghost;
 *   - the plan shifts nothing; md_domain puts the x of ghosts in place at a repartition;
 *   - the domain has no exchange of its own, the caller makes one on md_domain_plan();
 *   - rlist must be below half of the box's thickness along each axis, and in scheme return the box
 *     beside any cell, along a cut axis, thicker than twice rlist + group radius. */
typedef struct md_reach {
    md_scheme scheme;
    double rlist, group_radius;     /* nm */
    bool wrapped;
    bool complete; /* wrapped, scheme shell: all atoms are ghosts of all domains, and so stay right
                      however they move; up to MD_MAX_PULSES_PER_AXIS + 1 cells along an axis */
} md_reach;

enum {
    MD_MAX_PULSES_PER_AXIS = 8,
    MD_MAX_DOMAINS = 4096           /* what a team of threads takes */
};

/* Even grid n[0] x n[1] x n[2]; relative[k] (may be NULL) are relative cell sizes along axis k. */
sundog_status md_grid_create(const int n[3], const double *const relative[3], md_grid *out);
void md_grid_destroy(md_grid *grid);
/* How messages name a domain: "domain (0 1 1)", its place along x, y, z. Returns text. */
enum { MD_GRID_TEXT = 48 };
const char *md_grid_text(const md_grid *grid, int rank, char text[MD_GRID_TEXT]);
/* Largest number of pulses that any cell needs along each axis (scheme shell: in each direction,
 * but wrapped rows of two cells go both ways in a single one). Wrapped: 0 where it is not cut. */
void md_grid_pulses(const md_grid *grid, const md_box *box, const md_reach *reach, int n_pulses[3]);
/* Can this grid run? If not, the error names the axis, the cell size, what is needed, and the
 * largest grid that would work. */
sundog_status md_grid_check(const md_grid *grid, const md_box *box, const md_reach *reach);
/* The best n for n_domains: smallest estimated halo (rows x cost + pulses x cost). Fails with the
 * largest number of domains that would work. */
sundog_status md_grid_choose(int n_domains, const md_box *box, const md_reach *reach, int n[3]);

typedef struct md_domain_options {
    md_grid grid;                   /* copied */
    md_reach reach;
    const char *rung;               /* of the exchange; NULL: best */
    sundog_route route;
    bool deterministic;
} md_domain_options;

typedef struct md_domain md_domain;

/* Collective over team; topology is shared and outlives the domain. */
sundog_status md_domain_create(sundog_team *team, const md_topology *topology, const md_box *box,
                               const md_domain_options *options, md_domain **out);
void md_domain_destroy(md_domain **domain);         /* collective; accepts NULL */

/* Rank 0 has the whole system (state is read there alone; others may pass NULL) and sends every
 * domain its atoms. Groups broken over the periodic boundary are made whole. Ends with
 * md_domain_repartition. Collective. */
sundog_status md_domain_distribute(md_domain *domain, const md_state *state);

/* Send groups that left to their new owners, order owned rows (canonically: a function of positions
 * and global numbers alone, so that a restart gives the same order), rebuild ghosts, the exchange
 * and the interactions in rows. All of x, v, f may move. Every interaction must be found exactly
 * once in the team, else SUNDOG_ERR_PHYSICS names a missing one. Collective; an error found here is
 * the same on every rank. */
sundog_status md_domain_repartition(md_domain *domain);

/* The box is now `box`: that of before, its components stretched by factor[k]. The caller has
 * stretched the owned x alike; ghosts follow with the next forward. Cells keep their fractions, and
 * what depends on the box otherwise is made anew by the next repartition, which fails with
 * SUNDOG_ERR_PHYSICS when the box has become too small for the grid. Collective. */
sundog_status md_domain_stretch(md_domain *domain, const md_box *box, const double factor[3]);

md_rows *md_domain_rows(md_domain *domain);         /* valid until destroyed; contents change */
const md_grid *md_domain_grid(const md_domain *domain);     /* the same */
/* Of the rows as they are; for exchanges of the caller's own, who destroys them before the domain.
 * Valid until destroyed. Each repartition resets and commits it, so exchanges are to be bound anew
 * (sundog_exchange_rebind). */
sundog_plan *md_domain_plan(md_domain *domain);

/* Owned rows by group: first[g] for each of the n groups, first[n] = n_owned. The first row of a
 * group is its reference atom. first: room for n_owned + 1. Returns n. */
int md_domain_groups(const md_domain *domain, int *first);

/* Coordinates to ghosts; forces back (scheme return; in scheme shell reverse does nothing).
 * As sundog_forward_begin ... on the arrays x and f of the rows. Not with wrapped rows.
 * Collective. */
sundog_status md_domain_forward_begin(md_domain *domain);
sundog_status md_domain_forward_end(md_domain *domain);
sundog_status md_domain_reverse_begin(md_domain *domain);
sundog_status md_domain_reverse_end(md_domain *domain);

/* Owned x, v, f of all domains in global order at rank 0; other ranks pass NULL arrays. Any of the
 * three may be NULL at rank 0 too: want[] says, the same on all ranks, which of x, v, f move.
 * Collective. */
sundog_status md_domain_collect(md_domain *domain, const bool want[3], double (*x)[3],
                                double (*v)[3], float (*f)[3]);

/* Numbers for the log, of this rank. */
typedef struct md_domain_stats {
    int64_t n_owned, n_ghost, n_pulses;
    int64_t forward_bytes;
} md_domain_stats;
void md_domain_stats_of(const md_domain *domain, md_domain_stats *out);
const char *md_domain_describe(const md_domain *domain);    /* of the exchange */
#endif
