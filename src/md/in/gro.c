/* Reader of .gro files. A frame is
 *
 *      title                       may hold "t= <ps>" and "step= <n>"
 *      number of atoms
 *      one line an atom:           columns of fixed width
 *          0-4 residue number   5-9 residue   10-14 atom name   15-19 atom number
 *          then x y z and, optionally, vx vy vz, all of one width
 *      box:                        xx yy zz [xy xz yx yz zx zy], free format
 *
 * The width is the distance of the decimal points of the first atom, so files with any number of
 * decimals can be read (positions have width - 5 of them, velocities one more). Both numbers wrap
 * at 100000 and are not used to tell atoms apart. Only the first frame is read.
 */
#include "md/in/gro.h"

#include "base/alloc.h"
#include "md/in/text.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { FIRST_NUMBER = 20, MIN_WIDTH = 6, MAX_WIDTH = 64 };
#define COUNT_HINT "; does the number of atoms on line 2 fit?"
static const double largest_length = 1e6;      /* nm; anything beyond is a damaged file */

/* The line must exist; `what` names it. */
static sundog_status next_line(md_lines *lines, const char *what)
{
    bool more;
    BASE_TRY(md_lines_next(lines, &more));
    if (more) return SUNDOG_OK;
    if (lines->number == 0)
        return base_fail(SUNDOG_ERR_INPUT, "%s: the file is empty", lines->path);
    return base_fail(SUNDOG_ERR_INPUT, "%s:%lld: the file ends where %s should follow%s",
                     lines->path, (long long)lines->number, what,
                     lines->number > 1 ? COUNT_HINT : "");
}

/* "<name>= <number>" in the title, as a word of its own. */
static bool title_value(const char *title, const char *name, double *out)
{
    size_t n = strlen(name);
    for (const char *at = strstr(title, name); at; at = strstr(at + 1, name)) {
        if (at[n] != '=' || (at > title && at[-1] != ' ' && at[-1] != ',')) continue;
        const char *value = at + n + 1;
        value += strspn(value, " ");
        if (md_text_double(value, strcspn(value, " ,"), out)) return true;
    }
    return false;
}

void md_gro_set_title(md_gro *gro, const char *title)
{
    snprintf(gro->title, sizeof gro->title, "%s", title);
    double step;
    gro->has_time = title_value(title, "t", &gro->time);
    gro->has_step = title_value(title, "step", &step) && fabs(step) < 9e15;
    if (gro->has_step) gro->step = (int64_t)step;
}

static sundog_status read_title(md_lines *lines, md_gro *out)
{
    BASE_TRY(next_line(lines, "the title"));
    md_gro_set_title(out, lines->text);
    return SUNDOG_OK;
}

static sundog_status read_count(md_lines *lines, int64_t *n_atoms)
{
    BASE_TRY(next_line(lines, "the number of atoms"));
    if (!md_text_int64(lines->text, lines->n, n_atoms))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected the number of atoms, found \"%.60s\"", lines->text);
    if (*n_atoms < 1 || *n_atoms > INT_MAX)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "%lld atoms; between 1 and %d are supported",
                             (long long)*n_atoms, INT_MAX);
    return SUNDOG_OK;
}

/* Distance of the decimal points of x, y and z on the first atom line. */
static sundog_status find_width(const md_lines *lines, size_t *width)
{
    const char *numbers = lines->n > FIRST_NUMBER ? lines->text + FIRST_NUMBER : "";
    const char *p1 = strchr(numbers, '.');
    const char *p2 = p1 ? strchr(p1 + 1, '.') : NULL;
    const char *p3 = p2 ? strchr(p2 + 1, '.') : NULL;
    if (!p3)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected x, y and z with decimal points from column %d on",
                             FIRST_NUMBER + 1);
    if (p2 - p1 != p3 - p2 || p2 - p1 < MIN_WIDTH || p2 - p1 > MAX_WIDTH)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "the decimal points of x, y and z are %d and %d columns apart; equal "
                             "distances of %d to %d are needed", (int)(p2 - p1), (int)(p3 - p2),
                             MIN_WIDTH, MAX_WIDTH);
    *width = (size_t)(p2 - p1);
    return SUNDOG_OK;
}

/* Three numbers of fixed width from column `first` on. */
static sundog_status read_vector(const md_lines *lines, size_t first, size_t width,
                                 const char *what, double out[3])
{
    for (size_t k = 0; k < 3; k++) {
        size_t column = first + k * width;
        size_t n = column >= lines->n ? 0 : lines->n - column;
        if (n > width) n = width;
        const char *text = lines->text + (n ? column : 0);
        if (!md_text_double(text, n, &out[k]))
            return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                                 "expected %s%c in columns %zu to %zu, found \"%.*s\"", what,
                                 "xyz"[k], column + 1, column + width, (int)n, text);
        if (fabs(out[k]) > largest_length)
            return md_lines_fail(lines, SUNDOG_ERR_INPUT, "%s%c = %g is absurd", what, "xyz"[k],
                                 out[k]);
    }
    return SUNDOG_OK;
}

/* The word in a field of five columns, without the blanks around it. */
static void copy_name(const char *field, char out[8])
{
    int first = 0, end = 5;
    while (first < end && field[first] == ' ') first++;
    while (end > first && field[end - 1] == ' ') end--;
    memcpy(out, field + first, (size_t)(end - first));
    out[end - first] = '\0';
}

static bool all_blank(const char *s)
{
    return s[strspn(s, " \t")] == '\0';
}

