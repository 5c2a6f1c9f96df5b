/* state.cpt: everything that a restart needs (checkpoint.h).
 *
 *      prefix, 40 bytes, the same in every version to come
 *          char[8] "SUNDOGCP"
 *          u32     0x01020304      tells the byte order of the writer
 *          u32     version
 *          u64     bytes of the whole file
 *          u64     0
 *          u64     CRC-64 of the 32 bytes before
 *      sections, each
 *          char[8] name            HEAD, THERMO, BAROSTAT, INPUTS, OUTPUTS, TAILS,
 *                                  LISTS, AVERAGES, X, V;
 *                                  blanks behind
 *          u64     bytes of the contents
 *          contents
 *      u64     CRC-64 of all that comes before
 *
 * Numbers are as in memory (64-bit integers, doubles): a restart is exact to the bit. The prefix
 * has its own sum and the length, so "cut short", "damaged" and "from a newer version" can be told
 * apart. Readers skip sections that they do not know.
 *
 * Versions: 1 had no offset of ener.edr, the last of OUTPUTS. It is read as "not open": the restart
 * begins that file. 1 and 2 had the grid of the writer in place of TAILS: their outputs are
 * trusted.
 *
 * AVERAGES is there when there are any. THERMO, the thermostat's work on each temperature group, is
 * younger than the first files of version 3. Without it there is one group, whose work is in HEAD.
 * So is BAROSTAT, the work of the barostat; without it there was no pressure coupling. LISTS, how
 * many units a block of pair lists on GPUs may have, is younger still.
 *
 * CRC-64, not a hash of the FNV or xxHash kind: it is sure, not only likely, to notice every damage
 * that lies within 64 bits, which is how disks and cables fail; and its value is defined by a
 * standard, so a second program can check a file. It does not protect against intent.
 *
 * Writing streams straight from the arrays of the state: no second copy. The file replaces the old
 * one at a rename after an fsync (file.c); the old one stays as <name>_prev.cpt.
 */
#include "md/out/checkpoint.h"
#include "base/alloc.h"
#include "md/out/crc64.h"
#include "md/out/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 3, NAME_BYTES = 8, SECTION_BYTES = 16, SUM_BYTES = 8, N_OUTPUTS_1 = 4 };
static const char magic[NAME_BYTES + 1] = "SUNDOGCP";
static const uint32_t ORDER_MARK = 0x01020304, ORDER_SWAPPED = 0x04030201;

typedef struct prefix {
    char magic[NAME_BYTES];
    uint32_t order, version;
    uint64_t n_bytes_file, reserved;
    uint64_t sum;
} prefix;

/* Contents of HEAD; no padding. */
typedef struct head_section {
    int64_t n_atoms, step;
    double time, thermostat_work; /* of the first temperature group */
    double box[3][3];
    int64_t has_velocities;
} head_section;

typedef struct inputs_section {
    uint64_t topology_hash, params_hash;
    int64_t seed;
} inputs_section;

static uint64_t prefix_sum(const prefix *p)
{
    return md_crc64(0, p, offsetof(prefix, sum));
}

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct section {
    const char *name;
    const void *contents;
    uint64_t n_bytes;
} section;

char *md_checkpoint_previous_name(const char *path)
{
    size_t n = strlen(path), stem = n;
    if (n > 4 && strcmp(path + n - 4, ".cpt") == 0) stem = n - 4;
    char *name = base_alloc(n + 6);
    snprintf(name, n + 6, "%.*s_prev%s", (int)stem, path, path + stem);
    return name;
}

static sundog_status put(md_replace *file, uint64_t *sum, const void *bytes, size_t n_bytes)
{
    *sum = md_crc64(*sum, bytes, n_bytes);
    return md_replace_write(file, bytes, n_bytes);
}

static sundog_status put_sections(md_replace *file, const section *sections, int n)
{
    prefix start = {.order = ORDER_MARK, .version = VERSION};
    memcpy(start.magic, magic, NAME_BYTES);
    start.n_bytes_file = sizeof start + SUM_BYTES;
    for (int s = 0; s < n; s++) start.n_bytes_file += SECTION_BYTES + sections[s].n_bytes;
    start.sum = prefix_sum(&start);

    uint64_t sum = 0;
    BASE_TRY(put(file, &sum, &start, sizeof start));
    for (int s = 0; s < n; s++) {
        char name[NAME_BYTES + 1];
        snprintf(name, sizeof name, "%-8s", sections[s].name);
        BASE_TRY(put(file, &sum, name, NAME_BYTES));
        BASE_TRY(put(file, &sum, &sections[s].n_bytes, sizeof sections[s].n_bytes));
        BASE_TRY(put(file, &sum, sections[s].contents, sections[s].n_bytes));
    }
    return md_replace_write(file, &sum, SUM_BYTES);
}

