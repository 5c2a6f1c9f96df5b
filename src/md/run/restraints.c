/* Reference positions of position restraints. They come from a file of their own, -r, which may be
 * the start structure: taken silently from -c, a restart from the last frame of an equilibration
 * would move the restraints along with the atoms. */
#include "md/run/restraints.h"

#include "md/in/conf.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Copies of the system are moved by the run's box, references by that of their file. */
static sundog_status check_same_box(const md_run_options *options, const md_box *reference,
                                    const md_box *box)
{
    const int *copies = options->replicate;
    if (copies[0] <= 1 && copies[1] <= 1 && copies[2] <= 1) return SUNDOG_OK;
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 3; k++)
            if (fabs(reference->m[row][k] - box->m[row][k]) > 1e-3)
                return base_fail(SUNDOG_ERR_INPUT,
                                 "-replicate with position restraints needs the same box in %s "
                                 "(-r) and %s (-c)",
                                 options->reference, options->conf);
    return SUNDOG_OK;
}

sundog_status md_restraints_read(const md_run_options *options, const md_box *box,
                                 md_topology *topology)
{
    if (md_topology_count(topology, MD_POSRES) == 0) return SUNDOG_OK;
    if (!options->reference)
        return base_fail(SUNDOG_ERR_INPUT,
                         "%s has position restraints: give the file with their reference "
                         "positions as -r conf.gro (it may be the start structure, -r %s)",
                         options->top, options->conf);
    md_gro gro;
    BASE_TRY(md_conf_read(options->reference, &gro));
    sundog_status status = SUNDOG_OK;
    if (gro.state.n_atoms != topology->n_atoms)
        status = base_fail(SUNDOG_ERR_INPUT,
                           "%s (-r) has %" PRId64 " atoms, %s has %" PRId64
                           ": the reference positions of all atoms are needed, in the same order",
                           options->reference, gro.state.n_atoms, options->top, topology->n_atoms);
    if (status == SUNDOG_OK) status = check_same_box(options, &gro.state.box, box);
    if (status == SUNDOG_OK)
        md_topology_set_posres(topology, (const double(*)[3])gro.state.x, &gro.state.box);
    md_gro_destroy(&gro);
    return status;
}
