/* Units of rows, their blocks, leaves for the search, tails.
 *
 * Blocks come from halving the units along the longest axis of their bounding box, so all have the
 * same number of units, give or take one, and as many blocks are made as fill every multiprocessor
 * equally. Halving goes on inside a block down to one unit: neighbours in the order are neighbours
 * in space, at every scale, which is what the search on the device prunes by.
 */
#include "md/pairs/unit_plan.h"

#include "base/alloc.h"
#include "md/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Atoms of one unit may stand apart when a molecule is in several constraint groups, which wrap one
 * by one; farther than this they get units of their own. */
static const double unit_reach_nm = 0.6;
static const double leaf_bin_nm = 0.3;

/* ---- frames --------------------------------------------------------------------------------- */

static void finish_frame(const md_box *box, md_unit_frame *frame)
{
    static const int place[6][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}};
    memcpy(frame->m, box->m, sizeof frame->m);
    for (int k = 0; k < 6; k++)
        frame->scale[k] = (float)(box->m[place[k][0]][place[k][1]] * 0x1p-32);
}

void md_unit_frame_of_rows(const md_rows *rows, md_unit_frame *frame)
{
    md_box box = {{{0}}};
    memcpy(frame->origin, rows->origin, sizeof frame->origin);
    for (int k = 0; k < 3; k++) {
        double reach = 0;
        for (int i = 0; i < rows->n_rows; i++)
            reach = fmax(reach, fabs(rows->x[i][k] - rows->origin[k]));
        /* the rows fill half of it, and fractions to nm are exact */
        box.m[k][k] = exp2(ceil(log2(4 * (reach + 1))));
    }
    finish_frame(&box, frame);
}

void md_unit_frame_of_box(const md_box *box, md_unit_frame *frame)
{
    memset(frame->origin, 0, sizeof frame->origin);
    finish_frame(box, frame);
}

void md_unit_frame_encode(const md_unit_frame *frame, const double x[3], int32_t out[3])
{
    md_box box;
    double d[3], s[3];
    memcpy(box.m, frame->m, sizeof box.m);
    vec_sub(x, frame->origin, d);
    md_box_to_fractional(&box, d, s);
    for (int k = 0; k < 3; k++) out[k] = (int32_t)(uint32_t)(int64_t)rint((s[k] - floor(s[k])) *
                                                                          0x1p32);
}

void md_unit_frame_encode_rows(const md_unit_frame *frame, const md_rows *rows, md_device_row *out)
{
    for (int row = 0; row < rows->n_rows; row++) {
        md_unit_frame_encode(frame, rows->x[row], out[row].s);
        out[row].charge = rows->charge[row];
    }
}

/* ---- sorting -------------------------------------------------------------------------------- */

typedef struct keyed {
    uint64_t key;
    int value;
} keyed;

/* By key, equal keys in the order they came; `other` has room for n. Returns where the
 * result is. */
