/* The plot of energy.csv, drawn by gnuplot (plot.h).
 *
 * A script with the thinned data in it is built in memory and sent to a gnuplot process:
 *
 *      script  ->  socket, gnuplot's standard input      (a socket: no SIGPIPE if it dies early)
 *      image   <-  gnuplot's standard output, straight into <image>.tmp, then renamed
 *      errors  <-  pipe, the last line goes into our message
 *
 * No file name appears in the script, so no name needs quoting, and no shell is involved.
 */
#include "md/out/plot.h"
#include "base/alloc.h"
#include "md/out/file.h"
#include "md/out/plot_data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- script --------------------------------------------------------------------------------- */

typedef struct curve_style {
    const char *title, *colour, *pale;
} curve_style;

static const curve_style styles[MD_PLOT_N] = {
    [MD_PLOT_POTENTIAL] = {"Potential", "#2b6cb0", "#2b6cb0"},
    [MD_PLOT_TOTAL] = {"Total", "#dd6b20", "#dd6b20"},
    [MD_PLOT_CONSERVED] = {"Conserved", "#2f855a", "#2f855a"},
    [MD_PLOT_TEMPERATURE] = {"Temperature", "#9b2c2c", "#e8b4b0"},
    [MD_PLOT_PRESSURE] = {"Pressure", "#553c9a", "#c6bbe4"},
};

typedef struct scale {
    double factor; /* multiply by this */
    const char *unit;
} scale;

static scale time_scale(double span_ps)
{
    if (span_ps < 1e4) return (scale){1.0, "ps"};
    if (span_ps < 1e7) return (scale){1e-3, "ns"};
    return (scale){1e-6, "µs"};
}

static scale energy_scale(double largest)
{
    if (largest < 1e4) return (scale){1.0, "kJ/mol"};
    if (largest < 1e7) return (scale){1e-3, "10³ kJ/mol"};
    return (scale){1e-6, "10⁶ kJ/mol"};
}

static bool has(const md_plot_data *data, int curve)
{
    return data->series[curve].line.n > 0;
}

static bool has_energies(const md_plot_data *data)
{
    return has(data, MD_PLOT_POTENTIAL) || has(data, MD_PLOT_TOTAL) || has(data, MD_PLOT_CONSERVED);
}

static void put_line(FILE *out, const char *name, int curve, const md_plot_line *line,
                     double time_factor, double factor)
{
    fprintf(out, "$%s%d << EOD\n", name, curve);
    for (int i = 0; i < line->n; i++)
        fprintf(out, "%.10g %.10g\n", line->point[i][0] * time_factor, line->point[i][1] * factor);
    fputs("EOD\n", out);
}

/* A range with some air; never empty. */
static void put_range(FILE *out, char axis, double low, double high, double air)
{
    double margin = air * (high - low);
    if (!(margin > 1e-9 * fabs(low))) margin = fabs(low) > 0.0 ? 0.01 * fabs(low) : 1.0;
    fprintf(out, "set %crange [%.12g:%.12g]\n", axis, low - margin, high + margin);
}

static void put_setup(FILE *out, bool svg, const md_plot_data *data, scale time)
{
    int n_panels =
        has_energies(data) + has(data, MD_PLOT_TEMPERATURE) + has(data, MD_PLOT_PRESSURE);
    if (svg)
        fprintf(out,
                "set terminal svg size 960,%d font 'sans-serif,15' background 'white'\n",
                300 * n_panels);
    else
        fprintf(out,
                "set terminal pngcairo size 1440,%d font 'Sans,20' background 'white' "
                "linewidth 1.5\n",
                450 * n_panels);
    fputs("set encoding utf8\n"
          "set border 3 linecolor rgb '#606060'\n"
          "set tics nomirror scale 0.5 textcolor rgb '#303030'\n"
          "set grid linecolor rgb '#e4e4e4' linetype 1 linewidth 0.8\n"
          "set key at graph 1,1.03 right bottom horizontal Left reverse samplen 2 width 1\n"
          "set format y '%.6g'\n"
          "set ytics autofreq\n",
          out);
    double first = data->first_time * time.factor, last = data->last_time * time.factor;
    if (first < last)
        fprintf(out, "set xrange [%.12g:%.12g]\n", first, last);
    else
        put_range(out, 'x', first, first, 0.0);
    /* the same air around a panel, however many there are: shares of the picture's height */
    fprintf(out, "set multiplot layout %d,1 margins 0.125,0.965,%.3f,%.3f spacing 0,%.3f\n",
            n_panels, 0.24 / n_panels, 1.0 - 0.15 / n_panels, 0.225 / n_panels);
}

