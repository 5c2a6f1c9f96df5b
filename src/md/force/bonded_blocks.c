/* Blocks from the lists of a domain (bonded_blocks.h): a merge of the lists of all kinds, cut where
 * a block has no warp left. Linear in the number of interactions and rows. */
#include "md/force/bonded_blocks.h"
#include "base/alloc.h"

typedef struct builder {
    md_bonded_blocks *out;
    const md_rows *rows;
    const bool *used;
    int n_rows_wanted;
    int begin[MD_N_KINDS], end[MD_N_KINDS];     /* of the open block in each list */
    int n_warps;                                /* of the open block */
    int *block_of, *sum_of;                     /* [n_rows_wanted] last block of a row; its sum */
} builder;

static void block_reserve(md_bonded_blocks *out)
{
    const int n = out->n_blocks + 1;
    BASE_RESERVE(out->row, out->capacity[0], n * MD_MAX_KIND_ATOMS * BONDED_BLOCK);
    BASE_RESERVE(out->param, out->capacity[1], n * BONDED_BLOCK);
    BASE_RESERVE(out->weight, out->capacity[2], n * BONDED_BLOCK);
    BASE_RESERVE(out->place, out->capacity[3], n * BONDED_BLOCK);
    BASE_RESERVE(out->kind, out->capacity[4], n * BONDED_WARPS);
    BASE_RESERVE(out->first_sum, out->capacity[5], n + 1);
    BASE_RESERVE(out->sum, out->capacity[6], out->n_sums + MD_MAX_KIND_ATOMS * BONDED_BLOCK);
}

static void lane_clear(md_bonded_blocks *out, int lane)
{
    const int at = out->n_blocks * BONDED_BLOCK + lane;
    int *row = out->row + (size_t)out->n_blocks * MD_MAX_KIND_ATOMS * BONDED_BLOCK + lane;
    out->param[at] = -1;
    out->weight[at] = 0;
    for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
        row[a * BONDED_BLOCK] = 0;
        out->place[at][a] = BONDED_NO_PLACE;
    }
}

/* The sum of a row in the open block, its places counted. `slot` holds the row for now. */
static void row_count(builder *b, int row)
{
    md_bonded_blocks *out = b->out;
    if (row >= b->n_rows_wanted) return;
    if (b->block_of[row] != out->n_blocks) {
        b->block_of[row] = out->n_blocks;
        b->sum_of[row] = out->n_sums;
        out->sum[out->n_sums++] = (bonded_row_sum){0, 0, row};
    }
    out->sum[b->sum_of[row]].n++;
}

static void lane_fill(builder *b, int lane, md_kind kind, int k)
{
    md_bonded_blocks *out = b->out;
    const md_row_interactions *list = &b->rows->list[kind];
    const int n_atoms = md_kind_n_atoms(kind), at = out->n_blocks * BONDED_BLOCK + lane;
    int *row = out->row + (size_t)out->n_blocks * MD_MAX_KIND_ATOMS * BONDED_BLOCK + lane;
    out->param[at] = kind == MD_POSRES ? k : list->param[k];
    out->weight[at] = list->weight[k];
    for (int a = 0; a < n_atoms; a++) {
        row[a * BONDED_BLOCK] = list->rows[n_atoms * k + a];
        row_count(b, list->rows[n_atoms * k + a]);
    }
}

/* Places of the open block, row by row, each row's in the order of lanes. */
static void set_places(builder *b)
{
    md_bonded_blocks *out = b->out;
    int n = 0;
    for (int s = out->first_sum[out->n_blocks]; s < out->n_sums; s++) {
        out->sum[s].first = (uint16_t)n;
        n += out->sum[s].n;
        out->sum[s].n = 0;
    }
    const int *row = out->row + (size_t)out->n_blocks * MD_MAX_KIND_ATOMS * BONDED_BLOCK;
    for (int lane = 0; lane < b->n_warps * 32; lane++) {
        const int at = out->n_blocks * BONDED_BLOCK + lane;
        if (out->param[at] < 0) continue;
        const int n_atoms =
            md_kind_n_atoms((md_kind)out->kind[out->n_blocks * BONDED_WARPS + lane / 32]);
        for (int a = 0; a < n_atoms; a++) {
            if (row[a * BONDED_BLOCK + lane] >= b->n_rows_wanted) continue;
            bonded_row_sum *sum = &out->sum[b->sum_of[row[a * BONDED_BLOCK + lane]]];
            out->place[at][a] = (uint16_t)(sum->first + sum->n++);
        }
    }
}