static keyed *sort_by_key(keyed *items, keyed *other, int n)
{
    uint64_t all = 0;
    for (int k = 0; k < n; k++) all |= items[k].key;
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) {
        int start[257] = {0};
        for (int k = 0; k < n; k++) start[(items[k].key >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) start[d + 1] += start[d];
        for (int k = 0; k < n; k++) other[start[items[k].key >> shift & 255]++] = items[k];
        keyed *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* ---- units ---------------------------------------------------------------------------------- */

typedef struct found_unit {
    int row[4];
    double x[3];                /* middle, from rows->origin */
} found_unit;

/* What halving moves about: 16 bytes, in place, so that it reads memory in order. */
typedef struct middle {
    float x[3];                 /* nm from rows->origin */
    int unit;
} middle;

typedef struct maker {
    const md_units *units;
    const md_topology *topology;
    const md_rows *rows;
    md_unit_plan *plan;
    const md_unit_frame *frame;
    found_unit *found;
    int n_found;
    middle *order;
} maker;

/* Kinds of all rows; key of every owned row: its unit, by the lowest global number in it. */
static void identify(const maker *m, keyed *owned)
{
    const md_rows *rows = m->rows;
    md_unit_plan *plan = m->plan;
    for (int row = 0; row < rows->n_rows; row++) {
        md_atom_place place;
        md_topology_find(m->topology, rows->gid[row], &place);
        const md_moltype_units *mol = &m->units->moltype[place.moltype];
        int kind = mol->kind_of_atom[place.atom];
        plan->row_word[row] = (uint32_t)row | (uint32_t)kind << plan->row_bits;
        plan->row_gid[row] = (uint32_t)rows->gid[row];
        plan->row_charge_only[row] = kind == m->units->charge_only;
        if (row >= rows->n_owned) continue;
        const int *atom = mol->atom[mol->unit_of_atom[place.atom]];
        int lowest = atom[0], member = 0;
        for (int k = 1; k < MD_UNIT; k++) {
            if (atom[k] >= 0 && atom[k] < lowest) lowest = atom[k];
            if (atom[k] == place.atom) member = k;
        }
        owned[row].key = (uint64_t)(place.first_atom + lowest) * 4 + (uint64_t)member;
        owned[row].value = row;
    }
}

/* a - b, images nearest in fractions of the frame. */
static void displacement(const maker *m, const double a[3], const double b[3], double d[3])
{
    vec_sub(a, b, d);
    if (!m->frame) return;
    const double(*period)[3] = m->frame->m;
    if (fabs(d[0]) < 0.49 * period[0][0] && fabs(d[1]) < 0.49 * period[1][1] &&
        fabs(d[2]) < 0.49 * period[2][2])
        return;                         /* most are */
    for (int axis = 2; axis >= 0; axis--) {
        double n = rint(d[axis] / period[axis][axis]);
        for (int k = 0; k <= axis; k++) d[k] -= n * period[axis][k];
    }
}

static int kind_of_row(const maker *m, int row)
{
    return (int)(m->plan->row_word[row] >> m->plan->row_bits);
}

static void add_unit(maker *m, const int *row, int n)
{
    found_unit *u = &m->found[m->n_found++];
    const double(*x)[3] = (const double(*)[3])m->rows->x;
    int n_lj = 0;
    displacement(m, x[row[0]], m->rows->origin, u->x);
    for (int k = 0; k < MD_UNIT; k++) {
        u->row[k] = k < n ? row[k] : -1;
        if (k >= n) continue;
        double d[3];
        displacement(m, x[row[k]], x[row[0]], d);
        for (int a = 0; a < 3; a++) u->x[a] += d[a] / n;
        if (m->units->kind[kind_of_row(m, row[k])].has_lj) n_lj++;
    }
    u->row[3] = n_lj > 1;
}

/* Rows of one unit of the topology that are here: together, if they stand together. */
static void add_units_near(maker *m, const keyed *item, int n)
{
    bool taken[MD_UNIT] = {false};
    for (int k = 0; k < n; k++) {
        int row[MD_UNIT], here = 0;
        if (taken[k]) continue;
        for (int l = k; l < n; l++) {
            double d[3];
            displacement(m, m->rows->x[item[l].value], m->rows->x[item[k].value], d);
            if (taken[l] || vec_norm2(d) > unit_reach_nm * unit_reach_nm) continue;
            taken[l] = true;
            row[here++] = item[l].value;
        }
        add_unit(m, row, here);
    }
}

static void find_units(maker *m)
{
    int n = m->rows->n_owned;
    keyed *items = base_alloc(((size_t)n + 1) * sizeof *items);
    keyed *other = base_alloc(((size_t)n + 1) * sizeof *other);
    identify(m, items);
    keyed *sorted = sort_by_key(items, other, n);
    m->found = base_alloc(((size_t)n + 1) * sizeof *m->found);
    for (int k = 0, end; k < n; k = end) {
        for (end = k + 1; end < n && sorted[end].key / 4 == sorted[k].key / 4; end++) {}
        add_units_near(m, sorted + k, end - k);
    }
    base_free(items);
    base_free(other);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool before(const middle *a, const middle *b, int axis)
{
    return a->x[axis] < b->x[axis] || (a->x[axis] == b->x[axis] && a->unit < b->unit);
}

/* Move the units that come first along the axis to order[first .. cut). */
static void part(middle *order, int first, int cut, int end, int axis)
{
    while (end - first > 1) {
        const middle pivot = order[first + (end - first) / 2];
        int low = first, high = end - 1;
        while (low <= high) {
            while (before(&order[low], &pivot, axis)) low++;
            while (before(&pivot, &order[high], axis)) high--;
            if (low > high) break;
            middle swap = order[low];
            order[low++] = order[high];
            order[high--] = swap;
        }
        if (cut <= high) end = high + 1;
        else if (cut >= low) first = low;
        else return;
    }
}

static int longest_axis(const middle *order, int first, int end)
{
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int u = first; u < end; u++)
        for (int k = 0; k < 3; k++) {
            lo[k] = order[u].x[k] < lo[k] ? order[u].x[k] : lo[k];
            hi[k] = order[u].x[k] > hi[k] ? order[u].x[k] : hi[k];
        }
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (hi[k] - lo[k] > hi[axis] - lo[axis]) axis = k;
    return axis;
}

static int max_of(int a, int b)
{
    return a > b ? a : b;
}

/* n_blocks blocks out of units [first, end); inside a block down to single units. */
static void halve(maker *m, int first, int end, int n_blocks, int block)
{
    if (n_blocks == 1) m->plan->block_start[block] = first;
    if (end - first < 2) return;
    bool inside = n_blocks <= 1;
    int left = inside ? 0 : n_blocks / 2;
    int cut = inside ? first + (end - first) / 2
                     : first + (int)((int64_t)(end - first) * left / n_blocks);
    part(m->order, first, cut, end, longest_axis(m->order, first, end));
    halve(m, first, cut, left, block);
    halve(m, cut, end, inside ? 0 : n_blocks - left, block + left);
}

/* Of these units alone, not of how many blocks there were: a run that was continued must cut as one
 * that was not. */
static int count_blocks(int n_units, const md_unit_plan_options *options)
{
    enum { FEWEST = 8 };        /* units of a block: below, the copied surroundings are all cost */
    int most = options->most_units, n = options->n_processors;
    int waves = (n_units + n * most - 1) / (n * most);
    int blocks = waves * n;
    int useful = n_units / (most < FEWEST ? most : FEWEST);
    if (blocks > useful) blocks = useful;
    int needed = (n_units + most - 1) / most;
    return blocks < needed ? needed : blocks;
}

static void make_blocks(maker *m, const md_unit_plan_options *options)
{
    md_unit_plan *plan = m->plan;
    plan->n_units = m->n_found;
    plan->n_blocks = count_blocks(m->n_found, options);
    m->order = base_alloc(((size_t)m->n_found + 1) * sizeof *m->order);
    for (int u = 0; u < m->n_found; u++) {
        m->order[u].unit = u;
        for (int k = 0; k < 3; k++)
            m->order[u].x[k] = (float)m->found[u].x[k];
    }
    BASE_RESERVE(plan->block_start, plan->capacity_block, plan->n_blocks + 1);
    BASE_RESERVE(plan->unit, plan->capacity_unit, plan->n_units + 1);
    if (options->blocks_later)
        for (int b = 0; b < plan->n_blocks; b++)
            plan->block_start[b] = (int)((int64_t)m->n_found * b / plan->n_blocks);
    else if (plan->n_blocks > 0) halve(m, 0, m->n_found, plan->n_blocks, 0);
    plan->block_start[plan->n_blocks] = m->n_found;
    for (int u = 0; u < m->n_found; u++)
        memcpy(plan->unit[u], m->found[m->order[u].unit].row, sizeof plan->unit[u]);
}

/* ---- leaves --------------------------------------------------------------------------------- */

static uint64_t spread_bits(uint64_t v)
{
    v = (v | v << 32) & 0x1f00000000ffffu;
    v = (v | v << 16) & 0x1f0000ff0000ffu;
    v = (v | v << 8) & 0x100f00f00f00f00fu;
    v = (v | v << 4) & 0x10c30c30c30c30c3u;
    return (v | v << 2) & 0x1249249249249249u;
}

static int most_in_a_block(const md_unit_plan *plan)
{
    int most = 0;
    for (int b = 0; b < plan->n_blocks; b++)
        most = max_of(most, plan->block_start[b + 1] - plan->block_start[b]);
    return most;
}

/* Leaves of owned rows end where a block ends, unless blocks are so small that most leaves would
 * be half empty. */
static void count_leaves(const maker *m)
{
    md_unit_plan *plan = m->plan;
    int most = most_in_a_block(plan), n_ghosts = m->rows->n_rows - m->rows->n_owned;
    plan->leaves_a_block =
        most > 3 * MD_UNIT_LEAF_UNITS ? (most + MD_UNIT_LEAF_UNITS - 1) / MD_UNIT_LEAF_UNITS : 0;
    plan->n_owned_leaves =
        plan->leaves_a_block
            ? plan->leaves_a_block * plan->n_blocks
            : (plan->n_units + MD_UNIT_LEAF_UNITS - 1) / MD_UNIT_LEAF_UNITS;
    plan->n_leaves = plan->n_owned_leaves + (n_ghosts + MD_UNIT_LEAF - 1) / MD_UNIT_LEAF;
    BASE_RESERVE(plan->leaf_row, plan->capacity_leaf, plan->n_leaves * MD_UNIT_LEAF + 1);
}

static void fill_owned_leaf(md_unit_plan *plan, int leaf)
{
    int first = leaf * MD_UNIT_LEAF_UNITS, end = plan->n_units;
    if (plan->leaves_a_block) {
        int b = leaf / plan->leaves_a_block;
        first = plan->block_start[b] + leaf % plan->leaves_a_block * MD_UNIT_LEAF_UNITS;
        end = plan->block_start[b + 1];
    }
    for (int k = 0; k < MD_UNIT_LEAF; k++) {
        int u = first + k / MD_UNIT;
        bool is = k < MD_UNIT_LEAF_UNITS * MD_UNIT && u < end;
        plan->leaf_row[leaf * MD_UNIT_LEAF + k] = is ? plan->unit[u][k % MD_UNIT] : -1;
    }
}

/* Ghosts along a Morton curve, cut every 32; in their order when the device will sort them. */
static void make_leaves(const maker *m, bool later)
{
    const md_rows *rows = m->rows;
    md_unit_plan *plan = m->plan;
    int n_owned = rows->n_owned, n = rows->n_rows - n_owned;
    double lo[3] = {INFINITY, INFINITY, INFINITY};
    count_leaves(m);
    for (int leaf = 0; leaf < plan->n_owned_leaves; leaf++) fill_owned_leaf(plan, leaf);
    int *place = plan->leaf_row + (size_t)plan->n_owned_leaves * MD_UNIT_LEAF;
    int n_places = (plan->n_leaves - plan->n_owned_leaves) * MD_UNIT_LEAF;
    for (int k = 0; k < n_places; k++) place[k] = k < n ? n_owned + k : -1;
    if (later) return;
    double(*x)[3] = base_alloc(((size_t)n + 1) * sizeof *x);
    keyed *items = base_alloc(((size_t)n + 1) * sizeof *items);
    keyed *other = base_alloc(((size_t)n + 1) * sizeof *other);
    for (int row = 0; row < n; row++) {
        displacement(m, rows->x[n_owned + row], rows->origin, x[row]);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], x[row][k]);
    }
    for (int row = 0; row < n; row++) {
        uint64_t key = 0;
        for (int k = 0; k < 3; k++) {
            double bin = fmin((x[row][k] - lo[k]) / leaf_bin_nm, 2097151);
            key |= spread_bits((uint64_t)bin) << k;
        }
        items[row] = (keyed){key, n_owned + row};
    }
    keyed *sorted = sort_by_key(items, other, n);
    for (int k = 0; k < n; k++) place[k] = sorted[k].value;
    base_free(x);
    base_free(items);
    base_free(other);
}

