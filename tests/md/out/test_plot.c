/* The plot: what is thinned keeps its extremes, bad input is named, images come out. Looks are not
 * tested. Drawing is skipped where there is no gnuplot. */
#include "folder.h"
#include "base/alloc.h"
#include "md/out/plot.h"
#include "md/out/plot_data.h"

#include <math.h>

static const char header[] = "Time (ps),\"Disper. corr., (kJ/mol)\",Potential (kJ/mol),"
                             "Total Energy (kJ/mol),Conserved En. (kJ/mol),Temperature (K),"
                             "Pressure (bar)\n";

static double temperature_of(int row)
{
    return row == 7777 ? 999.5 : row == 4321 ? -5.0 : 300.0 + 10.0 * sin(0.001 * row);
}

static void write_csv(const char *path, int n_rows)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(header, file);
    for (int i = 0; i < n_rows; i++)
        fprintf(file, "%g,1,%g,%g,%g,%.10g,%g\n", 0.1 * i, -5e5 - i, -4e5 + i, -4.1e5,
                temperature_of(i), i % 2 ? 200.0 : -100.0);
    CHECK(fclose(file) == 0);
}

static void test_thinning(void)
{
    const char *path = in_folder("long.csv");
    md_plot_data data;
    write_csv(path, 30000);
    CHECK_OK(md_plot_data_read(path, &data));
    CHECK(data.n_rows == 30000 && data.first_time == 0.0);
    CHECK_NEAR(data.last_time, 2999.9, 0.06);
    const md_plot_series *t = &data.series[MD_PLOT_TEMPERATURE];
    CHECK(t->min == -5.0 && t->max == 999.5);
    CHECK(t->line.n > 800 && t->line.n <= 1600);
    bool low = false, high = false;
    for (int i = 0; i < t->line.n; i++) {
        CHECK(i == 0 || t->line.point[i][0] > t->line.point[i - 1][0]);
        low |= t->line.point[i][1] == -5.0;
        high |= t->line.point[i][1] == 999.5;
    }
    CHECK(low && high);
    const md_plot_series *p = &data.series[MD_PLOT_PRESSURE];
    CHECK_NEAR(p->mean, 50.0, 1e-9);
    CHECK_NEAR(p->deviation, 150.0, 1e-9);
    CHECK(p->smooth.n == 800);
    for (int i = 0; i < p->smooth.n; i++) CHECK_NEAR(p->smooth.point[i][1], 50.0, 1.0);
    md_plot_data_destroy(&data);

    write_csv(path, 50); /* short: every row, no running mean */
    CHECK_OK(md_plot_data_read(path, &data));
    CHECK(data.series[MD_PLOT_POTENTIAL].line.n == 50);
    CHECK(data.series[MD_PLOT_POTENTIAL].line.point[49][1] == -500049);
    CHECK(data.series[MD_PLOT_POTENTIAL].smooth.n == 0);
    md_plot_data_destroy(&data);
}

static void refuse(const char *text, sundog_status status, const char *words)
{
    const char *path = in_folder("bad.csv"), *image = in_folder("bad.svg");
    file_write(path, text, strlen(text));
    CHECK(md_plot_energy(path, image) == status);
    CHECK(error_says("bad.csv") && error_says(words));
    CHECK(access(image, F_OK) != 0);
}

static void test_bad_input(void)
{
    char text[1024];
    refuse("", SUNDOG_ERR_INPUT, "is empty");
    refuse(header, SUNDOG_ERR_INPUT, "no rows");
    refuse("Time (ps),Volume (nm^3)\n0,1\n", SUNDOG_ERR_INPUT, "no column \"Potential\"");
    refuse("Potential (kJ/mol)\n1\n", SUNDOG_ERR_INPUT, "no column \"Time\"");
    refuse("Time (ps),Potential (kJ/mol)\n0,1", SUNDOG_ERR_INPUT, "no rows");
    refuse("# xmgrace\n@ title\n", SUNDOG_ERR_INPUT, "no column \"Time\"");
    static const struct {
        const char *rows, *words;
    } bad[] = {
        {"0,1,2,3,4,5,6\n0.1,1,2,3,4,5\n", "line 3: 6 fields"},
        {"0,1,2,3,4,5,6,7\n", "line 2: 8 fields"},
        {"0,1,2,3,4,5,6\n\n0,1,two,3,4,5,6\n", "line 4: field 3"},
        {"0,1,2,3,,5,6\n", "line 2: field 5"},
        {"nan,1,2,3,4,5,6\n", "line 2: the time"},
        {"0,1,2,3,4,nan,6\n1,1,2,3,4,inf,6\n", "\"Temperature\" holds no finite"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, "%s%s", header, bad[k].rows);
        refuse(text, SUNDOG_ERR_INPUT, bad[k].words);
    }
    CHECK(md_plot_energy(in_folder("absent.csv"), in_folder("a.svg")) == SUNDOG_ERR_IO);
    CHECK(md_plot_energy(in_folder("bad.csv"), in_folder("a.jpg")) == SUNDOG_ERR_ARGUMENT);
    CHECK(error_says(".svg or .png"));
}

/* Columns that a run does not have are left out, those that nobody draws do not disturb: a
 * minimisation, a run with coupled pressure and several groups; one row, all values the same. */
