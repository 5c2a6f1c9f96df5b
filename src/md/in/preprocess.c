#include "md/in/preprocess.h"

#include "base/alloc.h"
#include "md/in/map.h"
#include "md/in/search.h"
#include "md/in/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

/* What files may ask for at most: a few lines that include or define each other would otherwise
 * keep a reader busy for years. */
enum { MAX_DEPTH = 64, MAX_INCLUDES = 10000, MAX_EXPANDED = 1 << 16, MAX_GROWN = 1 << 22,
       MAX_RATIO = 64 };
#define BLANKS " \t\r\n\v\f"

/* Every file that was opened, kept for messages. */
typedef struct source {
    char *path;
    md_place from;                  /* of its #include; file -1 for the first one */
} source;

typedef struct open_file {
    md_lines lines;
    int source;
    int first_condition;            /* conditions that were open when the file began */
    dev_t device;
    ino_t inode;
} open_file;

typedef struct condition {
    md_place place;
    bool parent_active, active, has_else;
} condition;

typedef struct macro {
    char *value;                    /* NULL: not defined (any more); "": no value */
    bool expanding;
    bool unasked;                   /* of the .mdp, and nothing has depended on it so far */
} macro;

struct md_preprocessor {
    md_search search;
    const char *library;            /* the last of its folders that a file came from */
    source *source;
    int n_sources;
    size_t capacity_source;
    open_file *open;                /* [MAX_DEPTH] */
    int n_open;
    condition *condition;
    int n_conditions;
    size_t capacity_condition;
    md_map macro_of_name;
    macro *macro;
    int n_macros;
    size_t capacity_macro;
    char *joined, *expanded;        /* the line after joining, after expansion */
    size_t n_joined, n_expanded, capacity_joined, capacity_expanded;
    size_t n_before, n_after;       /* characters of all lines so far, without and with values */
    char where[1024];
};

/* ---- messages ------------------------------------------------------------------------------- */

sundog_status md_preprocessor_fail(const md_preprocessor *p, md_place place, sundog_status status,
                                   const char *format, ...)
{
    char text[2048], chain[1024] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = 0;
    for (md_place from = p->source[place.file].from; from.file >= 0 && used < sizeof chain;
         from = p->source[from.file].from) {
        int n = snprintf(chain + used, sizeof chain - used, "%s%s:%d", used ? ", " : "",
                         p->source[from.file].path, from.line);
        used += n > 0 ? (size_t)n : 0;
    }
    if (used == 0)
        return base_fail(status, "%s:%d: %s", p->source[place.file].path, place.line, text);
    return base_fail(status, "%s:%d: %s (included from %s)", p->source[place.file].path, place.line,
                     text, chain);
}

const char *md_preprocessor_where(md_preprocessor *p, md_place place)
{
    snprintf(p->where, sizeof p->where, "%s:%d", p->source[place.file].path, place.line);
    return p->where;
}

/* ---- macros --------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_identifier(const char *s, size_t n)
{
    if (n == 0 || isdigit((unsigned char)s[0])) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_word(s[i])) return false;
    }
    return true;
}

static macro *set_macro(md_preprocessor *p, const char *name, size_t n, const char *value)
{
    int at = md_map_find(&p->macro_of_name, name, n);
    if (at < 0) {
        at = p->n_macros++;
        BASE_RESERVE(p->macro, p->capacity_macro, p->n_macros);
        p->macro[at] = (macro){NULL, false, false};
        md_map_set(&p->macro_of_name, name, n, at);
    }
    base_free(p->macro[at].value);
    p->macro[at].value = value ? base_strdup(value) : NULL;
    return &p->macro[at];
}

static bool ask_defined(md_preprocessor *p, const char *name)
{
    int at = md_map_find_name(&p->macro_of_name, name);
    if (at < 0 || !p->macro[at].value) return false;
    p->macro[at].unasked = false;
    return true;
}

/* The value of `define` or `include` in the .mdp: -D and -I, perhaps with a blank behind. */
static sundog_status obey_options(md_preprocessor *p, const char *key, const char *value)
{
    const char *s = value ? value : "";
    for (;;) {
        s += strspn(s, BLANKS);
        if (!*s) return SUNDOG_OK;
        const char *word = s;
        bool is_option = s[0] == '-' && (s[1] == 'D' || s[1] == 'I');
        char letter = is_option ? s[1] : '\0';
        if (is_option) s += 2;
        s += strspn(s, BLANKS);
        size_t n = strcspn(s, BLANKS), n_name = 0;
        while (n_name < n && s[n_name] != '=') n_name++;
        if (letter == 'I' && n > 0) {
            md_search_add(&p->search, s, n, "-I");
        } else if (letter == 'D' && is_identifier(s, n_name)) {
            char *text = base_strdup(n_name < n ? s + n_name + 1 : "");
            if (n_name < n) text[n - n_name - 1] = '\0';
            set_macro(p, s, n_name, text)->unasked = true;
            base_free(text);
        } else {
            return base_fail(SUNDOG_ERR_INPUT,
                             "%s = %s: \"%.*s\" is neither -DNAME nor -DNAME=VALUE nor -IFOLDER",
                             key, value, (int)(s + n - word), word);
        }
        s += n;
    }
}

