/* See plot_trace.h. Events become boxes of one gnuplot data block for each name. */
#include "plot_trace.h"

#include "base/alloc.h"
#include "md/out/plot.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32, NAME = 48 };

typedef struct event {
    double begin, end, thread; /* us */
    double step;               /* -1: not said */
    int name;
} event;

typedef struct timeline {
    event *event;
    size_t n, capacity;
    char name[NAMES][NAME];
    int n_names;
    double last, most_thread;
} timeline;

/* Its number among the names; what is no letter, digit or simple sign is left out. */
static int name_of(timeline *line, const char *from)
{
    char name[NAME];
    size_t n = 0;
    for (; *from && n < NAME - 1; from++)
        if (isalnum((unsigned char)*from) || strchr(" -+./,()", *from)) name[n++] = *from;
    name[n] = '\0';
    for (int i = 0; i < line->n_names; i++)
        if (strcmp(line->name[i], name) == 0) return i;
    if (line->n_names == NAMES) return NAMES - 1; /* more colours nobody tells apart */
    memcpy(line->name[line->n_names], name, NAME);
    return line->n_names++;
}

static double number(const cJSON *of, const char *name, double otherwise)
{
    const cJSON *item = of ? cJSON_GetObjectItem(of, name) : NULL;
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static void take(const cJSON *item, timeline *line)
{
    const cJSON *kind = cJSON_GetObjectItem(item, "ph"), *name = cJSON_GetObjectItem(item, "name");
    double begin = number(item, "ts", -1), length = number(item, "dur", -1);
    if (!cJSON_IsString(kind) || strcmp(kind->valuestring, "X") != 0) return;
    if (!cJSON_IsString(name) || begin < 0 || length < 0) return;
    BASE_RESERVE(line->event, line->capacity, line->n + 1);
    event *e = &line->event[line->n++];
    *e = (event){.begin = begin, .end = begin + length, .thread = number(item, "tid", 0)};
    e->step = number(cJSON_GetObjectItem(item, "args"), "step", -1);
    e->name = name_of(line, name->valuestring);
    if (e->end > line->last) line->last = e->end;
    if (e->thread > line->most_thread) line->most_thread = e->thread;
}

static sundog_status read_text(const char *path, char **text)
{
    FILE *file = fopen(path, "r");
    if (!file) return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    size_t capacity = 0;
    *text = NULL;
    ssize_t n = getdelim(text, &capacity, '\0', file);
    fclose(file);
    if (n > 0) return SUNDOG_OK;
    free(*text);
    return base_fail(SUNDOG_ERR_INPUT, "%s: nothing can be read from it", path);
}

static sundog_status read_events(const char *path, timeline *line)
{
    char *text;
    BASE_TRY(read_text(path, &text));
    cJSON *json = cJSON_Parse(text), *item;
    free(text);
    const cJSON *events = cJSON_IsArray(json) ? json : cJSON_GetObjectItem(json, "traceEvents");
    cJSON_ArrayForEach(item, events) take(item, line);
    bool is_trace = cJSON_IsArray(events);
    cJSON_Delete(json);
    if (!is_trace) return base_fail(SUNDOG_ERR_INPUT, "%s: no trace in JSON", path);
    if (line->n == 0) return base_fail(SUNDOG_ERR_INPUT, "%s: the trace has no events", path);
    return SUNDOG_OK;
}

/* A thin line where a step of the first thread begins. */
static void put_steps(FILE *out, const timeline *line, double scale)
{
    double step = -1;
    for (size_t i = 0; i < line->n; i++) {
        const event *e = &line->event[i];
        if (e->thread > 0 || e->step < 0 || e->step == step) continue;
        step = e->step;
        fprintf(out,
                "set arrow from %.8g, graph 0 to %.8g, graph 1 nohead linecolor rgb '#404040' "
                "dashtype 3\nset label '%.0f' at %.8g, graph 1.02 left font ',10'\n",
                e->begin * scale, e->begin * scale, step, e->begin * scale);
    }
}

static void put_script(FILE *out, bool svg, const void *arg)
{
    const timeline *line = arg;
    static const char *const colour[] = {"#2b6cb0", "#dd6b20", "#2f855a", "#9b2c2c", "#553c9a",
                                         "#b7791f", "#319795", "#d53f8c", "#718096", "#90cdf4",
                                         "#fbd38d", "#9ae6b4", "#feb2b2", "#d6bcfa"};
    enum { N_COLOURS = (int)(sizeof colour / sizeof colour[0]) };
    double scale = line->last > 2e4 ? 1e-3 : 1;
    int rows = (int)line->most_thread + 1;
    fprintf(out, "set terminal %s size 1200,%d font '%s' background 'white'\nset encoding utf8\n",
            svg ? "svg" : "pngcairo", 170 + 40 * (rows < 60 ? rows : 60),
            svg ? "sans-serif,13" : "Sans,13");
    for (int name = 0; name < line->n_names; name++) {
        fprintf(out, "$d%d << EOD\n", name);
        for (size_t i = 0; i < line->n; i++) {
            const event *e = &line->event[i];
            if (e->name != name) continue;
            double begin = e->begin * scale, end = e->end * scale;
            fprintf(out, "%.8g %g %.8g %.8g %g %g\n", 0.5 * (begin + end), e->thread, begin, end,
                    e->thread - 0.4, e->thread + 0.4);
        }
        fputs("EOD\n", out);
    }
    fprintf(out,
            "set border 3 linecolor rgb '#606060'\nset tics nomirror scale 0.5\n"
            "set key outside right top vertical Left reverse samplen 1 noenhanced\n"
            "set style fill solid 1.0 noborder\nset xlabel 'Time (%s); steps above'\n"
            "set ylabel 'Domain'\nset ytics %d\n"
            "set xrange [0:%.8g]\nset yrange [%d.5:-0.5]\n",
            scale < 1 ? "ms" : "µs", 1 + rows / 20, line->last * scale, rows - 1);
    put_steps(out, line, scale);
    for (int name = 0; name < line->n_names; name++)
        fprintf(out, "%s$d%d using 1:2:3:4:5:6 with boxxyerror linecolor rgb '%s' title '%s'",
                name == 0 ? "plot " : ", ", name, colour[name % N_COLOURS], line->name[name]);
    fputs("\n", out);
}

sundog_status plot_trace(const char *path, const char *image_path)
{
    bool svg;
    timeline line = {.n = 0};
    BASE_TRY(md_plot_image(image_path, &svg));
    sundog_status status = read_events(path, &line);
    if (status == SUNDOG_OK && line.most_thread > 4095)
        status = base_fail(SUNDOG_ERR_INPUT, "%s: thread numbers go beyond 4095", path);
    if (status == SUNDOG_OK) status = md_plot_draw(put_script, &line, image_path, svg);
    base_free(line.event);
    return status;
}
