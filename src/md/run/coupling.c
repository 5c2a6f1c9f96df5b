#include "md/run/coupling.h"

#include "base/alloc.h"
#include "md/core/units.h"
#include "md/motion/groups.h"
#include "md/motion/leapfrog.h"
#include "md/motion/thermostat.h"
#include "md/run/freeze.h"

#include <math.h>

static void look_up(const md_rows *rows, const uint8_t *of_atom, uint8_t **of_row, size_t *capacity)
{
    if (!of_atom) return;
    base_grow(of_row, capacity, (size_t)rows->n_owned, sizeof **of_row);
    for (int r = 0; r < rows->n_owned; r++) (*of_row)[r] = of_atom[rows->gid[r]];
}

void md_coupling_rebuild(md_worker *w)
{
    const md_groups *groups = &w->system->groups;
    look_up(w->rows, groups->temperature_of, &w->temperature_group, &w->temperature_capacity);
    look_up(w->rows, groups->com_of, &w->com_group, &w->com_capacity);
    if (w->gpu) look_up(w->rows, groups->frozen, &w->frozen_axes, &w->frozen_axes_capacity);
    md_freeze_rebuild(w);
}

/* Kinetic energy of each temperature group in the whole team. */
static sundog_status group_energies(md_worker *w, double *ekin)
{
    const md_groups *groups = &w->system->groups;
    if (groups->temperature_of) {
        md_kinetic_groups(w->rows, w->temperature_group, groups->n_temperature, ekin);
    } else {
        double kinetic[3][3];
        md_kinetic_tensor(w->rows, kinetic);
        ekin[0] = kinetic[0][0] + kinetic[1][1] + kinetic[2][2];
    }
    return sundog_team_sum_double(w->team, ekin, groups->n_temperature);
}

sundog_status md_couple_temperature(md_worker *w, int64_t step)
{
    const md_params *params = w->params;
    const md_groups *groups = &w->system->groups;
    for (int g = 0; g < groups->n_temperature; g++) w->lambda[g] = 1;
    if (params->tcoupl == MD_TCOUPL_NO ||
        !(params->nsttcouple == 1 || step % params->nsttcouple == 1))
        return SUNDOG_OK;
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    double ekin[MD_MAX_GROUPS], interval = params->dt * params->nsttcouple;
    BASE_TRY(group_energies(w, ekin));
    for (int g = 0; g < groups->n_temperature; g++) {
        const md_temperature_group *group = &groups->temperature[g];
        double reference = 0.5 * group->n_dof * MD_BOLTZ * group->ref_t;
        if (!(ekin[g] > 0)) continue;
        double fresh =
            md_vrescale_ekin(ekin[g], reference, group->n_dof, interval, group->tau_t,
                             (md_vrescale_draw){.seed = params->ld_seed, .step = step, .group = g});
        w->lambda[g] = sqrt(fresh / ekin[g]);
        w->thermostat_work[g] += fresh - ekin[g];
    }
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}

double md_coupling_work(const md_worker *w)
{
    double work = w->barostat_work;
    for (int g = 0; g < w->system->groups.n_temperature; g++) work += w->thermostat_work[g];
    return work;
}

void md_coupled_step(md_worker *w)
{
    if (w->system->groups.temperature_of)
        md_leapfrog_step_groups(w->rows, w->temperature_group, w->lambda, w->params->dt,
                                w->rows->x);
    else
        md_leapfrog_step(w->rows, w->lambda[0], w->params->dt, w->rows->x);
    md_freeze_positions(w);
}

void md_coupling_kinetic(const md_worker *w, double tensor[3][3], int half, md_step_sums *sums)
{
    const md_groups *groups = &w->system->groups;
    md_kinetic_tensor(w->rows, tensor);
    if (!groups->temperature_of) return;
    double ekin[MD_MAX_GROUPS];
    md_kinetic_groups(w->rows, w->temperature_group, groups->n_temperature, ekin);
    for (int g = 0; g < groups->n_temperature; g++) sums->kinetic_group[g][half] = ekin[g];
}

/* ---- centre of mass -------------------------------------------------------------------------- */

sundog_status md_remove_com_motion(md_worker *w)
{
    const md_groups *groups = &w->system->groups;
    int n = groups->n_com;
    double sum[MD_MAX_GROUPS][4], drift[MD_MAX_GROUPS][3];
    md_timing_enter(&w->timing, MD_PHASE_SUMS);
    if (groups->com_of)
        md_momentum_groups(w->rows, w->com_group, n, sum);
    else
        md_momentum(w->rows, sum[0], &sum[0][3]);
    BASE_TRY(sundog_team_sum_double(w->team, sum[0], 4 * n));
    for (int g = 0; g < n; g++)
        for (int k = 0; k < 3; k++) drift[g][k] = sum[g][3] > 0 ? sum[g][k] / sum[g][3] : 0;
    if (groups->com_of)
        md_remove_drift_groups(w->rows, w->com_group, n, (const double(*)[3])drift);
    else
        md_remove_drift(w->rows, drift[0]);
    md_freeze_velocities(w);
    md_timing_enter(&w->timing, MD_PHASE_REST);
    return SUNDOG_OK;
}
