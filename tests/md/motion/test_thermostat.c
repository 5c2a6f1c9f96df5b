/* Stochastic velocity rescaling: the stationary distribution of the kinetic energy is the canonical
 * one (mean, variance, third moment, and its cumulative distribution for few degrees of freedom),
 * the relaxation time is tau, numbers are a function of (seed, step). A wrong physical temperature
 * scale of a caller is not seen here. */
#include "check.h"
#include "md/motion/thermostat.h"
#include <math.h>

static md_vrescale_draw draw(int64_t seed, int64_t step)
{
    return (md_vrescale_draw){.seed = seed, .step = step};
}

/* Gamma distribution of shape n/2: mean ref, variance 2 ref^2 / n, third central moment
 * 8 ref^3 / n^2. Limits are five standard errors of independent draws, widened for correlation. */
static void test_distribution(double n_dof, double dt, double tau)
{
    const double ref = 10, c = tau > 0 ? exp(-dt / tau) : 0;
    const int n = 400000;
    double k = ref, m1 = 0, m2 = 0, m3 = 0;
    for (int step = 0; step < 1000; step++)
        k = md_vrescale_ekin(k, ref, n_dof, dt, tau, draw(77, -1 - step));
    for (int step = 0; step < n; step++) {
        k = md_vrescale_ekin(k, ref, n_dof, dt, tau, draw(77, step));
        CHECK(k > 0);
        const double d = k - ref;
        m1 += d, m2 += d * d, m3 += d * d * d;
    }
    m1 /= n, m2 /= n, m3 /= n;
    const double variance = 2 * ref * ref / n_dof, sigma = sqrt(variance);
    const double effective = sqrt(n * (1 - c) / (1 + c)), kurtosis = 12 / n_dof;
    CHECK_NEAR(m1, 0, 5 * sigma / effective);
    CHECK_NEAR(m2, variance, 5 * variance * sqrt(2 + kurtosis) / effective);
    CHECK_NEAR(m3, 8 * ref * ref * ref / (n_dof * n_dof),
               5 * sigma * variance * sqrt(15 + 60 * kurtosis + 40 * kurtosis * kurtosis) /
                   effective);
}

/* Fresh draws of two degrees of freedom are exponential: P(K < k) = 1 - exp(-k / ref). */
static void test_exponential(void)
{
    const int n = 200000;
    for (double k = 0.5; k < 30; k *= 1.7) {
        int below = 0;
        for (int step = 0; step < n; step++)
            below += md_vrescale_ekin(5, 10, 2, 0.1, 0, draw(3, step)) < k;
        const double p = 1 - exp(-k / 10);
        CHECK_NEAR((double)below / n, p, 5 * sqrt(p * (1 - p) / n));
    }
}

/* The mean over seeds of one step is ref + c (K - ref). */
static void test_relaxation(void)
{
    const int n = 200000;
    const double start = 30, ref = 10, dt = 0.02, tau = 0.1;
    double sum = 0;
    for (int seed = 0; seed < n; seed++)
        sum += md_vrescale_ekin(start, ref, 30, dt, tau, draw(seed, 5));
    CHECK_NEAR(sum / n, ref + exp(-dt / tau) * (start - ref), 0.05);
}

static void test_keyed(void)
{
    const double a = md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1, 1000));
    md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1, 1001));
    CHECK(a == md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1, 1000)));
    CHECK(a != md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1, 1001)));
    CHECK(a != md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(2, 1000)));
    CHECK(a != md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1, 1000 + ((int64_t)1 << 32))));
    CHECK(a != md_vrescale_ekin(9, 10, 100, 0.02, 0.5, draw(1 + ((int64_t)1 << 32), 1000)));
    CHECK(a != md_vrescale_ekin(9, 10, 100, 0.02, 0.5, (md_vrescale_draw){1, 1000, 1}));
    /* successive steps are not correlated */
    double sum = 0;
    for (int step = 0; step < 100000; step++) {
        const double x = md_vrescale_ekin(10, 10, 50, 0.1, 0, draw(9, step)) - 10;
        const double y = md_vrescale_ekin(10, 10, 50, 0.1, 0, draw(9, step + 1)) - 10;
        sum += x * y;
    }
    CHECK_NEAR(sum / 100000, 0, 5 * 4 / sqrt(100000.0));
}

static void test_limits(void)
{
    CHECK(md_vrescale_ekin(0, 10, 100, 0.02, 0.1, draw(1, 1)) == 0);
    CHECK(md_vrescale_ekin(7, 10, 0, 0.02, 0.1, draw(1, 1)) == 7);
    CHECK(md_vrescale_ekin(7, 10, 100, 0.02, -1, draw(1, 1)) == 7);
    CHECK(isnan(md_vrescale_ekin(NAN, 10, 100, 0.02, 0.1, draw(1, 1))));
    /* a long tau hardly changes anything */
    CHECK_NEAR(md_vrescale_ekin(7, 10, 100, 0.02, 1e9, draw(1, 1)), 7, 1e-3);
}

int main(void)
{
    test_distribution(1, 0.1, 0.05);
    test_distribution(2, 0.1, 0);
    test_distribution(2.5, 0.1, 0.1);
    test_distribution(3, 0.02, 0.1);
    test_distribution(297, 0.1, 0.1);
    test_distribution(9e4, 0.02, 0.1);
    test_exponential();
    test_relaxation();
    test_keyed();
    test_limits();
    return 0;
}
