/* Pair lists: rows sorted into clusters, lists of cluster pairs within rlist, pruned now and then.
 *
 * Built from md_rows at every repartition. Two parts, so that the first can run while coordinates
 * travel: LOCAL (owned with owned) and BORDER (everything that involves a ghost). Which pairs
 * belong to the list is in rows.h; excluded pairs are in it, marked, because reaction field has a
 * term for them. The kernels that walk the lists are in force/nonbonded.h.
 */
#ifndef MD_PAIRS_H
#define MD_PAIRS_H
#include <stdbool.h>
#include <stdint.h>
#include "md/core/rows.h"

typedef enum md_part { MD_PART_LOCAL, MD_PART_BORDER, MD_N_PARTS } md_part;

/* Clusters are of 4 rows. j_cluster is how many j rows the kernel takes into one vector: 4, 8 or
 * 16, in groups of 4 from anywhere, so a wider vector does not make the tiles of the list
 * coarser. */
typedef struct md_pairs_options {
    int j_cluster;                  /* as md_nonbonded_create says */
    double rlist;                   /* nm, list radius at a rebuild */
    double rprune;                  /* nm, inner radius for md_pairs_prune; 0 or >= rlist: none */
    const bool *type_has_lj;        /* md_nonbonded_type_has_lj; not copied. NULL: as if all had */
} md_pairs_options;

typedef struct md_pairs md_pairs;

void md_pairs_create(const md_pairs_options *options, md_pairs **out);
void md_pairs_destroy(md_pairs **pairs);
/* Rows have changed: grid, clusters, lists of both parts. */
sundog_status md_pairs_rebuild(md_pairs *pairs, const md_rows *rows);
/* Make the working lists of one part from the current x with the inner radius, LOCAL first, as
 * ghosts may arrive only while it runs. Does nothing without an inner radius. A rebuild has done it
 * already for its own x. */
void md_pairs_prune(md_pairs *pairs, const md_rows *rows, md_part part);
/* For reports, over both parts: clusters, cluster pairs of the outer and of the working lists. */
typedef struct md_pairs_stats {
    int64_t n_clusters, n_cluster_pairs, n_cluster_pairs_pruned;
} md_pairs_stats;
void md_pairs_stats_of(const md_pairs *pairs, md_pairs_stats *out);
#endif
