/* Packing of .xtc coordinates (xtc_pack.h).
 *
 * The stream is a row of groups. A group is one atom placed in the box of all atoms, then up to
 * eight atoms placed relative to their neighbour in a small cube:
 *
 *      place      the three numbers q - min, as one number in mixed radix (sizes max - min + 1), or
 *                 one by one when a size exceeds 24 bits
 *      1 bit      0: as many small atoms as in the group before, same small range
 *      5 bits     after a 1: 3 * (small atoms) + 1 + change of range (-1, 0, +1), the change takes
 *                 effect after this group
 *      small      each d + half in mixed radix, range s: side[s] per axis, s bits in all
 *
 * side[s] is about 2^(s/3), half = side / 2, and |d| < half on each axis. If there are small atoms,
 * the first two atoms of the group change places: atom i+1 is placed, then i relative to i+1,
 * i+2 relative to i, i+3 relative to i+2, and so on. (Oxygen, two hydrogens: both relative to the
 * oxygen, though the oxygen comes first in the file.)
 *
 *      pairs that must be near for atom i to lead a group:   (i, i+1) (i, i+2) (i+2, i+3) ...
 *                                                             step     skip     step
 *
 * A number in mixed radix goes out byte by byte, lowest byte first, the bits of a byte highest
 * first; the last byte gives only the bits that are left.
 *
 * The reader follows whatever range we choose, so the choice is ours: before each group the cost
 * per atom of the next few groups is worked out for the ranges in reach (one down, same, one up),
 * and the cheapest is taken. The range of the start is the cheapest one for the first groups.
 */
#include "md/out/xtc_pack.h"
#include "base/alloc.h"

#include <stdlib.h>

enum {
    FIRST_RANGE = 9,  /* smaller cubes are not defined */
    LAST_RANGE = 60,  /* the format goes on to 72; small numbers of 64 bits are enough */
    NEVER = 255,      /* no range holds this pair */
    MAX_SMALL = 8,    /* small atoms of a group */
    GROUP_BYTES = 96, /* more than any group takes: 12 + 1 + 8 * 60 / 8 */
    LOOK_AHEAD = 4,   /* groups that the choice of a range looks at */
    LOOK_START = 300, /* the same for the first range */
    CLIMB_GAIN = 6,   /* bits that a small atom must save to be worth climbing for */
};
/* Bits per atom that a change of range must save: its own five, spread over the atoms looked at. */
static const double MIN_GAIN = 0.4;

/* A fact of the format. Nearly 2^(s/3), rounded, with some entries off by history. */
static const int32_t side[LAST_RANGE + 1] = {
    0,      0,      0,      0,      0,      0,       0,      0,      0,      8,      10,
    12,     16,     20,     25,     32,     40,      50,     64,     80,     101,    128,
    161,    203,    256,    322,    406,    512,     645,    812,    1024,   1290,   1625,
    2048,   2580,   3250,   4096,   5060,   6501,    8192,   10321,  13003,  16384,  20642,
    26007,  32768,  41285,  52015,  65536,  82570,   104031, 131072, 165140, 208063, 262144,
    330280, 416127, 524287, 660561, 832255, 1048576,
};

/* ---- bits ----------------------------------------------------------------------------------- */

typedef struct bit_writer {
    unsigned char *next;
    uint64_t pending; /* the low n_pending bits wait, highest first */
    int n_pending;    /* below 32 between calls */
} bit_writer;

static inline void put_bits(bit_writer *out, uint32_t value, int n)
{
    out->pending = out->pending << n | value;
    out->n_pending += n;
    if (out->n_pending < 32) return;
    out->n_pending -= 32;
    uint32_t word = (uint32_t)(out->pending >> out->n_pending);
    out->next[0] = (unsigned char)(word >> 24);
    out->next[1] = (unsigned char)(word >> 16);
    out->next[2] = (unsigned char)(word >> 8);
    out->next[3] = (unsigned char)word;
    out->next += 4;
}

static inline void put_number(bit_writer *out, uint64_t value, int n)
{
    for (; n > 8; n -= 8, value >>= 8) put_bits(out, (uint32_t)(value & 255), 8);
    put_bits(out, (uint32_t)value, n);
}

static void put_end(bit_writer *out)
{
    while (out->n_pending > 0) {
        int n = out->n_pending < 8 ? out->n_pending : 8;
        out->n_pending -= n;
        *out->next++ = (unsigned char)((out->pending >> out->n_pending) << (8 - n));
    }
}

