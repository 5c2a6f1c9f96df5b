/* Bonded forces on the device against the host's, of real systems: forces by row, every energy
 * term, virial, and the same bits in every run. Position restraints with every way of scaling their
 * references, these displaced by more than the box, in an upright box and in a skewed one. */
#include "device.h"
#include "md/force/bonded_device.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"
#include "whole_system.h"
#include <math.h>
#include <string.h>

typedef struct test_case {
    const char *system, *point;
    bool g96_angles; /* every angle by its cosine, as in GROMOS */
    bool restrained, skewed;
    md_refcoord_scaling scaling;
} test_case;

static const test_case cases[] = {
    {.system = "terms/many_terms", .point = "sp_rf"},
    {.system = "terms/many_terms", .point = "sp_rf_nocons"},
    {.system = "terms/urey_bradley", .point = "sp_rf"},
    {.system = "terms/urey_bradley", .point = "sp_rf_nocons"},
    {.system = "ethanol/single", .point = "sp_rf_nocons"},
    {.system = "ethanol/box_256", .point = "sp_rf"},
    {.system = "ethanol/box_256", .point = "sp_rf", .g96_angles = true},
    {.system = "grappa-like/0001.5", .point = "sp_rf"},
    {.system = "peptide/ala_dipeptide", .point = "sp_rf"},
    {.system = "peptide/wkdpys_amber", .point = "sp_rf"},
    {.system = "peptide/wkdpys_amber", .point = "sp_rf", .g96_angles = true},
    {.system = "peptide/fre_opls", .point = "sp_rf"},
};

typedef struct result {
    float (*f)[4];
    md_bonded_sums sums;
} result;

/* One system on the host. */
typedef struct host_system {
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_rows rows;
    md_bonded *bonded;
    md_posres *posres;
} host_system;

static result run_on_device(const host_system *h)
{
    const md_rows *rows = &h->rows;
    const md_box *box = &h->gro.state.box;
    const size_t n = (size_t)rows->n_rows;
    md_bonded_device *device;
    md_device_box device_box;
    md_device_row *row = base_alloc(n * sizeof *row);
    result out = {.f = base_alloc_zero(n * sizeof *out.f)};
    for (size_t r = 0; r < n; r++) {
        double s[3];
        md_box_to_fractional(box, rows->x[r], s);
        for (int k = 0; k < 3; k++) row[r].s[k] = (int)(int64_t)rint(s[k] * 0x1p32);
        row[r].charge = rows->charge[r];
    }
    md_device_box_set(box, &device_box);
    void *d_row = upload(row, n * sizeof *row), *d_box = upload(&device_box, sizeof device_box);
    void *d_f = upload(out.f, n * sizeof *out.f), *d_sums = upload(&out.sums, sizeof out.sums);
    CHECK_OK(md_bonded_device_create(h->bonded, h->posres, h->topology, &device));
    CHECK_OK(md_bonded_device_rebuild(device, rows, rows->n_rows, NULL));
    CHECK_OK(md_bonded_device_launch(device, d_row, d_box, d_sums, NULL));
    CHECK_OK(md_bonded_device_gather(device, d_f, NULL));
    download(out.f, d_f, n * sizeof *out.f);
    download(&out.sums, d_sums, sizeof out.sums);
    md_bonded_device_destroy(&device);
    cudaFree(d_row), cudaFree(d_box), cudaFree(d_f), cudaFree(d_sums);
    base_free(row);
    return out;
}

