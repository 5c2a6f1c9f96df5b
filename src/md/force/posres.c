/* References are looked up by global atom: restrained atoms are few (a protein in its water), and
 * copies of them in every domain would have to move with the atoms. */
#include "md/force/posres.h"

#include "base/alloc.h"
#include "md/core/vec.h"

struct md_posres {
    const md_topology *topology;
    md_refcoord_scaling scaling;
    double centre[3];           /* box fractions of the file's box */
};

static const md_molblock *block_of(const md_topology *topology, int64_t gid)
{
    int low = 0, high = topology->n_molblocks - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (topology->molblock[middle].first_atom <= gid)
            low = middle;
        else
            high = middle - 1;
    }
    return &topology->molblock[low];
}

/* sum += mass times reference of the restrained atoms of one block, each atom once whatever the
 * number of its restraints. Their mass is returned. */
static double add_references(const md_topology *topology, const md_molblock *block, double sum[3])
{
    const md_moltype *moltype = &topology->moltype[block->moltype];
    const md_interactions *list = &moltype->list[MD_POSRES];
    bool *seen = base_alloc_zero((size_t)moltype->n_atoms * sizeof *seen);
    double mass = 0;
    for (int k = 0; k < list->n; k++) {
        int atom = list->atoms[k];
        if (seen[atom]) continue;
        seen[atom] = true;
        const double m = moltype->atom[atom].mass;
        const double(*x)[3] = (const double(*)[3])block->posres_x + atom;
        for (int copy = 0; copy < block->count; copy++, x += moltype->n_atoms)
            for (int a = 0; a < 3; a++) sum[a] += m * x[0][a];
        mass += block->count * m;
    }
    base_free(seen);
    return mass;
}

void md_posres_create(const md_topology *topology, md_refcoord_scaling scaling, md_posres **out)
{
    double sum[3] = {0}, mass = 0;
    *out = NULL;
    if (md_topology_count(topology, MD_POSRES) == 0) return;
    for (int b = 0; b < topology->n_molblocks; b++)
        if (topology->molblock[b].posres_x)
            mass += add_references(topology, &topology->molblock[b], sum);
    md_posres *posres = base_alloc_zero(sizeof *posres);
    posres->topology = topology;
    posres->scaling = scaling;
    for (int a = 0; a < 3; a++) sum[a] /= mass > 0 ? mass : 1;
    md_box_to_fractional(&topology->posres_box, sum, posres->centre);
    *out = posres;
}

void md_posres_destroy(md_posres **posres)
{
    base_free(*posres);
    *posres = NULL;
}

md_posres_reference md_posres_find(const md_posres *posres, int64_t gid)
{
    const md_box *file_box = &posres->topology->posres_box;
    const md_molblock *block = block_of(posres->topology, gid);
    const double *x0 = block->posres_x[gid - block->first_atom];
    md_posres_reference out = {{0}, {0}};
    if (posres->scaling == MD_REFCOORD_ALL) {
        md_box_to_fractional(file_box, x0, out.scaled);
    } else if (posres->scaling == MD_REFCOORD_COM) {
        double centre[3];
        md_box_from_fractional(file_box, posres->centre, centre);
        vec_sub(x0, centre, out.fixed);
        for (int a = 0; a < 3; a++) out.scaled[a] = posres->centre[a];
    } else {
        for (int a = 0; a < 3; a++) out.fixed[a] = x0[a];
    }
    return out;
}

void md_posres_force(const md_posres *posres, const md_rows *rows, const md_box *box,
                     float (*f)[3], md_energy *energy)
{
    if (posres == NULL) return;
    const md_topology *topology = posres->topology;
    const md_row_interactions *list = &rows->list[MD_POSRES];
    for (int n = 0; n < list->n; n++) {
        int row = list->rows[n];
        const md_posres_reference reference = md_posres_find(posres, rows->gid[row]);
        const double *k = topology->param[list->param[n]].p;
        double x[3], d[3];
        md_box_from_fractional(box, reference.scaled, x);
        for (int a = 0; a < 3; a++) x[a] += reference.fixed[a];
        md_box_nearest(box, rows->x[row], x, d);
        for (int a = 0; a < 3; a++) {
            double force = -k[a] * d[a];
            f[row][a] += (float)force;
            if (!energy) continue;
            energy->bonded[MD_POSRES] += 0.5 * k[a] * d[a] * d[a];
            energy->virial[a][a] -= 0.5 * (d[a] + reference.fixed[a]) * force;
        }
    }
}
