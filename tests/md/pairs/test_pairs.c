/* Pair lists: every pair that rows.h asks for and that is within the list radius is listed exactly
 * once, marked if excluded, and no pair that it does not ask for is listed at all; pruning keeps
 * what is within the inner radius. Both schemes, plain C and SIMD search, all vector widths.
 */
#include "md/pairs/cells.h"

#include "md/pairs/lists.h"

/* How often the working list of both parts has each pair of rows; excluded ones in another
 * table. */
typedef struct tally {
    int n;
    uint8_t *interacting, *excluded;
} tally;

static void count_pair(tally *t, const md_pairs *pairs, int slot_i, int slot_j, bool interacts)
{
    int i = pairs->row_of_slot[slot_i], j = pairs->row_of_slot[slot_j];
    if (i < 0 || j < 0) return;
    CHECK(i != j);
    if (i > j) {
        int swap = i;
        i = j;
        j = swap;
    }
    (interacts ? t->interacting : t->excluded)[(size_t)i * (size_t)t->n + (size_t)j]++;
}

static tally count_work(const md_pairs *pairs, int n_rows)
{
    static const int first[MD_N_SEGMENTS] = {0, 0, 0, 2}, end[MD_N_SEGMENTS] = {4, 4, 2, 4};
    size_t nn = (size_t)n_rows * (size_t)n_rows + 1;
    tally t = {n_rows, base_alloc_zero(nn), base_alloc_zero(nn)};
    for (int part = 0; part < MD_N_PARTS; part++)
        for (int w = 0; w < pairs->list[part].n_work; w++) {
            const md_work *work = &pairs->list[part].work[w];
            for (int s = 0; s < MD_N_SEGMENTS; s++) {
                CHECK((work->start[s + 1] - work->start[s]) % (pairs->options.j_cluster / 4) == 0);
                for (int k = work->start[s]; k < work->start[s + 1]; k++) {
                    uint32_t mask = MD_MASK_ALL;
                    if (s == MD_SEGMENT_MASKED)
                        mask = pairs->list[part].mask[work->mask_start + k - work->start[0]];
                    for (int a = first[s]; a < end[s]; a++)
                        for (int b = 0; b < 4; b++)
                            if (mask >> (4 * a + b) & 1)
                                count_pair(&t, pairs, 4 * work->cluster + a,
                                           4 * pairs->list[part].j[k] + b,
                                           mask >> (16 + 4 * a + b) & 1);
                }
            }
        }
    return t;
}

static bool belongs(const md_rows *rows, int i, int j)
{
    if (rows->scheme == MD_SCHEME_SHELL) return rows->zone[i] == 0 || rows->zone[j] == 0;
    return (rows->zone[i] & rows->zone[j]) == 0;
}

static double distance(const md_rows *rows, int i, int j)
{
    double d2 = 0;
    for (int k = 0; k < 3; k++)
        d2 += (rows->x[i][k] - rows->x[j][k]) * (rows->x[i][k] - rows->x[j][k]);
    return sqrt(d2);
}

/* was: distances at the rebuild; a pair must be there if it was within rlist then and is within
 * `radius` now. */
static int check_lists(const md_pairs *pairs, const md_rows *rows, const float *was, double rlist,
                       double radius)
{
    tally t = count_work(pairs, rows->n_rows);
    int n_needed = 0;
    for (int i = 0; i < rows->n_rows; i++)
        for (int j = i + 1; j < rows->n_rows; j++) {
            size_t ij = (size_t)i * (size_t)rows->n_rows + (size_t)j;
            bool excluded = false;
            for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
                excluded |= rows->exclusion[e] == j;
            int seen = excluded ? t.excluded[ij] : t.interacting[ij];
            CHECK((excluded ? t.interacting[ij] : t.excluded[ij]) == 0);
            CHECK(seen <= (belongs(rows, i, j) ? 1 : 0));
            bool needed = belongs(rows, i, j) && distance(rows, i, j) <= radius &&
                          (double)was[ij] <= rlist;
            n_needed += needed;
            if (needed) CHECK(seen == 1);
        }
    base_free(t.interacting);
    base_free(t.excluded);
    return n_needed;
}

static float *all_distances(const md_rows *rows)
{
    size_t n = (size_t)rows->n_rows;
    float *d = base_alloc((n * n + 1) * sizeof *d);
    for (int i = 0; i < rows->n_rows; i++)
        for (int j = i + 1; j < rows->n_rows; j++)
            d[(size_t)i * n + (size_t)j] = (float)distance(rows, i, j);
    return d;
}

static void check_one(md_rows *rows, md_pairs_options options, const md_pairs_ops *ops)
{
    md_pairs *pairs;
    md_pairs_create(&options, &pairs);
    pairs->ops = ops;
    CHECK_OK(md_pairs_rebuild(pairs, rows));
    float *was = all_distances(rows);
    bool prunes = options.rprune > 0 && options.rprune < options.rlist;
    double radius = prunes ? options.rprune : options.rlist - 1e-6;
    int n = check_lists(pairs, rows, was, options.rlist - 1e-6, radius);
    CHECK(n > 0 || rows->n_owned < 2);
    md_pairs_stats stats;
    md_pairs_stats_of(pairs, &stats);
    CHECK(stats.n_clusters == pairs->n_clusters && stats.n_cluster_pairs >= 0);
    if (prunes) {
        for (int row = 0; row < rows->n_rows; row++)
            for (int k = 0; k < 3; k++) rows->x[row][k] += 0.05 * (cells_random() - 0.5);
        for (md_part part = MD_PART_LOCAL; part < MD_N_PARTS; part++)
            md_pairs_prune(pairs, rows, part);
        n = check_lists(pairs, rows, was, options.rlist - 1e-6, options.rprune - 1e-6);
        CHECK(n > 0 || rows->n_owned < 2);
    }
    base_free(was);
    md_pairs_destroy(&pairs);
    CHECK(pairs == NULL);
    md_pairs_destroy(&pairs);
}

