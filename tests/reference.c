/* Reader of the reference values; see reference.h.
 *
 * JSON is cJSON's work, unpacking is the program xz's: tests need the numbers, not a decoder.
 */
#include "reference.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---------------------------------------------------------------------------------- */

const char *reference_path(const char *format, ...)
{
    static _Thread_local char buffer[4][4096];
    static _Thread_local unsigned turn;
    char *path = buffer[turn++ % 4];
    int n = snprintf(path, sizeof buffer[0], "%s/systems/", SUNDOG_SOURCE_DIR);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + n, sizeof buffer[0] - (size_t)n, format, arguments);
    va_end(arguments);
    return path;
}

bool reference_exists(const char *path)
{
    return access(path, R_OK) == 0;
}

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "reference %s: %s\n", path, what);
    return false;
}

static FILE *open_packed(const char *path)
{
    char command[4200];
    if (strchr(path, '\'')) {
        errno = EINVAL;
        return NULL;
    }
    snprintf(command, sizeof command, "exec xz -dc -- '%s'", path);
    return popen(command, "r");
}

/* The whole file with a closing 0; NULL after a complaint. */
static char *read_text(const char *path)
{
    size_t length = strlen(path), capacity = 1 << 16, used = 0;
    bool packed = length > 3 && strcmp(path + length - 3, ".xz") == 0;
    FILE *file = packed ? open_packed(path) : fopen(path, "r");
    if (!file) {
        complain(path, strerror(errno));
        return NULL;
    }
    char *text = malloc(capacity);
    while (text) {
        size_t n = fread(text + used, 1, capacity - used - 1, file);
        used += n;
        if (n == 0) break;
        if (used + 1 == capacity) {
            char *larger = realloc(text, capacity *= 2);
            if (!larger) free(text);
            text = larger;
        }
    }
    bool failed = ferror(file) || !text;
    failed |= (packed ? pclose(file) : fclose(file)) != 0;
    if (failed) {
        complain(path, packed ? "could not be unpacked (is the program xz installed?)"
                              : "could not be read");
        free(text);
        return NULL;
    }
    text[used] = 0;
    return text;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static cJSON *read_json(const char *path)
{
    char *text = read_text(path);
    if (!text) return NULL;
    cJSON *json = cJSON_Parse(text);
    free(text);
    if (!json) complain(path, "is no JSON");
    return json;
}

static const cJSON *descend(const cJSON *at, const char *keys)
{
    char key[256];
    while (at && *keys) {
        size_t n = strcspn(keys, "/");
        if (n >= sizeof key) return NULL;
        memcpy(key, keys, n);
        key[n] = 0;
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(key))
                               : cJSON_GetObjectItemCaseSensitive(at, key);
        keys += n + (keys[n] == '/');
    }
    return at;
}

static bool take_number(const cJSON *at, const char *path, const char *name, double *value)
{
    if (!cJSON_IsNumber(at)) {
        fprintf(stderr, "reference %s: no number '%s'\n", path, name);
        return false;
    }
    *value = at->valuedouble;
    return true;
}

bool reference_number(const char *json_path, const char *keys, double *value)
{
    cJSON *json = read_json(json_path);
    bool found = json && take_number(descend(json, keys), json_path, keys, value);
    cJSON_Delete(json);
    return found;
}

bool reference_energy(const char *json_path, const char *term, double *value)
{
    cJSON *json = read_json(json_path);
    if (!json) return false;
    const cJSON *terms = cJSON_GetObjectItemCaseSensitive(json, "energies_kJ_per_mol");
    if (!terms) terms = cJSON_GetObjectItemCaseSensitive(json, "scalar");
    bool found = take_number(cJSON_GetObjectItemCaseSensitive(terms, term), json_path, term, value);
    cJSON_Delete(json);
    return found;
}

bool reference_tensor(const char *json_path, const char *name, double tensor[3][3])
{
    cJSON *json = read_json(json_path);
    bool found = json != NULL;
    for (int i = 0; found && i < 9; i++) {
        char keys[300];
        snprintf(keys, sizeof keys, "%s/%d/%d", name, i / 3, i % 3);
        found = take_number(descend(json, keys), json_path, keys, &tensor[i / 3][i % 3]);
    }
    cJSON_Delete(json);
    return found;
}

