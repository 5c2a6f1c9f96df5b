/* Bonded forces: turns parameters into the kernels' tables, walks the lists kind by kind.
 *
 * The functional forms are in topology.h and bonded_lanes.h. Forces are added in the order of the
 * lists, one thread per domain, so a run repeats bit for bit.
 *
 * 1-4 pairs are plain c12/r^12 - c6/r^6 + f fudge qi qj / (epsilon_r r): no cut-off, no shift, no
 * reaction field.
 */
#include "md/force/bonded.h"
#include "base/alloc.h"
#include "md/core/coulomb.h"
#include "md/force/bonded_internal.h"
#include <math.h>
#include <string.h>

struct md_bonded {
    bonded_table_row *table[MD_N_KINDS]; /* [n_params], rows of used parameters are filled */
    float coulomb14;
    bonded_kernel *const *kernel;
};

const bonded_table_row *md_bonded_table(const md_bonded *bonded, md_kind kind)
{
    return (const bonded_table_row *)bonded->table[kind];
}

float md_bonded_coulomb14(const md_bonded *bonded)
{
    return bonded->coulomb14;
}

bool md_bonded_variant_runs(md_bonded_variant variant)
{
    if (variant == MD_BONDED_PLAIN) return true;
#if defined(__x86_64__) || defined(__i386__)
    return md_bonded_kernels_avx2[MD_BOND] != NULL && __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

void md_bonded_use_variant(md_bonded *bonded, md_bonded_variant variant)
{
    bonded->kernel = variant == MD_BONDED_AVX2 ? md_bonded_kernels_avx2 : md_bonded_kernels_plain;
}

/* Length, constant and the square of the length in two floats. */
static void fill_stretch(double length, double k, float *row)
{
    const double square = length * length;
    row[0] = (float)length;
    row[1] = (float)k;
    row[2] = (float)square;
    row[3] = (float)(square - (double)row[2]);
}

static void fill_row(md_kind kind, const double *p, float *row)
{
    switch (kind) {
    case MD_BOND:
    case MD_BOND_G96: fill_stretch(p[0], p[1], row); break;
    case MD_ANGLE:
        row[0] = (float)p[0];
        row[1] = (float)p[1];
        break;
    case MD_ANGLE_G96:
        row[0] = (float)cos(p[0]);
        row[1] = (float)p[1];
        break;
    case MD_UREY_BRADLEY:
        fill_stretch(p[2], p[3], row);
        row[4] = (float)p[0];
        row[5] = (float)p[1];
        break;
    case MD_DIH_PROPER:
    case MD_DIH_PER_IMPROPER: {
        const double n = round(p[2]), phase = n < 0 ? -p[0] : p[0];
        row[0] = (float)fabs(n);
        row[1] = (float)p[1];
        row[2] = (float)(p[1] * fabs(n));
        row[3] = (float)cos(phase);
        row[4] = (float)sin(phase);
        break;
    }
    case MD_DIH_IMPROPER:
        row[0] = (float)remainder(p[0], 2.0 * acos(-1.0));
        row[1] = (float)p[1];
        break;
    case MD_DIH_RB:
    case MD_DIH_FOURIER:
        for (int k = 0; k < 6; k++) row[k] = (float)p[k];
        break;
    case MD_PAIR14:
        row[0] = (float)p[0];
        row[1] = (float)p[1];
        break;
    default: break;
    }
}

static void fill_table(const md_topology *topology, md_kind kind, bonded_table_row **table)
{
    for (int m = 0; m < topology->n_moltypes; m++) {
        const md_interactions *list = &topology->moltype[m].list[kind];
        if (list->n == 0) continue;
        if (*table == NULL) *table = base_alloc_zero((size_t)topology->n_params * sizeof **table);
        for (int k = 0; k < list->n; k++)
            fill_row(kind, topology->param[list->param[k]].p, (*table)[list->param[k]]);
    }
}

sundog_status md_bonded_create(const md_topology *topology, const md_params *params,
                               md_bonded **out)
{
    md_bonded *bonded = base_alloc_zero(sizeof *bonded);
    bonded->coulomb14 = (float)(md_coulomb_form_of(params).factor * topology->fudge_qq);
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        if (md_bonded_kernels_plain[kind])
            fill_table(topology, (md_kind)kind, &bonded->table[kind]);
    md_bonded_use_variant(bonded, md_bonded_variant_runs(MD_BONDED_AVX2) ? MD_BONDED_AVX2
                                                                         : MD_BONDED_PLAIN);
    *out = bonded;
    return SUNDOG_OK;
}

void md_bonded_destroy(md_bonded **bonded)
{
    if (*bonded == NULL) return;
    for (int kind = 0; kind < MD_N_KINDS; kind++) base_free((*bonded)->table[kind]);
    base_free(*bonded);
    *bonded = NULL;
}

void md_bonded_force(const md_bonded *bonded, const md_rows *rows, float (*f)[3], md_energy *energy)
{
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        if (bonded->kernel[kind] == NULL || rows->list[kind].n == 0) continue;
        bonded_job job = {.rows = rows,
                          .list = &rows->list[kind],
                          .table = (const bonded_table_row *)bonded->table[kind],
                          .coulomb14 = bonded->coulomb14,
                          .f = f,
                          .want_energy = energy != NULL};
        bonded->kernel[kind](&job);
        if (energy == NULL) continue;
        energy->bonded[kind] += job.energy[0];
        energy->coulomb14 += job.energy[1];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) energy->virial[i][j] += job.virial[i][j];
    }
}