static void test_columns(void)
{
    static const struct {
        const char *text;
        bool has[MD_PLOT_N];
    } files[] = {
        {"Time (ps),Potential (kJ/mol),Pressure (bar)\n0,-1,5\n1,-2,5\n",
         {[MD_PLOT_POTENTIAL] = true, [MD_PLOT_PRESSURE] = true}},
        {"Time (ps),Potential (kJ/mol)\n0,-1\n", {[MD_PLOT_POTENTIAL] = true}},
        {"Time (ps),Temperature (K)\n7,0\n8,1\n", {[MD_PLOT_TEMPERATURE] = true}},
        {"Time (ps),Potential (kJ/mol),Total Energy (kJ/mol),Conserved En. (kJ/mol),Temperature "
         "(K),Pressure (bar),Box-X (nm),Volume (nm^3),pV (kJ/mol),T-SOL (K),Pres-XX (bar)\n"
         "0,-5,-4,-3,300,1,2,8,1,310,9\n1,-5,-4,-3,300,1,2,8,1,310,9\n",
         {true, true, true, true, true}},
    };
    bool can_draw = system("gnuplot -d -e '' >/dev/null 2>&1") == 0;
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        md_plot_data data;
        const char *path = in_folder("columns.csv"), *image = in_folder("columns.svg");
        file_write(path, files[k].text, strlen(files[k].text));
        CHECK_OK(md_plot_data_read(path, &data));
        for (int c = 0; c < MD_PLOT_N; c++) CHECK((data.series[c].line.n > 0) == files[k].has[c]);
        CHECK(!files[k].has[MD_PLOT_TEMPERATURE] || data.series[MD_PLOT_TEMPERATURE].max <= 300);
        md_plot_data_destroy(&data);
        if (!can_draw) continue;
        CHECK_OK(md_plot_energy(path, image));
        size_t n;
        unsigned char *bytes = file_read(image, &n);
        CHECK(memmem(bytes, n, "</svg>", 6));
        CHECK(!memmem(bytes, n, "Temperature", 11) == !files[k].has[MD_PLOT_TEMPERATURE]);
        CHECK(memmem(bytes, n, "Time (ps)", 9));
        free(bytes);
    }
}

/* A running simulation: the last row is half there. */
static void test_running(void)
{
    char text[1024];
    md_plot_data data;
    const char *path = in_folder("running.csv");
    snprintf(text, sizeof text, "%s0,1,2,3,4,5,6\n1,1,2,3,nan,5,7\n2,1,2,3", header);
    file_write(path, text, strlen(text));
    CHECK_OK(md_plot_data_read(path, &data));
    CHECK(data.n_rows == 2);
    md_plot_data_destroy(&data);
    strcat(text, ",4,5,1"); /* of 123.4: all fields, but the last is cut */
    file_write(path, text, strlen(text));
    CHECK_OK(md_plot_data_read(path, &data));
    CHECK(data.n_rows == 2);
    CHECK(data.series[MD_PLOT_PRESSURE].max == 7 && data.series[MD_PLOT_CONSERVED].line.n == 1);
    md_plot_data_destroy(&data);
}

static void test_no_gnuplot(void)
{
    const char *path = in_folder("short.csv"), *image = in_folder("short.svg");
    write_csv(path, 100);
    char *old = base_strdup(getenv("PATH"));
    int n_names = folder_count();
    setenv("PATH", folder, 1);
    CHECK(md_plot_energy(path, image) == SUNDOG_ERR_UNSUPPORTED);
    CHECK(error_says("gnuplot-nox"));
    CHECK(folder_count() == n_names);

    /* A gnuplot that fails at once, before it has read anything. */
    static const char failing[] = "#!/bin/sh\necho '   ^' >&2\necho 'no such terminal' >&2\n"
                                  "exit 1\n";
    file_write(in_folder("gnuplot"), failing, strlen(failing));
    CHECK(chmod(in_folder("gnuplot"), 0755) == 0);
    file_write(image, "old", 3);
    CHECK(md_plot_energy(path, image) == SUNDOG_ERR_IO);
    CHECK(error_says("no such terminal"));
    size_t n;
    free(file_read(image, &n));
    CHECK(n == 3);
    setenv("PATH", old, 1);
    base_free(old);
}

static void draw(int n_rows)
{
    const char *path = in_folder("draw.csv");
    write_csv(path, n_rows);
    size_t n;
    CHECK_OK(md_plot_energy(path, in_folder("it's a plot.svg")));
    char *svg = (char *)file_read(in_folder("it's a plot.svg"), &n);
    CHECK(strstr(svg, "<svg") && strstr(svg, "</svg>"));
    CHECK(strstr(svg, "Temperature (K)") && strstr(svg, "Pressure (bar)") &&
          strstr(svg, "kJ/mol)") && strstr(svg, "Time (ps)"));
    CHECK(n < 1000000);
    free(svg);
    CHECK_OK(md_plot_energy(path, in_folder("plot.png")));
    unsigned char *png = file_read(in_folder("plot.png"), &n);
    CHECK(n > 1000 && memcmp(png, "\x89PNG", 4) == 0 && memcmp(png + n - 8, "IEND", 4) == 0);
    free(png);
}

int main(void)
{
    folder_create("test_plot");
    test_thinning();
    test_bad_input();
    test_columns();
    test_running();
    test_no_gnuplot();
    bool has_gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
    if (has_gnuplot) {
        draw(1);
        draw(2);
        draw(500);
        draw(20000);
    }
    folder_remove();
    if (has_gnuplot) return 0;
    printf("skipped the drawing: gnuplot is not installed\n");
    return 77;
}
