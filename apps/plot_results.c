/* Pictures of benchmark results (plot_results.h).
 *
 *      line -> points (panel, series, x, y)      a panel exists where it has two different x
 *      points of the same panel, series and x    the fastest counts
 *      panels -> a gnuplot script with the data in it
 *
 * Names from the files are cleaned before they become part of the script.
 */
#include "plot_results.h"

#include "base/alloc.h"
#include "md/out/plot.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 160 };

typedef struct point {
    char panel[NAME], series[NAME];
    char label[NAME]; /* of x where it is a name */
    double x, y;
} point;

typedef struct points {
    point *point;
    size_t n, capacity;
} points;

typedef struct axes {
    const char *panel, *x, *y;
    bool down; /* less is better */
} axes;

static const axes speed_axes[] = {
    {"ns/day, atoms", "atoms", "ns/day", false}, {"us, atoms", "atoms", "us a step", true},
    {"ns/day, GPUs", "GPUs", "ns/day", false},   {"us, GPUs", "GPUs", "us a step", true},
    {"ns/day, exchange", "", "ns/day", false},   {"us, exchange", "", "us a step", true},
};
enum { N_SPEED = (int)(sizeof speed_axes / sizeof speed_axes[0]) };

/* ---- reading -------------------------------------------------------------------------------- */

static double number(const cJSON *line, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(line, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Letters, digits and a few signs, so that nothing of a file is read as a command. */
static void word(const cJSON *line, const char *name, const char *otherwise, char out[32])
{
    const cJSON *item = cJSON_GetObjectItem(line, name);
    const char *from = cJSON_IsString(item) ? item->valuestring : otherwise;
    size_t n = 0;
    for (; *from && n < 31; from++)
        if (isalnum((unsigned char)*from) || strchr(" -+./,()", *from)) out[n++] = *from;
    out[n] = '\0';
}

static double x_of_label(points *all, const char *panel, const char *label)
{
    int n = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->point[i].panel, panel) != 0) continue;
        if (strcmp(all->point[i].label, label) == 0) return all->point[i].x;
        if (all->point[i].x > n) n = (int)all->point[i].x;
    }
    return n + 1;
}

static void add(points *all, const char *panel, const char *series, const char *label, double x,
                double y, bool down)
{
    if (!(x > 0) || !(y > 0)) return;
    for (size_t i = 0; i < all->n; i++) {
        point *p = &all->point[i];
        if (strcmp(p->panel, panel) != 0 || strcmp(p->series, series) != 0 || p->x != x) continue;
        if (down ? y < p->y : y > p->y) p->y = y;
        return;
    }
    BASE_RESERVE(all->point, all->capacity, all->n + 1);
    point *p = &all->point[all->n++];
    snprintf(p->panel, NAME, "%s", panel);
    snprintf(p->series, NAME, "%s", series);
    snprintf(p->label, NAME, "%s", label);
    p->x = x;
    p->y = y;
}

/* A line of `bench md`, or of another program with the same names. */
static void take_speed(const cJSON *line, points *all)
{
    char program[32], scheme[32], rung[32], route[32], series[NAME], label[NAME];
    double atoms = number(line, "atoms"), ns = number(line, "ns_per_day");
    double us = number(line, "us_per_step"), dt = number(line, "dt_ps");
    int gpus = (int)number(line, "gpus"), domains = (int)number(line, "domains");
    if (!(us > 0)) us = 1e3 * number(line, "ms_per_step");
    if (!(us > 0) && ns > 0 && dt > 0) us = 86400e3 * dt / ns;
    if (!(atoms > 0) || !(us > 0)) return;
    word(line, "program", "Sundog", program);
    word(line, "scheme", "", scheme);
    word(line, "exchange", "none", rung);
    word(line, "route", "", route);
    const char *unit = gpus == 0 ? "CPU" : gpus == 1 ? "1 GPU" : NULL;
    char many[24], parts[32] = "";
    snprintf(many, sizeof many, "%d GPUs", gpus);
    if (gpus > 0 && domains > gpus) snprintf(parts, sizeof parts, ", %d domains", domains);
    bool alone = strcmp(rung, "none") == 0;

    snprintf(series, sizeof series, "%s, %s%s%s%s", program, unit ? unit : many, parts,
             scheme[0] ? ", " : "", scheme);
    add(all, "ns/day, atoms", series, "", atoms, ns, false);
    add(all, "us, atoms", series, "", atoms, us, true);
    if (gpus > 0 && !parts[0]) {
        snprintf(series, sizeof series, "%s, %.0f atoms%s%s", program, atoms, scheme[0] ? ", " : "",
                 scheme);
        add(all, "ns/day, GPUs", series, "", gpus, ns, false);
        add(all, "us, GPUs", series, "", gpus, us, true);
    }
    if (alone) return;
    snprintf(label, sizeof label, "%s%s%s", rung, route[0] ? " " : "", route);
    snprintf(series, sizeof series, "%s, %.0f atoms, %s%s%s%s", program, atoms, unit ? unit : many,
             parts, scheme[0] ? ", " : "", scheme);
    add(all, "ns/day, exchange", series, label, x_of_label(all, "ns/day, exchange", label), ns,
        false);
    add(all, "us, exchange", series, label, x_of_label(all, "us, exchange", label), us, true);
}

