/* From the start structure to the first step. */
#ifndef MD_START_H
#define MD_START_H
#include "md/run/worker.h"

/* Constraints at the start, unless the run goes on from an earlier one; centre-of-mass motion
 * removed. On the host, wherever the steps are computed. Collective. */
sundog_status md_start(md_worker *w);
#endif
