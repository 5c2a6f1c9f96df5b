/* Writer of .trr: full-precision frames of x, v and f, in single precision (traj.h).
 *
 * Everything is XDR: big endian, 4-byte units. A frame:
 *
 *      int     1993                                        magic
 *      int     13, int 12, "GMX_trn_file"                  length with and without the final zero
 *      int     ir, e, box, vir, pres, top, sym, x, v, f    bytes of each block; 0: absent
 *      int     atoms, step, nre
 *      float   time (ps), lambda
 *      float   box [3][3] (nm), x [n][3] (nm), v [n][3] (nm/ps), f [n][3] (kJ/mol/nm)
 *
 * Readers tell the precision from the size of the box block (36: single). Block sizes are 32-bit,
 * which limits a file to 178,956,970 atoms. The step is 32-bit as well: the low 32 bits are
 * written, as GROMACS does; the time is right in any case.
 */
#include "base/alloc.h"
#include "md/out/file.h"
#include "md/out/traj.h"

#include <string.h>

enum { TRR_MAGIC = 1993, CHUNK_ATOMS = 1024 };

struct md_trr {
    md_file *file;
};

sundog_status md_trr_open(const char *path, int64_t append_at, md_trr **out)
{
    md_file *file;
    BASE_TRY(md_file_open(path, append_at, &file));
    md_trr *trr = base_alloc(sizeof *trr);
    trr->file = file;
    *out = trr;
    return SUNDOG_OK;
}

static sundog_status write_header(md_file *file, int64_t step, double time, int64_t n_atoms,
                                  const bool has[3])
{
    uint32_t block = (uint32_t)(n_atoms * 3 * 4);
    const uint32_t start[] = {TRR_MAGIC, 13, 12};
    const uint32_t rest[] = {
        0,
        0,
        36,
        0,
        0,
        0,
        0,
        has[0] ? block : 0,
        has[1] ? block : 0,
        has[2] ? block : 0,
        (uint32_t)n_atoms,
        (uint32_t)(uint64_t)step,
        0,
        md_float_bits(time),
        md_float_bits(0.0),
    };
    BASE_TRY(md_file_write_be32(file, start, sizeof start / sizeof *start));
    BASE_TRY(md_file_write(file, "GMX_trn_file", 12));
    return md_file_write_be32(file, rest, sizeof rest / sizeof *rest);
}

static sundog_status write_doubles(md_file *file, const double (*x)[3], int64_t n_rows)
{
    uint32_t words[CHUNK_ATOMS * 3];
    for (int64_t first = 0; first < n_rows; first += CHUNK_ATOMS) {
        int64_t n = n_rows - first < CHUNK_ATOMS ? n_rows - first : CHUNK_ATOMS;
        for (int64_t i = 0; i < n; i++)
            for (int k = 0; k < 3; k++) words[3 * i + k] = md_float_bits(x[first + i][k]);
        BASE_TRY(md_file_write_be32(file, words, (size_t)n * 3));
    }
    return SUNDOG_OK;
}

static sundog_status write_floats(md_file *file, const float (*f)[3], int64_t n_rows)
{
    uint32_t words[CHUNK_ATOMS * 3];
    for (int64_t first = 0; first < n_rows; first += CHUNK_ATOMS) {
        int64_t n = n_rows - first < CHUNK_ATOMS ? n_rows - first : CHUNK_ATOMS;
        memcpy(words, f[first], (size_t)n * sizeof *f);
        BASE_TRY(md_file_write_be32(file, words, (size_t)n * 3));
    }
    return SUNDOG_OK;
}

sundog_status md_trr_write(md_trr *trr, int64_t step, double time, const md_box *box,
                           int64_t n_atoms, const double (*x)[3], const double (*v)[3],
                           const float (*f)[3])
{
    const bool has[3] = {x != NULL, v != NULL, f != NULL};
    if (n_atoms < 0 || n_atoms > INT32_MAX / 12)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "%s: the trr format holds at most %d atoms, not %lld; set nstxout, "
                         "nstvout and nstfout to 0 and write nstxout-compressed",
                         md_file_path(trr->file), INT32_MAX / 12, (long long)n_atoms);
    BASE_TRY(write_header(trr->file, step, time, n_atoms, has));
    BASE_TRY(write_doubles(trr->file, box->m, 3));
    if (x) BASE_TRY(write_doubles(trr->file, x, n_atoms));
    if (v) BASE_TRY(write_doubles(trr->file, v, n_atoms));
    if (f) BASE_TRY(write_floats(trr->file, f, n_atoms));
    return md_file_end_record(trr->file);
}

int64_t md_trr_offset(const md_trr *trr)
{
    return md_file_offset(trr->file);
}

sundog_status md_trr_close(md_trr **trr)
{
    if (!*trr) return SUNDOG_OK;
    sundog_status status = md_file_close(&(*trr)->file);
    base_free(*trr);
    *trr = NULL;
    return status;
}
