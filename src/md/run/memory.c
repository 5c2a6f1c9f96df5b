/* The estimate: measured (largest resident size; water, ethanol, argon; 45 thousand to 360 thousand
 * atoms; 1 to 64 domains; both schemes) and good to a fifth:
 *
 *      400 bytes an atom            whole-system arrays, trajectory frame, topology's share
 *      300 bytes a row              rows, exchange, interactions
 *      0.7 bytes a pair within rlist  lists of cluster pairs; on GPUs 150 bytes a row in their
 *                                   place, for plans of lists and what is uploaded (counted)
 *
 *      0.5 MB a domain, 1.6 kB a pair of domains    team, plans, buffers: 6000 atoms on 1 to 343
 *                                   domains took three quarters of that (15 to 294 MB)
 *
 * Rows of a domain: its cell and what lies within the reach of the exchange of it, at the mean
 * density. A system that may fit is let through with a note.
 *
 * GPUs: md/gpu has the estimate of a domain; those that share a GPU add up.
 */
#include "md/run/memory.h"

#include "base/memory.h"
#include "md/gpu/gpu.h"
#include "md/pairs/units.h"
#include "md/run/device_choice.h"
#include "md/run/processes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PER_ATOM = 400, PER_ROW = 300, PER_PAIR = 0.7, PER_RUN = 16e6,
                    PER_PLAN_ROW = 150, PER_DOMAIN = 0.5e6, PER_DOMAIN_PAIR = 1.6e3, SURE = 1.2,
                    CLOSE = 0.8;

double md_memory_estimate(double n_atoms, double n_rows, double n_pairs_per_atom)
{
    return PER_RUN + PER_ATOM * n_atoms + (PER_ROW + PER_PAIR * n_pairs_per_atom) * n_rows;
}

static sundog_status too_little(double wanted, const base_memory *memory, double n_atoms,
                                const char *advice)
{
    return base_fail(SUNDOG_ERR_MEMORY,
                     "%.0f atoms would take about %.3g GB of memory, %.3g GB are available (as %s "
                     "has it): %s",
                     n_atoms, 1e-9 * wanted, 1e-9 * memory->available, memory->set_by, advice);
}

sundog_status md_memory_check_copies(const md_system *system, int n_copies)
{
    double n_atoms = (double)system->topology->n_atoms * n_copies;
    double wanted = md_memory_estimate(n_atoms, n_atoms, 0);
    base_memory memory = base_memory_available();
    if (wanted <= SURE * memory.available) return SUNDOG_OK;
    return too_little(wanted, &memory, n_atoms, "make fewer copies, or use a larger machine");
}

/* Over the atoms of a cell: its rows along one axis. Rows that wrap have no copies of atoms of
 * their own cell, nor several of another's. */
static double axis_factor(const md_system *system, int axis)
{
    const md_reach *reach = &system->reach;
    int n = system->grid.n[axis];
    bool one_copy = reach->wrapped && (n == 1 || reach->scheme == MD_SCHEME_SHELL);
    double sides = reach->scheme == MD_SCHEME_SHELL ? 2 : 1;
    double factor =
        1 + sides * (reach->rlist + reach->group_radius) * n / system->state.box.m[axis][axis];
    if (one_copy && n == 1) return 1;
    return one_copy ? fmin(factor, n) : factor;
}

double md_memory_rows(const md_system *system)
{
    const int *n = system->grid.n;
    double factor = 1;
    for (int k = 0; k < 3; k++) factor *= system->reach.complete ? n[k] : axis_factor(system, k);
    return factor * (double)system->topology->n_atoms;
}

/* Of the domains themselves, whatever they hold. */
static double domains_on_machine(const md_system *system, double share)
{
    const int *n = system->grid.n;
    const double all = (double)n[0] * n[1] * n[2];
    return share * all * (PER_DOMAIN + PER_DOMAIN_PAIR * all);
}

/* Of all domains, how many are on this machine, if it is not one with fewer. */
static double share_of_machine(const md_run_options *options)
{
    const md_processes *processes = options->processes;
    return processes ? (double)processes->n_on_machine / processes->n : 1;
}

