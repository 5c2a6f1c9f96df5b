/* Reader of .pdb files. Records, columns counted from 1, lengths in Angstrom, angles in degrees:
 *
 *      TITLE   11-          the title; may hold "t= <ps>" and "step= <n>"
 *      CRYST1  7-15 a  16-24 b  25-33 c  34-40 alpha  41-47 beta  48-54 gamma
 *      ATOM,   13-16 atom name   18-21 residue   23-26 residue number   27 insertion code
 *      HETATM  31-38 x   39-46 y   47-54 z
 *      ENDMDL, END          the model ends; later ones are not read
 *
 * The box has a along x and b in the x-y plane. Atom and residue numbers wrap, or go on in letters
 * (hybrid-36); they are not used to tell atoms apart. All other records are passed over, as are
 * symmetry, occupancy and temperature factors. A cell of 1 x 1 x 1 Angstrom is what programs write
 * that have none.
 */
#include "md/in/pdb.h"

#include "base/alloc.h"
#include "md/core/units.h"
#include "md/in/text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static const double nm_per_angstrom = 0.1;
#define BOX_HINT                                                                              \
    "give one with gmx editconf -f FILE.pdb -o conf.gro -box X Y Z (or -d 1), or by a CRYST1 " \
    "record"

/* Columns first to last of the line, from 1; what lies beyond its end is blank. */
static const char *field(const md_lines *lines, size_t first, size_t last, size_t *n)
{
    size_t end = lines->n < last ? lines->n : last;
    *n = end >= first ? end - first + 1 : 0;
    return lines->text + (*n ? first - 1 : 0);
}

static sundog_status read_number(const md_lines *lines, size_t first, size_t last,
                                 const char *what, double *out)
{
    size_t n;
    const char *text = field(lines, first, last, &n);
    if (!md_text_double(text, n, out))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected %s in columns %zu to %zu, found \"%.*s\"", what, first, last,
                             (int)n, text);
    if (fabs(*out) > 1e7)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "%s = %g is absurd", what, *out);
    return SUNDOG_OK;
}

static void copy_word(const md_lines *lines, size_t first, size_t last, char out[8])
{
    size_t n;
    const char *text = field(lines, first, last, &n);
    while (n > 0 && isspace((unsigned char)text[0])) text++, n--;
    while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* Four characters: decimal, or hybrid-36 beyond 9999: A000 is 10000, a000 follows ZZZZ. */
static int residue_number(const char *s, size_t n)
{
    int value;
    if (md_text_int(s, n, &value)) return value;
    bool lower = n == 4 && islower((unsigned char)s[0]);
    bool upper = n == 4 && isupper((unsigned char)s[0]);
    value = 0;
    for (size_t k = 0; k < n; k++) {
        char c = s[k];
        if (isdigit((unsigned char)c))
            value = 36 * value + (c - '0');
        else if ((lower && islower((unsigned char)c)) || (upper && isupper((unsigned char)c)))
            value = 36 * value + (tolower((unsigned char)c) - 'a') + 10;
        else
            return 0;
    }
    const int first = 10 * 36 * 36 * 36, per_case = 26 * 36 * 36 * 36;
    if (upper) return value - first + 10000;
    return lower ? value - first + 10000 + per_case : 0;
}

/* Box vectors of a cell; right angles exactly. */
static sundog_status read_cell(const md_lines *lines, md_gro *out, bool *has_box)
{
    static const size_t column[7] = {7, 16, 25, 34, 41, 48, 55};
    static const char *const name[6] = {"a", "b", "c", "alpha", "beta", "gamma"};
    double length[3], cosine[3], angle;
    for (int k = 0; k < 3; k++)
        BASE_TRY(read_number(lines, column[k], column[k + 1] - 1, name[k], &length[k]));
    for (int k = 0; k < 3; k++) {
        BASE_TRY(read_number(lines, column[k + 3], column[k + 4] - 1, name[k + 3], &angle));
        if (angle <= 0 || angle >= 180)
            return md_lines_fail(lines, SUNDOG_ERR_INPUT, "%s = %g degrees is no angle of a box",
                                 name[k + 3], angle);
        cosine[k] = angle == 90 ? 0 : cos(angle * MD_DEG_TO_RAD);
    }
    *has_box = length[0] > 1 || length[1] > 1 || length[2] > 1;
    if (!*has_box) return SUNDOG_OK;
    for (int k = 0; k < 3; k++) length[k] *= nm_per_angstrom;
    double sine = sqrt(1 - cosine[2] * cosine[2]);
    double cx = cosine[1], cy = (cosine[0] - cosine[1] * cosine[2]) / sine;
    double cz2 = 1 - cx * cx - cy * cy;
    if (cz2 < 1e-6)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "the angles do not make a box");
    out->state.box = (md_box){{{length[0], 0, 0},
                               {length[1] * cosine[2], length[1] * sine, 0},
                               {length[2] * cx, length[2] * cy, length[2] * sqrt(cz2)}}};
    sundog_status status = md_box_check(&out->state.box);
    if (status != SUNDOG_OK) return md_lines_fail(lines, status, "%s", sundog_last_error());
    return SUNDOG_OK;
}

