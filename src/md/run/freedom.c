/* Degrees of freedom of temperature groups, counted as grompp does:
 *
 *      three an atom;
 *      a constraint takes one, half from each of its atoms; from the other atom alone when one has
 *      none left; rigid water takes one from each of its three atoms;
 *      what is removed with the motion of a centre-of-mass group, three, is taken from the
 *      temperature groups in proportion:
 *
 *          N_T = sum_C  N'_T  n_TC / n_T  (N_C - 3) / N_C
 *
 * N'_T and N_C count after constraints, n are numbers of atoms, C goes over the groups of
 * centre-of-mass removal, and over the rest of the atoms, of which nothing is taken.
 */
#include "md/run/groups.h"

#include "base/alloc.h"

#include <string.h>

/* Twice the degrees of freedom of each atom of a molecule, so that halves are whole numbers. */
static void constrain(const md_moltype *kind, int *twice)
{
    for (int i = 0; i < kind->n_atoms; i++) twice[i] = 6;
    const md_interactions *bonds = &kind->list[MD_CONSTRAINT];
    for (int k = 0; k < bonds->n; k++) {
        int i = bonds->atoms[2 * k], j = bonds->atoms[2 * k + 1];
        int from_i = twice[j] > 0 ? 1 : 2, from_j = twice[i] > 0 ? 1 : 2;
        twice[i] -= from_i < twice[i] ? from_i : twice[i];
        twice[j] -= from_j < twice[j] ? from_j : twice[j];
    }
    const md_interactions *waters = &kind->list[MD_SETTLE];
    for (int k = 0; k < 3 * waters->n; k++) {
        int i = waters->atoms[k];
        twice[i] -= twice[i] < 2 ? twice[i] : 2;
    }
}

typedef struct tally {
    double t[MD_MAX_GROUPS], c[MD_MAX_GROUPS + 1];                     /* degrees of freedom */
    double n_t[MD_MAX_GROUPS], n_tc[MD_MAX_GROUPS][MD_MAX_GROUPS + 1]; /* atoms */
} tally;

/* `copies` atoms of the groups t and c. */
static void count_atom(tally *sum, int t, int c, int twice, double copies)
{
    sum->t[t] += 0.5 * twice * copies;
    sum->c[c] += 0.5 * twice * copies;
    sum->n_t[t] += copies;
    sum->n_tc[t][c] += copies;
}

static void count_block(const md_groups *groups, const md_moltype *kind, const md_molblock *block,
                        const int *twice, tally *sum)
{
    if (!groups->temperature_of && !groups->com_of) {
        for (int i = 0; i < kind->n_atoms; i++) count_atom(sum, 0, 0, twice[i], block->count);
        return;
    }
    int64_t atom = block->first_atom;
    for (int m = 0; m < block->count; m++)
        for (int i = 0; i < kind->n_atoms; i++, atom++)
            count_atom(sum, groups->temperature_of ? groups->temperature_of[atom] : 0,
                       groups->com_of ? groups->com_of[atom] : 0, twice[i], 1);
}

void md_groups_count_freedom(md_groups *groups, const md_topology *topology, md_comm_mode comm_mode)
{
    tally *sum = base_alloc_zero(sizeof *sum);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *kind = &topology->moltype[block->moltype];
        int *twice = base_alloc(((size_t)kind->n_atoms + 1) * sizeof *twice);
        constrain(kind, twice);
        count_block(groups, kind, block, twice, sum);
        base_free(twice);
    }
    for (int t = 0; t < groups->n_temperature; t++) {
        double n = 0;
        for (int c = 0; c <= groups->n_com; c++) {
            double removed = comm_mode == MD_COMM_LINEAR && c < groups->n_com ? 3 : 0;
            if (sum->c[c] > removed && sum->n_tc[t][c] > 0)
                n +=
                    sum->t[t] * (sum->n_tc[t][c] / sum->n_t[t]) * (sum->c[c] - removed) / sum->c[c];
        }
        groups->temperature[t].n_dof = n;
    }
    base_free(sum);
}

double md_groups_total_freedom(const md_groups *groups)
{
    double n = 0;
    for (int t = 0; t < groups->n_temperature; t++) n += groups->temperature[t].n_dof;
    return n;
}
