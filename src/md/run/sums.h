/* Sums over all domains at energy steps, and what gmx reports from them. */
#ifndef MD_SUMS_H
#define MD_SUMS_H
#include "md/run/setup.h"

/* All doubles, so that one reduction adds them. */
typedef struct md_step_sums {
    md_energy terms;
    double kinetic_old[3][3], kinetic_new[3][3]; /* half a step before and after */
    double deviation_square, n_constraints;      /* of constrained distances */
    double kinetic_group[MD_MAX_GROUPS][2]; /* of temperature groups, if several: both halves */
} md_step_sums;

sundog_status md_sums_reduce(sundog_team *team, md_step_sums *sums);
/* box: at this step; work: of thermostat and barostat so far. SUNDOG_ERR_PHYSICS when an energy is
 * not finite. */
sundog_status md_sums_report(const md_system *system, const md_step_sums *sums, int64_t step,
                             const md_box *box, double work, md_energy_report *report);
#endif
