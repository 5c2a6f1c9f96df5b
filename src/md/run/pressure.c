/* Pressure coupling comes last in its step: the pressure is that of step s, all of it known by
 * then, and x(s + 1), v(s + 1/2) are scaled. What is handed on is x, v, box and the work, so a
 * checkpoint holds no pressure of an earlier step.
 *
 *      between lists   owned rows, box and the shifts of the exchange are scaled; lists stay
 *      at a list       cells, zones, order of rows and the grid's check follow the box
 *                      (md_domain_repartition)
 *
 * Lists are made for rlist; a box that shrinks brings pairs from beyond it closer. That takes some
 * 1e-5 of rlist a coupling from a buffer of several per cent. Where it does take a tenth of the
 * buffer (a system far from its density) lists are made anew at once.
 */
#include "md/run/pressure.h"

#include "md/gpu/gpu.h"
#include "md/motion/barostat.h"
#include "md/run/freeze.h"

#include <inttypes.h>
#include <math.h>

bool md_pressure_due(const md_params *params, int64_t step)
{
    return params->pcoupl != MD_PCOUPL_NO && step % params->nstpcouple == 0;
}

/* A step that scales by more than this is no small step any more. */
static sundog_status check_factors(const md_worker *w, int64_t step, const double factor[3])
{
    double most = 0;
    for (int k = 0; k < 3; k++) {
        if (!(factor[k] > 0.8 && factor[k] < 1.25))
            return base_fail(SUNDOG_ERR_PHYSICS,
                             "pressure coupling would scale lengths along %c by %g at a pressure "
                             "of %g bar; equilibrate without it first, or use a larger tau-p",
                             'x' + k, factor[k], w->report.pressure);
        most = fmax(most, fabs(factor[k] - 1));
    }
    FILE *log = w->root ? md_outputs_log(w->shared->outputs) : NULL;
    if (most > 0.01 && log)
        fprintf(log,
                "\nWarning: step %" PRId64 ": pressure coupling scales lengths by %.4f %.4f %.4f, "
                "more than 1%%; the pressure is %g bar\n",
                step, factor[0], factor[1], factor[2], w->report.pressure);
    return SUNDOG_OK;
}

sundog_status md_pressure_couple(md_worker *w, int64_t step, const md_step_sums *sums)
{
    double factor[3], volume = md_box_volume(&w->box);
    md_crescale_factors(w->params, (const double(*)[3])w->report.pressure_tensor, volume,
                        w->params->ref_t.value[0], step, factor);
    BASE_TRY(check_factors(w, step, factor));
    w->barostat_work += md_barostat_work((const double(*)[3])sums->terms.virial,
                                         (const double(*)[3])sums->kinetic_new, factor);
    w->barostat_work -= md_dispersion_energy(&w->system->dispersion, volume);
    md_barostat_scale_box(&w->box, factor);
    if (w->gpu) {
        BASE_TRY(md_gpu_stretch(w->gpu, &w->box, factor));
    } else {
        md_barostat_scale_rows(w->rows, factor);
        md_freeze_positions(w); /* of frozen axes only, where x_old is x */
    }
    w->barostat_work += md_dispersion_energy(&w->system->dispersion, md_box_volume(&w->box));
    for (int k = 0; k < 3; k++) w->stretch[k] *= factor[k];
    return md_domain_stretch(w->domain, &w->box, factor);
}

bool md_pressure_wears_lists(const md_worker *w)
{
    const md_system *system = w->system;
    double shrink = 1 - fmin(w->stretch[0], fmin(w->stretch[1], w->stretch[2]));
    double inner = system->nstprune > 0 ? fmin(system->rlist, system->rprune) : system->rlist;
    double buffer = inner - fmax(w->params->rcoulomb, w->params->rvdw);
    return shrink * system->rlist > 0.1 * buffer;
}
