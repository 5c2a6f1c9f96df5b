#include "md/run/report.h"

#include "base/clock.h"
#include "md/core/units.h"
#include "md/in/mdp.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- energy terms ---------------------------------------------------------------------------- */

static void add_term(md_term *terms, int *n, const char *name, const char *unit, double value)
{
    md_term *term = &terms[(*n)++];
    snprintf(term->name, sizeof term->name, "%s", name);
    term->unit = unit;
    term->value = value;
    term->in_log = true;
}

static void add_tensor(md_term *terms, int *n, const char *name, const char *unit,
                       const double tensor[3][3])
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            char full[32];
            snprintf(full, sizeof full, "%s-%c%c", name, 'X' + a, 'X' + b);
            add_term(terms, n, full, unit, tensor[a][b]);
            terms[*n - 1].in_log = false;
        }
}

/* As gmx: with pressure coupling alone. pV is that of the reference pressure. */
static void add_box_terms(const md_system *system, const md_energy_report *report, md_term *terms,
                          int *n)
{
    const md_params *params = &system->params;
    if (params->pcoupl == MD_PCOUPL_NO) return;
    static const char *const name[3] = {"Box-X", "Box-Y", "Box-Z"};
    const double *ref_p = params->ref_p.value;
    double volume = md_box_volume(&report->box), pressure = ref_p[0];
    if (params->pcoupltype == MD_PCOUPLTYPE_SEMIISOTROPIC) pressure = (2 * ref_p[0] + ref_p[1]) / 3;
    double pv = pressure * volume / MD_BAR_PER_KJ_MOL_NM3;
    for (int k = 0; k < 3; k++) add_term(terms, n, name[k], "nm", report->box.m[k][k]);
    add_term(terms, n, "Volume", "nm^3", volume);
    double density = volume > 0 ? system->mass / volume * MD_KG_M3_PER_U_NM3 : 0;
    add_term(terms, n, "Density", "kg/m^3", density);
    add_term(terms, n, "pV", "kJ/mol", pv);
    add_term(terms, n, "Enthalpy", "kJ/mol", report->total + pv);
}

int md_report_terms(const md_system *system, const md_energy_report *report,
                    md_term terms[MD_MAX_TERMS])
{
    const md_topology *topology = system->topology;
    const char *energy = "kJ/mol";
    int n = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        if (kind == MD_CONSTRAINT || kind == MD_SETTLE) continue;
        if (md_topology_count(topology, (md_kind)kind) == 0) continue;
        add_term(terms, &n, md_kind_name((md_kind)kind), energy, report->terms.bonded[kind]);
        if (kind == MD_PAIR14) add_term(terms, &n, "Coulomb-14", energy, report->terms.coulomb14);
    }
    add_term(terms, &n, "LJ (SR)", energy, report->terms.lj);
    bool corrected = system->dispersion.energy;
    if (corrected) add_term(terms, &n, "Disper. corr.", energy, report->dispersion);
    add_term(terms, &n, "Coulomb (SR)", energy, report->terms.coulomb);
    add_term(terms, &n, "Potential", energy, report->potential);
    if (system->params.integrator == MD_INTEGRATOR_MD) {
        add_term(terms, &n, "Kinetic En.", energy, report->kinetic);
        add_term(terms, &n, "Total Energy", energy, report->total);
        add_term(terms, &n, "Conserved En.", energy, report->conserved);
        add_term(terms, &n, "Temperature", "K", report->temperature);
    }
    if (corrected) add_term(terms, &n, "Pres. DC", "bar", report->dispersion_pressure);
    add_term(terms, &n, "Pressure", "bar", report->pressure);
    if (system->has_constraints) add_term(terms, &n, "Constr. rmsd", "", report->constraint_rmsd);
    add_box_terms(system, report, terms, &n);
    add_tensor(terms, &n, "Vir", energy, report->terms.virial);
    add_tensor(terms, &n, "Pres", "bar", report->pressure_tensor);
    const md_groups *groups = &system->groups;
    for (int g = 0; g < groups->n_temperature && system->params.tcoupl != MD_TCOUPL_NO; g++) {
        char name[sizeof terms->name];
        snprintf(name, sizeof name, "T-%s", groups->temperature[g].name);
        add_term(terms, &n, name, "K", report->group_temperature[g]);
        terms[n - 1].in_log = groups->n_temperature > 1;
    }
    return n;
}

/* ---- md.log ---------------------------------------------------------------------------------- */

