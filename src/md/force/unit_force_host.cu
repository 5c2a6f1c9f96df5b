/* Set-up of the device's pair kernels from the host's, and their launches. */
#include <math.h>
#include <string.h>

#include "md/force/unit_force.cuh"
#include "device/cuda.h"

extern "C" {
#include "md/force/nonbonded_kernels.h"
}

cudaError_t unit_force_allow(const md_unit_force *force, int shared_bytes);
cudaError_t unit_force_start(const md_unit_force *force, const md_unit_view *view, const int4 *row,
                             float (*f)[4], bool energy, const md_unit_how *how);
void unit_add_blocks(const double *block_sums, int n, double *sums, cudaStream_t stream);

template <typename real>
static void set_parameters(const md_nonbonded *nb, unit_parameters<real> *p)
{
    const md_vdw *v = &nb->vdw;
    p->rc2 = (real)(nb->rcoulomb * nb->rcoulomb);
    p->rv2 = (real)(nb->rvdw * nb->rvdw);
    p->twice_krf = (real)(2 * nb->krf);
    p->krf = (real)nb->krf;
    p->crf = (real)nb->crf;
    p->r_switch = (real)v->r_switch;
    p->s3 = (real)v->s3;
    p->s4 = (real)v->s4;
    p->s5 = (real)v->s5;
    p->a6 = (real)(v->p6.a / 6);
    p->b6 = (real)(v->p6.b / 6);
    p->k6 = (real)(v->p6.k / 6);
    p->a12 = (real)(v->p12.a / 12);
    p->b12 = (real)(v->p12.b / 12);
    p->k12 = (real)(v->p12.k / 12);
}

static unit_switch switch_of(const md_vdw *v)
{
    if (!v->switched) return UNIT_PLAIN;
    return v->s3 != 0 || v->s4 != 0 || v->s5 != 0 ? UNIT_POTENTIAL_SWITCH : UNIT_FORCE_SWITCH;
}

static sundog_status to_device(const void *from, size_t n_bytes, const void **out)
{
    void *p;
    BASE_TRY(DEVICE_CHECK(cudaMalloc(&p, n_bytes + 16)));
    *out = p;
    BASE_TRY(DEVICE_CHECK(cudaMemcpy(p, from, n_bytes, cudaMemcpyHostToDevice)));
    return SUNDOG_OK;
}

static sundog_status upload_kinds(const md_nonbonded *nb, const md_units *units, md_unit_force *f)
{
    size_t n = (size_t)units->n_kinds;
    double scale = sqrt(nb->factor);
    float4 *kind = (float4 *)base_alloc((n + 1) * sizeof *kind);
    double *charge = (double *)base_alloc((n + 1) * sizeof *charge);
    float2 *table = (float2 *)base_alloc((n * n + 1) * sizeof *table);
    double *exact = (double *)base_alloc((n * n + 1) * 2 * sizeof *exact);
    for (size_t i = 0; i < n; i++) {
        int type = units->kind[i].type;
        size_t row = (size_t)type * (size_t)nb->n_types;
        double c6 = nb->c6[row + (size_t)type], c12 = nb->c12[row + (size_t)type];
        int index = (int)i;
        charge[i] = scale * (double)units->kind[i].charge;
        kind[i] = make_float4((float)charge[i], (float)sqrt(6 * fabs(c6)),
                              (float)sqrt(12 * fabs(c12)), 0);
        memcpy(&kind[i].w, &index, sizeof index);
        for (size_t j = 0; j < n; j++) {
            size_t ij = row + (size_t)units->kind[j].type;
            exact[2 * (i * n + j)] = 6 * nb->c6[ij];
            exact[2 * (i * n + j) + 1] = 12 * nb->c12[ij];
            table[i * n + j] = make_float2((float)(6 * nb->c6[ij]), (float)(12 * nb->c12[ij]));
        }
    }
    sundog_status status = to_device(kind, n * sizeof *kind, (const void **)&f->p.kind);
    if (status == SUNDOG_OK)
        status = to_device(table, n * n * sizeof *table, (const void **)&f->p.table);
    if (status == SUNDOG_OK)
        status = to_device(charge, n * sizeof *charge, (const void **)&f->d_charge);
    if (status == SUNDOG_OK)
        status = to_device(exact, n * n * 2 * sizeof *exact, (const void **)&f->d_table);
    base_free(kind);
    base_free(charge);
    base_free(table);
    base_free(exact);
    return status;
}

