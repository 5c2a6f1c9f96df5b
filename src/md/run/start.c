#include "md/run/start.h"

#include "md/run/coupling.h"
#include "md/run/faults.h"
#include "md/run/freeze.h"

/* Start positions and velocities that obey the constraints: positions first; then the velocities
 * along them; then half a step back, so that v(-1/2) leads from a constrained x(-1) to x(0). */
static sundog_status constrain_start(md_worker *w)
{
    md_rows *rows = w->rows;
    double dt = w->params->dt;
    md_worker_copy_x(w);
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])w->x_old, rows->x, NULL,
                                    dt, NULL));
    md_freeze_positions(w);
    BASE_TRY(md_constrain_velocities(w->constrain, rows, (const double(*)[3])rows->x, rows->v));
    md_freeze_velocities(w);
    md_worker_copy_x(w);
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) {
            rows->v[row][k] = -rows->v[row][k];
            w->x_old[row][k] += dt * rows->v[row][k];
        }
    BASE_TRY(md_constrain_positions(w->constrain, rows, (const double(*)[3])rows->x, w->x_old,
                                    rows->v, dt, NULL));
    for (int row = 0; row < rows->n_owned; row++)
        for (int k = 0; k < 3; k++) rows->v[row][k] = -rows->v[row][k];
    md_freeze_velocities(w);
    return SUNDOG_OK;
}

sundog_status md_start(md_worker *w)
{
    BASE_TRY(md_constrain_rebuild(w->constrain, w->rows));
    md_freeze_velocities(w);
    if (!w->system->continued && !w->params->continuation) {
        if (w->system->has_constraints) {
            BASE_TRY(md_faults_here(w, constrain_start(w)));
            BASE_TRY(md_faults_warn(w, w->system->state.step));
            /* Ghosts and their choice are those of the positions before. */
            BASE_TRY(md_domain_repartition(w->domain));
            md_coupling_rebuild(w);
        }
        if (w->params->comm_mode == MD_COMM_LINEAR) BASE_TRY(md_remove_com_motion(w));
    }
    return SUNDOG_OK;
}
