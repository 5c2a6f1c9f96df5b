/* Reading energy.csv for the plot (plot_data.h).
 *
 * Thinning: the rows are cut into at most MAX_BUCKETS stretches, and of each the smallest and the
 * largest value are kept, in the order in which they came. The line drawn through them covers the
 * same pixels as the line through all rows; taking every k-th row would lose the spikes.
 */
#include "md/out/plot_data.h"
#include "base/alloc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUCKETS = 800, MIN_SMOOTH_ROWS = 60, N_COLUMNS = MD_PLOT_N + 1 };

/* Time first, then the curves; either name will do. */
static const char *const column_names[N_COLUMNS][2] = {
    {"Time", "Time"},
    {"Potential", "Potential"},
    {"Total Energy", "Total"},
    {"Conserved En.", "Conserved"},
    {"Temperature", "Temperature"},
    {"Pressure", "Pressure"},
};

typedef struct table {
    const char *path;
    int n_fields;         /* of every line */
    int field[N_COLUMNS]; /* where our columns are */
    int64_t n_rows;
    size_t capacity[N_COLUMNS];
    double *column[N_COLUMNS]; /* [n_rows] */
} table;

/* ---- text ----------------------------------------------------------------------------------- */

/* Take the next field off a header line: quotes removed, doubled ones made one. */
static char *next_name(char **cursor)
{
    char *from = *cursor, *name = from, *to = from;
    bool quoted = *from == '"';
    if (quoted) from++;
    for (; *from; from++) {
        if (quoted && *from == '"') {
            if (from[1] != '"') {
                quoted = false;
                continue;
            }
            from++;
        } else if (!quoted && *from == ',') {
            break;
        }
        *to++ = *from;
    }
    *cursor = *from ? from + 1 : NULL;
    *to = '\0';
    return name;
}

/* "Pressure (bar)" is the column "Pressure". */
static bool is_column(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncmp(name, wanted, n) == 0 && (name[n] == '\0' || strncmp(name + n, " (", 2) == 0);
}

static sundog_status parse_header(table *t, char *line)
{
    for (int c = 0; c < N_COLUMNS; c++) t->field[c] = -1;
    char *cursor = line;
    for (t->n_fields = 0; cursor; t->n_fields++) {
        const char *name = next_name(&cursor);
        for (int c = 0; c < N_COLUMNS; c++)
            if (is_column(name, column_names[c][0]) || is_column(name, column_names[c][1]))
                t->field[c] = t->n_fields;
    }
    bool any = false;           /* a minimisation has no temperature, and no total energy */
    for (int c = 1; c < N_COLUMNS; c++) any = any || t->field[c] >= 0;
    if (t->field[0] < 0 || !any)
        return base_fail(SUNDOG_ERR_INPUT,
                         "%s has no column \"%s\" in its first line: it is "
                         "not an energy.csv of this program",
                         t->path, column_names[t->field[0] < 0 ? 0 : 1][0]);
    return SUNDOG_OK;
}

static sundog_status parse_row(table *t, const char *line, int64_t number)
{
    double value[N_COLUMNS] = {0};
    int n = 0;
    for (const char *p = line;; n++) {
        char *end;
        double v = strtod(p, &end);
        if (end == p || (*end != ',' && *end != '\0'))
            return base_fail(SUNDOG_ERR_INPUT, "%s, line %lld: field %d is not a number", t->path,
                             (long long)number, n + 1);
        for (int c = 0; c < N_COLUMNS; c++)
            if (t->field[c] == n) value[c] = v;
        if (*end == '\0') break;
        p = end + 1;
    }
    if (n + 1 != t->n_fields)
        return base_fail(SUNDOG_ERR_INPUT, "%s, line %lld: %d fields, but the first line names %d",
                         t->path, (long long)number, n + 1, t->n_fields);
    if (!isfinite(value[0]))
        return base_fail(SUNDOG_ERR_INPUT, "%s, line %lld: the time is not a finite number",
                         t->path, (long long)number);
    for (int c = 0; c < N_COLUMNS; c++) {
        BASE_RESERVE(t->column[c], t->capacity[c], t->n_rows + 1);
        t->column[c][t->n_rows] = value[c];
    }
    t->n_rows++;
    return SUNDOG_OK;
}

static sundog_status parse_file(table *t, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    sundog_status status = SUNDOG_OK;
    int64_t number = 0;
    ssize_t n;
    while (status == SUNDOG_OK && (n = getline(&line, &capacity, file)) > 0) {
        number++;
        bool whole = line[n - 1] == '\n';
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = '\0';
        if (number == 1)
            status = parse_header(t, line);
        else if (n > 0 && whole) /* the last row of a running simulation may be half written */
            status = parse_row(t, line, number);
    }
    if (status == SUNDOG_OK && ferror(file))
        status = base_fail(SUNDOG_ERR_IO, "%s: reading failed: %s", t->path, strerror(errno));
    if (status == SUNDOG_OK && number == 0)
        status = base_fail(SUNDOG_ERR_INPUT, "%s is empty", t->path);
    else if (status == SUNDOG_OK && t->n_rows == 0)
        status = base_fail(SUNDOG_ERR_INPUT, "%s has a header but no rows: nothing to plot yet",
                           t->path);
    free(line);
    return status;
}

