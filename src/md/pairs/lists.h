/* Inside of md_pairs: what the rooms pairs and force share. No one else includes this.
 *
 * Rows are sorted into clusters of 4 slots. All clusters of one grid (one zone, in scheme shell one
 * side of a zone) are contiguous; grid 0 holds the owned rows:
 *
 *   clusters   | grid 0 (owned)          | grid 1 | grid 2 | ... | dummy |
 *   slots      | 4 rows, z-sorted ...    | the last cluster of a column is padded: row -1
 *
 *   xq    [n_clusters + 1][16]   x0 x1 x2 x3  y0.. z0.. q0..   nm relative to rows->origin, e
 *   f     [n_clusters + 1][12]   x0 x1 x2 x3  y0.. z0..        kJ/mol/nm
 *
 * Padded slots stand far away from everything and from each other, without charge: they are beyond
 * every cut-off, so no kernel tests for them. The dummy cluster (index n_clusters) is all padding.
 *
 * Lists exist twice. The outer list holds pairs of clusters whose bounding boxes come within rlist
 * at a rebuild. The working list, made from it by md_pairs_prune, holds those that have at least
 * one pair of rows within the inner radius or a mask, sorted into four segments:
 *
 *   masked   all 16 pairs, with masks (exclusions, diagonal)
 *   full     all 16 pairs count
 *   low      only rows 0, 1 of the i-cluster come near the j-cluster: 8 pairs
 *   high     only rows 2, 3
 *
 * Each segment is filled up with the dummy cluster to a multiple of j_cluster / 4 entries, because
 * a SIMD kernel takes that many j-clusters into one vector, wherever they are.
 *
 * mask of an entry: bit 4 i + j of the low half says the pair (i, j) is of this list, of the high
 * half (16 + 4 i + j) that it interacts; a pair of the list that does not interact is excluded.
 */
#ifndef MD_LISTS_H
#define MD_LISTS_H
#include "md/pairs/pairs.h"

enum {
    MD_CLUSTER = 4,             /* rows in a cluster */
    MD_XQ = 16, MD_F = 12,      /* floats of a cluster in xq and f */
    MD_MAX_GRIDS = 64
};
#define MD_MASK_ALL 0xffffffffu

/* Rows of one zone in columns along axis[2], cut by a regular grid in axis[0] and axis[1]. */
typedef struct md_columns {
    int zone;                   /* zone bits of its rows */
    int first_row, n_rows;      /* in md_pairs.order */
    int first_cluster, n_clusters;
    int axis[3];
    int n[2];                   /* columns along axis[0], axis[1] */
    float lo[2], inverse[2];    /* corner (nm), 1 / column width (1/nm) */
    float width[2];
    float column_lo, column_length;     /* along axis[2] */
    int n_bins;                         /* of the sort along a column */
    size_t first_column;        /* into md_pairs.column_start: n[0] n[1] + 1 entries */
} md_columns;

/* One i-cluster of an outer list: masked entries first. */
typedef struct md_outer {
    int cluster, start, end;
    int mask_start, n_masked;
} md_outer;

typedef enum md_segment {
    MD_SEGMENT_MASKED, MD_SEGMENT_FULL, MD_SEGMENT_LOW, MD_SEGMENT_HIGH, MD_N_SEGMENTS
} md_segment;

/* One i-cluster of a working list: segment k is j[start[k] .. start[k + 1]). */
typedef struct md_work {
    int cluster;
    int start[MD_N_SEGMENTS + 1];
    int mask_start;
} md_work;

typedef struct md_list {
    int n_outer, n_outer_j, n_outer_masks;
    md_outer *outer;
    int *outer_j;
    uint32_t *outer_mask;
    int n_work, n_work_j, n_work_masks;
    md_work *work;
    int *j;
    uint32_t *mask;
    size_t capacity_outer, capacity_outer_j, capacity_outer_mask;
    size_t capacity_work, capacity_j, capacity_mask;
} md_list;

