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

/* Which blocks: all; those that read no ghost, which can run while ghosts travel; the others. Each
 * list filter decides anew, on the device, so graphs stay valid. */
typedef enum md_unit_part { MD_UNIT_ALL, MD_UNIT_INNER, MD_UNIT_BORDER } md_unit_part;

typedef struct md_unit_how {
    md_unit_part part;
    bool early;                 /* what precedes in the stream has not touched the lists, so they
                                   are read before it ends (programmatic dependent launch) */
    void *stream;
} md_unit_how;

/* d_f [n_owned][4]: the first three of the rows of the part are set. d_sums [MD_N_SUMS]; NULL: not
 * wanted. MD_UNIT_ALL sets them; with the other parts md_unit_force_add_sums does, ordered after
 * both, and the two may run at the same time. The bits are the same either way. */
sundog_status md_unit_force_launch(md_unit_force *force, const md_unit_view *view,
                                   const md_device_row *d_row, float (*d_f)[4], double *d_sums,
                                   const md_unit_how *how);
sundog_status md_unit_force_add_sums(md_unit_force *force, const md_unit_view *view,
                                     double *d_sums, void *stream);

/* The check: one thread a row, in double, every row against every row.
 *   scheme return   forces of all rows, from the pairs of rows.h; those of ghosts go home
 *                   (return_force.h is the product form)
 *   scheme shell    forces of owned rows */
typedef struct md_row_force_rows {
    int n_rows, n_owned;
    md_scheme scheme;
    const md_device_row *d_row;         /* exact only */
    const uint32_t *d_row_word;         /* [n_rows] row | kind << row_bits */
    int row_bits;
    const uint8_t *d_zone;              /* [n_rows] */
    const int *d_exclusion_start, *d_exclusion;
    const int *d_leaf_row;              /* [n_leaves][32], -1: none; return_force.h only */
    int n_leaves;
    int cut, base[3];                   /* scheme return: axes (bits) along which a pair is this
                                           domain's only in place; fractions where no row is */
    const float *d_scale;               /* [6] as md_device_box.unit */
} md_row_force_rows;
/* d_f [n_rows or n_owned][3]; d_sums set. d_work: MD_N_SUMS doubles per 32 rows, and for 4 times 32
 * rows more. */
sundog_status md_row_force_exact(const md_unit_force *force, const md_row_force_rows *rows,
                                 double (*d_f)[3], double *d_sums, double *d_work, void *stream);

#ifdef __cplusplus
}
#endif
#endif