static int bit_length(uint64_t value)
{
    return value ? 64 - __builtin_clzll(value) : 0;
}

/* ---- places in the box ---------------------------------------------------------------------- */

typedef struct box_code {
    uint32_t size[3];
    int bits_each[3];
    int bits; /* of a place */
    bool one_by_one;
} box_code;

static box_code box_code_of(const md_xtc_pack *pack)
{
    box_code code = {.one_by_one = false};
    unsigned __int128 product = 1;
    for (int k = 0; k < 3; k++) {
        code.size[k] = (uint32_t)pack->max[k] - (uint32_t)pack->min[k] + 1;
        code.bits_each[k] = bit_length(code.size[k]);
        if (code.size[k] > 0xffffff) code.one_by_one = true;
        product *= code.size[k];
    }
    uint64_t high = (uint64_t)(product >> 64);
    if (code.one_by_one)
        code.bits = code.bits_each[0] + code.bits_each[1] + code.bits_each[2];
    else
        code.bits = high ? 64 + bit_length(high) : bit_length((uint64_t)product);
    return code;
}

static void put_place(bit_writer *out, const box_code *code, const int32_t q[3],
                      const int32_t min[3])
{
    uint32_t d[3];
    for (int k = 0; k < 3; k++) d[k] = (uint32_t)q[k] - (uint32_t)min[k];
    if (code->one_by_one) {
        for (int k = 0; k < 3; k++) put_bits(out, d[k], code->bits_each[k]);
    } else if (code->bits <= 64) {
        put_number(out, ((uint64_t)d[0] * code->size[1] + d[1]) * code->size[2] + d[2], code->bits);
    } else {
        unsigned __int128 number =
            (unsigned __int128)((uint64_t)d[0] * code->size[1] + d[1]) * code->size[2] + d[2];
        put_number(out, (uint64_t)number, 64);
        put_number(out, (uint64_t)(number >> 64), code->bits - 64);
    }
}

/* ---- small ranges --------------------------------------------------------------------------- */

/* Smallest range whose cube holds the pair. */
static inline unsigned char range_of_pair(const int32_t a[3], const int32_t b[3])
{
    uint32_t m = 0;
    for (int k = 0; k < 3; k++) {
        uint32_t d = (uint32_t)abs(a[k] - b[k]);
        if (d > m) m = d;
    }
    if (m >= (uint32_t)side[LAST_RANGE] / 2) return NEVER;
    int range = 3 * (bit_length(2 * m + 1) - 1); /* side = 2^(range/3) <= 2 m + 1 */
    if (range < FIRST_RANGE) range = FIRST_RANGE;
    while ((uint32_t)side[range] / 2 <= m) range++;
    return (unsigned char)range;
}

/* Small atoms of the group that atom i leads, at this range. */
static inline int run_of(const md_xtc_pack *pack, int64_t i, int64_t n_atoms, int range)
{
    int64_t left = n_atoms - 1 - i;
    int limit = left < MAX_SMALL ? (int)left : MAX_SMALL;
    if (limit < 1 || pack->step_range[i + 1] > range) return 0;
    if (limit < 2 || pack->skip_range[i + 2] > range) return 1;
    int run = 2;
    while (run < limit && pack->step_range[i + run + 1] <= range) run++;
    return run;
}

/* Bits per atom of the next n_groups groups from atom i, all at one range. */
static double cost_of(const md_xtc_pack *pack, int64_t i, int64_t n_atoms, int range, int n_groups,
                      int place_bits, int run_before)
{
    int64_t first = i;
    int bits = 0;
    for (int g = 0; g < n_groups && i < n_atoms; g++) {
        int run = run_of(pack, i, n_atoms, range);
        bits += place_bits + 1 + (run != run_before ? 5 : 0) + run * range;
        run_before = run;
        i += 1 + run;
    }
    return (double)bits / (double)(i - first);
}

static int choose_first_range(const md_xtc_pack *pack, int64_t n_atoms, int place_bits)
{
    int best = FIRST_RANGE;
    double best_cost = 1e30;
    for (int range = FIRST_RANGE; range <= LAST_RANGE && range < place_bits; range++) {
        double cost = cost_of(pack, 0, n_atoms, range, LOOK_START, place_bits, -1);
        if (cost < best_cost) {
            best_cost = cost;
            best = range;
        }
    }
    return best;
}

