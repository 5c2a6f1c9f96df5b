/* The estimate: measured (largest resident size; water, ethanol, argon; 45 thousand to 360 thousand
 * atoms; 1 to 64 domains; both schemes) and good to a fifth:
 *
 *      400 bytes an atom            whole-system arrays, trajectory frame, topology's share
 *      300 bytes a row              rows, exchange, interactions
 *      0.7 bytes a pair within rlist  lists of cluster pairs
 *
 * Rows of a domain: its cell and what lies within the reach of the exchange of it, at the mean
 * density. A system that may fit is let through with a note.
 */
#include "md/run/memory.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PER_ATOM = 400, PER_ROW = 300, PER_PAIR = 0.7, PER_RUN = 16e6, SURE = 1.2,
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

/* Rows of all domains, over atoms. */
static double row_factor(const md_system *system)
{
    const md_reach *reach = &system->reach;
    const md_box *box = &system->state.box;
    double factor = 1, sides = reach->scheme == MD_SCHEME_SHELL ? 2 : 1;
    for (int k = 0; k < 3; k++)
        factor *=
            1 + sides * (reach->rlist + reach->group_radius) * system->grid.n[k] / box->m[k][k];
    return factor;
}

sundog_status md_memory_check(md_system *system)
{
    double n_atoms = (double)system->topology->n_atoms;
    double density = n_atoms / md_box_volume(&system->state.box);
    double pairs = 2.0944 * pow(system->rlist, 3) * density /* half of a sphere */;
    double wanted = md_memory_estimate(n_atoms, n_atoms * row_factor(system), pairs);
    base_memory memory = base_memory_available();
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
