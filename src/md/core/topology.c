#include "md/core/topology.h"

#include "base/alloc.h"
#include "md/core/groups.h"

#include <limits.h>
#include <string.h>

static const struct {
    int n_atoms;
    const char *name;
} kinds[MD_N_KINDS] = {
    [MD_BOND] = {2, "Bond"},
    [MD_BOND_G96] = {2, "G96Bond"},
    [MD_ANGLE] = {3, "Angle"},
    [MD_ANGLE_G96] = {3, "G96Angle"},
    [MD_UREY_BRADLEY] = {3, "U-B"},
    [MD_DIH_PROPER] = {4, "Proper Dih."},
    [MD_DIH_RB] = {4, "Ryckaert-Bell."},
    [MD_DIH_FOURIER] = {4, "Fourier Dih."},
    [MD_DIH_IMPROPER] = {4, "Improper Dih."},
    [MD_DIH_PER_IMPROPER] = {4, "Per. Imp. Dih."},
    [MD_PAIR14] = {2, "LJ-14"},
    [MD_POSRES] = {1, "Position Rest."},
    [MD_CONSTRAINT] = {2, "Constraint"},
    [MD_SETTLE] = {3, "Settle"},
};

int md_kind_n_atoms(md_kind kind)
{
    return kinds[kind].n_atoms;
}

const char *md_kind_name(md_kind kind)
{
    return kinds[kind].name;
}

void md_interactions_add(md_interactions *list, md_kind kind, const int *atoms, int param)
{
    size_t n_atoms = (size_t)md_kind_n_atoms(kind), n = (size_t)list->n;
    BASE_RESERVE(list->atoms, list->capacity_atoms, (n + 1) * n_atoms);
    BASE_RESERVE(list->param, list->capacity_param, n + 1);
    memcpy(list->atoms + n * n_atoms, atoms, n_atoms * sizeof *atoms);
    list->param[n] = param;
    list->n++;
}

/* ---- numbering ------------------------------------------------------------------------------ */

/* GROMACS numbers residues on through the system for molecules of one residue, beginning behind
 * the largest number of the others; a system of one molecule keeps its numbers. */
static bool residues_are_renumbered(const md_topology *topology, const md_moltype *moltype)
{
    return moltype->n_residues <= 1 && topology->n_molecules > 1;
}

static sundog_status number_blocks(md_topology *topology)
{
    int64_t n_atoms = 0, n_molecules = 0, n_residues = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        md_molblock *block = &topology->molblock[b];
        if (block->moltype < 0 || block->moltype >= topology->n_moltypes || block->count < 0)
            return base_fail(SUNDOG_ERR_ARGUMENT, "block %d of the topology: moltype %d, count %d",
                             b, block->moltype, block->count);
        block->first_atom = n_atoms;
        block->first_molecule = n_molecules;
        n_atoms += (int64_t)block->count * topology->moltype[block->moltype].n_atoms;
        n_molecules += block->count;
    }
    topology->n_atoms = n_atoms;
    topology->n_molecules = n_molecules;

    for (int m = 0; m < topology->n_moltypes; m++) {
        const md_moltype *moltype = &topology->moltype[m];
        if (residues_are_renumbered(topology, moltype)) continue;
        for (int r = 0; r < moltype->n_residues; r++) {
            if (moltype->residue[r].number > n_residues) n_residues = moltype->residue[r].number;
        }
    }
    for (int b = 0; b < topology->n_molblocks; b++) {
        md_molblock *block = &topology->molblock[b];
        const md_moltype *moltype = &topology->moltype[block->moltype];
        block->first_residue = (int)n_residues;
        if (residues_are_renumbered(topology, moltype))
            n_residues += (int64_t)block->count * moltype->n_residues;
        if (n_residues > INT_MAX)
            return base_fail(SUNDOG_ERR_UNSUPPORTED, "more than %d residues", INT_MAX);
    }
    return SUNDOG_OK;
}

