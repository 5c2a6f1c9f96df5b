/* Working lists: the entries of an outer list that have a pair within the inner radius now, sorted
 * into segments (lists.h), and the life of md_pairs.
 *
 * Rows move little between two prunings, so a list that is kept long needs a large rlist but the
 * kernels walk one made for a few steps.
 */
#include "md/pairs/lists.h"

#include "base/alloc.h"

#include <string.h>

/* Rounding of float coordinates, nm. */
static const float ROUNDING = 2e-6f;

/* Fill the segment that began at `start` up to whole vectors. */
static void fill_up(md_list *list, int start, int dummy, int n_per_vector)
{
    while ((list->n_work_j - start) % n_per_vector) list->j[list->n_work_j++] = dummy;
}

static void work_of(md_pairs *pairs, md_list *list, const md_outer *outer, float r2)
{
    const int n_per_vector = pairs->options.j_cluster / MD_CLUSTER;
    const int n = outer->end - outer->start, *j = list->outer_j + outer->start;
    BASE_RESERVE(list->work, list->capacity_work, list->n_work + 1);
    BASE_RESERVE(list->j, list->capacity_j,
                 list->n_work_j + n + 8 + MD_N_SEGMENTS * n_per_vector);
    BASE_RESERVE(list->mask, list->capacity_mask,
                 list->n_work_masks + outer->n_masked + n_per_vector);
    md_work *work = &list->work[list->n_work];
    work->cluster = outer->cluster;
    work->start[0] = list->n_work_j;
    work->mask_start = list->n_work_masks;
    /* excluded rows are a few bonds away: not worth a test */
    const size_t n_masked = (size_t)outer->n_masked;
    if (n_masked > 0) {
        memcpy(list->j + list->n_work_j, j, n_masked * sizeof *j);
        memcpy(list->mask + list->n_work_masks, list->outer_mask + outer->mask_start,
               n_masked * sizeof *list->mask);
    }
    list->n_work_j += outer->n_masked;
    list->n_work_masks += outer->n_masked;
    fill_up(list, work->start[0], pairs->n_clusters, n_per_vector);
    while (list->n_work_masks - work->mask_start < list->n_work_j - work->start[0])
        list->mask[list->n_work_masks++] = 0;

    int n_segment[3], *const out[3] = {list->j + list->n_work_j, pairs->segment[0],
                                       pairs->segment[1]};
    pairs->ops->split(pairs, outer->cluster, j + outer->n_masked, n - outer->n_masked, r2, out,
                      n_segment);
    for (int s = 0; s < 3; s++) {
        work->start[s + 1] = list->n_work_j;
        if (s > 0) memcpy(list->j + list->n_work_j, out[s], (size_t)n_segment[s] * sizeof(int));
        list->n_work_j += n_segment[s];
        fill_up(list, work->start[s + 1], pairs->n_clusters, n_per_vector);
    }
    work->start[MD_N_SEGMENTS] = list->n_work_j;
    if (work->start[MD_N_SEGMENTS] > work->start[0]) list->n_work++;
}

void md_pairs_make_work(md_pairs *pairs, md_part part, float radius)
{
    md_list *list = &pairs->list[part];
    float r = radius + ROUNDING;
    list->n_work = list->n_work_j = list->n_work_masks = 0;
    for (int k = 0; k < list->n_outer; k++) work_of(pairs, list, &list->outer[k], r * r);
}

static bool prunes(const md_pairs *pairs)
{
    return pairs->options.rprune > 0 && pairs->options.rprune < pairs->options.rlist;
}

void md_pairs_prune(md_pairs *pairs, const md_rows *rows, md_part part)
{
    if (!prunes(pairs)) return;
    const bool local = part == MD_PART_LOCAL;
    pairs->ops->pack(pairs, rows, local ? 0 : pairs->n_owned_clusters,
                     local ? pairs->n_owned_clusters : pairs->n_clusters);
    md_pairs_make_work(pairs, part, (float)pairs->options.rprune);
}

sundog_status md_pairs_rebuild(md_pairs *pairs, const md_rows *rows)
{
    if (rows->n_rows > INT32_MAX / 32)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%d rows in one domain, at most %d are possible: "
                         "use more domains", rows->n_rows, INT32_MAX / 32);
    md_pairs_sort(pairs, rows);
    for (md_part part = MD_PART_LOCAL; part < MD_N_PARTS; part++) {
        BASE_TRY(md_pairs_make_outer(pairs, rows, part));
        md_pairs_make_work(pairs, part,
                           (float)(prunes(pairs) ? pairs->options.rprune : pairs->options.rlist));
    }
    return SUNDOG_OK;
}

void md_pairs_create(const md_pairs_options *options, md_pairs **out)
{
    md_pairs *pairs = base_alloc_zero(sizeof *pairs);
    pairs->options = *options;
    int n_known;
    pairs->ops = md_pairs_ops_known(&n_known)[0];
    *out = pairs;
}

void md_pairs_destroy(md_pairs **pairs_to_free)
{
    md_pairs *p = *pairs_to_free;
    if (!p) return;
    void *array[] = {p->column_start, p->column_row, p->row_of_slot, p->slot_of_row, p->xq, p->f,
                     p->lj, p->type, p->lj_rows, p->x_sort, p->order, p->cell, p->cell_start,
                     p->mark, p->masked, p->masked_mask, p->neighbours.first,
                     p->neighbours.last};
    for (size_t k = 0; k < sizeof array / sizeof array[0]; k++) base_free(array[k]);
    for (int k = 0; k < 3; k++) {
        base_free(p->lo[k]);
        base_free(p->hi[k]);
    }
    for (int k = 0; k < 2; k++) {
        base_free(p->segment[k]);
        base_free(p->neighbours.lo[k]);
        base_free(p->neighbours.hi[k]);
    }
    for (int part = 0; part < MD_N_PARTS; part++) {
        md_list *list = &p->list[part];
        base_free(list->outer);
        base_free(list->outer_j);
        base_free(list->outer_mask);
        base_free(list->work);
        base_free(list->j);
        base_free(list->mask);
    }
    base_free(p);
    *pairs_to_free = NULL;
}

void md_pairs_stats_of(const md_pairs *pairs, md_pairs_stats *out)
{
    *out = (md_pairs_stats){.n_clusters = pairs->n_clusters};
    for (int part = 0; part < MD_N_PARTS; part++) {
        out->n_cluster_pairs += pairs->list[part].n_outer_j;
        out->n_cluster_pairs_pruned += pairs->list[part].n_work_j;
    }
}
