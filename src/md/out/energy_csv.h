/* energy.csv: one header line (gmx's term names with units), one row per energy step. */
#ifndef MD_ENERGY_CSV_H
#define MD_ENERGY_CSV_H
#include "base/status.h"
typedef struct md_energy_csv md_energy_csv;
/* columns [n]: "Bond (kJ/mol)", ... ; "Time (ps)" comes first by itself. Names holding a comma or a
 * quote are quoted. append_at as in traj.h; when appending, the existing header must equal the new
 * one. */
sundog_status md_energy_csv_open(const char *path, int64_t append_at, const char *const *columns,
                                 int n, md_energy_csv **out);
sundog_status md_energy_csv_write(md_energy_csv *csv, double time, const double *values);
int64_t md_energy_csv_offset(const md_energy_csv *csv);
sundog_status md_energy_csv_close(md_energy_csv **csv);
#endif
