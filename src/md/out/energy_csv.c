/* Writer of energy.csv (energy_csv.h).
 *
 *      Time (ps),Bond (kJ/mol),...,"Pres. DC, (bar)"       names with a comma or quote are quoted
 *      0,1234.5,...                                        ten digits, enough for drift
 *
 * A row is handed to the system when the call returns, so the file may be watched while it grows.
 */
#include "md/out/energy_csv.h"
#include "base/alloc.h"
#include "md/out/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32 }; /* the longest of %.12g, with its comma */

struct md_energy_csv {
    md_file *file;
    int n;
    char *row; /* room for one row */
};

static size_t quoted_bytes(const char *name)
{
    size_t n = strlen(name) + 3; /* two quotes and a comma */
    for (; *name; name++) n += *name == '"';
    return n;
}

static char *append_name(char *p, const char *name)
{
    bool quote = strpbrk(name, ",\"\r\n") != NULL;
    if (quote) *p++ = '"';
    for (; *name; name++) {
        if (*name == '"') *p++ = '"';
        *p++ = *name;
    }
    if (quote) *p++ = '"';
    return p;
}

/* The header line with its newline. */
static char *make_header(const char *const *columns, int n)
{
    static const char time_name[] = "Time (ps)";
    size_t n_bytes = sizeof time_name + 2;
    for (int k = 0; k < n; k++) n_bytes += quoted_bytes(columns[k]);
    char *header = base_alloc(n_bytes);
    char *p = append_name(header, time_name);
    for (int k = 0; k < n; k++) {
        *p++ = ',';
        p = append_name(p, columns[k]);
    }
    *p++ = '\n';
    *p = '\0';
    return header;
}

static sundog_status check_header(const char *path, int64_t append_at, const char *header)
{
    size_t n = strlen(header);
    FILE *file = fopen(path, "rb");
    if (!file)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened to go on with it: %s", path,
                         strerror(errno));
    char *found = base_alloc(n + 1);
    size_t n_found = fread(found, 1, n, file);
    fclose(file);
    bool same = n_found == n && memcmp(found, header, n) == 0 && append_at >= (int64_t)n;
    base_free(found);
    if (same) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_INPUT,
                     "%s has other columns than this run writes; go on in another folder, or with "
                     "the parameters of the run that wrote it",
                     path);
}

sundog_status md_energy_csv_open(const char *path, int64_t append_at, const char *const *columns,
                                 int n, md_energy_csv **out)
{
    char *header = make_header(columns, n);
    md_file *file = NULL;
    sundog_status status = append_at >= 0 ? check_header(path, append_at, header) : SUNDOG_OK;
    if (status == SUNDOG_OK) status = md_file_open(path, append_at, &file);
    if (status == SUNDOG_OK && append_at < 0) {
        status = md_file_write(file, header, strlen(header));
        if (status == SUNDOG_OK) status = md_file_end_record(file);
    }
    base_free(header);
    if (status != SUNDOG_OK) {
        md_file_close(&file);
        return status;
    }
    md_energy_csv *csv = base_alloc(sizeof *csv);
    csv->file = file;
    csv->n = n;
    csv->row = base_alloc((size_t)(n + 1) * NUMBER_BYTES + 1);
    *out = csv;
    return SUNDOG_OK;
}

sundog_status md_energy_csv_write(md_energy_csv *csv, double time, const double *values)
{
    char *p = csv->row;
    p += snprintf(p, NUMBER_BYTES, "%.12g", time);
    for (int k = 0; k < csv->n; k++) p += snprintf(p, NUMBER_BYTES, ",%.10g", values[k]);
    *p++ = '\n';
    BASE_TRY(md_file_write(csv->file, csv->row, (size_t)(p - csv->row)));
    return md_file_end_record(csv->file);
}

int64_t md_energy_csv_offset(const md_energy_csv *csv)
{
    return md_file_offset(csv->file);
}

sundog_status md_energy_csv_close(md_energy_csv **csv)
{
    if (!*csv) return SUNDOG_OK;
    sundog_status status = md_file_close(&(*csv)->file);
    base_free((*csv)->row);
    base_free(*csv);
    *csv = NULL;
    return status;
}
