/* Blocks of interactions for the device: every interaction in one lane, a warp of one kind, and
 * what lanes put to their places arrives in the slots of the right rows. Lists in the order of
 * domains (by first row) and in any other; forces wanted on some rows only; no interactions. What
 * the kernel does with the blocks is seen in test_bonded_device. */
#include "check.h"
#include "md/force/bonded_blocks.h"
#include "md/in/gro.h"
#include "md/in/top.h"
#include "reference.h"
#include "whole_system.h"

#include <string.h>

/* A whole number for each atom of each interaction, so that sums are exact. */
static double value_of(int kind, int k, int atom)
{
    return (kind * 7919 + k * 31 + atom * 5) % 1009 - 400;
}

static int lane_row(const md_bonded_blocks *b, int block, int atom, int lane)
{
    return b->row[((size_t)block * MD_MAX_KIND_ATOMS + (size_t)atom) * BONDED_BLOCK + (size_t)lane];
}

/* Lanes take each list in its order: the next one of its kind. */
static void check_lane(const md_bonded_blocks *b, const md_rows *rows, int block, int lane,
                       int next[MD_N_KINDS])
{
    const int kind = b->kind[block * BONDED_WARPS + lane / 32], at = block * BONDED_BLOCK + lane;
    if (b->param[at] < 0) return;
    CHECK(kind < MD_N_KINDS);
    const md_row_interactions *list = &rows->list[kind];
    const int n_atoms = md_kind_n_atoms((md_kind)kind), k = next[kind]++;
    CHECK(k < list->n);
    CHECK(b->param[at] == (kind == MD_POSRES ? k : list->param[k]));
    CHECK(b->weight[at] == list->weight[k]);
    for (int a = 0; a < n_atoms; a++)
        CHECK(lane_row(b, block, a, lane) == list->rows[n_atoms * k + a]);
}

static void add_block(const md_bonded_blocks *b, int block, int n_wanted, int next[MD_N_KINDS],
                      double *slot)
{
    double place[MD_MAX_KIND_ATOMS * BONDED_BLOCK];
    bool filled[MD_MAX_KIND_ATOMS * BONDED_BLOCK] = {false};
    for (int lane = 0; lane < BONDED_BLOCK; lane++) {
        const int kind = b->kind[block * BONDED_WARPS + lane / 32];
        const int at = block * BONDED_BLOCK + lane;
        const int n_atoms = b->param[at] < 0 ? 0 : md_kind_n_atoms((md_kind)b->kind[at / 32]);
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
            const bool wanted = a < n_atoms && lane_row(b, block, a, lane) < n_wanted;
            const int to = b->place[at][a];
            CHECK((to != BONDED_NO_PLACE) == wanted);
            if (!wanted) continue;
            CHECK(to < MD_MAX_KIND_ATOMS * BONDED_BLOCK && !filled[to]);
            filled[to] = true;
            place[to] = value_of(kind, next[kind], a);
        }
        if (n_atoms > 0) next[kind]++;
    }
    for (int s = b->first_sum[block]; s < b->first_sum[block + 1]; s++) {
        CHECK(b->sum[s].n > 0 && b->sum[s].slot < b->n_sums);
        slot[b->sum[s].slot] = 0;
        for (int k = b->sum[s].first; k < b->sum[s].first + b->sum[s].n; k++) {
            CHECK(filled[k]);
            slot[b->sum[s].slot] += place[k];
        }
    }
}