void md_report_header(FILE *log, const md_run_options *options, const md_system *system)
{
    if (!log) return;
    char when[64];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &local);
    fprintf(log, "%ssundog %s, %s\n", system->continued ? "\n" : "", SUNDOG_VERSION, when);
    if (options->command_line) fprintf(log, "Command line: %s\n", options->command_line);
    fprintf(log, "Input: %s, %s, %s\n\n", options->mdp, options->conf, options->top);
    fputs(system->notes, log);
    fprintf(log, "\nRun parameters:\n");
    md_mdp_write(&system->params, log);

    const md_topology *topology = system->topology;
    fprintf(log, "\nSystem: %s\n  %" PRId64 " atoms, %" PRId64 " molecules:", topology->title,
            topology->n_atoms, topology->n_molecules);
    for (int b = 0; b < topology->n_molblocks; b++)
        fprintf(log, "%s %d %s", b ? "," : "", topology->molblock[b].count,
                topology->moltype[topology->molblock[b].moltype].name);
    const double(*m)[3] = system->state.box.m;
    fprintf(log, "\n  box vectors (nm): (%g %g %g) (%g %g %g) (%g %g %g)\n", m[0][0], m[0][1],
            m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]);
    const md_groups *groups = &system->groups;
    fprintf(log, "  %.10g degrees of freedom", rint(system->n_dof * 100) / 100);
    for (int g = 0; g < groups->n_temperature && groups->n_temperature > 1; g++)
        fprintf(log, "%s %.2f in %s", g ? "," : ":", groups->temperature[g].n_dof,
                groups->temperature[g].name);
    fputc('\n', log);
    const md_dispersion *dispersion = &system->dispersion;
    if (dispersion->energy)
        fprintf(log, "  dispersion correction: mean C6 %.4e kJ/mol nm^6", dispersion->c6);
    if (dispersion->repulsion) fprintf(log, ", mean C12 %.4e kJ/mol nm^12", dispersion->c12);
    if (dispersion->energy) fputc('\n', log);
}

void md_report_start(FILE *log, const md_system *system, const md_run_result *result)
{
    if (!log) return;
    const bool minimise = system->params.integrator == MD_INTEGRATOR_STEEP;
    if (minimise)
        fprintf(log,
                "\nPair lists: radius %.3f nm, made when an atom has crossed half of their buffer",
                system->rlist);
    else
        fprintf(log, "\nPair lists: made every %d steps with radius %.3f nm", system->nstlist,
                system->rlist);
    if (system->params.verlet_buffer_tolerance >= 0 && !minimise)
        fprintf(log, ", for a drift of at most %g kJ/mol/ps per atom at %.1f K",
                system->params.verlet_buffer_tolerance, system->temperature);
    if (system->nstprune > 0)
        fprintf(log, ";\n  filtered every %d steps with radius %.3f nm", system->nstprune,
                system->rprune);
    if (system->nstrenew > 0)
        fprintf(log, ";\n  their blocks made anew every %d steps", system->nstrenew);
    if (system->nstpartition > system->nstlist && system->nstpartition != system->nstrenew)
        fprintf(log, ";\n  domains made anew every %d steps", system->nstpartition);
    if (system->reach.complete)
        fprintf(log, ", all atoms are ghosts");
    else if (system->reach.rlist > system->rlist)
        fprintf(log, ", ghosts within %.3f nm", system->reach.rlist);
    fprintf(log, "\nPair kernel: %s\n", result->kernel);
    fprintf(log, "Domains: %d x %d x %d, scheme %s, pulses %d %d %d, exchange %s\n",
            result->grid[0], result->grid[1], result->grid[2],
            system->reach.scheme == MD_SCHEME_SHELL ? "shell" : "return", system->n_pulses[0],
            system->n_pulses[1], system->n_pulses[2], result->exchange);
    if (system->n_processes > 1)
        fprintf(log, "Processes: %d, domains in each: %d, a thread a domain\n",
                system->n_processes, result->n_domains / system->n_processes);
    fprintf(log, "Constraint groups stay whole on one domain; their radius is %.3f nm\n",
            system->reach.group_radius);
    fflush(log);
}

void md_report_energy(FILE *log, const md_system *system, const md_energy_report *report)
{
    if (!log) return;
    md_term terms[MD_MAX_TERMS];
    int n = md_report_terms(system, report, terms);
    fprintf(log, "\n           Step           Time\n%15" PRId64 "%15.5f\n\n   Energies (kJ/mol)\n",
            report->step, report->time);
    int n_shown = 0;
    for (int i = 0; i < n; i++)
        if (terms[i].in_log) terms[n_shown++] = terms[i];
    for (int i = 0; i < n_shown; i += 5) {
        for (int j = i; j < i + 5 && j < n_shown; j++) fprintf(log, "%15.14s", terms[j].name);
        fprintf(log, "\n");
        for (int j = i; j < i + 5 && j < n_shown; j++) fprintf(log, "%15.5e", terms[j].value);
        fprintf(log, "\n");
    }
    fflush(log);
}