static bool append(md_preprocessor *p, const char *s, size_t n)
{
    if (p->n_expanded + n > MAX_EXPANDED) return false;
    BASE_RESERVE(p->expanded, p->capacity_expanded, p->n_expanded + n + 1);
    if (n > 0) memcpy(p->expanded + p->n_expanded, s, n);
    p->n_expanded += n;
    p->expanded[p->n_expanded] = '\0';
    return true;
}

/* Append `s` with macros replaced; false when the result is too long or too nested. */
static bool expand(md_preprocessor *p, const char *s, int depth)
{
    if (depth > MAX_DEPTH) return false;
    while (*s) {
        size_t n = 0;
        while (s[n] && !is_word(s[n])) n++;
        if (!append(p, s, n)) return false;
        s += n;
        for (n = 0; is_word(s[n]); n++) continue;
        int at = n ? md_map_find(&p->macro_of_name, s, n) : -1;
        macro *m = at >= 0 ? &p->macro[at] : NULL;
        if (m && m->value && m->value[0] && !m->expanding) {
            m->expanding = true;
            m->unasked = false;
            bool fits = expand(p, m->value, depth + 1);
            m->expanding = false;
            if (!fits) return false;
        } else if (!append(p, s, n)) {
            return false;
        }
        s += n;
    }
    return true;
}

/* ---- files ---------------------------------------------------------------------------------- */

static sundog_status check_cycle(const md_preprocessor *p, const struct stat *info, md_place from)
{
    for (int i = 0; i < p->n_open; i++) {
        if (p->open[i].device != info->st_dev || p->open[i].inode != info->st_ino) continue;
        return md_preprocessor_fail(p, from, SUNDOG_ERR_INPUT, "#include of %s, which includes "
                                    "this file: a circle", p->source[p->open[i].source].path);
    }
    if (p->n_open == MAX_DEPTH)
        return md_preprocessor_fail(p, from, SUNDOG_ERR_INPUT, "more than %d nested #include",
                                    MAX_DEPTH);
    if (p->n_sources == MAX_INCLUDES)
        return md_preprocessor_fail(p, from, SUNDOG_ERR_INPUT, "more than %d #include in all",
                                    MAX_INCLUDES);
    return SUNDOG_OK;
}

static sundog_status open_source(md_preprocessor *p, const char *path, md_place from)
{
    open_file *file = &p->open[p->n_open];
    sundog_status status = md_lines_open(path, &file->lines);
    if (status != SUNDOG_OK && from.file >= 0)
        return md_preprocessor_fail(p, from, status, "%s", sundog_last_error());
    BASE_TRY(status);
    struct stat info;
    if (fstat(fileno(file->lines.file), &info) != 0) memset(&info, 0, sizeof info);
    file->device = info.st_dev;
    file->inode = info.st_ino;
    file->source = p->n_sources;
    file->first_condition = p->n_conditions;
    p->n_open++;
    BASE_RESERVE(p->source, p->capacity_source, p->n_sources + 1);
    p->source[p->n_sources++] = (source){base_strdup(path), from};
    return SUNDOG_OK;
}

static sundog_status fail_missing(md_preprocessor *p, const char *name, const char *including,
                                  md_place place)
{
    char folders[1024];
    md_search_describe(&p->search, folders, sizeof folders);
    bool of_gromacs = strstr(name, ".ff/") != NULL, installed = false;
    for (int i = 0; i < p->search.n; i++)
        installed = installed || strcmp(p->search.folder[i].from, "GROMACS") == 0;
    return md_preprocessor_fail(
        p, place, SUNDOG_ERR_IO, "no file \"%s\" beside %s%s; %s", name, including, folders,
        of_gromacs && !installed ? "GROMACS's force fields come with its data files (Debian: "
                                   "gromacs-data), or name the folder that holds them with -I or "
                                   "in GMXLIB"
                                 : "further folders to look in can be given with -I or in GMXLIB");
}