static void put_caption(FILE *out, const char *name, const md_plot_series *series, const char *unit)
{
    fprintf(out,
            "set label 1 '%s: mean %.1f, sd %.1f %s' at graph 0,1.07 left textcolor rgb "
            "'#303030'\n",
            name, series->mean, series->deviation, unit);
}

static const char *point_style(const md_plot_data *data)
{
    return data->n_rows < 40 ? "linespoints pointtype 7 pointsize 0.5" : "lines";
}

static void put_energy_panel(FILE *out, const md_plot_data *data, scale energy)
{
    double low = INFINITY, high = -INFINITY;
    for (int c = MD_PLOT_POTENTIAL; c <= MD_PLOT_CONSERVED; c++) {
        if (!has(data, c)) continue;
        low = fmin(low, data->series[c].min * energy.factor);
        high = fmax(high, data->series[c].max * energy.factor);
    }
    put_range(out, 'y', low, high, 0.08);
    fprintf(out, "set ylabel 'Energy (%s)' offset 0,0\n", energy.unit);
    fputs("set label 1 'Energy' at graph 0,1.07 left textcolor rgb '#303030'\nplot ", out);
    bool first = true;
    for (int c = MD_PLOT_POTENTIAL; c <= MD_PLOT_CONSERVED; c++) {
        if (!has(data, c)) continue;
        fprintf(out, "%s$line%d using 1:2 with %s linewidth 1.3 linecolor rgb '%s' title '%s'",
                first ? "" : ", ", c, point_style(data), styles[c].colour, styles[c].title);
        first = false;
    }
    fputs("\n", out);
}

static void put_fluctuating_panel(FILE *out, const md_plot_data *data, int c, const char *unit)
{
    const md_plot_series *series = &data->series[c];
    const curve_style *style = &styles[c];
    bool has_smooth = series->smooth.n > 0;
    put_range(out, 'y', series->min, series->max, 0.06);
    put_caption(out, style->title, series, unit);
    fprintf(out, "set ylabel '%s (%s)'\n", style->title, unit);
    fprintf(out, "plot $line%d using 1:2 with %s linewidth 1 linecolor rgb '%s' title '%s'", c,
            point_style(data), has_smooth ? style->pale : style->colour,
            has_smooth ? "each row" : "");
    if (has_smooth)
        fprintf(out,
                ", $smooth%d using 1:2 with lines linewidth 2 linecolor rgb '%s' title "
                "'running mean'",
                c, style->colour);
    fputs("\n", out);
}

/* Before the lowest panel: the only one with numbers and a title at its axis. */
static void put_time_axis(FILE *out, bool lowest, scale time)
{
    if (lowest)
        fprintf(out, "set format x '%%g'\nset xlabel 'Time (%s)'\n", time.unit);
    else
        fputs("set format x ''\n", out);
}

static void put_script(FILE *out, bool svg, const void *arg)
{
    const md_plot_data *data = arg;
    double largest = 0.0;
    for (int c = MD_PLOT_POTENTIAL; c <= MD_PLOT_CONSERVED; c++)
        largest = fmax(largest, fmax(fabs(data->series[c].min), fabs(data->series[c].max)));
    scale energy = energy_scale(largest), time = time_scale(data->last_time - data->first_time);
    for (int c = 0; c < MD_PLOT_N; c++) {
        const md_plot_series *series = &data->series[c];
        double factor = c <= MD_PLOT_CONSERVED ? energy.factor : 1.0;
        if (has(data, c)) put_line(out, "line", c, &series->line, time.factor, factor);
        if (series->smooth.n > 0) put_line(out, "smooth", c, &series->smooth, time.factor, factor);
    }
    bool temperature = has(data, MD_PLOT_TEMPERATURE), pressure = has(data, MD_PLOT_PRESSURE);
    put_setup(out, svg, data, time);
    put_time_axis(out, !temperature && !pressure, time);
    if (has_energies(data)) put_energy_panel(out, data, energy);
    put_time_axis(out, !pressure, time);
    if (temperature) put_fluctuating_panel(out, data, MD_PLOT_TEMPERATURE, "K");
    put_time_axis(out, true, time);
    if (pressure) put_fluctuating_panel(out, data, MD_PLOT_PRESSURE, "bar");
    fputs("unset multiplot\n", out);
}

/* ---- process -------------------------------------------------------------------------------- */

typedef struct child {
    pid_t pid;
    int script_fd; /* we write */
    int error_fd;  /* we read */
} child;

