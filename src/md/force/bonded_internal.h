/* What bonded.c and its kernels share. A kernel computes all interactions of one kind. */
#ifndef MD_BONDED_INTERNAL_H
#define MD_BONDED_INTERNAL_H
#include "md/core/energy.h"
#include "md/core/rows.h"

enum { BONDED_TABLE_WIDTH = 8 };

/* Numbers of one parameter set as a kernel reads them, in this order:
 *
 *   bond, G96        b0, k, b0^2 (high part), b0^2 (low part)
 *   angle            theta0, k
 *   G96 angle        cos theta0, k
 *   Urey-Bradley     r0, kUB, r0^2 (high), r0^2 (low), theta0, k
 *   (per.) improper, proper   |n|, k, k n, cos phi0', sin phi0'   (phi0' = phi0 with the sign of n)
 *   harmonic improper xi0 in (-pi, pi], k
 *   RB, Fourier      C0 ... C5
 *   1-4 pair         c6, c12
 */
typedef float bonded_table_row[BONDED_TABLE_WIDTH];

typedef struct bonded_job {
    const md_rows *rows;
    const md_row_interactions *list;
    const bonded_table_row *table;
    float coulomb14;                /* factor of qi qj / r in 1-4 pairs */
    float (*f)[3];
    bool want_energy;
    double energy[2];               /* out; [1] is Coulomb-14 */
    double virial[3][3];            /* out */
} bonded_job;

typedef void bonded_kernel(bonded_job *job);

/* [MD_N_KINDS], NULL for kinds that are not forces */
extern bonded_kernel *const md_bonded_kernels_plain[MD_N_KINDS];
extern bonded_kernel *const md_bonded_kernels_avx2[MD_N_KINDS];    /* all NULL if not x86-64 */

typedef enum md_bonded_variant { MD_BONDED_PLAIN, MD_BONDED_AVX2 } md_bonded_variant;
struct md_bonded;
/* For the device: [n_params], or NULL when no interaction is of this kind; factor of qi qj / r. */
const bonded_table_row *md_bonded_table(const struct md_bonded *bonded, md_kind kind);
float md_bonded_coulomb14(const struct md_bonded *bonded);
bool md_bonded_variant_runs(md_bonded_variant variant);
/* For tests; a new md_bonded has the best variant that runs here. */
void md_bonded_use_variant(struct md_bonded *bonded, md_bonded_variant variant);
#endif