static sundog_status read_atom(const md_lines *lines, md_gro *out, size_t capacity[3])
{
    int64_t i = out->state.n_atoms;
    if (i == INT_MAX)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "more than %d atoms", INT_MAX);
    BASE_RESERVE(out->atom, capacity[0], i + 1);
    BASE_RESERVE(out->state.x, capacity[1], i + 1);
    BASE_RESERVE(out->state.v, capacity[2], i + 1);
    static const char *const axis[3] = {"x", "y", "z"};
    for (size_t k = 0; k < 3; k++) {
        double x;
        BASE_TRY(read_number(lines, 31 + 8 * k, 38 + 8 * k, axis[k], &x));
        out->state.x[i][k] = x * nm_per_angstrom;
        out->state.v[i][k] = 0;
    }
    size_t n;
    const char *number = field(lines, 23, 26, &n);
    out->atom[i].residue_number = residue_number(number, n);
    copy_word(lines, 18, 21, out->atom[i].residue);
    copy_word(lines, 13, 16, out->atom[i].name);
    if (!out->atom[i].name[0])
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "no atom name in columns 13 to 16");
    out->state.n_atoms++;
    return SUNDOG_OK;
}

/* Records are told by their first six columns; ATOM may be followed by a long atom number. */
static bool is_record(const md_lines *lines, const char *name)
{
    size_t n = strlen(name);
    return strncmp(lines->text, name, n) == 0 && (n == 6 || lines->n == n || lines->text[n] == ' ');
}

static sundog_status read_model(md_lines *lines, md_gro *out)
{
    size_t capacity[3] = {0, 0, 0};
    bool more, has_box = false, has_title = false;
    for (;;) {
        BASE_TRY(md_lines_next(lines, &more));
        if (!more || is_record(lines, "ENDMDL") || (is_record(lines, "END") && out->state.n_atoms))
            break;
        if (is_record(lines, "ATOM") || is_record(lines, "HETATM")) {
            BASE_TRY(read_atom(lines, out, capacity));
        } else if (is_record(lines, "CRYST1") && !has_box) {
            BASE_TRY(read_cell(lines, out, &has_box));
        } else if (is_record(lines, "TITLE") && !has_title) {
            md_gro_set_title(out, lines->n > 10 ? md_text_trim(lines->text + 10) : "");
            has_title = true;
        }
    }
    if (out->state.n_atoms == 0)
        return base_fail(SUNDOG_ERR_INPUT, "%s: no atoms (no ATOM or HETATM records)", lines->path);
    if (!has_box)
        return base_fail(SUNDOG_ERR_INPUT, "%s: no box; " BOX_HINT, lines->path);
    out->decimals = 4;
    return SUNDOG_OK;
}

sundog_status md_pdb_read(const char *path, md_gro *out)
{
    md_lines lines;
    BASE_TRY(md_lines_open(path, &lines));
    md_gro made;
    memset(&made, 0, sizeof made);
    sundog_status status = read_model(&lines, &made);
    md_lines_close(&lines);
    if (status == SUNDOG_OK)
        *out = made;
    else
        md_gro_destroy(&made);
    return status;
}
