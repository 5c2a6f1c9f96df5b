/* Hashes of the inputs, so that a checkpoint is not continued with another system. FNV-1a over the
 * values field by field (never over padding). */
#include "md/run/setup.h"

#include <string.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#define MIX(hash, value) mix(hash, &(value), sizeof(value))

static uint64_t mix_moltype(uint64_t hash, const md_moltype *moltype)
{
    hash = MIX(hash, moltype->n_atoms);
    for (int i = 0; i < moltype->n_atoms; i++) {
        const md_atom *atom = &moltype->atom[i];
        hash = MIX(hash, atom->type);
        hash = MIX(hash, atom->charge);
        hash = MIX(hash, atom->mass);
    }
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        const md_interactions *list = &moltype->list[kind];
        size_t n = (size_t)list->n;
        hash = MIX(hash, list->n);
        if (n == 0) continue;
        hash = mix(hash, list->atoms, n * (size_t)md_kind_n_atoms((md_kind)kind) * sizeof(int));
        hash = mix(hash, list->param, n * sizeof(int));
    }
    if (moltype->n_atoms == 0) return hash;
    hash = mix(hash, moltype->exclusion_start, ((size_t)moltype->n_atoms + 1) * sizeof(int));
    size_t n_exclusions = (size_t)moltype->exclusion_start[moltype->n_atoms];
    return n_exclusions ? mix(hash, moltype->exclusion, n_exclusions * sizeof(int)) : hash;
}

uint64_t md_topology_hash(const md_topology *topology)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t n_pairs = (size_t)topology->n_atomtypes * (size_t)topology->n_atomtypes;
    hash = MIX(hash, topology->fudge_qq);
    hash = mix(hash, topology->c6, n_pairs * sizeof(double));
    hash = mix(hash, topology->c12, n_pairs * sizeof(double));
    hash = mix(hash, topology->param, (size_t)topology->n_params * sizeof(md_param));
    for (int b = 0; b < topology->n_molblocks; b++) {
        hash = MIX(hash, topology->molblock[b].count);
        const md_moltype *moltype = &topology->moltype[topology->molblock[b].moltype];
        hash = mix_moltype(hash, moltype);
        size_t n = (size_t)topology->molblock[b].count * (size_t)moltype->n_atoms;
        const void *reference = topology->molblock[b].posres_x;
        if (reference) hash = mix(hash, reference, n * sizeof *topology->molblock[b].posres_x);
    }
    if (md_topology_count(topology, MD_POSRES) > 0) hash = MIX(hash, topology->posres_box);
    return hash;
}

uint64_t md_params_hash(const md_params *params)
{
    uint64_t hash = 0xcbf29ce484222325u;
    hash = MIX(hash, params->dt);
    hash = MIX(hash, params->init_step);
    hash = MIX(hash, params->tinit);
    hash = MIX(hash, params->comm_mode);
    hash = MIX(hash, params->nstcomm);
    hash = MIX(hash, params->coulombtype);
    hash = MIX(hash, params->coulomb_modifier);
    hash = MIX(hash, params->rcoulomb);
    hash = MIX(hash, params->epsilon_r);
    hash = MIX(hash, params->epsilon_rf);
    hash = MIX(hash, params->vdw_modifier);
    hash = MIX(hash, params->rvdw);
    /* only where they count: nothing is lost when a key that has no effect is changed */
    if (md_vdw_is_switched(params->vdw_modifier)) hash = MIX(hash, params->rvdw_switch);
    if (params->disp_corr != MD_DISP_CORR_NO) hash = MIX(hash, params->disp_corr);
    hash = MIX(hash, params->tcoupl);
    hash = MIX(hash, params->nsttcouple);
    int n_groups = params->tau_t.n > 0 ? params->tau_t.n : 1;
    for (int g = 0; g < n_groups; g++) {
        hash = MIX(hash, params->tau_t.value[g]);
        hash = MIX(hash, params->ref_t.value[g]);
    }
    if (params->pcoupl != MD_PCOUPL_NO) {
        hash = MIX(hash, params->pcoupl);
        hash = MIX(hash, params->pcoupltype);
        hash = MIX(hash, params->nstpcouple);
        hash = MIX(hash, params->tau_p);
        for (int k = 0; k < 2; k++) {
            hash = MIX(hash, params->compressibility.value[k]);
            hash = MIX(hash, params->ref_p.value[k]);
        }
    }
    if (params->refcoord_scaling != MD_REFCOORD_NO) hash = MIX(hash, params->refcoord_scaling);
    hash = MIX(hash, params->constraints);
    hash = MIX(hash, params->lincs_order);
    hash = MIX(hash, params->lincs_iter);
    hash = MIX(hash, params->ld_seed);
    return hash;
}

uint64_t md_groups_hash(uint64_t hash, const md_groups *groups, int64_t n_atoms)
{
    if (groups->temperature_of) hash = mix(hash, groups->temperature_of, (size_t)n_atoms);
    if (groups->com_of) hash = mix(hash, groups->com_of, (size_t)n_atoms);
    if (groups->frozen) hash = mix(hash, groups->frozen, (size_t)n_atoms);
    return hash;
}
