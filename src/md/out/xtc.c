/* Writer of .xtc: compressed coordinates (traj.h).
 *
 * Everything is XDR: big endian, 4-byte units. A frame:
 *
 *      int     1995, atoms, step                           magic first
 *      float   time (ps), box [3][3] (nm)
 *      int     atoms
 *      up to 9 atoms:      float x [n][3] (nm)
 *      more:   float   precision (1/nm)
 *              int     min [3], max [3] of the integers x * precision
 *              int     range of small differences at the start
 *              int     n_bytes, then the packed bytes (xtc_pack.c), padded to 4 with zeros
 *
 * Limits of this kind of frame: 298,261,617 atoms and 2^31 - 1 packed bytes. Larger frames have
 * magic 2023 and a 64-bit length; they are refused here, as most readers would refuse them.
 * The step is 32-bit: the low 32 bits are written, as GROMACS does; the time is right in any case.
 *
 * A whole frame is packed in memory (about 4 bytes an atom, plus 14 of work space) and written at
 * once.
 */
#include "base/alloc.h"
#include "md/out/file.h"
#include "md/out/traj.h"
#include "md/out/xtc_pack.h"

#include <math.h>
#include <string.h>

enum { XTC_MAGIC = 1995, MAX_PLAIN_ATOMS = 9, MAX_ATOMS = 298261617 };
static const double MAX_INTEGER = 2147483645.0;

struct md_xtc {
    md_file *file;
    float precision;
    md_xtc_pack pack;
};

sundog_status md_xtc_open(const char *path, int64_t append_at, double precision, md_xtc **out)
{
    if (!(precision > 0.0 && precision < 1e9))
        return base_fail(SUNDOG_ERR_ARGUMENT,
                         "%s: precision %g is not usable; compressed-x-precision counts steps per "
                         "nm, 1000 is usual",
                         path, precision);
    md_file *file;
    BASE_TRY(md_file_open(path, append_at, &file));
    md_xtc *xtc = base_alloc_zero(sizeof *xtc);
    xtc->file = file;
    xtc->precision = (float)precision;
    *out = xtc;
    return SUNDOG_OK;
}

static sundog_status fail_coordinate(const md_xtc *xtc, int64_t atom, const double x[3])
{
    bool finite = isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
    if (!finite)
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "%s: atom %lld is at (%g, %g, %g): the system has "
                         "blown up",
                         md_file_path(xtc->file), (long long)atom + 1, x[0], x[1], x[2]);
    return base_fail(SUNDOG_ERR_UNSUPPORTED,
                     "%s: atom %lld is at (%g, %g, %g) nm; with compressed-x-precision %g the "
                     "format reaches %g nm: lower the precision or write nstxout frames",
                     md_file_path(xtc->file), (long long)atom + 1, x[0], x[1], x[2],
                     (double)xtc->precision, MAX_INTEGER / (double)xtc->precision);
}

/* Coordinates to integers, and their bounds. */
static sundog_status quantise(md_xtc *xtc, int64_t n_atoms, const double (*x)[3])
{
    md_xtc_pack *pack = &xtc->pack;
    const double scale = (double)xtc->precision;
    BASE_RESERVE(pack->q, pack->q_capacity, n_atoms);
    int32_t min[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
    int32_t max[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    for (int64_t i = 0; i < n_atoms; i++) {
        for (int k = 0; k < 3; k++) {
            double scaled = x[i][k] * scale;
            if (!(fabs(scaled) < MAX_INTEGER)) return fail_coordinate(xtc, i, x[i]);
            int32_t q = (int32_t)lrint(scaled);
            pack->q[i][k] = q;
            if (q < min[k]) min[k] = q;
            if (q > max[k]) max[k] = q;
        }
    }
    for (int k = 0; k < 3; k++) {
        if ((double)max[k] - (double)min[k] >= MAX_INTEGER)
            return base_fail(
                SUNDOG_ERR_UNSUPPORTED,
                "%s: atoms lie between %g and %g nm along %c; with "
                "compressed-x-precision %g the format spans %g nm: lower the precision",
                md_file_path(xtc->file), min[k] / scale, max[k] / scale, 'x' + k, scale,
                MAX_INTEGER / scale);
    }
    memcpy(pack->min, min, sizeof min);
    memcpy(pack->max, max, sizeof max);
    return SUNDOG_OK;
}

static sundog_status write_plain(md_file *file, int64_t n_atoms, const double (*x)[3])
{
    uint32_t words[3 * MAX_PLAIN_ATOMS];
    for (int64_t i = 0; i < n_atoms; i++)
        for (int k = 0; k < 3; k++) words[3 * i + k] = md_float_bits(x[i][k]);
    return md_file_write_be32(file, words, (size_t)n_atoms * 3);
}

static sundog_status write_packed(md_xtc *xtc)
{
    const md_xtc_pack *pack = &xtc->pack;
    uint32_t words[9] = {md_float_bits((double)xtc->precision)};
    for (int k = 0; k < 3; k++) {
        words[1 + k] = (uint32_t)pack->min[k];
        words[4 + k] = (uint32_t)pack->max[k];
    }
    words[7] = (uint32_t)pack->first_small;
    words[8] = (uint32_t)pack->n_bytes;
    BASE_TRY(md_file_write_be32(xtc->file, words, 9));
    BASE_TRY(md_file_write(xtc->file, pack->bytes, pack->n_bytes));
    return md_file_write(xtc->file, "\0\0\0", (4 - pack->n_bytes % 4) % 4);
}

sundog_status md_xtc_write(md_xtc *xtc, int64_t step, double time, const md_box *box,
                           int64_t n_atoms, const double (*x)[3])
{
    const bool packed = n_atoms > MAX_PLAIN_ATOMS;
    if (n_atoms < 0 || n_atoms > MAX_ATOMS)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s: the xtc format holds at most %d atoms, not "
                         "%lld",
                         md_file_path(xtc->file), MAX_ATOMS, (long long)n_atoms);
    if (packed) {
        BASE_TRY(quantise(xtc, n_atoms, x));
        md_xtc_pack_run(&xtc->pack, n_atoms);
        if (xtc->pack.n_bytes > INT32_MAX)
            return base_fail(SUNDOG_ERR_UNSUPPORTED,
                             "%s: a frame takes %zu bytes, the xtc format "
                             "holds 2^31 - 1: lower compressed-x-precision",
                             md_file_path(xtc->file), xtc->pack.n_bytes);
    }
    uint32_t words[14] = {XTC_MAGIC, (uint32_t)n_atoms, (uint32_t)(uint64_t)step,
                          md_float_bits(time)};
    for (int k = 0; k < 9; k++) words[4 + k] = md_float_bits(box->m[k / 3][k % 3]);
    words[13] = (uint32_t)n_atoms;
    BASE_TRY(md_file_write_be32(xtc->file, words, 14));
    if (packed)
        BASE_TRY(write_packed(xtc));
    else
        BASE_TRY(write_plain(xtc->file, n_atoms, x));
    return md_file_end_record(xtc->file);
}

int64_t md_xtc_offset(const md_xtc *xtc)
{
    return md_file_offset(xtc->file);
}

sundog_status md_xtc_close(md_xtc **xtc)
{
    if (!*xtc) return SUNDOG_OK;
    sundog_status status = md_file_close(&(*xtc)->file);
    md_xtc_pack_destroy(&(*xtc)->pack);
    base_free(*xtc);
    *xtc = NULL;
    return status;
}