/* An atom line with tabs has no columns. Shorter lines are something else. */
static sundog_status check_tabs(const md_lines *lines)
{
    const char *tab = memchr(lines->text, '\t', lines->n);
    if (!tab || all_blank(tab) || lines->n < FIRST_NUMBER) return SUNDOG_OK;
    return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                         "a tab; the columns of a .gro file have fixed widths, so tabs must be "
                         "replaced by blanks");
}

/* Numbers too large for their columns, as some programs write them. */
static bool all_starred(const char *s, size_t n)
{
    return strspn(s, "*") >= n;
}

static sundog_status read_atom(const md_lines *lines, int64_t i, size_t width, md_gro *out)
{
    if (lines->n < FIRST_NUMBER)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected atom %lld of %lld, found \"%.60s\"" COUNT_HINT,
                             (long long)i + 1, (long long)out->state.n_atoms, lines->text);
    md_gro_atom *atom = &out->atom[i];
    atom->residue_number = 0;
    if (!all_starred(lines->text, 5) && !md_text_int(lines->text, 5, &atom->residue_number))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected a residue number in columns 1 to 5, found \"%.5s\"%s",
                             lines->text, i > 0 ? COUNT_HINT : "");
    copy_name(lines->text + 5, atom->residue);
    copy_name(lines->text + 10, atom->name);
    if (!atom->name[0])
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "no atom name in columns 11 to 15");
    BASE_TRY(read_vector(lines, FIRST_NUMBER, width, "", out->state.x[i]));

    size_t first_v = FIRST_NUMBER + 3 * width;
    bool has_v = lines->n > first_v && !all_blank(lines->text + first_v);
    if (i == 0) out->state.has_velocities = has_v;
    if (has_v != out->state.has_velocities)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             has_v ? "this atom has velocities, those before it have none"
                                   : "this atom has no velocities, those before it have");
    if (!has_v) return SUNDOG_OK;
    BASE_TRY(read_vector(lines, first_v, width, "v", out->state.v[i]));
    if (!all_blank(lines->n > first_v + 3 * width ? lines->text + first_v + 3 * width : ""))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "text behind the velocities: \"%.60s\"",
                             lines->text + first_v + 3 * width);
    return SUNDOG_OK;
}

static sundog_status read_box(md_lines *lines, md_gro *out)
{
    BASE_TRY(next_line(lines, "the box"));
    char *word[10];
    int n = md_text_split(lines->text, word, 10);
    if (n != 3 && n != 9)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected the box, 3 or 9 numbers, found %d words" COUNT_HINT, n);
    double value[9] = {0};
    for (int k = 0; k < n; k++) {
        if (!md_text_double(word[k], strlen(word[k]), &value[k]))
            return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                                 "expected the box, 3 or 9 numbers, found \"%.60s\"" COUNT_HINT,
                                 word[k]);
        if (fabs(value[k]) > largest_length)
            return md_lines_fail(lines, SUNDOG_ERR_INPUT, "a box of %g nm is absurd", value[k]);
    }
    if (value[0] == 0 && value[1] == 0 && value[2] == 0)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "no box; give one with gmx editconf -f "
                             "FILE.gro -o conf.gro -box X Y Z (or -d 1)");
    out->state.box = (md_box){{{value[0], value[3], value[4]},
                               {value[5], value[1], value[6]},
                               {value[7], value[8], value[2]}}};
    sundog_status status = md_box_check(&out->state.box);
    if (status != SUNDOG_OK) return md_lines_fail(lines, status, "%s", sundog_last_error());
    return SUNDOG_OK;
}

static sundog_status read_frame(md_lines *lines, md_gro *out)
{
    int64_t n_atoms;
    size_t width = 0;
    BASE_TRY(read_title(lines, out));
    BASE_TRY(read_count(lines, &n_atoms));
    /* Room for all atoms that the file can hold; the count itself may be wrong by far. */
    int64_t n_likely = lines->n_bytes / (FIRST_NUMBER + 3 * MIN_WIDTH);
    size_t capacity = 0, grown_x = 0, grown_v = 0;
    if (n_likely > n_atoms) n_likely = n_atoms;
    BASE_RESERVE(out->atom, capacity, n_likely);
    BASE_RESERVE(out->state.x, grown_x, n_likely);
    BASE_RESERVE(out->state.v, grown_v, n_likely);
    for (int64_t i = 0; i < n_atoms; i++) {
        BASE_TRY(next_line(lines, i == 0 ? "the first atom" : "another atom"));
        BASE_TRY(check_tabs(lines));
        if (i == 0) BASE_TRY(find_width(lines, &width));
        BASE_RESERVE(out->atom, capacity, i + 1);
        BASE_RESERVE(out->state.x, grown_x, i + 1);
        BASE_RESERVE(out->state.v, grown_v, i + 1);
        memset(out->state.v[i], 0, sizeof out->state.v[i]);
        out->state.n_atoms = n_atoms;
        BASE_TRY(read_atom(lines, i, width, out));
    }
    out->decimals = (int)width - 5;
    return read_box(lines, out);
}

sundog_status md_gro_read(const char *path, md_gro *out)
{
    md_lines lines;
    BASE_TRY(md_lines_open(path, &lines));
    md_gro made;
    memset(&made, 0, sizeof made);
    sundog_status status = read_frame(&lines, &made);
    md_lines_close(&lines);
    if (status == SUNDOG_OK)
        *out = made;
    else
        md_gro_destroy(&made);
    return status;
}

void md_gro_destroy(md_gro *gro)
{
    base_free(gro->atom);
    md_state_destroy(&gro->state);
    memset(gro, 0, sizeof *gro);
}