sundog_status md_checkpoint_write(const char *path, const md_checkpoint *checkpoint)
{
    const md_state *state = &checkpoint->state;
    head_section head = {.n_atoms = state->n_atoms,
                         .step = state->step,
                         .time = state->time,
                         .thermostat_work = state->thermostat_work[0],
                         .has_velocities = state->has_velocities};
    memcpy(head.box, state->box.m, sizeof head.box);
    inputs_section inputs = {checkpoint->topology_hash, checkpoint->params_hash, checkpoint->seed};
    int64_t most_units = state->most_units;
    uint64_t row_bytes = (uint64_t)state->n_atoms * sizeof *state->x;
    const section sections[] = {
        {"HEAD", &head, sizeof head},
        {"THERMO", state->thermostat_work, sizeof state->thermostat_work},
        {"INPUTS", &inputs, sizeof inputs},
        {"OUTPUTS", checkpoint->output_offset, sizeof checkpoint->output_offset},
        {"TAILS", checkpoint->output_tail, sizeof checkpoint->output_tail},
        {"BAROSTAT", &state->barostat_work, sizeof state->barostat_work},
        {"LISTS", &most_units, sizeof most_units},
        {"AVERAGES", checkpoint->averages, checkpoint->n_averages * sizeof(double)},
        {"X", state->x, row_bytes},
        {"V", state->v, row_bytes}, /* last: left out when there are none */
    };
    int n = (int)(sizeof sections / sizeof *sections) - (state->has_velocities ? 0 : 1);

    md_replace file;
    BASE_TRY(md_replace_begin(path, &file));
    sundog_status status = put_sections(&file, sections, n);
    if (status != SUNDOG_OK) {
        md_replace_cancel(&file);
        return status;
    }
    char *previous = md_checkpoint_previous_name(path);
    status = md_replace_commit(&file, previous);
    base_free(previous);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reader {
    FILE *file;
    const char *path;
    uint32_t version;
    uint64_t sum;
    uint64_t left; /* bytes before the closing sum */
} reader;

static sundog_status fail_damaged(const reader *in, const char *what)
{
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s is damaged (%s); try the previous checkpoint, "
                     "*_prev.cpt",
                     in->path, what);
}

static sundog_status fail_short(const reader *in)
{
    if (ferror(in->file))
        return base_fail(SUNDOG_ERR_IO, "%s: reading failed: %s", in->path, strerror(errno));
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s is cut short: it was not written to its end; try the "
                     "previous checkpoint, *_prev.cpt",
                     in->path);
}

static sundog_status get(reader *in, void *bytes, size_t n_bytes)
{
    if (n_bytes > in->left) return fail_damaged(in, "a section runs over the end");
    if (fread(bytes, 1, n_bytes, in->file) != n_bytes) return fail_short(in);
    in->sum = md_crc64(in->sum, bytes, n_bytes);
    in->left -= n_bytes;
    return SUNDOG_OK;
}

static sundog_status check_length(const reader *in, uint64_t stated)
{
    if (fseeko(in->file, 0, SEEK_END) != 0)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be searched: %s", in->path, strerror(errno));
    uint64_t found = (uint64_t)ftello(in->file);
    if (found < stated)
        return base_fail(SUNDOG_ERR_INPUT,
                         "%s is cut short: %llu of %llu bytes are there; try the previous "
                         "checkpoint, *_prev.cpt",
                         in->path, (unsigned long long)found, (unsigned long long)stated);
    if (found > stated) return fail_damaged(in, "there are bytes behind its end");
    if (stated < sizeof(prefix) + SUM_BYTES) return fail_damaged(in, "impossible length");
    fseeko(in->file, (off_t)sizeof(prefix), SEEK_SET);
    return SUNDOG_OK;
}