/* Text behind #include: the name between quotes or angle brackets. */
static sundog_status include_file(md_preprocessor *p, char *text, md_place place)
{
    char close = text[0] == '"' ? '"' : text[0] == '<' ? '>' : '\0';
    char *end = close ? strchr(text + 1, close) : NULL;
    if (!end || end == text + 1 || md_text_trim(end + 1)[0])
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT,
                                    "expected #include \"file\" or #include <file>");
    *end = '\0';
    const char *name = text + 1, *including = p->source[place.file].path;
    const md_search_folder *at;
    char *path = md_search_find(&p->search, including, name, &at);
    if (!path) return fail_missing(p, name, including, place);
    if (at) p->library = at->path;
    struct stat info;
    sundog_status status = SUNDOG_OK;
    if (stat(path, &info) == 0) status = check_cycle(p, &info, place);
    if (status == SUNDOG_OK) status = open_source(p, path, place);
    base_free(path);
    return status;
}

const char *md_preprocessor_library(const md_preprocessor *p)
{
    return p->library;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Read one logical line into p->joined: continuations joined, comment and blanks cut off. */
static sundog_status read_joined(md_preprocessor *p, md_place *place, bool *more)
{
    open_file *file = &p->open[p->n_open - 1];
    p->n_joined = 0;
    BASE_TRY(md_lines_next(&file->lines, more));
    *place = (md_place){file->source, (int)file->lines.number};
    while (*more) {
        char *text = file->lines.text;
        size_t n = file->lines.n;
        while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
        bool continued = n > 0 && text[n - 1] == '\\';
        if (continued) n--;
        BASE_RESERVE(p->joined, p->capacity_joined, p->n_joined + n + 2);
        memcpy(p->joined + p->n_joined, text, n);
        p->n_joined += n;
        p->joined[p->n_joined] = '\0';
        if (!continued) break;
        p->joined[p->n_joined++] = ' ';
        p->joined[p->n_joined] = '\0';
        bool another;
        BASE_TRY(md_lines_next(&file->lines, &another));
        if (!another)
            return md_preprocessor_fail(p, *place, SUNDOG_ERR_INPUT,
                                        "the file ends behind a backslash");
    }
    if (!*more) return SUNDOG_OK;
    char *comment = strchr(p->joined, ';');
    if (comment) *comment = '\0';
    return SUNDOG_OK;
}

static sundog_status close_source(md_preprocessor *p)
{
    open_file *file = &p->open[p->n_open - 1];
    sundog_status status = SUNDOG_OK;
    if (p->n_conditions > file->first_condition)
        status = md_preprocessor_fail(p, p->condition[p->n_conditions - 1].place, SUNDOG_ERR_INPUT,
                                      "no #endif for this condition up to the end of the file");
    md_lines_close(&file->lines);
    p->n_open--;
    return status;
}

static bool is_active(const md_preprocessor *p)
{
    return p->n_conditions == 0 || p->condition[p->n_conditions - 1].active;
}

static sundog_status begin_condition(md_preprocessor *p, const char *word, const char *name,
                                     md_place place)
{
    bool parent = is_active(p), wanted = strcmp(word, "ifdef") == 0;
    if (parent && !is_identifier(name, strlen(name)))
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT,
                                    "expected #%s and one name, found \"%.60s\"", word, name);
    BASE_RESERVE(p->condition, p->capacity_condition, p->n_conditions + 1);
    p->condition[p->n_conditions++] =
        (condition){place, parent, parent && ask_defined(p, name) == wanted, false};
    return SUNDOG_OK;
}

static sundog_status change_condition(md_preprocessor *p, bool is_else, md_place place)
{
    if (p->n_conditions == p->open[p->n_open - 1].first_condition)
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT, "#%s without #ifdef",
                                    is_else ? "else" : "endif");
    condition *c = &p->condition[p->n_conditions - 1];
    if (!is_else) {
        p->n_conditions--;
        return SUNDOG_OK;
    }
    if (c->has_else)
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT, "a second #else for line %d",
                                    c->place.line);
    c->has_else = true;
    c->active = c->parent_active && !c->active;
    return SUNDOG_OK;
}

static sundog_status define_or_undef(md_preprocessor *p, bool define, char *text, md_place place)
{
    size_t n = 0;
    while (is_word(text[n])) n++;
    if (!is_identifier(text, n) || (text[n] && !isspace((unsigned char)text[n])))
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT,
                                    text[n] == '(' ? "macros with arguments are not supported"
                                                   : "expected #%s and a name, found \"%.60s\"",
                                    define ? "define" : "undef", text);
    const char *value = md_text_trim(text + n);
    if (!define && value[0])
        return md_preprocessor_fail(p, place, SUNDOG_ERR_INPUT,
                                    "expected #undef and one name, found \"%.60s\" behind it",
                                    value);
    set_macro(p, text, n, define ? value : NULL);
    return SUNDOG_OK;
}