static sundog_status prepare_kernels(md_unit_force *f)
{
    int device, major, shared_bytes;
    BASE_TRY(DEVICE_CHECK(cudaGetDevice(&device)));
    BASE_TRY(DEVICE_CHECK(
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)));
    BASE_TRY(DEVICE_CHECK(cudaDeviceGetAttribute(
        &shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device)));
    f->starts_early = major >= 9;
    return DEVICE_CHECK(unit_force_allow(f, shared_bytes));
}

extern "C" sundog_status md_unit_force_create(const md_nonbonded *nonbonded, const md_units *units,
                                              md_unit_force **out)
{
    md_unit_force *f = (md_unit_force *)base_alloc_zero(sizeof *f);
    const md_nonbonded *nb = nonbonded;
    set_parameters(nb, &f->p);
    set_parameters(nb, &f->exact);
    f->p.n_kinds = f->exact.n_kinds = units->n_kinds;
    if (units->charge_only >= 0)
        f->p.charge_only =
            (float)(sqrt(nb->factor) * (double)units->kind[units->charge_only].charge);
    f->lj = nb->rule == MD_LJ_GEOMETRIC ? UNIT_LJ_PRODUCT : UNIT_LJ_TABLE;
    f->modifier = switch_of(&nb->vdw);
    double rc3 = pow(nb->rcoulomb, 3);
    f->vanishes = fabs(2 * nb->krf * rc3 - 1) < 1e-9 && nb->rcoulomb == nb->rvdw;
    sundog_status status = upload_kinds(nb, units, f);
    if (status == SUNDOG_OK) status = prepare_kernels(f);
    if (status != SUNDOG_OK) {
        md_unit_force_destroy(&f);
        return status;
    }
    *out = f;
    return SUNDOG_OK;
}

extern "C" void md_unit_force_destroy(md_unit_force **force)
{
    md_unit_force *f = *force;
    if (!f) return;
    (void)cudaFree((void *)f->p.kind);
    (void)cudaFree((void *)f->p.table);
    (void)cudaFree(f->d_charge);
    (void)cudaFree(f->d_table);
    (void)cudaFree(f->d_block_sums);
    base_free(f);
    *force = NULL;
}

extern "C" sundog_status md_unit_force_prepare(md_unit_force *force, const md_unit_view *view)
{
    size_t n = (size_t)view->n_blocks * MD_N_SUMS * sizeof(double);
    device_array sums = {force->d_block_sums, force->block_sums_capacity};
    sundog_status status = device_reserve(&sums, n);
    force->d_block_sums = (double *)sums.d;
    force->block_sums_capacity = sums.n_bytes;
    return status;
}

extern "C" sundog_status md_unit_force_launch(md_unit_force *force, const md_unit_view *view,
                                              const md_device_row *d_row, float (*d_f)[4],
                                              double *d_sums, const md_unit_how *how)
{
    const int4 *row = (const int4 *)d_row;
    if (view->n_blocks > 0)
        BASE_TRY(DEVICE_CHECK(unit_force_start(force, view, row, d_f, d_sums != NULL, how)));
    if (!d_sums || how->part != MD_UNIT_ALL) return SUNDOG_OK;
    return md_unit_force_add_sums(force, view, d_sums, how->stream);
}

extern "C" sundog_status md_unit_force_add_sums(md_unit_force *force, const md_unit_view *view,
                                                double *d_sums, void *stream)
{
    unit_add_blocks(force->d_block_sums, view->n_blocks, d_sums, (cudaStream_t)stream);
    return DEVICE_CHECK(cudaGetLastError());
}
