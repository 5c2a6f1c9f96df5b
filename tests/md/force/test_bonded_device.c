/* Bonded forces on the device against the host's, of real systems: forces by row, every energy
 * term, virial, and the same bits in every run. */
#include "device.h"
#include "md/force/bonded_device.h"
#include "md/in/gro.h"
#include "md/in/mdp.h"
#include "md/in/top.h"
#include "reference.h"
#include "whole_system.h"
#include <math.h>
#include <string.h>

static const struct {
    const char *system, *point;
} cases[] = {
    {"terms/many_terms", "sp_rf"},      {"terms/many_terms", "sp_rf_nocons"},
    {"terms/urey_bradley", "sp_rf"},    {"terms/urey_bradley", "sp_rf_nocons"},
    {"ethanol/single", "sp_rf_nocons"}, {"ethanol/box_256", "sp_rf"},
    {"grappa-like/0001.5", "sp_rf"},    {"peptide/ala_dipeptide", "sp_rf"},
    {"peptide/wkdpys_amber", "sp_rf"},  {"peptide/fre_opls", "sp_rf"},
};

typedef struct result {
    float (*f)[4];
    md_bonded_sums sums;
} result;

static result run_on_device(const md_bonded *bonded, const md_topology *topology,
                            const md_rows *rows, const md_box *box)
{
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
    CHECK_OK(md_bonded_device_create(bonded, topology, &device));
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

static void test_system(const char *system, const char *point)
{
    md_params params;
    md_topology *topology;
    md_gro gro;
    md_rows rows = {0};
    md_bonded *bonded;
    md_energy energy = {0};
    CHECK_OK(md_mdp_read(reference_path("reference/%s/%s.mdp", system, point), &params));
    const md_top_options options = {.define = params.define, .constraints = params.constraints};
    CHECK_OK(md_top_read(reference_path("%s/topol.top", system), &options, &topology));
    CHECK_OK(md_gro_read(reference_path("%s/conf.gro", system), &gro));
    fill_rows(topology, &gro.state, &rows);
    memset(rows.f, 0, (size_t)rows.n_rows * sizeof rows.f[0]);
    CHECK_OK(md_bonded_create(topology, &params, &bonded));
    md_bonded_force(bonded, &rows, rows.f, &energy);

    result first = run_on_device(bonded, topology, &rows, &gro.state.box);
    result second = run_on_device(bonded, topology, &rows, &gro.state.box);
    printf("%s %s\n", system, point);
    compare(&rows, &energy, &first);
    CHECK(memcmp(first.f, second.f, (size_t)rows.n_rows * sizeof *first.f) == 0);
    CHECK(memcmp(&first.sums, &second.sums, sizeof first.sums) == 0);

    base_free(first.f), base_free(second.f);
    md_bonded_destroy(&bonded);
    md_rows_destroy(&rows);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    device_required();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        test_system(cases[k].system, cases[k].point);
    return 0;
}