void md_report_averages(FILE *log, const md_system *system, const md_averages *averages)
{
    double n = (double)md_averages_count(averages);
    if (n < 1) return;
    md_energy_report empty = {0};
    md_term terms[MD_MAX_TERMS];
    int n_terms = md_report_terms(system, &empty, terms);
    fprintf(log, "\nAverages over %.0f energies, at the multiples of nstcalcenergy\n", n);
    fprintf(log, "  %-24s %15s %15s\n", "", "mean", "rms fluctuation");
    for (int t = 0; t < n_terms; t++)
        fprintf(log, "  %-24s %15.7g %15.5g %s\n", terms[t].name, md_averages_sum(averages, t) / n,
                sqrt(md_averages_square(averages, t) / n), terms[t].unit);
    fflush(log);
}

void md_report_performance(FILE *log, const md_system *system, const md_run_result *result)
{
    if (!log) return;
    double total = md_timing_total(&result->timing);
    fprintf(log, "\nWhere the time went (mean of %d domains)\n", result->n_domains);
    fprintf(log, "  %-24s %12s %12s %8s\n", "", "seconds", "ms/step", "%");
    double per_step = result->n_timed_steps > 0 ? 1e3 / (double)result->n_timed_steps : 0;
    for (int phase = 0; phase < MD_N_PHASES; phase++) {
        if (phase == MD_PHASE_DEVICE && result->n_gpus == 0) continue;
        double seconds = result->timing.seconds[phase];
        fprintf(log, "  %-24s %12.3f %12.4f %8.1f\n", md_phase_name((md_phase)phase), seconds,
                seconds * per_step, total > 0 ? 100 * seconds / total : 0);
    }
    fprintf(log, "  %-24s %12.3f %12.4f\n", "Total", total, total * per_step);
    fprintf(log, "  slowest domain's forces took %.2f times the mean\n",
            result->slowest_rank_force);
    fprintf(log, "\n%" PRId64 " steps in %.3f s: %.4f ms/step", result->n_timed_steps,
            result->seconds, result->ms_per_step);
    if (system->params.integrator == MD_INTEGRATOR_MD)
        fprintf(log, ", %.3f ns/day", result->ns_per_day);
    fputc('\n', log);
    if (result->n_constraint_warnings > 0)
        fprintf(log, "%" PRId64 " LINCS warnings, see above\n", result->n_constraint_warnings);
    if (result->minimisation[0] != '\0')
        fprintf(log, "\n%s", result->minimisation);
    else if (result->interrupted)
        fprintf(log, "Stopped before the last step; go on with -cpi state.cpt\n");
    else
        fprintf(log, "Finished at step %" PRId64 "\n", system->last_step);
    fflush(log);
}

/* ---- progress -------------------------------------------------------------------------------- */

void md_progress_start(md_progress *progress, bool verbose, int64_t step)
{
    progress->terminal = isatty(STDERR_FILENO);
    progress->on = verbose || progress->terminal;
    progress->start_ns = progress->last_ns = base_clock_ns();
    progress->first_step = step;
}

static void print_left(double seconds)
{
    int64_t left = (int64_t)(seconds + 0.5);
    if (left >= 86400)
        fprintf(stderr, ", %" PRId64 "d%02" PRId64 "h left", left / 86400, left / 3600 % 24);
    else
        fprintf(stderr, ", %" PRId64 ":%02" PRId64 ":%02" PRId64 " left", left / 3600,
                left / 60 % 60, left % 60);
}

void md_progress_step(md_progress *progress, const md_system *system, int64_t step, bool last)
{
    if (!progress->on) return;
    int64_t now = base_clock_ns();
    double pause = progress->terminal ? 0.5 : 5;
    if (!last && 1e-9 * (double)(now - progress->last_ns) < pause) return;
    progress->last_ns = now;
    double seconds = 1e-9 * (double)(now - progress->start_ns);
    int64_t n = step - progress->first_step;
    fprintf(stderr, "%sstep %" PRId64, progress->terminal ? "\r\033[K" : "", step);
    if (system->last_step < INT64_MAX) fprintf(stderr, " of %" PRId64, system->last_step);
    if (n > 0 && seconds > 0) {
        fprintf(stderr, ", %.1f ns/day", 86400e-3 * system->params.dt * (double)n / seconds);
        if (system->last_step < INT64_MAX)
            print_left(seconds / (double)n * (double)(system->last_step - step));
    }
    fputs(progress->terminal && !last ? "" : "\n", stderr);
    fflush(stderr);
}
