/* Of a md_constrain, for tests and for the device. */
#ifndef MD_CONSTRAINTS_INTERNAL_H
#define MD_CONSTRAINTS_INTERNAL_H
#include "md/motion/constraints.h"

/* What the last rebuild sorted; for move_jobs.h. */
struct md_settle;
struct md_lincs;
const struct md_settle *md_constrain_settle(const md_constrain *constrain);
const struct md_lincs *md_constrain_lincs(const md_constrain *constrain);

/* For tests: which instructions the kernels use. A new md_constrain has the best that runs here;
 * all give the same bits. */
typedef enum md_constrain_variant { MD_CONSTRAIN_PLAIN, MD_CONSTRAIN_AVX2 } md_constrain_variant;
bool md_constrain_variant_runs(md_constrain_variant variant);
void md_constrain_use_variant(md_constrain *constrain, md_constrain_variant variant);
#endif