static void block_close(builder *b)
{
    md_bonded_blocks *out = b->out;
    if (b->n_warps == 0) return;
    block_reserve(out);
    out->first_sum[out->n_blocks] = out->n_sums;
    for (int lane = 0; lane < BONDED_BLOCK; lane++) lane_clear(out, lane);
    int warp = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const int n = b->end[kind] - b->begin[kind];
        for (int k = 0; k < n; k++)
            lane_fill(b, 32 * warp + k, (md_kind)kind, b->begin[kind] + k);
        for (int w = 0; w < (n + 31) / 32; w++)
            out->kind[out->n_blocks * BONDED_WARPS + warp++] = (uint8_t)kind;
        b->begin[kind] = b->end[kind];
    }
    while (warp < BONDED_WARPS) out->kind[out->n_blocks * BONDED_WARPS + warp++] = MD_N_KINDS;
    set_places(b);
    out->first_sum[++out->n_blocks] = out->n_sums;
    b->n_warps = 0;
}

/* The kind whose next interaction has the lowest first row; MD_N_KINDS: none is left. */
static int next_kind(const builder *b)
{
    int best = MD_N_KINDS, lowest = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_row_interactions *list = &b->rows->list[kind];
        if (!b->used[kind] || b->end[kind] == list->n) continue;
        const int first = list->rows[md_kind_n_atoms((md_kind)kind) * b->end[kind]];
        if (best < MD_N_KINDS && first >= lowest) continue;
        best = kind;
        lowest = first;
    }
    return best;
}

/* Slots by row; of a row in the order of blocks. */
static void set_slots(builder *b)
{
    md_bonded_blocks *out = b->out;
    BASE_RESERVE(out->start, out->capacity[7], b->n_rows_wanted + 1);
    for (int r = 0; r <= b->n_rows_wanted; r++) out->start[r] = 0;
    for (int s = 0; s < out->n_sums; s++) out->start[out->sum[s].slot + 1]++;
    for (int r = 0; r < b->n_rows_wanted; r++) {
        out->start[r + 1] += out->start[r];
        b->sum_of[r] = out->start[r];
    }
    for (int s = 0; s < out->n_sums; s++) out->sum[s].slot = b->sum_of[out->sum[s].slot]++;
}

void md_bonded_blocks_build(md_bonded_blocks *blocks, const md_rows *rows,
                            const bool used[MD_N_KINDS], int n_rows_wanted)
{
    builder b = {.out = blocks, .rows = rows, .used = used, .n_rows_wanted = n_rows_wanted};
    int *work = base_alloc((2 * (size_t)n_rows_wanted + 1) * sizeof *work);
    b.block_of = work;
    b.sum_of = work + n_rows_wanted;
    for (int r = 0; r < n_rows_wanted; r++) b.block_of[r] = -1;
    blocks->n_blocks = blocks->n_sums = 0;
    for (int kind; (kind = next_kind(&b)) < MD_N_KINDS; b.end[kind]++) {
        if ((b.end[kind] - b.begin[kind]) % 32 != 0) continue;
        if (b.n_warps == BONDED_WARPS) block_close(&b);
        b.n_warps++;
    }
    block_close(&b);
    set_slots(&b);
    base_free(work);
}

void md_bonded_blocks_free(md_bonded_blocks *blocks)
{
    base_free(blocks->row), base_free(blocks->param), base_free(blocks->weight);
    base_free(blocks->place), base_free(blocks->kind), base_free(blocks->first_sum);
    base_free(blocks->sum), base_free(blocks->start);
    *blocks = (md_bonded_blocks){0};
}