int md_topology_residue_number(const md_topology *topology, const md_atom_place *place)
{
    const md_moltype *moltype = &topology->moltype[place->moltype];
    int residue = moltype->atom[place->atom].residue;
    if (!residues_are_renumbered(topology, moltype)) return moltype->residue[residue].number;
    return topology->molblock[place->block].first_residue +
           (int)place->molecule * moltype->n_residues + residue + 1;
}

void md_topology_find(const md_topology *topology, int64_t global_atom, md_atom_place *out)
{
    int lo = 0, hi = topology->n_molblocks;
    while (hi - lo > 1) {               /* the last block that begins at or before the atom; */
        int mid = lo + (hi - lo) / 2;   /* empty blocks begin where the next one does */
        if (topology->molblock[mid].first_atom <= global_atom)
            lo = mid;
        else
            hi = mid;
    }
    const md_molblock *block = &topology->molblock[lo];
    int n_atoms = topology->moltype[block->moltype].n_atoms;
    int64_t within = global_atom - block->first_atom;
    out->block = lo;
    out->moltype = block->moltype;
    out->molecule = within / n_atoms;
    out->atom = (int)(within % n_atoms);
    out->first_atom = global_atom - out->atom;
}

int64_t md_topology_count(const md_topology *topology, md_kind kind)
{
    int64_t n = 0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        n += (int64_t)block->count * topology->moltype[block->moltype].list[kind].n;
    }
    return n;
}

double md_topology_total_charge(const md_topology *topology)
{
    double total = 0.0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *moltype = &topology->moltype[block->moltype];
        double charge = 0.0;
        for (int i = 0; i < moltype->n_atoms; i++) charge += moltype->atom[i].charge;
        total += charge * block->count;
    }
    return total;
}

double md_topology_group_radius(const md_topology *topology)
{
    double radius = 0.0;
    for (int b = 0; b < topology->n_molblocks; b++) {
        const md_molblock *block = &topology->molblock[b];
        const md_moltype *moltype = &topology->moltype[block->moltype];
        if (block->count > 0 && moltype->group_radius > radius) radius = moltype->group_radius;
    }
    return radius;
}

/* ---- life ----------------------------------------------------------------------------------- */

static sundog_status check_atoms(const md_topology *topology, const md_moltype *moltype)
{
    for (int i = 0; i < moltype->n_atoms; i++) {
        const md_atom *atom = &moltype->atom[i];
        if (atom->type < 0 || atom->type >= topology->n_atomtypes || atom->residue < 0 ||
            atom->residue >= moltype->n_residues)
            return base_fail(SUNDOG_ERR_ARGUMENT, "molecule %s, atom %d: type %d, residue %d",
                             moltype->name, i + 1, atom->type, atom->residue);
    }
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *list = &moltype->list[kind];
        int n_atoms = md_kind_n_atoms((md_kind)kind);
        for (int n = 0; n < list->n; n++) {
            if (list->param[n] < 0 || list->param[n] >= topology->n_params)
                return base_fail(SUNDOG_ERR_ARGUMENT, "molecule %s, %s %d: no such parameters",
                                 moltype->name, md_kind_name((md_kind)kind), n);
            for (int k = 0; k < n_atoms; k++) {
                int atom = list->atoms[n * n_atoms + k];
                if (atom < 0 || atom >= moltype->n_atoms)
                    return base_fail(SUNDOG_ERR_ARGUMENT, "molecule %s, %s %d: no atom %d",
                                     moltype->name, md_kind_name((md_kind)kind), n, atom + 1);
            }
        }
    }
    return SUNDOG_OK;
}

sundog_status md_topology_finish(md_topology *topology)
{
    BASE_TRY(number_blocks(topology));
    for (int m = 0; m < topology->n_moltypes; m++) {
        md_moltype *moltype = &topology->moltype[m];
        BASE_TRY(check_atoms(topology, moltype));
        BASE_TRY(md_moltype_find_groups(topology, moltype));
    }
    return SUNDOG_OK;
}

