/* For tests: which instructions the kernels of a md_constrain use. A new one has the best that
 * runs here; all give the same bits. */
#ifndef MD_CONSTRAINTS_INTERNAL_H
#define MD_CONSTRAINTS_INTERNAL_H
#include "md/motion/constraints.h"

typedef enum md_constrain_variant { MD_CONSTRAIN_PLAIN, MD_CONSTRAIN_AVX2 } md_constrain_variant;
bool md_constrain_variant_runs(md_constrain_variant variant);
void md_constrain_use_variant(md_constrain *constrain, md_constrain_variant variant);
#endif
