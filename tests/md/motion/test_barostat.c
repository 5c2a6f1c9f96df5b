/* Stochastic cell rescaling: on an ideal gas of N atoms, P = N kT / V, the stationary distribution
 * of the volume is V^N exp(-P0 V / kT), a gamma distribution (mean (N + 1) kT / P0, variance
 * (N + 1) (kT / P0)^2); each direction follows its own pressure, compressibility and noise; numbers
 * are a function of (seed, step); the work is the change of energy. Cannot catch: a wrong pressure
 * or temperature of the caller. */
#include "check.h"
#include "md/core/units.h"
#include "md/motion/barostat.h"
#include <math.h>
#include <string.h>

static const double temperature = 300;

static md_params coupled(md_pcoupltype type)
{
    md_params p;
    md_params_default(&p);
    p.pcoupl = MD_PCOUPL_C_RESCALE;
    p.pcoupltype = type;
    p.dt = 0.002;
    p.nstpcouple = 10;
    p.tau_p = 1;
    p.compressibility = (md_reals){2, {2e-3, 2e-3}};
    p.ref_p = (md_reals){2, {100, 100}};
    p.ld_seed = 5;
    return p;
}

static void ideal_pressure(double n, double volume, double out[3][3])
{
    memset(out, 0, 9 * sizeof(double));
    for (int k = 0; k < 3; k++)
        out[k][k] = n * MD_BOLTZ * temperature / volume * MD_BAR_PER_KJ_MOL_NM3;
}

/* Relaxation of the volume: tau / (b P0), here 5 ps or 250 couplings. Limits are five standard
 * errors of independent draws. */
static void test_distribution(md_pcoupltype type)
{
    const int n_steps = 2000000;
    const double n = 50, p0 = 100 / MD_BAR_PER_KJ_MOL_NM3, unit = MD_BOLTZ * temperature / p0;
    md_params params = coupled(type);
    double volume = (n + 1) * unit, sum = 0, square = 0;
    for (int step = 0; step < n_steps; step++) {
        double pressure[3][3], factor[3];
        ideal_pressure(n, volume, pressure);
        md_crescale_factors(&params, (const double(*)[3])pressure, volume, temperature, step,
                            factor);
        CHECK(factor[0] == factor[1]);
        CHECK(type == MD_PCOUPLTYPE_SEMIISOTROPIC || factor[0] == factor[2]);
        volume *= factor[0] * factor[1] * factor[2];
        double d = volume / unit - (n + 1);
        sum += d;
        square += d * d;
    }
    const double independent = n_steps / 500.0, variance = n + 1;
    CHECK_NEAR(sum / n_steps, 0, 5 * sqrt(variance / independent));
    CHECK_NEAR(square / n_steps, variance, 5 * variance * sqrt(2.2 / independent));
}

/* Mean and variance over seeds of the logarithm of each factor, by the equations of the paper. */
static void test_directions(void)
{
    enum { N = 100000 };
    md_params params = coupled(MD_PCOUPLTYPE_SEMIISOTROPIC);
    params.compressibility.value[1] = 5e-4;
    params.ref_p.value[1] = -200;
    const double pressure[3][3] = {{700, 9, 9}, {9, 300, 9}, {9, 9, -1000}}, volume = 30;
    const double strength = params.dt * params.nstpcouple / params.tau_p;
    const double kt = MD_BOLTZ * temperature * MD_BAR_PER_KJ_MOL_NM3;
    double sum[2] = {0, 0}, square[2] = {0, 0}, product = 0;
    for (int seed = 0; seed < N; seed++) {
        double factor[3], e[2];
        params.ld_seed = seed;
        md_crescale_factors(&params, pressure, volume, temperature, 40, factor);
        e[0] = 2 * log(factor[0]);
        e[1] = log(factor[2]);
        for (int k = 0; k < 2; k++) sum[k] += e[k], square[k] += e[k] * e[k];
        product += e[0] * e[1];
    }
    const double mean[2] = {-2 * 2e-3 * strength / 3 * (100 - 500),
                            -5e-4 * strength / 3 * (-200 + 1000)};
    const double variance[2] = {4 * kt * 2e-3 * strength / (3 * volume),
                                2 * kt * 5e-4 * strength / (3 * volume)};
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(sum[k] / N, mean[k], 5 * sqrt(variance[k] / N));
        CHECK_NEAR(square[k] / N - sum[k] / N * sum[k] / N, variance[k],
                   5 * variance[k] * sqrt(2.0 / N));
    }
    CHECK_NEAR(product / N - sum[0] / N * sum[1] / N, 0, 5 * sqrt(variance[0] * variance[1] / N));
    params.compressibility.value[1] = 0;
    double factor[3];
    md_crescale_factors(&params, pressure, volume, temperature, 40, factor);
    CHECK(factor[2] == 1 && factor[0] != 1);
}

