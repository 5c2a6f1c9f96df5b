/* Writer of ener.edr (edr.h).
 *
 * Everything is XDR: big endian, 4-byte units. The file begins with the names of its terms:
 *
 *      int     -55555                      magic
 *      int     5                           version
 *      int     terms
 *      per term two strings, name and unit; a string: int length, bytes, zeros up to 4 bytes
 *
 * Then frames:
 *
 *      real    -2e10                       no time of the oldest version, which began with it
 *      int     -7777777, int 5             magic, version
 *      double  time (ps);  int64 step
 *      int     samples                     summed up behind each value; 0: there are no sums
 *      int64   steps since the frame before; 1 in the first
 *      double  dt (ps)
 *      int     terms, int 0, int 0         the last: blocks of free-energy or restraint data
 *      int     4 x terms x bytes of a real, int 0, int 0
 *      per term: real value; with sums, real sum of squared deviations from the mean of the
 *              samples, real sum
 *
 * A real is a double here, as in files of a double-precision gmx: the total energy of a million
 * atoms is some 1e7 kJ/mol, of which a float keeps steps of 1, too coarse to see a drift. Readers
 * tell the precision from the first frame (gmx by the size of the values, pyedr by the place of
 * the magic), so programs of either precision read it.
 *
 * The samples are those of nstcalcenergy since the frame before, so averages and fluctuations of
 * gmx energy are those of all of them. What has been summed up where a run is interrupted is in the
 * checkpoint; the step of the frame before is found in the file itself, from its end: the last
 * frame has one of two lengths.
 */
#include "md/out/edr.h"
#include "base/alloc.h"
#include "md/out/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_MAGIC = -55555,
    FRAME_MAGIC = -7777777,
    VERSION = 5,
    MAGIC_AT = 8, /* in a frame, as all that follow */
    STEP_AT = 24,
    COUNT_AT = 32,
    FRAME_HEAD = 76,     /* bytes before the values */
    MAX_TERMS = 1 << 20, /* keeps all sizes within 32 bits */
};

struct md_edr {
    md_file *file;
    int n;
    double dt;
    bool has_frame;
    int64_t last_step;    /* of the last frame, if there is one */
    unsigned char *frame; /* [longest] */
};

/* ---- XDR ------------------------------------------------------------------------------------ */

static unsigned char *put_int(unsigned char *p, int32_t value)
{
    uint32_t word = (uint32_t)value;
    for (int k = 0; k < 4; k++) p[k] = (unsigned char)(word >> (24 - 8 * k));
    return p + 4;
}

static unsigned char *put_int64(unsigned char *p, int64_t value)
{
    uint64_t word = (uint64_t)value;
    for (int k = 0; k < 8; k++) p[k] = (unsigned char)(word >> (56 - 8 * k));
    return p + 8;
}

static unsigned char *put_double(unsigned char *p, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_int64(p, bits);
}

static int64_t get_int64(const unsigned char *p)
{
    uint64_t word = 0;
    for (int k = 0; k < 8; k++) word = word << 8 | p[k];
    return (int64_t)word;
}

static size_t frame_bytes(int n_terms, bool sums)
{
    return FRAME_HEAD + 8 * (size_t)n_terms * (sums ? 3 : 1);
}

static size_t string_bytes(const char *s)
{
    return 4 + (strlen(s) + 3) / 4 * 4;
}

static unsigned char *put_string(unsigned char *p, const char *s)
{
    size_t n = strlen(s), padded = (n + 3) / 4 * 4;
    p = put_int(p, (int32_t)n);
    memcpy(p, s, n);
    memset(p + n, 0, padded - n);
    return p + padded;
}

/* ---- opening -------------------------------------------------------------------------------- */

static unsigned char *make_names(const md_edr_term *terms, int n, size_t *n_bytes)
{
    *n_bytes = 12;
    for (int k = 0; k < n; k++)
        *n_bytes += string_bytes(terms[k].name) + string_bytes(terms[k].unit);
    unsigned char *names = base_alloc(*n_bytes);
    unsigned char *p = put_int(put_int(put_int(names, NAMES_MAGIC), VERSION), n);
    for (int k = 0; k < n; k++) p = put_string(put_string(p, terms[k].name), terms[k].unit);
    return names;
}

/* Is the file that is to go on at append_at one with these names and whole frames? Takes the step
 * of its last frame. */