/* Is there a pair among the next atoms that a larger range would hold, with a gain? Asked where the
 * present range holds none: comparing it with its neighbours would find nothing to choose, and it
 * would stay small for the rest of the frame. */
static bool should_climb(const md_xtc_pack *pack, int64_t i, int64_t n_atoms, int range,
                         int place_bits)
{
    int nearest = NEVER;
    for (int64_t j = i + 1; j < n_atoms && j <= i + LOOK_AHEAD; j++)
        if (pack->step_range[j] < nearest) nearest = pack->step_range[j];
    return nearest > range && nearest + CLIMB_GAIN < place_bits;
}

/* -1, 0 or +1: how the range should change before the group that atom i leads. */
static int choose_change(const md_xtc_pack *pack, int64_t i, int64_t n_atoms, int range,
                         int place_bits, int run)
{
    if (i >= n_atoms) return 0;
    int best = 0;
    double best_cost = cost_of(pack, i, n_atoms, range, LOOK_AHEAD, place_bits, run);
    const double limit = best_cost - MIN_GAIN;
    for (int change = -1; change <= 1; change += 2) {
        if (range + change < FIRST_RANGE || range + change > LAST_RANGE) continue;
        double cost = cost_of(pack, i, n_atoms, range + change, LOOK_AHEAD, place_bits, run);
        if (cost < limit && cost < best_cost) {
            best_cost = cost;
            best = change;
        }
    }
    bool all_alone = limit + MIN_GAIN >= place_bits + 1.0;
    if (best == 0 && all_alone && should_climb(pack, i, n_atoms, range, place_bits)) best = 1;
    return best;
}

static void put_small(bit_writer *out, const int32_t q[3], const int32_t near[3], int range)
{
    uint64_t size = (uint64_t)side[range], number = 0;
    for (int k = 0; k < 3; k++)
        number = number * size + (uint64_t)(q[k] - near[k] + side[range] / 2);
    put_number(out, number, range);
}

static void reserve_bytes(md_xtc_pack *pack, bit_writer *out)
{
    size_t used = (size_t)(out->next - pack->bytes);
    BASE_RESERVE(pack->bytes, pack->bytes_capacity, used + GROUP_BYTES);
    out->next = pack->bytes + used;
}

void md_xtc_pack_run(md_xtc_pack *pack, int64_t n_atoms)
{
    BASE_RESERVE(pack->step_range, pack->step_capacity, n_atoms);
    BASE_RESERVE(pack->skip_range, pack->skip_capacity, n_atoms);
    for (int64_t i = 1; i < n_atoms; i++)
        pack->step_range[i] = range_of_pair(pack->q[i], pack->q[i - 1]);
    for (int64_t i = 2; i < n_atoms; i++)
        pack->skip_range[i] = range_of_pair(pack->q[i], pack->q[i - 2]);

    const box_code code = box_code_of(pack);
    int range = choose_first_range(pack, n_atoms, code.bits), run_before = -1;
    pack->first_small = range;
    bit_writer out = {.next = pack->bytes};
    for (int64_t i = 0; i < n_atoms;) {
        reserve_bytes(pack, &out);
        const int32_t(*q)[3] = (const int32_t(*)[3])pack->q + i;
        int run = run_of(pack, i, n_atoms, range);
        int change = choose_change(pack, i + 1 + run, n_atoms, range, code.bits, run);
        put_place(&out, &code, q[run > 0 ? 1 : 0], pack->min);
        if (run != run_before || change != 0)
            put_bits(&out, 32 | (uint32_t)(3 * run + 1 + change), 6);
        else
            put_bits(&out, 0, 1);
        if (run > 0) put_small(&out, q[0], q[1], range);
        if (run > 1) put_small(&out, q[2], q[0], range);
        for (int k = 3; k <= run; k++) put_small(&out, q[k], q[k - 1], range);
        run_before = run;
        range += change;
        i += 1 + run;
    }
    reserve_bytes(pack, &out);
    put_end(&out);
    pack->n_bytes = (size_t)(out.next - pack->bytes);
}

void md_xtc_pack_destroy(md_xtc_pack *pack)
{
    base_free(pack->q);
    base_free(pack->bytes);
    base_free(pack->step_range);
    base_free(pack->skip_range);
    *pack = (md_xtc_pack){.q = NULL};
}