static void test_keyed(void)
{
    md_params params = coupled(MD_PCOUPLTYPE_ISOTROPIC);
    const double pressure[3][3] = {{1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
    double a[3], b[3];
    md_crescale_factors(&params, pressure, 30, temperature, 1000, a);
    md_crescale_factors(&params, pressure, 30, temperature, 1001, b);
    CHECK(a[0] != b[0]);
    md_crescale_factors(&params, pressure, 30, temperature, 1000, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    params.ld_seed++;
    md_crescale_factors(&params, pressure, 30, temperature, 1000, b);
    CHECK(a[0] != b[0]);
}

/* Two atoms on a spring, r = (a, b, c) apart: potential and kinetic energy before and after. */
static void test_work(void)
{
    const double factor[3] = {1 + 1e-5, 1 - 2e-5, 1 + 3e-5}, k = 500, mass = 3;
    double before = 0, after = 0, virial[3][3] = {{0}}, kinetic[3][3] = {{0}};
    double x[2][3] = {{0.1, 0.2, 0.3}, {0.4, -0.1, 0.7}}, v[2][3] = {{1, 2, -3}, {0.5, 0, 4}};
    double masses[2] = {mass, mass};
    md_rows rows = {.n_owned = 2, .x = x, .v = v, .mass = masses};
    for (int i = 0; i < 3; i++) {
        double d = x[1][i] - x[0][i];
        before += 0.5 * k * d * d + 0.5 * mass * (v[0][i] * v[0][i] + v[1][i] * v[1][i]);
        virial[i][i] = 0.5 * k * d * d;
        kinetic[i][i] = 0.5 * mass * (v[0][i] * v[0][i] + v[1][i] * v[1][i]);
    }
    md_barostat_scale_rows(&rows, factor);
    for (int i = 0; i < 3; i++) {
        double d = x[1][i] - x[0][i];
        after += 0.5 * k * d * d + 0.5 * mass * (v[0][i] * v[0][i] + v[1][i] * v[1][i]);
    }
    double work = md_barostat_work((const double(*)[3])virial, (const double(*)[3])kinetic, factor);
    CHECK(fabs(work) > 1e-5);
    CHECK_NEAR(after - before, work, 1e-7); /* second order */
    md_box box = {{{2, 0, 0}, {0.5, 3, 0}, {0.25, -0.75, 4}}};
    md_barostat_scale_box(&box, factor);
    CHECK(box.m[2][0] == 0.25 * factor[0] && box.m[2][1] == -0.75 * factor[1]);
    CHECK(box.m[0][0] == 2 * factor[0] && box.m[2][2] == 4 * factor[2]);
}

int main(void)
{
    test_distribution(MD_PCOUPLTYPE_ISOTROPIC);
    test_distribution(MD_PCOUPLTYPE_SEMIISOTROPIC);
    test_directions();
    test_keyed();
    test_work();
    return 0;
}
