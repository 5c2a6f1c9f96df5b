/* Reading the reference values of systems/reference (described in systems/README.md), and measuring
 * how far a result is from them.
 *
 * Functions that read return false after printing what was wrong (file, line or key) to stderr:
 * use them as CHECK(reference_energy(...)).
 *
 *      file                     reader
 *      sp_*.energy.json         reference_energy("Potential")
 *      traj_*.step0.json        reference_energy("Pressure"), reference_tensor("virial_kJ_per_mol")
 *      nve_drift.json           reference_number("rf_mixed/drift_kJ_per_mol_per_ps_per_atom")
 *      averages.json            reference_average("rf", "Potential")
 *      sp_*.forces.txt[.xz]     reference_table, 3 columns:  fx fy fz
 *      traj_*.stepN.txt[.xz]    reference_table, 6 columns:  x y z vx vy vz
 *      traj_*.energy.txt        reference_table, reference_column("Potential")
 *      rdf_*.txt                reference_table, 2 columns:  r g
 */
#ifndef REFERENCE_H
#define REFERENCE_H
#include <stdbool.h>
#include <stddef.h>

/* ---- files ---------------------------------------------------------------------------------- */

/* SUNDOG_SOURCE_DIR "/systems/" and the formatted rest, in a buffer of the calling thread that the
 * fourth call from here uses again. */
const char *reference_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool reference_exists(const char *path);

/* ---- JSON ----------------------------------------------------------------------------------- */

/* An energy term (or "Temperature", "Pressure") by the name that gmx prints. */
bool reference_energy(const char *json_path, const char *term, double *value);
/* "virial_kJ_per_mol", "pressure_bar" or "box_nm". */
bool reference_tensor(const char *json_path, const char *name, double tensor[3][3]);
/* Mean and its standard error of one term of a run in averages.json. */
bool reference_average(const char *json_path, const char *run, const char *term, double *mean,
                       double *standard_error);
/* Any number, by its keys (or array positions) from the top, joined by '/'. */
bool reference_number(const char *json_path, const char *keys, double *value);

/* ---- tables --------------------------------------------------------------------------------- */

/* All lines that are not comments; every one must hold `columns` numbers. `*values` is
 * [*rows][columns], to be freed by the caller. Files named *.xz are unpacked by the program xz. */
bool reference_table(const char *path, int columns, double **values, size_t *rows);
/* Numbers in the first line that is not a comment. */
bool reference_n_columns(const char *path, int *columns);
/* The column of `name` as the file's line "# columns: step; then Bond; Angle; ..." has it. */
bool reference_column(const char *path, const char *name, int *column);

/* ---- distance ------------------------------------------------------------------------------- */

/* Deviations are vector norms an atom; systems/tools/compare.py prints the same numbers. */
typedef struct reference_deviation {
    double rms_reference, rms, largest;     /* in the unit of the table */
    double relative;                        /* rms / rms_reference */
    size_t worst;                           /* atom with the largest deviation */
} reference_deviation;

/* `table` [n][columns] holds the reference vectors in columns first .. first + 2. */
reference_deviation reference_compare(const double *table, int columns, int first, size_t n,
                                      const double (*test)[3]);
reference_deviation reference_compare_float(const double *table, int columns, int first, size_t n,
                                            const float (*test)[3]);
#endif