static sundog_status get_prefix(reader *in)
{
    prefix start;
    memset(&start, 0, sizeof start);
    size_t n = fread(&start, 1, sizeof start, in->file);
    size_t n_magic = n < NAME_BYTES ? n : NAME_BYTES;
    if (n == 0 && !ferror(in->file))
        return base_fail(SUNDOG_ERR_INPUT, "%s is cut short: it is empty", in->path);
    if (memcmp(start.magic, magic, n_magic) != 0)
        return base_fail(SUNDOG_ERR_INPUT, "%s is not a checkpoint of this program", in->path);
    if (n < sizeof start) return fail_short(in);
    if (start.order == ORDER_SWAPPED)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s was written on a machine with the other byte "
                         "order; restart from confout.gro there or here",
                         in->path);
    if (start.order != ORDER_MARK || start.sum != prefix_sum(&start))
        return fail_damaged(in, "the sum of its first bytes is wrong");
    if (start.version > VERSION)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s has format version %u; this program reads up "
                         "to %d: use the newer program that wrote it",
                         in->path, start.version, VERSION);
    BASE_TRY(check_length(in, start.n_bytes_file));
    in->version = start.version;
    in->sum = md_crc64(0, &start, sizeof start);
    in->left = start.n_bytes_file - sizeof start - SUM_BYTES;
    return SUNDOG_OK;
}

enum {
    HAS_HEAD = 1,
    HAS_INPUTS = 2,
    HAS_OUTPUTS = 4,
    HAS_TAILS = 8,
    HAS_X = 16,
    HAS_V = 32,
    HAS_THERMO = 64,
    HAS_AVERAGES = 128,
    HAS_BAROSTAT = 256,
    HAS_LISTS = 512
};

static sundog_status get_head(reader *in, uint64_t n_bytes, md_checkpoint *to)
{
    head_section head;
    if (n_bytes != sizeof head) return fail_damaged(in, "section HEAD has a wrong size");
    BASE_TRY(get(in, &head, sizeof head));
    /* before memory is asked for: all atoms must be in what is left of the file */
    if (head.n_atoms < 0 || (uint64_t)head.n_atoms > in->left / sizeof *to->state.x)
        return fail_damaged(in, "impossible number of atoms");
    md_state_create(head.n_atoms, &to->state);
    to->state.step = head.step;
    to->state.time = head.time;
    to->state.thermostat_work[0] = head.thermostat_work;
    to->state.has_velocities = head.has_velocities != 0;
    memcpy(to->state.box.m, head.box, sizeof head.box);
    return SUNDOG_OK;
}

static sundog_status skip(reader *in, uint64_t n_bytes)
{
    char bytes[4096];
    while (n_bytes > 0) {
        size_t n = n_bytes < sizeof bytes ? (size_t)n_bytes : sizeof bytes;
        BASE_TRY(get(in, bytes, n));
        n_bytes -= n;
    }
    return SUNDOG_OK;
}

/* One section whose size is known beforehand. */
static sundog_status get_sized(reader *in, uint64_t n_bytes, void *to, uint64_t expected)
{
    if (n_bytes != expected) return fail_damaged(in, "a section has a wrong size");
    return get(in, to, (size_t)n_bytes);
}

static sundog_status get_outputs(reader *in, uint64_t n_bytes, md_checkpoint *to)
{
    int n = in->version == 1 ? N_OUTPUTS_1 : MD_N_OUTPUTS;
    for (int i = n; i < MD_N_OUTPUTS; i++) to->output_offset[i] = -1;
    return get_sized(in, n_bytes, to->output_offset, (size_t)n * sizeof *to->output_offset);
}

static sundog_status get_averages(reader *in, uint64_t n_bytes, md_checkpoint *to)
{
    /* before memory is asked for */
    if (n_bytes > in->left || n_bytes % sizeof *to->averages != 0)
        return fail_damaged(in, "section AVERAGES has a wrong size");
    if (n_bytes == 0) return SUNDOG_OK;
    to->averages = base_alloc((size_t)n_bytes);
    to->n_averages = (size_t)n_bytes / sizeof *to->averages;
    return get(in, to->averages, (size_t)n_bytes);
}

static sundog_status get_lists(reader *in, uint64_t n_bytes, md_checkpoint *to)
{
    int64_t most_units;
    BASE_TRY(get_sized(in, n_bytes, &most_units, sizeof most_units));
    if (most_units < 0 || most_units > INT_MAX) return fail_damaged(in, "impossible LISTS");
    to->state.most_units = (int)most_units;
    return SUNDOG_OK;
}

