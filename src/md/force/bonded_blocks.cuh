/* A block of bonded interactions (bonded_blocks.h) by threads of whatever block: interactions, then
 * rows. Equal rows give equal bits, whichever kernel does it. */
#ifndef MD_BONDED_BLOCKS_CUH
#define MD_BONDED_BLOCKS_CUH
extern "C" {
#include "md/force/bonded_blocks.h"
#include "md/force/bonded_device.h"
}
#include "md/force/bonded_terms.cuh"

/* A position restraint, found by its number in the list. */
typedef struct bonded_restraint {
    md_posres_reference reference;
    float k[4];                         /* kJ/mol/nm2; three */
} bonded_restraint;

typedef struct bonded_view {
    int n_blocks;
    float coulomb14;
    const bonded_table_row *table[MD_N_KINDS];
    const bonded_restraint *restraint;
    /* bonded_blocks.h */
    const int *row, *param;
    const float *weight;
    const uint16_t (*place)[MD_MAX_KIND_ATOMS];
    const uint8_t *kind;
    const int *first_sum;
    const bonded_row_sum *sum;
    float (*slot)[4];
} bonded_view;

static __device__ __forceinline__ void term_compute(const bonded_view &view, md_kind kind,
                                                    int param, const md_device_box *d_box,
                                                    const int3 *s, const float *charge,
                                                    bonded_term *t)
{
    const md_device_box box = *d_box;
    if (kind == MD_POSRES) {
        const bonded_restraint *restraint = &view.restraint[param];
        term_posres(d_box, s, restraint->k, restraint->reference, t);
        return;
    }
    const float4 *entry = (const float4 *)view.table[kind][param];
    const float4 low = entry[0], high = entry[1];
    const float p[BONDED_TABLE_WIDTH] = {low.x,  low.y,  low.z,  low.w,
                                         high.x, high.y, high.z, high.w};
    switch (kind) {
    case MD_BOND: term_bond(box, s, p, t); break;
    case MD_BOND_G96: term_g96(box, s, p, t); break;
    case MD_ANGLE: term_angle(box, s, p, t); break;
    case MD_ANGLE_G96: term_angle_g96(box, s, p, t); break;
    case MD_UREY_BRADLEY: term_urey_bradley(box, s, p, t); break;
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER: term_proper(box, s, p, t); break;
    case MD_DIH_RB:
    case MD_DIH_FOURIER: term_rb(box, s, p, t); break;
    case MD_DIH_IMPROPER: term_improper(box, s, p, t); break;
    case MD_PAIR14:
        term_pair14(box, s, p, view.coulomb14 * (charge[0] * charge[1]), t);
        break;
    default: break;                     /* constraints are no forces */
    }
}

static __device__ __forceinline__ int kind_n_atoms(md_kind kind)
{
    switch (kind) {
    case MD_POSRES: return 1;
    case MD_BOND:
    case MD_BOND_G96:
    case MD_PAIR14: return 2;
    case MD_ANGLE:
    case MD_ANGLE_G96:
    case MD_UREY_BRADLEY: return 3;
    default: return 4;
    }
}

/* Where a kernel takes rows from, and what the rows carry: load() gives the first n of a lane's
 * atoms. These are the rows as an earlier kernel left them. */
typedef struct bonded_rows_at_rest {
    const md_device_row *row;
    __device__ __forceinline__ void load(const int *at, int n, int3 *s, float *charge) const
    {
#pragma unroll
        for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
            if (a >= n) break;
            const int4 atom = *(const int4 *)&row[at[a]];
            s[a] = make_int3(atom.x, atom.y, atom.z);
            charge[a] = __int_as_float(atom.w);
        }
    }
} bonded_rows_at_rest;

/* Interaction `lane` of a block: forces to their places, energy to *t. */
template <class ROWS>
static __device__ __forceinline__ void
lane_compute(const bonded_view &view, const ROWS &rows, const md_device_box *d_box, int block,
             int lane, md_kind kind, int param, float (*force)[MD_MAX_KIND_ATOMS * BONDED_BLOCK],
             bonded_term *t)
{
    const int *row = view.row + (size_t)block * MD_MAX_KIND_ATOMS * BONDED_BLOCK + lane;
    const int n_atoms = kind_n_atoms(kind);
    const ushort4 to = *(const ushort4 *)view.place[(size_t)block * BONDED_BLOCK + lane];
    const unsigned place[MD_MAX_KIND_ATOMS] = {to.x, to.y, to.z, to.w};
    int at[MD_MAX_KIND_ATOMS];
    int3 s[MD_MAX_KIND_ATOMS];
    float charge[MD_MAX_KIND_ATOMS];
#pragma unroll
    for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
        if (a >= n_atoms) break;
        at[a] = row[a * BONDED_BLOCK];
    }
    rows.load(at, n_atoms, s, charge);
    term_compute(view, kind, param, d_box, s, charge, t);
#pragma unroll
    for (int a = 0; a < MD_MAX_KIND_ATOMS; a++) {
        if (place[a] == BONDED_NO_PLACE) continue;
        force[0][place[a]] = t->f[a].x;
        force[1][place[a]] = t->f[a].y;
        force[2][place[a]] = t->f[a].z;
    }
}

/* A row of the block: its places, in their order. */
static __device__ __forceinline__ float3
row_sum(const float (*force)[MD_MAX_KIND_ATOMS * BONDED_BLOCK], const bonded_row_sum &sum)
{
    float3 f = make_float3(0, 0, 0);
    for (int k = sum.first; k < sum.first + sum.n; k++)
        f = make_float3(f.x + force[0][k], f.y + force[1][k], f.z + force[2][k]);
    return f;
}
#endif