static void compare(const md_rows *rows, const md_energy *energy, const result *got)
{
    double square = 0, difference = 0, trace = 0;
    for (int r = 0; r < rows->n_rows; r++)
        for (int k = 0; k < 3; k++) {
            const double d = (double)got->f[r][k] - (double)rows->f[r][k];
            square += (double)rows->f[r][k] * (double)rows->f[r][k];
            difference += d * d;
        }
    CHECK(square > 0);
    CHECK_NEAR(sqrt(difference / square), 0, 3e-6);
    for (int kind = 0; kind < MD_N_KINDS; kind++)
        CHECK_NEAR(got->sums.bonded[kind], energy->bonded[kind],
                   1e-4 + 2e-6 * fabs(energy->bonded[kind]));
    CHECK_NEAR(got->sums.coulomb14, energy->coulomb14, 1e-4 + 2e-6 * fabs(energy->coulomb14));
    for (int i = 0; i < 3; i++) trace += fabs(energy->virial[i][i]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            CHECK_NEAR(got->sums.virial[i][j], energy->virial[i][j], 1e-3 + 3e-6 * trace);
}

static void use_g96_angles(md_topology *topology)
{
    for (int t = 0; t < topology->n_moltypes; t++) {
        md_interactions *list = topology->moltype[t].list, angles = list[MD_ANGLE];
        CHECK(list[MD_ANGLE_G96].n == 0);
        list[MD_ANGLE] = list[MD_ANGLE_G96];
        list[MD_ANGLE_G96] = angles;
    }
}

/* References in a box that is 1 % larger, displaced, and some way off along y. */
static void set_references(host_system *h)
{
    md_box box = h->gro.state.box;
    const size_t n = (size_t)h->gro.state.n_atoms;
    double(*x)[3] = base_alloc(n * sizeof *x);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) box.m[i][k] *= 1.01;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            x[i][k] = 1.01 * h->gro.state.x[i][k] + 0.03 * sin(1.7 * (double)i + 2.1 * k) +
                      (k == 1 ? 0.37 * (double)i : 0.0);
    md_topology_set_posres(h->topology, (const double(*)[3])x, &box);
    base_free(x);
}

static void host_open(const test_case *c, host_system *h)
{
    static const md_box skewed = {{{3.3, 0, 0}, {1.2, 3.2, 0}, {-1.4, 0.9, 3.1}}};
    *h = (host_system){.posres = NULL};
    CHECK_OK(md_mdp_read(reference_path("reference/%s/%s.mdp", c->system, c->point), &h->params));
    const md_top_options options = {.define = c->restrained ? "-DPOSRES" : h->params.define,
                                    .constraints = h->params.constraints};
    CHECK_OK(md_top_read(reference_path("%s/topol.top", c->system), &options, &h->topology));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", c->system), &h->gro));
    if (c->g96_angles) use_g96_angles(h->topology);
    if (c->skewed) h->gro.state.box = skewed;
    if (c->restrained) {
        set_references(h);
        md_posres_create(h->topology, c->scaling, &h->posres);
        CHECK(h->posres != NULL);
    }
    fill_rows(h->topology, &h->gro.state, &h->rows);
    CHECK(h->rows.list[MD_POSRES].n > 0 || !c->restrained);
    memset(h->rows.f, 0, (size_t)h->rows.n_rows * sizeof h->rows.f[0]);
    CHECK_OK(md_bonded_create(h->topology, &h->params, &h->bonded));
}

static void host_close(host_system *h)
{
    md_bonded_destroy(&h->bonded);
    md_posres_destroy(&h->posres);
    md_rows_destroy(&h->rows);
    md_gro_destroy(&h->gro);
    md_topology_destroy(&h->topology);
}

static void test_system(const test_case *c)
{
    host_system h;
    md_energy energy = {0};
    host_open(c, &h);
    md_bonded_force(h.bonded, &h.rows, h.rows.f, &energy);
    md_posres_force(h.posres, &h.rows, &h.gro.state.box, h.rows.f, &energy);
    result first = run_on_device(&h), second = run_on_device(&h);
    printf("%s %s%s%s, restraints %.6g kJ/mol\n", c->system, c->point,
           c->g96_angles ? ", angles of GROMOS" : "", c->skewed ? ", skewed box" : "",
           energy.bonded[MD_POSRES]);
    compare(&h.rows, &energy, &first);
    CHECK(memcmp(first.f, second.f, (size_t)h.rows.n_rows * sizeof *first.f) == 0);
    CHECK(memcmp(&first.sums, &second.sums, sizeof first.sums) == 0);
    base_free(first.f), base_free(second.f);
    host_close(&h);
}

int main(void)
{
    static const md_refcoord_scaling scalings[] = {MD_REFCOORD_NO, MD_REFCOORD_ALL,
                                                   MD_REFCOORD_COM};
    device_required();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) test_system(&cases[k]);
    for (int k = 0; k < 6; k++)
        test_system(&(test_case){.system = "peptide/ala_dipeptide",
                                 .point = "sp_rf",
                                 .restrained = true,
                                 .skewed = k % 2 != 0,
                                 .scaling = scalings[k / 2]});
    return 0;
}