static void check_system(const cells_system *sys, const int grid[3], const int cell[3],
                         double rlist, double rprune)
{
    static const bool has_lj[4] = {true, false, false, true};
    int n_ops;
    const md_pairs_ops *const *ops = md_pairs_ops_known(&n_ops);
    for (md_scheme scheme = MD_SCHEME_RETURN; scheme <= MD_SCHEME_SHELL; scheme++)
        for (int j_cluster = 4; j_cluster <= 16; j_cluster *= 2)
            for (int k = 0; k < n_ops; k++) {
                md_rows rows;
                cells_rows(sys, scheme, grid, cell, rlist, &rows);
                md_pairs_options options = {j_cluster, rlist, rprune, k % 2 ? NULL : has_lj};
                check_one(&rows, options, ops[k]);
                cells_free_rows(&rows);
            }
}

/* The variants of the search give the same lists, but for rounding of boxes that just touch. */
static void check_variants(void)
{
    const int one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    cells_system sys = cells_make(2, 2, 2, 0.22, 3, 1);
    md_rows rows;
    cells_rows(&sys, MD_SCHEME_RETURN, one, zero, 0.7, &rows);
    md_pairs_options options = {8, 0.7, 0.6, NULL};
    int n_ops, n_plain[MD_N_PARTS] = {0};
    const md_pairs_ops *const *ops = md_pairs_ops_known(&n_ops);
    for (int k = n_ops - 1; k >= 0; k--) {
        md_pairs *pairs;
        md_pairs_create(&options, &pairs);
        pairs->ops = ops[k];
        CHECK_OK(md_pairs_rebuild(pairs, &rows));
        for (int part = 0; part < MD_N_PARTS; part++) {
            int n = pairs->list[part].n_work_j;
            CHECK(n > 0);
            if (k == n_ops - 1) n_plain[part] = n;
            CHECK_NEAR(n, n_plain[part], 4);
        }
        md_pairs_destroy(&pairs);
        printf("pair search, %s: compared\n", ops[k]->name);
    }
    cells_free_rows(&rows);
    cells_free(&sys);
}

/* Two rebuilds of the same rows, one of them after another system: same lists. */
static void check_repeats(void)
{
    const int one[3] = {1, 1, 1}, zero[3] = {0, 0, 0};
    cells_system sys = cells_make(2, 2, 2, 0.22, 3, 1);
    md_rows rows, fewer;
    cells_rows(&sys, MD_SCHEME_RETURN, one, zero, 0.7, &rows);
    cells_rows(&sys, MD_SCHEME_RETURN, one, zero, 0.3, &fewer);
    md_pairs_options options = {8, 0.7, 0.6, NULL};
    md_pairs *a, *b;
    md_pairs_create(&options, &a);
    md_pairs_create(&options, &b);
    CHECK_OK(md_pairs_rebuild(a, &rows));
    CHECK_OK(md_pairs_rebuild(b, &fewer));
    CHECK_OK(md_pairs_rebuild(b, &rows));
    for (int part = 0; part < MD_N_PARTS; part++) {
        const md_list *la = &a->list[part], *lb = &b->list[part];
        CHECK(la->n_work == lb->n_work && la->n_work_j == lb->n_work_j && la->n_work_j > 0);
        CHECK(!memcmp(la->j, lb->j, (size_t)la->n_work_j * sizeof *la->j));
        CHECK(!memcmp(la->work, lb->work, (size_t)la->n_work * sizeof *la->work));
    }
    md_pairs_destroy(&a);
    md_pairs_destroy(&b);
    cells_free_rows(&rows);
    cells_free_rows(&fewer);
    cells_free(&sys);
}

int main(void)
{
    const int one[3] = {1, 1, 1}, two[3] = {2, 1, 1}, thin[3] = {1, 4, 1}, zero[3] = {0, 0, 0};
    const int second[3] = {1, 0, 0}, third[3] = {0, 2, 0};
    cells_system even = cells_make(1.7, 1.6, 1.9, 0.23, 4, 1);
    check_system(&even, one, zero, 0.6, 0);
    check_system(&even, one, zero, 0.7, 0.55);
    check_system(&even, two, second, 0.7, 0.6);
    check_system(&even, thin, third, 0.6, 0.5);
    cells_free(&even);
    cells_system slab = cells_make(4.0, 1.4, 1.4, 0.22, 4, 0.3);
    check_system(&slab, one, zero, 0.6, 0.5);
    cells_free(&slab);
    cells_system rod = cells_make(1.3, 1.3, 7, 0.25, 4, 1);
    check_system(&rod, one, zero, 0.6, 0.5);
    cells_free(&rod);
    cells_system plank = cells_make(6, 1.3, 1.2, 0.25, 4, 1);
    check_system(&plank, one, zero, 0.55, 0.5);
    cells_free(&plank);
    /* everything in one spot of a large box; one atom; nothing */
    cells_system drop = cells_make(1.0, 1.0, 1.0, 0.2, 4, 1);
    for (int k = 0; k < 3; k++) drop.box[k] = 9;
    check_system(&drop, one, zero, 0.6, 0.5);
    drop.n_atoms = 1;
    check_system(&drop, one, zero, 0.6, 0.5);
    drop.n_atoms = 0;
    check_system(&drop, one, zero, 0.6, 0.5);
    cells_free(&drop);
    check_repeats();
    check_variants();
    return 0;
}
