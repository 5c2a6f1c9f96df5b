/* integrator = steep: steepest descent to a minimum of the potential energy. */
#ifndef MD_STEEP_H
#define MD_STEEP_H
#include "md/run/step.h"

/* Minimise as rank `team`. Collective. */
sundog_status md_steep(sundog_team *team, const md_shared *shared);
#endif