/* A line of `bench halo`. Rounds in a graph where there are any, as the engine runs them. */
static void take_halo(const cJSON *line, points *all)
{
    char bench[32], part[32], rung[32], route[32], panel[NAME], series[NAME];
    word(line, "bench", "", bench);
    word(line, "part", "", part);
    word(line, "exchange", "", rung);
    word(line, "route", "", route);
    double rows = number(line, "rows"), us = number(line, "us_one_way");
    if (!(us > 0)) us = number(line, "us_round_graph");
    if (!(us > 0)) us = number(line, "us_round");
    int gpus = (int)number(line, "gpus"), domains = (int)number(line, "domains");
    if (strcmp(bench, "halo") != 0 || gpus == 0) return;
    snprintf(panel, sizeof panel, "%s, %d domain%s on %d GPU%s",
             strcmp(part, "pingpong") == 0 ? "One way" : "Forward and reverse", domains,
             domains == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s");
    snprintf(series, sizeof series, "%s %s", rung, route);
    add(all, panel, series, "", rows, us, true);
}

static sundog_status read_file(plot_kind kind, const char *path, points *all)
{
    FILE *file = fopen(path, "r");
    if (!file) return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0, before = all->n;
    sundog_status status = SUNDOG_OK;
    for (int n = 1; status == SUNDOG_OK && getline(&line, &capacity, file) > 0; n++) {
        if (line[strspn(line, " \t\r\n")] == '\0') continue;
        cJSON *json = cJSON_Parse(line);
        if (!cJSON_IsObject(json))
            status = base_fail(SUNDOG_ERR_INPUT, "%s, line %d: not a JSON object", path, n);
        else if (kind == PLOT_SPEED)
            take_speed(json, all);
        else
            take_halo(json, all);
        cJSON_Delete(json);
    }
    if (status == SUNDOG_OK && ferror(file))
        status = base_fail(SUNDOG_ERR_IO, "%s: reading failed: %s", path, strerror(errno));
    if (status == SUNDOG_OK && all->n == before)
        status = base_fail(SUNDOG_ERR_INPUT, "%s has no new result of `sundog bench %s`", path,
                           kind == PLOT_SPEED ? "md" : "halo -device gpu");
    free(line);
    fclose(file);
    return status;
}

/* ---- the script ----------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const point *p = a, *q = b;
    int panel = strcmp(p->panel, q->panel), series = strcmp(p->series, q->series);
    if (panel != 0) return panel;
    if (series != 0) return series;
    return (p->x > q->x) - (p->x < q->x);
}

/* Points of the same panel and series as the one at `first`. */
static size_t series_end(const points *all, size_t first)
{
    const point *p = all->point;
    size_t end = first;
    while (end < all->n && strcmp(p[end].panel, p[first].panel) == 0 &&
           strcmp(p[end].series, p[first].series) == 0)
        end++;
    return end;
}

/* A point alone is no curve, but a result of an exchange beside others. */
static bool is_curve(const points *all, size_t first, size_t end)
{
    return end - first > 1 || all->point[first].label[0] != '\0';
}

/* Points of the panel that begins at `first`; *worth: it has a curve, or several names. */
static size_t panel_end(const points *all, size_t first, bool *worth)
{
    size_t end = first;
    *worth = false;
    while (end < all->n && strcmp(all->point[end].panel, all->point[first].panel) == 0) {
        size_t next = series_end(all, end);
        *worth = *worth || next - end > 1 || all->point[end].x != all->point[first].x;
        end = next;
    }
    return end;
}

static const axes *axes_of(const char *panel)
{
    static const axes halo = {"", "rows of the first pulse", "us", true};
    for (int i = 0; i < N_SPEED; i++)
        if (strcmp(speed_axes[i].panel, panel) == 0) return &speed_axes[i];
    return &halo;
}

static void put_panel(FILE *out, const points *all, size_t first, size_t end, int at)
{
    const point *p = all->point;
    const axes *how = axes_of(p[first].panel);
    bool named = p[first].label[0] != '\0';
    for (size_t i = first; i < end; i++) {
        if (i == first || strcmp(p[i].series, p[i - 1].series) != 0)
            fprintf(out, "$d%d_%zu << EOD\n", at, i);
        fprintf(out, "%.10g %.10g\n", p[i].x, p[i].y);
        if (i + 1 == end || strcmp(p[i].series, p[i + 1].series) != 0) fputs("EOD\n", out);
    }
    fputs(how->panel[0] ? "set title ''\n" : "", out);
    if (!how->panel[0]) fprintf(out, "set title '%s'\n", p[first].panel);
    fprintf(out, "set xlabel '%s'\nset ylabel '%s'\nset logscale y\n", how->x,
            strncmp(how->y, "us", 2) == 0 ? how->y[2] ? "µs a step" : "µs" : how->y);
    fputs(named ? "unset logscale x\nset xtics rotate by 20 right (" : "set logscale x\n", out);
    double last = 0, least = p[first].x;
    for (size_t i = first; i < end; i++) {
        if (named) fprintf(out, "%s'%s' %g", i > first ? ", " : "", p[i].label, p[i].x);
        if (p[i].x > last) last = p[i].x;
        if (p[i].x < least) least = p[i].x;
    }
    bool gpus = strcmp(how->x, "GPUs") == 0;
    if (named)
        fprintf(out, ")\nset xrange [0.5:%g]\n", last + 0.5);
    else
        fprintf(out, "set xtics %s norotate\nset xrange [%g:%g]\n",
                gpus ? "(1, 2, 4, 8, 16, 32, 64, 128)" : "autofreq", 0.8 * least, 1.25 * last);
    const char *before = "plot ";
    int style = 0;
    for (size_t i = first, next; i < end; i = next) {
        next = series_end(all, i);
        if (!is_curve(all, i, next)) continue;
        fprintf(out,
                "%s$d%d_%zu using 1:2 with linespoints linewidth 1.5 linetype %d pointtype %d "
                "pointsize 0.7 title '%s'",
                before, at, i, style % 8 + 1, style / 8 ? 4 : 7, p[i].series);
        before = ", ";
        style++;
    }
    fputs("\n", out);
}

static void put_script(FILE *out, bool svg, const void *arg)
{
    const points *all = arg;
    int n = 0;
    bool worth;
    for (size_t i = 0; i < all->n; i = panel_end(all, i, &worth)) {
        panel_end(all, i, &worth);
        n += worth;
    }
    int n_rows = (n + 1) / 2, n_columns = n > 1 ? 2 : 1;
    fprintf(out, "set terminal %s size %d,%d font '%s' background 'white'\n",
            svg ? "svg" : "pngcairo", 760 * n_columns, 430 * n_rows,
            svg ? "sans-serif,13" : "Sans,13");
    fprintf(out,
            "set encoding utf8\nset border 3 linecolor rgb '#606060'\n"
            "set tics nomirror scale 0.5 textcolor rgb '#303030'\n"
            "set grid linecolor rgb '#e4e4e4' linetype 1 linewidth 0.8\n"
            "set key outside right top vertical Left reverse samplen 2 noenhanced\n"
            "set title noenhanced\nset format '%%g'\n"
            "set multiplot layout %d,%d\n",
            n_rows, n_columns);
    for (size_t i = 0, end; i < all->n; i = end) {
        end = panel_end(all, i, &worth);
        if (worth) put_panel(out, all, i, end, (int)i);
    }
    fputs("unset multiplot\n", out);
}

static sundog_status draw(points *all, const char *image_path, bool svg)
{
    bool worth, any = false;
    qsort(all->point, all->n, sizeof *all->point, by_place);
    for (size_t i = 0; i < all->n;) {
        i = panel_end(all, i, &worth);
        any = any || worth;
    }
    if (!any)
        return base_fail(SUNDOG_ERR_INPUT, "plot: all results are of the same size, number of GPUs "
                                           "and exchange: there is no curve to draw");
    return md_plot_draw(put_script, all, image_path, svg);
}

sundog_status plot_results(plot_kind kind, const char *const *path, int n_paths,
                           const char *image_path)
{
    bool svg;
    points all = {NULL, 0, 0};
    sundog_status status = md_plot_image(image_path, &svg);
    for (int i = 0; i < n_paths && status == SUNDOG_OK; i++)
        status = read_file(kind, path[i], &all);
    if (status == SUNDOG_OK) status = draw(&all, image_path, svg);
    base_free(all.point);
    return status;
}
