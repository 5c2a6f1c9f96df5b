/* energy.csv: text, quoting, appending with the same and with other columns, a full disk. */
#include "folder.h"
#include "md/out/energy_csv.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static const char *const columns[] = {"Bond (kJ/mol)", "Disper. corr., \"new\" (kJ/mol)",
                                      "Pressure (bar)"};
static const char header[] =
    "Time (ps),Bond (kJ/mol),\"Disper. corr., \"\"new\"\" (kJ/mol)\",Pressure (bar)\n";

static void check_text(const char *path, const char *rows)
{
    size_t n;
    char *text = (char *)file_read(path, &n);
    CHECK(strncmp(text, header, strlen(header)) == 0);
    if (strcmp(text + strlen(header), rows) != 0) fprintf(stderr, "found:\n%s", text);
    CHECK(strcmp(text + strlen(header), rows) == 0);
    free(text);
}

static void test_append(void)
{
    const char *path = in_folder("energy.csv");
    md_energy_csv *csv;
    CHECK_OK(md_energy_csv_open(path, -1, columns, 3, &csv));
    CHECK(md_energy_csv_offset(csv) == (int64_t)strlen(header));
    CHECK_OK(md_energy_csv_write(csv, 0, (const double[]){1.5, -2e-7, -123456.78901}));
    check_text(path, "0,1.5,-2e-07,-123456.789\n"); /* there before it is closed */
    int64_t one = md_energy_csv_offset(csv);
    CHECK_OK(md_energy_csv_write(csv, 1234567.891, (const double[]){NAN, -1.7e308, 1e-300}));
    CHECK_OK(md_energy_csv_close(&csv));
    CHECK_OK(md_energy_csv_close(&csv));

    CHECK_OK(md_energy_csv_open(path, one, columns, 3, &csv));
    CHECK_OK(md_energy_csv_write(csv, 0.1 + 0.2, (const double[]){1.0 / 3.0, 0, 1e9}));
    CHECK_OK(md_energy_csv_close(&csv));
    check_text(path, "0,1.5,-2e-07,-123456.789\n0.3,0.3333333333,0,1000000000\n");

    CHECK(md_energy_csv_open(path, one, columns, 2, &csv) == SUNDOG_ERR_INPUT);
    CHECK(error_says("other columns"));
    const char *const others[] = {"Angle (kJ/mol)", columns[1], columns[2]};
    CHECK(md_energy_csv_open(path, one, others, 3, &csv) == SUNDOG_ERR_INPUT);
    CHECK(md_energy_csv_open(path, 3, columns, 3, &csv) == SUNDOG_ERR_INPUT);
    CHECK(md_energy_csv_open(path, 100000, columns, 3, &csv) == SUNDOG_ERR_IO);
    CHECK(error_says("100000"));
    CHECK(md_energy_csv_open(in_folder("no.csv"), 0, columns, 3, &csv) == SUNDOG_ERR_IO);
    check_text(path, "0,1.5,-2e-07,-123456.789\n0.3,0.3333333333,0,1000000000\n");
}

static void test_disk_full(void)
{
    const char *path = in_folder("full.csv");
    md_energy_csv *csv;
    struct rlimit old, limited;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    limited = old;
    limited.rlim_cur = 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    CHECK(md_energy_csv_open(path, -1, columns, 3, &csv) == SUNDOG_ERR_IO);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK_OK(md_energy_csv_open(path, -1, columns, 3, &csv));
    limited.rlim_cur = strlen(header) + 5;
    CHECK(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    CHECK(md_energy_csv_write(csv, 1, (const double[]){1, 2, 3}) == SUNDOG_ERR_IO);
    CHECK(error_says("full.csv"));
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK_OK(md_energy_csv_write(csv, 2, (const double[]){1, 2, 3}));
    CHECK_OK(md_energy_csv_close(&csv));
    check_text(path, "2,1,2,3\n");
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    folder_create("test_energy_csv");
    test_append();
    test_disk_full();
    folder_remove();
    return 0;
}
