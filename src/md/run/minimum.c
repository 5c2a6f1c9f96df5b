/* The words of a minimisation: a line a step in md.log, progress, the end. */
#include "md/run/minimum.h"

#include "base/clock.h"
#include "md/core/atom_text.h"

#include <inttypes.h>

sundog_status md_minimum_not_finite(const md_system *system, const md_minimum *start)
{
    char text[MD_ATOM_TEXT];
    return base_fail(SUNDOG_ERR_PHYSICS,
                     "the energy or the force on %s is not finite (potential %g kJ/mol): atoms of "
                     "the start structure overlap. Move them apart, or remove molecules",
                     md_atom_text(system->topology, start->atom, text), start->report.potential);
}

void md_minimum_log_start(FILE *log, const md_params *params)
{
    if (!log) return;
    fprintf(log,
            "\nSteepest descent to Fmax < %g kJ/mol/nm; the first step moves atoms by up to %g "
            "nm.\nSteps with a higher energy are taken back and halved (no \"*\").\n",
            params->emtol, params->emstep);
    fprintf(log, "\n           Step      Dmax (nm)  Epot (kJ/mol)     Fmax  (kJ/mol/nm), atom\n");
}

void md_minimum_log_step(FILE *log, const md_system *system, const md_minimum *trial, double length,
                         bool better)
{
    char text[MD_ATOM_TEXT];
    if (!log) return;
    fprintf(log, "%15" PRId64 "%15.5e%15.7e%15.5e%s %s\n", trial->step, length,
            trial->report.potential, trial->f_max, better ? " *" : "  ",
            md_atom_text(system->topology, trial->atom, text));
    fflush(log);
}

void md_minimum_progress(md_progress *progress, const md_system *system, const md_minimum *minimum,
                         int64_t step)
{
    if (!progress->on) return;
    int64_t now = base_clock_ns();
    if (step > 0 && 1e-9 * (double)(now - progress->last_ns) < (progress->terminal ? 0.5 : 5))
        return;
    progress->last_ns = now;
    fprintf(stderr, "%sstep %" PRId64, progress->terminal ? "\r\033[K" : "", step);
    if (system->last_step < INT64_MAX) fprintf(stderr, " of %" PRId64, system->last_step);
    fprintf(stderr, ", Epot %.6e kJ/mol, Fmax %.3e kJ/mol/nm on atom %" PRId64 "%s",
            minimum->report.potential, minimum->f_max, minimum->atom + 1,
            progress->terminal ? "" : "\n");
    fflush(stderr);
}

void md_minimum_summary(const md_system *system, const md_minimum *minimum, int64_t n_steps,
                        md_minimum_end how, char *text, size_t size)
{
    static const char *const ends[] = {
        [MD_MINIMUM_CONVERGED] = "converged to Fmax <",
        [MD_MINIMUM_PRECISION] = "converged to machine precision, but did not reach Fmax <",
        [MD_MINIMUM_OUT_OF_STEPS] = "ran out of steps before it reached Fmax <",
        [MD_MINIMUM_STOPPED] = "was stopped before it reached Fmax <",
    };
    char atom[MD_ATOM_TEXT];
    snprintf(text, size,
             "Steepest descent %s %g kJ/mol/nm: %" PRId64 " steps\n"
             "Potential energy  %.8e kJ/mol at step %" PRId64 "\n"
             "Maximum force     %.5e kJ/mol/nm on %s\n"
             "Norm of force     %.5e kJ/mol/nm\n%s",
             ends[how], system->params.emtol, n_steps, minimum->report.potential, minimum->step,
             minimum->f_max, md_atom_text(system->topology, minimum->atom, atom), minimum->f_norm,
             how == MD_MINIMUM_STOPPED
                 ? "confout.gro holds the lowest energy so far: start from it to go on\n"
                 : "");
}