static sundog_status spawn_gnuplot(int image_fd, child *out)
{
    int script[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, script) != 0)
        return base_fail(SUNDOG_ERR_IO, "plot: no socket: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        close(script[0]);
        close(script[1]);
        return base_fail(SUNDOG_ERR_IO, "plot: no pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, script[1], 0);
    posix_spawn_file_actions_adddup2(&actions, image_fd, 1);
    posix_spawn_file_actions_adddup2(&actions, errors[1], 2);
    char name[] = "gnuplot";
    char option[] = "-d"; /* default settings: no start-up file of the user's */
    char *arguments[] = {name, option, NULL};
    int error = posix_spawnp(&out->pid, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(script[1]);
    close(errors[1]);
    if (error != 0) {
        close(script[0]);
        close(errors[0]);
        if (error == ENOENT)
            return base_fail(SUNDOG_ERR_UNSUPPORTED,
                             "plot: the program gnuplot is not installed "
                             "(on Debian and Ubuntu: apt install gnuplot-nox)");
        return base_fail(SUNDOG_ERR_IO, "plot: gnuplot cannot be started: %s", strerror(error));
    }
    out->script_fd = script[0];
    out->error_fd = errors[0];
    return SUNDOG_OK;
}

/* Stops early when gnuplot has gone; its exit status says why. */
static void send_script(int fd, const char *script, size_t n_bytes)
{
    while (n_bytes > 0) {
        ssize_t n = send(fd, script, n_bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        script += n;
        n_bytes -= (size_t)n;
    }
}

/* Read until the end; keep the last line that says something. */
static void last_error_line(int fd, char *line, size_t n_line)
{
    FILE *in = fdopen(fd, "r");
    line[0] = '\0';
    if (!in) {
        close(fd);
        return;
    }
    char text[256];
    while (fgets(text, sizeof text, in)) {
        text[strcspn(text, "\r\n")] = '\0';
        const char *from = text + strspn(text, " \t^");
        if (*from) snprintf(line, n_line, "%s", from);
    }
    fclose(in);
}

static sundog_status run_gnuplot(int image_fd, const char *script, size_t n_bytes)
{
    child gnuplot;
    BASE_TRY(spawn_gnuplot(image_fd, &gnuplot));
    send_script(gnuplot.script_fd, script, n_bytes);
    shutdown(gnuplot.script_fd, SHUT_WR);
    char line[256];
    last_error_line(gnuplot.error_fd, line, sizeof line);
    close(gnuplot.script_fd);
    int exit_status = 0;
    while (waitpid(gnuplot.pid, &exit_status, 0) < 0 && errno == EINTR) continue;
    struct stat info;
    bool drawn = fstat(image_fd, &info) == 0 && info.st_size > 0;
    if (WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 127)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "plot: the program gnuplot cannot be run");
    if (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0 || !drawn)
        return base_fail(SUNDOG_ERR_IO, "plot: gnuplot failed: %s",
                         line[0] ? line : "it gave no reason");
    return SUNDOG_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), n_ending = strlen(ending);
    return n > n_ending && strcasecmp(path + n - n_ending, ending) == 0;
}

sundog_status md_plot_image(const char *image_path, bool *svg)
{
    *svg = ends_with(image_path, ".svg");
    if (*svg || ends_with(image_path, ".png")) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_ARGUMENT, "%s: the name of a plot ends in .svg or .png",
                     image_path);
}

static sundog_status run_script(const char *script, size_t n_bytes, const char *image_path)
{
    md_replace image;
    BASE_TRY(md_replace_begin(image_path, &image));
    sundog_status status = run_gnuplot(image.fd, script, n_bytes);
    if (status == SUNDOG_OK) return md_replace_commit(&image, NULL);
    md_replace_cancel(&image);
    return status;
}

sundog_status md_plot_draw(md_plot_put *put, const void *arg, const char *image_path, bool svg)
{
    char *script = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&script, &n_bytes);
    if (!out) return base_fail(SUNDOG_ERR_MEMORY, "plot: %s", strerror(errno));
    put(out, svg, arg);
    fclose(out);
    sundog_status status = run_script(script, n_bytes, image_path);
    free(script);
    return status;
}

sundog_status md_plot_energy(const char *csv_path, const char *image_path)
{
    bool svg;
    BASE_TRY(md_plot_image(image_path, &svg));
    md_plot_data data;
    BASE_TRY(md_plot_data_read(csv_path, &data));
    sundog_status status = md_plot_draw(put_script, &data, image_path, svg);
    md_plot_data_destroy(&data);
    return status;
}