static sundog_status get_section(reader *in, unsigned *seen, md_checkpoint *to)
{
    char name[NAME_BYTES + 1] = "";
    uint64_t n_bytes;
    BASE_TRY(get(in, name, NAME_BYTES));
    BASE_TRY(get(in, &n_bytes, sizeof n_bytes));
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {
        {"HEAD    ", HAS_HEAD},   {"INPUTS  ", HAS_INPUTS},   {"OUTPUTS ", HAS_OUTPUTS},
        {"TAILS   ", HAS_TAILS},  {"X       ", HAS_X},        {"V       ", HAS_V},
        {"THERMO  ", HAS_THERMO}, {"AVERAGES", HAS_AVERAGES}, {"BAROSTAT", HAS_BAROSTAT},
        {"LISTS   ", HAS_LISTS},
    };
    unsigned bit = 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(name, known[k].name) == 0) bit = known[k].bit;
    if (bit & *seen) return fail_damaged(in, "a section comes twice");
    if ((bit & (HAS_X | HAS_V | HAS_THERMO | HAS_BAROSTAT | HAS_LISTS)) && !(*seen & HAS_HEAD))
        return fail_damaged(in, "sections are out of order");
    *seen |= bit;

    inputs_section inputs;
    uint64_t row_bytes = (uint64_t)to->state.n_atoms * sizeof *to->state.x;
    switch (bit) {
    case HAS_HEAD: return get_head(in, n_bytes, to);
    case HAS_OUTPUTS: return get_outputs(in, n_bytes, to);
    case HAS_TAILS:
        to->has_tails = true;
        return get_sized(in, n_bytes, to->output_tail, sizeof to->output_tail);
    case HAS_AVERAGES: return get_averages(in, n_bytes, to);
    case HAS_THERMO:
        return get_sized(in, n_bytes, to->state.thermostat_work, sizeof to->state.thermostat_work);
    case HAS_BAROSTAT:
        return get_sized(in, n_bytes, &to->state.barostat_work, sizeof to->state.barostat_work);
    case HAS_LISTS: return get_lists(in, n_bytes, to);
    case HAS_X: return get_sized(in, n_bytes, to->state.x, row_bytes);
    case HAS_V: return get_sized(in, n_bytes, to->state.v, row_bytes);
    case HAS_INPUTS:
        BASE_TRY(get_sized(in, n_bytes, &inputs, sizeof inputs));
        to->topology_hash = inputs.topology_hash;
        to->params_hash = inputs.params_hash;
        to->seed = inputs.seed;
        return SUNDOG_OK;
    default: return skip(in, n_bytes);
    }
}

static sundog_status get_all(reader *in, md_checkpoint *to)
{
    unsigned seen = 0;
    uint64_t stated;
    BASE_TRY(get_prefix(in));
    while (in->left > 0) BASE_TRY(get_section(in, &seen, to));
    uint64_t sum = in->sum;
    if (fread(&stated, 1, SUM_BYTES, in->file) != SUM_BYTES) return fail_short(in);
    if (stated != sum) return fail_damaged(in, "its checksum is wrong");
    unsigned needed = HAS_HEAD | HAS_INPUTS | HAS_OUTPUTS | HAS_X |
                      (in->version >= 3 ? HAS_TAILS : 0) | (to->state.has_velocities ? HAS_V : 0);
    if ((seen & needed) != needed) return fail_damaged(in, "a section is missing");
    return SUNDOG_OK;
}

sundog_status md_checkpoint_read(const char *path, md_checkpoint *out)
{
    reader in = {.file = fopen(path, "rb"), .path = path};
    if (!in.file)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    md_checkpoint made = {.seed = 0};
    sundog_status status = get_all(&in, &made);
    fclose(in.file);
    if (status != SUNDOG_OK) {
        md_checkpoint_destroy(&made);
        return status;
    }
    *out = made;
    return SUNDOG_OK;
}

void md_checkpoint_destroy(md_checkpoint *checkpoint)
{
    md_state_destroy(&checkpoint->state);
    base_free(checkpoint->averages);
    checkpoint->averages = NULL;
    checkpoint->n_averages = 0;
}
