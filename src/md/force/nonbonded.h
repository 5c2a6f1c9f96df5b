/* Pair forces over the lists of pairs.h: Lennard-Jones with any vdw-modifier (md/core/vdw.h),
 * Coulomb by reaction field or plain cut-off. Kernels: `reference` (plain C, any list shape) and
 * SIMD ones.
 *
 *   reaction field (manual, "Coulomb interaction with reaction field"), for pairs within rc:
 *     included pair  f qi qj (1/r + krf r^2 - crf)
 *     excluded pair  f qi qj (      krf r^2 - crf)        each atom: -1/2 f crf qi^2
 *     krf = (erf - er) / ((2 erf + er) rc^3 er...) as in the manual, 1/(2 rc^3) for infinite erf;
 *     crf = 1/rc + krf rc^2;  f = MD_ONE_4PI_EPS0 / epsilon_r
 *   plain cut-off: krf = 0; crf = 1/rc (shifted) or 0; excluded pairs as above.
 */
#ifndef MD_NONBONDED_H
#define MD_NONBONDED_H
#include "md/core/params.h"
#include "md/pairs/pairs.h"

typedef struct md_nonbonded md_nonbonded;

/* kernel: "reference", "avx2", "avx512", or NULL for the best this processor has; the answer is in
 * md_nonbonded_kernel. j_cluster is set to what that kernel wants. */
sundog_status md_nonbonded_create(const md_topology *topology, const md_params *params,
                                  const char *kernel, md_nonbonded **out, int *j_cluster);
void md_nonbonded_destroy(md_nonbonded **nonbonded);
const char *md_nonbonded_kernel(const md_nonbonded *nonbonded);
/* [atom types]: whether a type has Lennard-Jones with any other. For md_pairs_options: rows that
 * have come first in their cluster, which saves the kernels half of that work in water. */
const bool *md_nonbonded_type_has_lj(const md_nonbonded *nonbonded);
/* Kernels compiled in, best first, and whether this processor runs them. */
const char *const *md_nonbonded_kernels(int *n);
bool md_nonbonded_kernel_runs(const char *kernel);

typedef struct md_pair_energy {
    double lj, coulomb;             /* kJ/mol, of this part; the self term is in MD_PART_LOCAL */
} md_pair_energy;

/* Forces of one part, ADDED to f [n_rows][3] (zeroed by the caller). x is rows->x; MD_PART_LOCAL
 * reads owned rows only and comes first, MD_PART_BORDER reads owned and ghost rows.
 * energy: NULL when not wanted; in scheme shell MD_PART_BORDER reports half of its pairs' energy.
 * The virial is -1/2 sum over rows of x (outer) f of what this call added, so the caller can take
 * it from f (ghosts are in place); in scheme shell half of that for MD_PART_BORDER. */
void md_nonbonded_force(const md_nonbonded *nonbonded, md_pairs *pairs, const md_rows *rows,
                        md_part part, float (*f)[3], md_pair_energy *energy);
#endif
