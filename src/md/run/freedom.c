/* Degrees of freedom of temperature groups, counted as grompp does:
 *
 *      three an atom, less the axes along which it is frozen;
 *      a constraint takes one, half from each of its atoms; from the other atom alone when one has
 *      none left; rigid water takes one from each of its three atoms;
 *      what is removed with the motion of a centre-of-mass group, three, is taken from the
 *      temperature groups in proportion:
 *
 *          N_T = sum_C  N'_T  n_TC / n_T  (N_C - 3) / N_C
 *
 * N'_T and N_C count after constraints, n are numbers of atoms, C goes over the groups of
 * centre-of-mass removal, and over the rest of the atoms, of which nothing is taken. From a group
 * that is frozen along an axis nothing is taken there.
 *
 * One thing is not grompp's (2022): atoms that are frozen altogether are not counted in n. With
 * them a group of which a part is frozen would lose degrees of freedom in proportion to that part,
 * and be kept at a temperature too low.
 */
#include "md/run/groups.h"

#include "base/alloc.h"
#include "md/run/freeze.h"

/* Twice the degrees of freedom of each atom of a molecule, so that halves are whole numbers. */
static void constrain(const md_moltype *kind, const uint8_t *frozen, int *twice)
{
    for (int i = 0; i < kind->n_atoms; i++) {
        twice[i] = 6;
        for (int k = 0; k < 3 && frozen; k++) twice[i] -= 2 * (frozen[i] >> k & 1);
    }
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
    double n_t[MD_MAX_GROUPS], n_tc[MD_MAX_GROUPS][MD_MAX_GROUPS + 1]; /* atoms that move */
    unsigned moves[MD_MAX_GROUPS + 1]; /* bit k: atoms of the centre-of-mass group move along k */
} tally;

/* `copies` atoms of the groups t and c. */
static void count_atom(tally *sum, int t, int c, unsigned frozen, int twice, double copies)
{
    if (frozen == MD_FROZEN_ALL) return;
    sum->moves[c] |= ~frozen & MD_FROZEN_ALL;
    sum->t[t] += 0.5 * twice * copies;
    sum->c[c] += 0.5 * twice * copies;
    sum->n_t[t] += copies;
    sum->n_tc[t][c] += copies;
}

static void count_block(const md_groups *groups, const md_moltype *kind, const md_molblock *block,
                        tally *sum)
{
    int *twice = base_alloc(((size_t)kind->n_atoms + 1) * sizeof *twice);
    constrain(kind, NULL, twice);
    bool alike = !groups->temperature_of && !groups->com_of && !groups->frozen;
    int64_t atom = block->first_atom;
    for (int m = 0; m < (alike ? 1 : block->count); m++) {
        if (groups->frozen) constrain(kind, groups->frozen + atom, twice);
        for (int i = 0; i < kind->n_atoms; i++, atom++)
            count_atom(sum, groups->temperature_of ? groups->temperature_of[atom] : 0,
                       groups->com_of ? groups->com_of[atom] : 0,
                       groups->frozen ? groups->frozen[atom] : 0, twice[i],
                       alike ? block->count : 1);
    }
    base_free(twice);
}

/* Along how many axes the motion of group c is removed. */
static double removed_from(const md_groups *groups, const tally *sum, int c, md_comm_mode comm_mode)
{
    int n = 0;
    for (int k = 0; k < 3; k++) n += sum->moves[c] >> k & 1;
    return comm_mode == MD_COMM_LINEAR && c < groups->n_com ? n : 0;
}

void md_groups_count_freedom(md_groups *groups, const md_topology *topology, md_comm_mode comm_mode)
{
    tally *sum = base_alloc_zero(sizeof *sum);
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        count_block(groups, &topology->moltype[block->moltype], block, sum);
    }
    for (int t = 0; t < groups->n_temperature; t++) {
        double n = 0;
        for (int c = 0; c <= groups->n_com; c++) {
            double rest = sum->c[c] - removed_from(groups, sum, c, comm_mode);
            if (rest > 0 && sum->n_tc[t][c] > 0)
                n += sum->t[t] * (sum->n_tc[t][c] / sum->n_t[t]) * rest / sum->c[c];
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