/* Columns that the i-clusters of one column look into. All of one grid are next to each other in
 * the arrays; sides are along axis[0] and axis[1] of that grid. */
typedef struct md_neighbours {
    int n_grids, n;
    struct {
        int axis[3];
        int begin, end;         /* into the arrays below; begin is a multiple of 8 */
    } grid[MD_MAX_GRIDS];
    int *first, *last;          /* clusters left of the column: [first, last) */
    float *lo[2], *hi[2];
    size_t capacity;            /* a multiple of 8 */
} md_neighbours;

typedef struct md_pairs_ops md_pairs_ops;

struct md_pairs {
    md_pairs_options options;
    int n_grids, n_clusters, n_owned_clusters;
    md_columns grid[MD_MAX_GRIDS];
    const md_pairs_ops *ops;
    int *column_start;          /* first cluster of each column, per grid one more than columns */
    int *column_row;            /* the same for rows, relative to the grid's first */
    float *lo[3], *hi[3];       /* bounding boxes [n_clusters + 8], nm relative to origin */
    int *row_of_slot;           /* [4 (n_clusters + 1)], -1: padding */
    int *slot_of_row;
    float *xq, *f;
    /* filled by the force room after a rebuild: it knows what types mean */
    const void *parameters_of;  /* whose they are; NULL after a rebuild */
    float *lj;                  /* [n_clusters + 1][8]: two parameters of each slot */
    int *type;                  /* [n_clusters + 1][4] */
    uint8_t *lj_rows;           /* [n_clusters + 1]: 0 none, 1 only rows 0 and 1, 2 all */
    md_list list[MD_N_PARTS];
    /* scratch */
    float (*x_sort)[3];
    int *order, *cell, *cell_start;
    int *masked;                /* clusters that need a mask with the i-cluster in work ... */
    uint32_t *masked_mask;      /* ... the masks ... */
    int *mark;                  /* [n_clusters]: 1 + place in masked, or 0 */
    md_neighbours neighbours;
    int *segment[2];
    size_t capacity_column, capacity_column_row, capacity_row, capacity_cell, capacity_cluster;
};

/* The inner loops, in plain C and for SIMD; same lists from both. */
struct md_pairs_ops {
    const char *name;
    /* Clusters whose boxes come within r of that of cluster i, from pairs->neighbours, into out
     * (room for n_clusters + 8); returns how many. i's own column runs along `axis`; of its column
     * only clusters >= i count if `half`. Calls come in order of i within a column: windows move
     * on. */
    int (*find)(md_pairs *pairs, int i, int axis, bool half, float r, int *out);
    /* Sort the unmasked entries j[n] of one outer list by which halves of cluster i have a pair
     * within sqrt(r2): out[0] both, out[1] rows 0 and 1, out[2] rows 2 and 3, each with room for
     * n + 8. */
    void (*split)(const md_pairs *pairs, int i, const int *j, int n, float r2, int *const out[3],
                  int n_out[3]);
    /* Coordinates of clusters [first, end) from rows->x. */
    void (*pack)(md_pairs *pairs, const md_rows *rows, int first, int end);
};
extern const md_pairs_ops md_pairs_ops_c;
/* compiled on x86 only */
extern const md_pairs_ops md_pairs_ops_avx2, md_pairs_ops_avx512;
int md_pairs_find_avx2(md_pairs *pairs, int i, int axis, bool half, float r, int *out);
void md_pairs_pack_avx2(md_pairs *pairs, const md_rows *rows, int first, int end);
/* All that this processor runs, best first. */
const md_pairs_ops *const *md_pairs_ops_known(int *n);

/* grid.c: grids, clusters, bounding boxes, padding. */
void md_pairs_sort(md_pairs *pairs, const md_rows *rows);
/* prune.c: working list of one part from xq as it is. */
void md_pairs_make_work(md_pairs *pairs, md_part part, float radius);
/* pairlist.c: outer list of one part from the bounding boxes. */
sundog_status md_pairs_make_outer(md_pairs *pairs, const md_rows *rows, md_part part);
#endif