static sundog_status study(md_edr *edr, FILE *file, const char *path, int64_t append_at,
                           const unsigned char *names, size_t n_bytes)
{
    unsigned char *found = base_alloc(n_bytes);
    bool same = append_at >= (int64_t)n_bytes && fread(found, 1, n_bytes, file) == n_bytes &&
                memcmp(found, names, n_bytes) == 0;
    base_free(found);
    if (!same)
        return base_fail(SUNDOG_ERR_INPUT,
                         "%s has other terms than this run writes; go on in another folder, or "
                         "with the parameters of the run that wrote it",
                         path);
    if (append_at == (int64_t)n_bytes) return SUNDOG_OK;
    for (int sums = 0; sums < 2; sums++) {
        unsigned char head[COUNT_AT + 4], magic[4];
        int64_t start = append_at - (int64_t)frame_bytes(edr->n, sums);
        if (start < (int64_t)n_bytes || fseeko(file, (off_t)start, SEEK_SET) != 0 ||
            fread(head, 1, sizeof head, file) != sizeof head)
            continue;
        put_int(magic, FRAME_MAGIC);
        bool has_sums = memcmp(head + COUNT_AT, "\0\0\0", 4) != 0;
        if (memcmp(head + MAGIC_AT, magic, sizeof magic) != 0 || has_sums != (bool)sums) continue;
        edr->has_frame = true;
        edr->last_step = get_int64(head + STEP_AT);
        return SUNDOG_OK;
    }
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s has no frame that ends at byte %lld, where the restart goes on: it is "
                     "not the file that the checkpoint belongs to, or it was cut",
                     path, (long long)append_at);
}

static sundog_status open_file(md_edr *edr, const char *path, int64_t append_at,
                               const unsigned char *names, size_t n_bytes)
{
    if (append_at >= 0) {
        FILE *file = fopen(path, "rb");
        if (!file)
            return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened to go on with it: %s", path,
                             strerror(errno));
        sundog_status status = study(edr, file, path, append_at, names, n_bytes);
        fclose(file);
        BASE_TRY(status);
    }
    BASE_TRY(md_file_open(path, append_at, &edr->file));
    if (append_at >= 0) return SUNDOG_OK;
    BASE_TRY(md_file_write(edr->file, names, n_bytes));
    return md_file_end_record(edr->file);
}

sundog_status md_edr_open(const char *path, int64_t append_at, const md_edr_term *terms, int n,
                          double dt, md_edr **out)
{
    if (n < 1 || n > MAX_TERMS)
        return base_fail(SUNDOG_ERR_ARGUMENT, "%s: %d energy terms; 1 to %d can be written", path,
                         n, MAX_TERMS);
    size_t n_bytes;
    unsigned char *names = make_names(terms, n, &n_bytes);
    md_edr *edr = base_alloc_zero(sizeof *edr);
    edr->n = n;
    edr->dt = dt;
    edr->frame = base_alloc(frame_bytes(n, true));
    sundog_status status = open_file(edr, path, append_at, names, n_bytes);
    base_free(names);
    if (status != SUNDOG_OK) {
        md_edr_close(&edr);
        return status;
    }
    *out = edr;
    return SUNDOG_OK;
}

/* ---- frames --------------------------------------------------------------------------------- */

sundog_status md_edr_write(md_edr *edr, int64_t step, double time, const double *values,
                           const md_averages *between)
{
    int64_t n_samples = between ? md_averages_count(between) : 0;
    bool sums = n_samples > 1 && n_samples <= INT32_MAX;
    size_t n_bytes = frame_bytes(edr->n, sums);
    unsigned char *p = put_double(edr->frame, -2e10);
    p = put_int(put_int(p, FRAME_MAGIC), VERSION);
    p = put_int64(put_double(p, time), step);
    p = put_int(p, sums ? (int32_t)n_samples : 0);
    p = put_int64(p, edr->has_frame ? step - edr->last_step : 1);
    p = put_double(p, edr->dt);
    const int32_t sizes[] = {edr->n, 0, 0, 4 * 8 * edr->n, 0, 0};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) p = put_int(p, sizes[k]);
    for (int k = 0; k < edr->n; k++) {
        p = put_double(p, values[k]);
        if (!sums) continue;
        p = put_double(p, md_averages_square(between, k));
        p = put_double(p, md_averages_sum(between, k));
    }
    BASE_TRY(md_file_write(edr->file, edr->frame, n_bytes));
    BASE_TRY(md_file_end_record(edr->file));
    edr->has_frame = true;
    edr->last_step = step;
    return SUNDOG_OK;
}

int64_t md_edr_offset(const md_edr *edr)
{
    return md_file_offset(edr->file);
}

sundog_status md_edr_close(md_edr **edr)
{
    if (!*edr) return SUNDOG_OK;
    sundog_status status = md_file_close(&(*edr)->file);
    base_free((*edr)->frame);
    base_free(*edr);
    *edr = NULL;
    return status;
}
