/* v-rescale on the device against the host's: factors and work of many steps and groups, noise
 * drawn in advance; groups that are not coupled; kinetic energies that cannot be scaled. */
#include "device.h"
#include "md/motion/thermostat_device.h"

#include <math.h>
#include <string.h>

enum { N_GROUPS = 6, N_STEPS = 200 };
static const double dt = 0.02;
static const struct {
    double ekin_ref, n_dof, tau;
} group[N_GROUPS] = {{1e5, 9e4, 0.1}, {30, 27, 1},  {2.5, 1, 0.05},
                     {4, 3, 0},       {10, 0, 0.1}, {10, 50, -1}};

static md_vrescale_draw draw(int step, int g)
{
    return (md_vrescale_draw){.seed = 99, .step = step, .group = g};
}

static void test_steps(void)
{
    md_thermostat_groups groups = {.n = N_GROUPS};
    md_kinetic_sums sums = {{{0}}, {0}};
    double noise[N_GROUPS][2], lambda[N_GROUPS] = {0}, work[N_GROUPS] = {0}, kept[N_GROUPS] = {0};
    for (int g = 0; g < N_GROUPS; g++) {
        groups.coupling[g] =
            md_vrescale_couple(group[g].ekin_ref, group[g].n_dof, dt, group[g].tau);
        sums.group[g] = 1.3 * group[g].ekin_ref;
    }
    void *d_sums = upload(&sums, sizeof sums), *d_noise = upload(noise, sizeof noise);
    double *d_lambda = upload(lambda, sizeof lambda), *d_work = upload(work, sizeof work);
    for (int step = 0; step < N_STEPS; step++) {
        for (int g = 0; g < N_GROUPS; g++) {
            const md_vrescale_noise drawn = md_vrescale_draw_noise(group[g].n_dof, draw(step, g));
            noise[g][0] = drawn.first, noise[g][1] = drawn.rest;
        }
        CHECK_CUDA(cudaMemcpy(d_sums, &sums, sizeof sums, cudaMemcpyHostToDevice));
        CHECK_CUDA(cudaMemcpy(d_noise, noise, sizeof noise, cudaMemcpyHostToDevice));
        CHECK_OK(md_thermostat_launch(&groups, d_sums, d_noise, d_lambda, d_work, NULL));
        download(lambda, d_lambda, sizeof lambda);
        for (int g = 0; g < N_GROUPS; g++) {
            const double old = sums.group[g];
            const double fresh = md_vrescale_ekin(old, group[g].ekin_ref, group[g].n_dof, dt,
                                                  group[g].tau, draw(step, g));
            if (g >= 4) CHECK(lambda[g] == 1 && fresh == old);
            CHECK_NEAR(lambda[g], sqrt(fresh / old), 1e-14 * (1 + lambda[g]));
            kept[g] += fresh - old;
            sums.group[g] = fresh;
        }
    }
    download(work, d_work, sizeof work);
    for (int g = 0; g < N_GROUPS; g++) CHECK_NEAR(work[g], kept[g], 1e-10 * group[g].ekin_ref);
    CHECK(work[4] == 0 && work[5] == 0);
    cudaFree(d_sums), cudaFree(d_noise), cudaFree(d_lambda), cudaFree(d_work);
}

/* Nothing to scale: the factor is 1 and no work is done, as on the host. */
static void test_no_energy(void)
{
    md_thermostat_groups groups = {.n = 2};
    md_kinetic_sums sums = {{{0}}, {0, NAN}};
    double noise[2][2] = {{1, 9}, {1, 9}}, lambda[2] = {7, 7}, work[2] = {3, 4};
    for (int g = 0; g < 2; g++) groups.coupling[g] = md_vrescale_couple(10, 10, dt, 0.1);
    void *d_sums = upload(&sums, sizeof sums), *d_noise = upload(noise, sizeof noise);
    double *d_lambda = upload(lambda, sizeof lambda), *d_work = upload(work, sizeof work);
    CHECK_OK(md_thermostat_launch(&groups, d_sums, d_noise, d_lambda, d_work, NULL));
    download(lambda, d_lambda, sizeof lambda);
    download(work, d_work, sizeof work);
    CHECK(lambda[0] == 1 && lambda[1] == 1 && work[0] == 3 && work[1] == 4);
    cudaFree(d_sums), cudaFree(d_noise), cudaFree(d_lambda), cudaFree(d_work);
}

int main(void)
{
    device_required();
    test_steps();
    test_no_energy();
    return 0;
}
