/* Kinetic energy, temperature and pressure of a leap-frog step are means of the two half steps:
 *
 *      K(s) = 1/2 (K(s - 1/2) + K(s + 1/2)),   T = 2 tr K / (n_dof k),   P = 2/V (K - virial)
 *
 * V is the volume of this step; pressure coupling changes it afterwards.
 * The pressure of the dispersion correction is isotropic and counted in the virial, as gmx does.
 */
#include "md/run/sums.h"

#include "md/core/units.h"

#include <math.h>
#include <string.h>

sundog_status md_sums_reduce(sundog_team *team, md_step_sums *sums)
{
    return sundog_team_sum_double(team, (double *)sums, (int)(sizeof *sums / sizeof(double)));
}

sundog_status md_sums_report(const md_system *system, const md_step_sums *sums, int64_t step,
                             const md_box *box, double work, md_energy_report *report)
{
    const md_energy *terms = &sums->terms;
    memset(report, 0, sizeof *report);
    report->step = step;
    report->time = system->params.tinit + (double)step * system->params.dt;
    report->terms = *terms;
    report->potential = terms->coulomb14 + terms->lj + terms->coulomb;
    for (int kind = 0; kind < MD_N_KINDS; kind++) report->potential += terms->bonded[kind];

    report->box = *box;
    double volume = md_box_volume(box), scale = 2 * MD_BAR_PER_KJ_MOL_NM3 / volume;
    report->dispersion = md_dispersion_energy(&system->dispersion, volume);
    report->dispersion_pressure = md_dispersion_pressure(&system->dispersion, volume);
    report->potential += report->dispersion;
    for (int a = 0; a < 3; a++) report->terms.virial[a][a] -= report->dispersion_pressure / scale;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double kinetic = 0.5 * (sums->kinetic_old[a][b] + sums->kinetic_new[a][b]);
            report->kinetic_tensor[a][b] = kinetic;
            report->pressure_tensor[a][b] = scale * (kinetic - report->terms.virial[a][b]);
        }
    for (int a = 0; a < 3; a++) {
        report->kinetic += report->kinetic_tensor[a][a];
        report->pressure += report->pressure_tensor[a][a] / 3;
    }
    report->total = report->potential + report->kinetic;
    report->conserved = report->total - work;
    const md_groups *groups = &system->groups;
    if (system->n_dof > 0) report->temperature = 2 * report->kinetic / (system->n_dof * MD_BOLTZ);
    for (int g = 0; g < groups->n_temperature; g++) {
        double twice = groups->temperature_of
                           ? sums->kinetic_group[g][0] + sums->kinetic_group[g][1]
                           : 2 * report->kinetic;
        double n_dof = groups->temperature[g].n_dof;
        report->group_temperature[g] = n_dof > 0 ? twice / (n_dof * MD_BOLTZ) : 0;
    }
    if (sums->n_constraints > 0)
        report->constraint_rmsd = sqrt(sums->deviation_square / sums->n_constraints);
    if (!isfinite(report->total))
        return base_fail(SUNDOG_ERR_PHYSICS,
                         "the energy is not finite (potential %g, kinetic %g kJ/mol): the system "
                         "has blown up. Minimise the start structure, or use a smaller dt",
                         report->potential, report->kinetic);
    return SUNDOG_OK;
}