/* A line that begins with '#'; `text` is behind it. */
static sundog_status obey(md_preprocessor *p, char *text, md_place place)
{
    text = md_text_trim(text);
    size_t n = 0;
    while (is_word(text[n])) n++;
    char word[16] = "";
    if (n < sizeof word) {
        memcpy(word, text, n);
        word[n] = '\0';
    }
    char *rest = md_text_trim(text + n);
    if (strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0)
        return begin_condition(p, word, rest, place);
    if (strcmp(word, "else") == 0 || strcmp(word, "endif") == 0)
        return change_condition(p, word[1] == 'l', place);
    if (!is_active(p)) {
        if (strcmp(word, "if") == 0) {      /* skipped, but its #endif has to be counted */
            BASE_RESERVE(p->condition, p->capacity_condition, p->n_conditions + 1);
            p->condition[p->n_conditions++] = (condition){place, false, false, false};
        }
        return SUNDOG_OK;
    }
    if (strcmp(word, "include") == 0) return include_file(p, rest, place);
    if (strcmp(word, "define") == 0 || strcmp(word, "undef") == 0)
        return define_or_undef(p, word[0] == 'd', rest, place);
    return md_preprocessor_fail(p, place, SUNDOG_ERR_UNSUPPORTED,
                                "#%.30s is not supported; supported are #include, #define, #undef, "
                                "#ifdef, #ifndef, #else and #endif", text);
}

sundog_status md_preprocessor_next(md_preprocessor *p, char **line, md_place *place)
{
    *line = NULL;
    while (p->n_open > 0) {
        bool more;
        BASE_TRY(read_joined(p, place, &more));
        if (!more) {
            BASE_TRY(close_source(p));
            continue;
        }
        char *text = md_text_trim(p->joined);
        if (!text[0]) continue;
        if (text[0] == '#') {
            BASE_TRY(obey(p, text + 1, *place));
            continue;
        }
        if (!is_active(p)) continue;
        p->n_expanded = 0;
        if (!expand(p, text, 0))
            return md_preprocessor_fail(p, *place, SUNDOG_ERR_INPUT,
                                        "with #define values put in, the line has more than %d "
                                        "characters or %d values within values", MAX_EXPANDED,
                                        MAX_DEPTH);
        p->n_before += strlen(text);
        p->n_after += p->n_expanded;
        if (p->n_after > MAX_GROWN + MAX_RATIO * p->n_before)
            return md_preprocessor_fail(p, *place, SUNDOG_ERR_INPUT,
                                        "#define values make %zu characters of the %zu up to here",
                                        p->n_after, p->n_before);
        *line = md_text_trim(p->expanded);
        if (**line) return SUNDOG_OK;
    }
    *line = NULL;
    return SUNDOG_OK;
}

sundog_status md_preprocessor_check_asked(const md_preprocessor *p, const char *path)
{
    char names[512] = "";
    int n = 0;
    for (int i = 0; i < p->n_macros; i++) {         /* those of the .mdp come first, in its order */
        if (!p->macro[i].unasked) continue;
        size_t used = strlen(names);
        const md_map_entry *entry = &p->macro_of_name.entry[i];
        snprintf(names + used, sizeof names - used, "%s%.*s", n++ ? ", " : "", (int)entry->n_key,
                 p->macro_of_name.bytes + entry->key);
    }
    if (n == 0) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_INPUT,
                     "define in the .mdp sets %s, but %s never asks for %s (#ifdef, #ifndef or "
                     "as a parameter)", names, path, n > 1 ? "them" : "it");
}

/* ---- life ----------------------------------------------------------------------------------- */

sundog_status md_preprocessor_create(const char *path, const md_preprocess_options *options,
                                     md_preprocessor **out)
{
    md_preprocessor *p = base_alloc_zero(sizeof *p);
    p->open = base_alloc_zero(MAX_DEPTH * sizeof *p->open);
    for (int i = 0; i < options->n_include_dirs; i++)
        md_search_add(&p->search, options->include_dir[i], strlen(options->include_dir[i]), "-I");
    sundog_status status = obey_options(p, "define", options->define);
    if (status == SUNDOG_OK) status = obey_options(p, "include", options->include);
    md_search_add_environment(&p->search);
    if (status == SUNDOG_OK) status = open_source(p, path, (md_place){-1, 0});
    if (status == SUNDOG_OK)
        *out = p;
    else
        md_preprocessor_destroy(&p);
    return status;
}

void md_preprocessor_destroy(md_preprocessor **preprocessor)
{
    md_preprocessor *p = *preprocessor;
    if (!p) return;
    for (int i = 0; i < p->n_open; i++) md_lines_close(&p->open[i].lines);
    for (int i = 0; i < p->n_sources; i++) base_free(p->source[i].path);
    for (int i = 0; i < p->n_macros; i++) base_free(p->macro[i].value);
    md_search_destroy(&p->search);
    base_free(p->source);
    base_free(p->open);
    base_free(p->condition);
    base_free(p->macro);
    md_map_destroy(&p->macro_of_name);
    base_free(p->joined);
    base_free(p->expanded);
    base_free(p);
    *preprocessor = NULL;
}
