/* Inside of md_nonbonded: what its kernels share.
 *
 * A kernel is one function that walks the working list of one part. A new one (SSE or AVX1,
 * AVX-512) is a file of its own that ends in one md_nonbonded_ops, and a line in the table of
 * nonbonded.c.
 */
#ifndef MD_NONBONDED_KERNELS_H
#define MD_NONBONDED_KERNELS_H
#include "md/core/vdw.h"
#include "md/force/nonbonded.h"
#include "md/pairs/lists.h"

/* How c6 and c12 of a pair of types follow from one another. Two floats of each slot (pairs->lj),
 * the first in lj[8 c + i], the second in lj[8 c + 4 + i]. */
typedef enum md_lj_rule {
    MD_LJ_GEOMETRIC,            /* sqrt(c6), sqrt(c12): the pair has their products */
    MD_LJ_BERTHELOT,            /* sigma / 4, 2 sqrt(epsilon): half the pair's sigma is the sum,
                                   its 4 epsilon the product */
    MD_LJ_TABLE                 /* none: looked up by pairs->type */
} md_lj_rule;

typedef struct md_nonbonded_ops {
    const char *name;
    int j_cluster;
    bool (*runs)(void);         /* on this processor */
    /* Forces into pairs->f (zeroed by the caller), in the layout of lists.h. energy NULL: not
     * wanted; else its fields are set. */
    void (*force)(const md_nonbonded *nonbonded, md_pairs *pairs, md_part part,
                  md_pair_energy *energy);
} md_nonbonded_ops;
extern const md_nonbonded_ops md_nonbonded_reference;
extern const md_nonbonded_ops md_nonbonded_avx2, md_nonbonded_avx512;   /* compiled on x86 only */

struct md_nonbonded {
    const md_nonbonded_ops *ops;
    int n_types;
    double *c6, *c12;           /* [n_types][n_types] */
    md_lj_rule rule;
    float (*type_lj)[2];        /* [n_types] the two floats of a slot of that type */
    float (*table)[2];          /* [n_types][n_types] 6/256 c6, 12/16384 c12 (nonbonded_avx2.c) */
    bool *has_lj;               /* [n_types] */
    double factor;              /* MD_ONE_4PI_EPS0 / epsilon_r */
    double rcoulomb, rvdw, krf, crf;    /* rvdw is vdw.rvdw */
    md_vdw vdw;                 /* what the modifier makes of r^-6 and r^-12 */
};
#endif