bool reference_average(const char *json_path, const char *run, const char *term, double *mean,
                       double *standard_error)
{
    char keys[300];
    snprintf(keys, sizeof keys, "%s/mean_and_standard_error/%s/0", run, term);
    if (!reference_number(json_path, keys, mean)) return false;
    snprintf(keys, sizeof keys, "%s/mean_and_standard_error/%s/1", run, term);
    return reference_number(json_path, keys, standard_error);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* How many numbers the line holds, the first `limit` of them stored; -1 if anything else is on it.
 * `*next` becomes the start of the next line. */
static int read_line(char *line, double *values, int limit, char **next)
{
    int n = 0;
    char *end = line + strcspn(line, "\n"), *at = line;
    *next = *end ? end + 1 : end;
    *end = 0;
    for (;;) {
        while (isspace((unsigned char)*at)) at++;
        if (!*at) return n;
        char *after;
        double value = strtod(at, &after);
        if (after == at || (*after && !isspace((unsigned char)*after))) return -1;
        if (n < limit) values[n] = value;
        n++;
        at = after;
    }
}

bool reference_table(const char *path, int columns, double **values, size_t *rows)
{
    char *text = read_text(path);
    if (!text) return false;
    size_t n = 0, n_lines = 1;
    for (const char *c = text; *c; c++) n_lines += *c == '\n';
    double *table = malloc(n_lines * (size_t)columns * sizeof *table);
    bool good = table != NULL;
    char *next;
    int line = 0;
    for (char *at = text; good && *at; at = next) {
        line++;
        if (*at == '#') {
            next = at + strcspn(at, "\n");
            next += *next != 0;
            continue;
        }
        int found = read_line(at, table + n * (size_t)columns, columns, &next);
        good = found == columns;
        if (!good)
            fprintf(stderr, "reference %s:%d: expected %d numbers\n", path, line, columns);
        n++;
    }
    free(text);
    if (good && n == 0) good = complain(path, "holds no rows");
    if (!good) {
        free(table);
        return false;
    }
    *values = table;
    *rows = n;
    return true;
}

bool reference_n_columns(const char *path, int *columns)
{
    char *text = read_text(path), *at = text;
    if (!text) return false;
    while (*at == '#') {
        at += strcspn(at, "\n");
        at += *at != 0;
    }
    int n = read_line(at, NULL, 0, &at);
    free(text);
    if (n <= 0) return complain(path, "does not begin with a row of numbers");
    *columns = n;
    return true;
}

bool reference_column(const char *path, const char *name, int *column)
{
    static const char intro[] = "# columns: step; then ";
    char *text = read_text(path);
    if (!text) return false;
    bool found = false;
    text[strcspn(text, "\n")] = 0;
    if (strncmp(text, intro, sizeof intro - 1) == 0) {
        int n = 1;
        for (char *at = text + sizeof intro - 1; !found && *at; n++) {
            size_t length = strcspn(at, ";");
            found = length == strlen(name) && memcmp(at, name, length) == 0;
            if (found) *column = n;
            at += length;
            at += strspn(at, "; ");
        }
    }
    free(text);
    if (!found) fprintf(stderr, "reference %s: no column '%s'\n", path, name);
    return found;
}

/* ---- distance ------------------------------------------------------------------------------- */

static void deviation_add(reference_deviation *sum, size_t atom, const double *reference,
                          double x, double y, double z)
{
    double dx = x - reference[0], dy = y - reference[1], dz = z - reference[2];
    double square = dx * dx + dy * dy + dz * dz;
    sum->rms += square;
    sum->rms_reference += reference[0] * reference[0] + reference[1] * reference[1] +
                          reference[2] * reference[2];
    if (!(square <= sum->largest)) {        /* a NaN counts as the largest and stays */
        sum->largest = square;
        sum->worst = atom;
    }
}

static reference_deviation deviation_end(reference_deviation sum, size_t n)
{
    sum.rms = sqrt(sum.rms / (double)n);
    sum.rms_reference = sqrt(sum.rms_reference / (double)n);
    sum.largest = sqrt(sum.largest);
    sum.relative = sum.rms / sum.rms_reference;
    return sum;
}

reference_deviation reference_compare(const double *table, int columns, int first, size_t n,
                                      const double (*test)[3])
{
    reference_deviation sum = {0};
    for (size_t i = 0; i < n; i++)
        deviation_add(&sum, i, table + i * (size_t)columns + first, test[i][0], test[i][1],
                      test[i][2]);
    return deviation_end(sum, n);
}

reference_deviation reference_compare_float(const double *table, int columns, int first, size_t n,
                                            const float (*test)[3])
{
    reference_deviation sum = {0};
    for (size_t i = 0; i < n; i++)
        deviation_add(&sum, i, table + i * (size_t)columns + first, test[i][0], test[i][1],
                      test[i][2]);
    return deviation_end(sum, n);
}