static void check_blocks(const md_bonded_blocks *b, const md_rows *rows, int n_wanted)
{
    int seen[MD_N_KINDS] = {0}, next[MD_N_KINDS] = {0};
    double *slot = base_alloc(((size_t)b->n_sums + 1) * sizeof *slot);
    double *wanted = base_alloc_zero(((size_t)n_wanted + 1) * sizeof *wanted);
    for (int s = 0; s < b->n_sums; s++) slot[s] = 1e300;
    for (int block = 0; block < b->n_blocks; block++) {
        for (int lane = 0; lane < BONDED_BLOCK; lane++) check_lane(b, rows, block, lane, seen);
        add_block(b, block, n_wanted, next, slot);
    }
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const int n_atoms = md_kind_n_atoms((md_kind)kind);
        const bool used = kind != MD_CONSTRAINT && kind != MD_SETTLE;
        CHECK(seen[kind] == (used ? rows->list[kind].n : 0));
        for (int k = 0; k < rows->list[kind].n && used; k++)
            for (int a = 0; a < n_atoms; a++) {
                const int row = rows->list[kind].rows[n_atoms * k + a];
                if (row < n_wanted) wanted[row] += value_of(kind, k, a);
            }
    }
    CHECK(b->start[0] == 0 && b->start[n_wanted] == b->n_sums);
    for (int r = 0; r < n_wanted; r++) {
        double sum = 0;
        for (int k = b->start[r]; k < b->start[r + 1]; k++) sum += slot[k];
        CHECK(sum == wanted[r]);
    }
    base_free(slot), base_free(wanted);
}

static void sort_by_first_row(md_row_interactions *list, int n_atoms)
{
    for (int i = 1; i < list->n; i++)
        for (int k = i; k > 0 && list->rows[n_atoms * k] < list->rows[n_atoms * (k - 1)]; k--) {
            int row[MD_MAX_KIND_ATOMS], param = list->param[k];
            int *here = list->rows + n_atoms * k, *before = here - n_atoms;
            memcpy(row, here, (size_t)n_atoms * sizeof *row);
            memcpy(here, before, (size_t)n_atoms * sizeof *row);
            memcpy(before, row, (size_t)n_atoms * sizeof *row);
            list->param[k] = list->param[k - 1];
            list->param[k - 1] = param;
        }
}

static void test_system(const char *system, const char *define, double most_slots)
{
    const md_top_options options = {.define = define};
    md_topology *topology;
    md_gro gro;
    md_rows rows = {0};
    md_bonded_blocks blocks = {0};
    bool used[MD_N_KINDS];
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        used[kind] = kind != MD_CONSTRAINT && kind != MD_SETTLE;
    CHECK_OK(md_top_read(reference_path("%s/topol.top", system), &options, &topology));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", system), &gro));
    fill_rows(topology, &gro.state, &rows);
    for (int sorted = 0; sorted < 2; sorted++) {
        md_bonded_blocks_build(&blocks, &rows, used, rows.n_rows);
        check_blocks(&blocks, &rows, rows.n_rows);
        printf("%s: %d rows, %d blocks, %d slots\n", system, rows.n_rows, blocks.n_blocks,
               blocks.n_sums);
        CHECK(blocks.n_blocks > 0 && blocks.n_sums <= most_slots * rows.n_rows);
        md_bonded_blocks_build(&blocks, &rows, used, 2 * rows.n_rows / 3);
        check_blocks(&blocks, &rows, 2 * rows.n_rows / 3);
        for (int kind = 0; kind < MD_N_KINDS; kind++)
            sort_by_first_row(&rows.list[kind], md_kind_n_atoms((md_kind)kind));
    }
    for (int kind = 0; kind < MD_N_KINDS; kind++) rows.list[kind].n = 0;
    md_bonded_blocks_build(&blocks, &rows, used, rows.n_rows);
    CHECK(blocks.n_blocks == 0 && blocks.n_sums == 0 && blocks.start[rows.n_rows] == 0);
    md_bonded_blocks_free(&blocks);
    md_rows_destroy(&rows);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    test_system("terms/many_terms", "", 1.5);
    test_system("ethanol/single", "", 1);
    test_system("grappa-like/0001.5", "", 0.25);
    test_system("peptide/wkdpys_amber", "-DPOSRES", 0.1);
    return 0;
}
