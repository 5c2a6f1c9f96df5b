/* Pressure coupling in the step loop: when, with what, and what follows from a new box. */
#ifndef MD_PRESSURE_H
#define MD_PRESSURE_H
#include "md/run/sums.h"
#include "md/run/worker.h"

/* Does the box change at the end of this step? Then its virial and kinetic energy are needed. */
bool md_pressure_due(const md_params *params, int64_t step);
/* Scale x(s + 1), v(s + 1/2) and the box by the pressure of step s, from the team's sums of it and
 * their report in w->report. Collective. */
sundog_status md_pressure_couple(md_worker *w, int64_t step, const md_step_sums *sums);
/* Has the box shrunk so much since the lists were made that their buffer suffers? */
bool md_pressure_wears_lists(const md_worker *w);
#endif