/* ---- thinning ------------------------------------------------------------------------------- */

static void add_point(md_plot_line *line, double time, double value)
{
    line->point[line->n][0] = time;
    line->point[line->n][1] = value;
    line->n++;
}

/* Rows that hold a number. */
static int64_t take_finite(const table *t, int column, double *time, double *value)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_rows; i++) {
        if (!isfinite(t->column[column][i])) continue;
        time[n] = t->column[0][i];
        value[n++] = t->column[column][i];
    }
    return n;
}

static void thin(const double *time, const double *value, int64_t n, md_plot_line *line)
{
    int64_t n_buckets = n <= 2 * MAX_BUCKETS ? n : MAX_BUCKETS;
    line->point = base_alloc((size_t)n_buckets * 2 * sizeof *line->point);
    for (int64_t b = 0; b < n_buckets; b++) {
        int64_t first = n * b / n_buckets, last = n * (b + 1) / n_buckets;
        int64_t lowest = first, highest = first;
        for (int64_t i = first + 1; i < last; i++) {
            if (value[i] < value[lowest]) lowest = i;
            if (value[i] > value[highest]) highest = i;
        }
        int64_t a = lowest < highest ? lowest : highest, z = lowest < highest ? highest : lowest;
        add_point(line, time[a], value[a]);
        if (z != a) add_point(line, time[z], value[z]);
    }
}

/* Mean over a window that slides along: a fiftieth of the rows, 5 at least, cut off at the ends. */
static void smooth(const double *time, const double *value, int64_t n, double mean,
                   md_plot_line *line)
{
    int64_t half = n / 100 > 2 ? n / 100 : 2;
    int64_t n_points = n < MAX_BUCKETS ? n : MAX_BUCKETS;
    line->point = base_alloc((size_t)n_points * sizeof *line->point);
    int64_t first = 0, last = 0;
    double sum = 0.0; /* of value - mean over [first, last), small numbers */
    for (int64_t k = 0; k < n_points; k++) {
        int64_t centre = n_points > 1 ? (n - 1) * k / (n_points - 1) : 0;
        while (last < n && last <= centre + half) sum += value[last++] - mean;
        while (first < centre - half) sum -= value[first++] - mean;
        add_point(line, time[centre], mean + sum / (double)(last - first));
    }
}

static void summarise(const double *time, const double *value, int64_t n, md_plot_series *series)
{
    double sum = 0.0, squares = 0.0;
    series->min = series->max = value[0];
    for (int64_t i = 0; i < n; i++) {
        if (value[i] < series->min) series->min = value[i];
        if (value[i] > series->max) series->max = value[i];
        sum += value[i] - value[0];
    }
    series->mean = value[0] + sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (value[i] - series->mean) * (value[i] - series->mean);
    series->deviation = sqrt(squares / (double)n);
    thin(time, value, n, &series->line);
    if (n >= MIN_SMOOTH_ROWS) smooth(time, value, n, series->mean, &series->smooth);
}

static sundog_status fill(const table *t, md_plot_data *data)
{
    double *time = base_alloc((size_t)t->n_rows * sizeof *time);
    double *value = base_alloc((size_t)t->n_rows * sizeof *value);
    sundog_status status = SUNDOG_OK;
    data->n_rows = t->n_rows;
    data->first_time = t->column[0][0];
    data->last_time = t->column[0][t->n_rows - 1];
    for (int c = 1; c < N_COLUMNS && status == SUNDOG_OK; c++) {
        if (t->field[c] < 0) continue;
        int64_t n = take_finite(t, c, time, value);
        if (n > 0)
            summarise(time, value, n, &data->series[c - 1]);
        else
            status = base_fail(SUNDOG_ERR_INPUT, "%s: column \"%s\" holds no finite number",
                               t->path, column_names[c][0]);
    }
    base_free(time);
    base_free(value);
    return status;
}

sundog_status md_plot_data_read(const char *csv_path, md_plot_data *out)
{
    FILE *file = fopen(csv_path, "rb");
    if (!file)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened: %s", csv_path, strerror(errno));
    table t = {.path = csv_path};
    memset(out, 0, sizeof *out);
    sundog_status status = parse_file(&t, file);
    fclose(file);
    if (status == SUNDOG_OK) status = fill(&t, out);
    for (int c = 0; c < N_COLUMNS; c++) base_free(t.column[c]);
    if (status != SUNDOG_OK) md_plot_data_destroy(out);
    return status;
}

void md_plot_data_destroy(md_plot_data *data)
{
    for (int c = 0; c < MD_PLOT_N; c++) {
        base_free(data->series[c].line.point);
        base_free(data->series[c].smooth.point);
    }
    memset(data, 0, sizeof *data);
}
