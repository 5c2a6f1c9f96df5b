/* Pair forces on the device over the lists of pairs/unit_list.h: Lennard-Jones with any
 * vdw-modifier, Coulomb by reaction field or plain cut-off, excluded pairs and self terms included.
 * The same physics as nonbonded.h, from the same md_nonbonded.
 *
 * Scheme shell: forces of owned rows, from all pairs that they are in. Nothing is returned, added
 * up or zeroed: every force is written once. Equal rows and equal lists give equal bits.
 */
#ifndef MD_UNIT_FORCE_H
#define MD_UNIT_FORCE_H
#include "md/force/nonbonded.h"
#include "md/pairs/unit_list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct md_unit_force md_unit_force;

/* Energies and virial of one domain, doubles on the device. Owned-ghost pairs count half, so sums
 * over domains are those of the system. */
enum {
    MD_SUM_LJ, MD_SUM_COULOMB, MD_SUM_XX, MD_SUM_YY, MD_SUM_ZZ, MD_SUM_XY, MD_SUM_XZ, MD_SUM_YZ,
    MD_N_SUMS
};

/* On the current device. */
sundog_status md_unit_force_create(const md_nonbonded *nonbonded, const md_units *units,
                                   md_unit_force **out);
void md_unit_force_destroy(md_unit_force **force);
/* Room for the sums of as many blocks as `view` has: after each rebuild, before a graph is made. */
sundog_status md_unit_force_prepare(md_unit_force *force, const md_unit_view *view);
/* d_f [n_owned][4]: the first three are set. d_sums [MD_N_SUMS] is set; NULL: not wanted.
 * early: what precedes in the stream has not touched the lists, so they are read before it ends
 * (programmatic dependent launch). */
sundog_status md_unit_force_launch(md_unit_force *force, const md_unit_view *view,
                                   const md_device_row *d_row, float (*d_f)[4], double *d_sums,
                                   bool early, void *stream);

/* The check, and the form with returned forces: one thread a row, all rows, no lists.
 *   scheme return   forces of all rows, from the pairs of rows.h; those of ghosts go home
 *   scheme shell    forces of owned rows
 * exact: double precision and every row against every row; else float, rows by leaves of 32 (the
 * plan's order), whose boxes are tested first. d_excluded: exclusions of md_rows, CSR. */
typedef struct md_row_force_rows {
    int n_rows, n_owned;
    md_scheme scheme;
    const md_device_row *d_row;
    const uint32_t *d_row_word;         /* [n_rows] row | kind << row_bits */
    int row_bits;
    const uint8_t *d_zone;              /* [n_rows] */
    const int *d_exclusion_start, *d_exclusion;
    const int *d_leaf_row;              /* [n_leaves][32], -1: none; float only */
    int n_leaves;
    float scale[6];
} md_row_force_rows;
/* d_f [n_rows or n_owned][3] doubles or floats; d_sums set. d_work: room for 8 floats a leaf
 * (float) and MD_N_SUMS doubles per 32 rows (both). */
sundog_status md_row_force_exact(const md_unit_force *force, const md_row_force_rows *rows,
                                 double (*d_f)[3], double *d_sums, double *d_work, void *stream);
sundog_status md_row_force_float(const md_unit_force *force, const md_row_force_rows *rows,
                                 float (*d_f)[3], double *d_sums, double *d_work, void *stream);

#ifdef __cplusplus
}
#endif
#endif