/* ---- tails ---------------------------------------------------------------------------------- */

static bool excludes(const md_rows *rows, int i, int j)
{
    if (i == j) return true;
    for (int e = rows->exclusion_start[i]; e < rows->exclusion_start[i + 1]; e++)
        if (rows->exclusion[e] == j) return true;
    return false;
}

static void add_to_tail(md_unit_plan *plan, int first, int row)
{
    for (int t = first; t < plan->n_tail; t++)
        if (plan->tail_row[t] == row) return;
    BASE_RESERVE(plan->tail_row, plan->capacity_tail_row, plan->n_tail + 1);
    plan->tail_row[plan->n_tail++] = row;
}

static void make_tail(const md_rows *rows, md_unit_plan *plan, int u)
{
    int first = plan->n_tail;
    const int *unit = plan->unit[u];
    plan->tail_start[u] = first;
    for (int a = 0; a < MD_UNIT && unit[a] >= 0; a++) add_to_tail(plan, first, unit[a]);
    for (int a = 0; a < MD_UNIT && unit[a] >= 0; a++)
        for (int e = rows->exclusion_start[unit[a]]; e < rows->exclusion_start[unit[a] + 1]; e++)
            add_to_tail(plan, first, rows->exclusion[e]);
    BASE_RESERVE(plan->tail_mask, plan->capacity_tail_mask, plan->n_tail + 1);
    uint32_t lowest = plan->row_gid[unit[0]], highest = lowest;
    for (int t = first; t < plan->n_tail; t++) {
        int mask = 0;
        for (int a = 0; a < MD_UNIT && unit[a] >= 0; a++)
            mask |= excludes(rows, unit[a], plan->tail_row[t]) ? 1 << (3 + a) : 1 << a;
        plan->tail_mask[t] = (uint8_t)mask;
        uint32_t gid = plan->row_gid[plan->tail_row[t]];
        if (gid < lowest) lowest = gid;
        if (gid > highest) highest = gid;
    }
    plan->tail_gid[u][0] = lowest;
    plan->tail_gid[u][1] = highest - lowest;
}