sundog_status md_memory_check(const md_run_options *options, md_system *system)
{
    double n_atoms = (double)system->topology->n_atoms;
    double density = n_atoms / md_box_volume(&system->state.box);
    double pairs = 2.0944 * pow(system->rlist, 3) * density /* half of a sphere */;
    double share = share_of_machine(options), rows = share * md_memory_rows(system);
    double wanted = system->n_gpus > 0 ? md_memory_estimate(n_atoms, rows, 0) + PER_PLAN_ROW * rows
                                       : md_memory_estimate(n_atoms, rows, pairs);
    double domains = domains_on_machine(system, share);
    wanted += domains;
    base_memory memory = base_memory_available();
    if (domains > CLOSE * memory.available)
        return too_little(wanted, &memory, n_atoms, "most of it for domains: use fewer");
    if (wanted > SURE * memory.available)
        return too_little(wanted, &memory, n_atoms,
                          "use fewer domains, a smaller system or a larger machine");
    if (wanted > CLOSE * memory.available) {
        size_t used = strlen(system->notes);
        snprintf(system->notes + used, sizeof system->notes - used,
                 "Warning: about %.3g GB of memory are needed, %.3g GB available: the system may "
                 "end this run.\n",
                 1e-9 * wanted, 1e-9 * memory.available);
    }
    return SUNDOG_OK;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static double count_units(const md_topology *topology)
{
    md_units *units;
    double n = 0;
    md_units_create(topology, &units);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        n += (double)block->count * units->moltype[block->moltype].n_units;
    }
    md_units_destroy(&units);
    return n;
}

/* Of all domains together, over their number. */
static md_gpu_size mean_domain(const md_system *system)
{
    const md_topology *topology = system->topology;
    const int *n = system->grid.n;
    double n_domains = (double)n[0] * n[1] * n[2], n_interactions = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        n_interactions += (double)md_topology_count(topology, (md_kind)kind);
    return (md_gpu_size){.scheme = system->reach.scheme,
                         .n_owned = (double)topology->n_atoms / n_domains,
                         .n_rows = md_memory_rows(system) / n_domains,
                         .n_units = count_units(topology) / n_domains,
                         .n_interactions = n_interactions / n_domains,
                         .density = (double)topology->n_atoms / md_box_volume(&system->state.box),
                         .rlist = system->rlist,
                         .rinner = system->nstprune > 0 ? system->rprune : system->rlist};
}

static sundog_status too_little_gpu(const md_system *system, int gpu, double wanted, double fixed,
                                    double left, double all)
{
    double n_atoms = (double)system->topology->n_atoms;
    double share = fmax(left - fixed, 0) / (wanted - fixed); /* of the atoms that would fit */
    char fit[128] = "";
    if (share > 0.01)
        snprintf(fit, sizeof fit, "about %.2g atoms fit, or %.0f GPUs would do; ", share * n_atoms,
                 ceil(system->n_gpus / share));
    return base_fail(SUNDOG_ERR_MEMORY,
                     "%.0f atoms on %d GPU%s would take about %.3g GB of GPU %d, where %.3g of "
                     "%.3g GB are free: %sother programs may use it; -device cpu computes on the "
                     "processor",
                     n_atoms, system->n_gpus, system->n_gpus > 1 ? "s" : "", 1e-9 * wanted, gpu,
                     1e-9 * left, 1e-9 * all, fit);
}

sundog_status md_memory_check_gpus(const md_system *system)
{
    if (system->n_gpus == 0) return SUNDOG_OK;
    const int *n = system->grid.n, n_domains = n[0] * n[1] * n[2];
    const md_gpu_size size = mean_domain(system);
    double domain = md_gpu_memory_estimate(&size), fixed = md_gpu_memory_fixed();
    for (int i = 0; i < system->n_gpus; i++) {
        double left, all;
        int n_here = 0;
        for (int d = 0; d < n_domains; d++)
            n_here += md_device_of_domain(system, d) == system->gpus[i];
        BASE_TRY(md_gpu_memory_free(system->gpus[i], &left, &all));
        if (n_here * domain > SURE * left)
            return too_little_gpu(system, system->gpus[i], n_here * domain, n_here * fixed, left,
                                  all);
    }
    return SUNDOG_OK;
}
