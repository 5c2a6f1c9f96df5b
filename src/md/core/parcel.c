#include "md/core/parcel.h"

#include "base/alloc.h"

#include <string.h>

void md_parcel_bytes(md_parcel *parcel, void *bytes, size_t n_bytes)
{
    if (n_bytes == 0) return;
    if (parcel->packing) {
        BASE_RESERVE(parcel->bytes, parcel->capacity, parcel->n + n_bytes);
        memcpy(parcel->bytes + parcel->n, bytes, n_bytes);
        parcel->n += n_bytes;
        return;
    }
    if (n_bytes > parcel->n - parcel->at) {
        parcel->damaged = true;
        memset(bytes, 0, n_bytes);
        return;
    }
    memcpy(bytes, parcel->bytes + parcel->at, n_bytes);
    parcel->at += n_bytes;
}

void *md_parcel_array(md_parcel *parcel, void *array, size_t n, size_t item_bytes)
{
    bool present = array != NULL;
    md_parcel_bytes(parcel, &present, sizeof present);
    if (!present) return NULL;
    if (!parcel->packing) {
        if (n > (parcel->n - parcel->at) / item_bytes) {
            parcel->damaged = true;
            return NULL;
        }
        array = base_alloc(n * item_bytes + 1);
    }
    md_parcel_bytes(parcel, array, n * item_bytes);
    return array;
}

void md_parcel_text(md_parcel *parcel, char **text)
{
    size_t n = parcel->packing && *text ? strlen(*text) + 1 : 0;
    md_parcel_bytes(parcel, &n, sizeof n);
    MD_PARCEL_ARRAY(parcel, *text, n);
}

void md_parcel_clear(md_parcel *parcel)
{
    base_free(parcel->bytes);
    *parcel = (md_parcel){.packing = parcel->packing};
}

/* ---- topology -------------------------------------------------------------------------------- */

static void walk_interactions(md_parcel *parcel, md_kind kind, md_interactions *list)
{
    size_t n_atoms = (size_t)list->n * (size_t)md_kind_n_atoms(kind);
    MD_PARCEL_ARRAY(parcel, list->atoms, n_atoms);
    MD_PARCEL_ARRAY(parcel, list->param, list->n);
    if (parcel->packing) return;
    list->capacity_atoms = n_atoms;
    list->capacity_param = (size_t)list->n;
}

static void walk_moltype(md_parcel *parcel, md_moltype *moltype)
{
    int n = moltype->n_atoms;
    md_parcel_text(parcel, &moltype->name);
    MD_PARCEL_ARRAY(parcel, moltype->atom, n);
    MD_PARCEL_ARRAY(parcel, moltype->residue, moltype->n_residues);
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        walk_interactions(parcel, (md_kind)kind, &moltype->list[kind]);
    MD_PARCEL_ARRAY(parcel, moltype->exclusion_start, n + 1);
    if (moltype->exclusion_start)
        MD_PARCEL_ARRAY(parcel, moltype->exclusion, moltype->exclusion_start[n]);
    MD_PARCEL_ARRAY(parcel, moltype->group_of_atom, n);
    MD_PARCEL_ARRAY(parcel, moltype->group_start, moltype->n_groups + 1);
    MD_PARCEL_ARRAY(parcel, moltype->group_atom, n);
}

void md_parcel_topology(md_parcel *parcel, md_topology **topology)
{
    if (!parcel->packing) *topology = base_alloc_zero(sizeof **topology);
    md_topology *t = *topology;
    size_t n_pairs;
    md_parcel_bytes(parcel, t, sizeof *t);
    n_pairs = (size_t)t->n_atomtypes * (size_t)t->n_atomtypes;
    md_parcel_text(parcel, &t->title);
    MD_PARCEL_ARRAY(parcel, t->atomtype, t->n_atomtypes);
    MD_PARCEL_ARRAY(parcel, t->c6, n_pairs);
    MD_PARCEL_ARRAY(parcel, t->c12, n_pairs);
    MD_PARCEL_ARRAY(parcel, t->param, t->n_params);
    if (!parcel->packing) t->param_capacity = (size_t)t->n_params;
    MD_PARCEL_ARRAY(parcel, t->moltype, t->n_moltypes);
    MD_PARCEL_ARRAY(parcel, t->molblock, t->n_molblocks);
    for (int m = 0; m < t->n_moltypes && t->moltype; m++) walk_moltype(parcel, &t->moltype[m]);
    for (int b = 0; b < t->n_molblocks && t->molblock; b++) {
        md_molblock *block = &t->molblock[b];
        size_t n_atoms = (size_t)block->count * (size_t)t->moltype[block->moltype].n_atoms;
        MD_PARCEL_ARRAY(parcel, block->posres_x, n_atoms);
    }
}