void md_moltype_clear(md_moltype *moltype)
{
    base_free(moltype->name);
    base_free(moltype->atom);
    base_free(moltype->residue);
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        base_free(moltype->list[kind].atoms);
        base_free(moltype->list[kind].param);
    }
    base_free(moltype->exclusion_start);
    base_free(moltype->exclusion);
    base_free(moltype->group_of_atom);
    base_free(moltype->group_start);
    base_free(moltype->group_atom);
}

void md_topology_destroy(md_topology **topology)
{
    md_topology *t = *topology;
    if (!t) return;
    for (int m = 0; m < t->n_moltypes; m++) md_moltype_clear(&t->moltype[m]);
    for (int b = 0; b < t->n_molblocks; b++) base_free(t->molblock[b].posres_x);
    base_free(t->moltype);
    base_free(t->molblock);
    base_free(t->atomtype);
    base_free(t->c6);
    base_free(t->c12);
    base_free(t->param);
    base_free(t->title);
    base_free(t);
    *topology = NULL;
}

/* ---- whole systems -------------------------------------------------------------------------- */

static size_t atoms_of_block(const md_topology *topology, const md_molblock *block)
{
    return (size_t)block->count * (size_t)topology->moltype[block->moltype].n_atoms;
}

void md_topology_set_posres(md_topology *topology, const double (*x)[3], const md_box *box)
{
    for (int b = 0; b < topology->n_molblocks; b++) {
        md_molblock *block = &topology->molblock[b];
        base_free(block->posres_x);
        block->posres_x = NULL;
        size_t n = atoms_of_block(topology, block);
        if (n == 0 || topology->moltype[block->moltype].list[MD_POSRES].n == 0) continue;
        block->posres_x = base_alloc(n * sizeof *block->posres_x);
        memcpy(block->posres_x, x + block->first_atom, n * sizeof *block->posres_x);
    }
    topology->posres_box = *box;
}

/* As md_state_replicate: copy by copy, x fastest. */
static void replicate_posres(const md_topology *topology, md_molblock *block, const int copies[3])
{
    size_t n = atoms_of_block(topology, block), made = 0;
    size_t total = (size_t)copies[0] * (size_t)copies[1] * (size_t)copies[2];
    double (*x)[3] = base_alloc(total * n * sizeof *x);
    for (int z = 0; z < copies[2]; z++) {
        for (int y = 0; y < copies[1]; y++) {
            for (int c = 0; c < copies[0]; c++) {
                double shift[3];
                md_box_from_fractional(&topology->posres_box, (const double[3]){c, y, z}, shift);
                for (size_t i = 0; i < n; i++, made++) {
                    for (int k = 0; k < 3; k++) x[made][k] = block->posres_x[i][k] + shift[k];
                }
            }
        }
    }
    base_free(block->posres_x);
    block->posres_x = x;
}

sundog_status md_topology_replicate(md_topology *topology, const int copies[3])
{
    int total = 1;
    for (int k = 0; k < 3; k++) {
        if (copies[k] < 1 || copies[k] > INT_MAX / total)
            return base_fail(SUNDOG_ERR_ARGUMENT, "cannot replicate a topology %d x %d x %d times",
                             copies[0], copies[1], copies[2]);
        total *= copies[k];
    }
    for (int b = 0; b < topology->n_molblocks; b++) {
        if (topology->molblock[b].count > INT_MAX / total)
            return base_fail(SUNDOG_ERR_ARGUMENT, "%d copies of %d %s are more than %d molecules",
                             total, topology->molblock[b].count,
                             topology->moltype[topology->molblock[b].moltype].name, INT_MAX);
    }
    for (int b = 0; b < topology->n_molblocks; b++) {
        if (topology->molblock[b].posres_x)
            replicate_posres(topology, &topology->molblock[b], copies);
        topology->molblock[b].count *= total;
    }
    for (int row = 0; row < 3; row++) {
        for (int k = 0; k < 3; k++) topology->posres_box.m[row][k] *= copies[row];
    }
    return md_topology_finish(topology);
}
