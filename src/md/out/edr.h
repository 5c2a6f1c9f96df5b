/* ener.edr: GROMACS's portable energy file, for gmx energy, pyedr and what builds on them. Holds
 * the rows of energy.csv, with all their bits. */
#ifndef MD_EDR_H
#define MD_EDR_H
#include "base/status.h"
#include "md/out/averages.h"
#include <stdint.h>

typedef struct md_edr md_edr;
typedef struct md_edr_term {
    const char *name, *unit; /* "Bond", "kJ/mol"; readers look terms up by gmx's names */
} md_edr_term;

/* terms [n], n > 0; dt: ps between steps. append_at as in traj.h; it must lie at the end of a
 * frame, and the terms of the existing file must be these. */
sundog_status md_edr_open(const char *path, int64_t append_at, const md_edr_term *terms, int n,
                          double dt, md_edr **out);
/* between: of the same terms, over the steps behind the frame before, this one included; NULL or
 * without a sample: the frame has no sums. */
sundog_status md_edr_write(md_edr *edr, int64_t step, double time, const double *values,
                           const md_averages *between);
int64_t md_edr_offset(const md_edr *edr);
sundog_status md_edr_close(md_edr **edr); /* accepts NULL, leaves NULL */
#endif
