/* The step loop of one domain.
 *
 *  step s:   x(s), v(s - 1/2) at the start
 *     repartition, pair list                  every nstlist steps
 *     checkpoint of x(s), v(s - 1/2)          now and then, only where a list interval begins
 *     forces f(s)                             energies and virial when asked
 *     trajectory frame x(s), v(s - 1/2), f(s)
 *     last step: confout and checkpoint of the same
 *     v(s + 1/2), x(s + 1), constraints       leap-frog
 *     kinetic energy(s) = mean of both halves; energies, pressure
 *     centre-of-mass motion removed           every nstcomm steps
 *     x(s + 1), v(s + 1/2), box scaled        every nstpcouple steps, by the pressure of s
 *
 * All that one step hands to the next is x, v, box and the works of thermostat and barostat, so a
 * checkpoint is these.
 */
#ifndef MD_STEP_H
#define MD_STEP_H
#include "md/run/outputs.h"
#include "md/run/setup.h"

/* What the threads of a run share. */
typedef struct md_shared {
    const md_run_options *options;
    const md_system *system;
    const struct md_nonbonded *nonbonded;
    const struct md_bonded *bonded;
    const struct md_posres *posres;
    int j_cluster;
    struct md_faults *faults;
    md_state *start;       /* the whole system, for rank 0, who takes the arrays over */
    md_outputs *outputs;   /* used by rank 0 alone */
    md_run_result *result; /* filled by rank 0 */
} md_shared;

/* Run all steps as rank `team`. Collective. */
sundog_status md_steps(sundog_team *team, const md_shared *shared);
bool md_stop_requested(void);
#endif