static void make_tails(const md_rows *rows, md_unit_plan *plan)
{
    plan->n_tail = 0;
    BASE_RESERVE(plan->tail_start, plan->capacity_tail_start, plan->n_units + 1);
    BASE_RESERVE(plan->tail_gid, plan->capacity_tail_gid, plan->n_units + 1);
    for (int u = 0; u < plan->n_units; u++) make_tail(rows, plan, u);
    plan->tail_start[plan->n_units] = plan->n_tail;
}

/* ---- all ------------------------------------------------------------------------------------ */

sundog_status md_unit_plan_make(const md_units *units, const md_topology *topology,
                                const md_rows *rows, const md_unit_plan_options *options,
                                md_unit_plan *plan)
{
    int row_bits = 1;
    while (row_bits < 31 && rows->n_rows > 1 << row_bits) row_bits++;
    if ((uint64_t)units->n_kinds > (uint64_t)1 << (32 - row_bits))
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%d rows of %d kinds of atoms (type and charge) are too many for one GPU "
                         "domain; use more domains, and -ghosts near if these are all atoms",
                         rows->n_rows, units->n_kinds);
    plan->row_bits = row_bits;
    plan->n_rows = rows->n_rows;
    plan->n_owned = rows->n_owned;
    plan->n_kinds = units->n_kinds;
    BASE_RESERVE(plan->row_word, plan->capacity_word, rows->n_rows + 1);
    BASE_RESERVE(plan->row_gid, plan->capacity_gid, rows->n_rows + 1);
    BASE_RESERVE(plan->row_charge_only, plan->capacity_charge_only, rows->n_rows + 1);
    maker m = {.units = units,
               .topology = topology,
               .rows = rows,
               .plan = plan,
               .frame = options->frame};
    find_units(&m);
    make_blocks(&m, options);
    make_leaves(&m, options->blocks_later);
    make_tails(rows, plan);
    base_free(m.found);
    base_free(m.order);
    return SUNDOG_OK;
}

void md_unit_plan_destroy(md_unit_plan *plan)
{
    base_free(plan->unit);
    base_free(plan->block_start);
    base_free(plan->leaf_row);
    base_free(plan->row_word);
    base_free(plan->row_gid);
    base_free(plan->row_charge_only);
    base_free(plan->tail_start);
    base_free(plan->tail_row);
    base_free(plan->tail_mask);
    base_free(plan->tail_gid);
    memset(plan, 0, sizeof *plan);
}
