/* Leap-frog: exact under a constant force, time-reversible, second order; sums over velocities. */
#include "check.h"
#include "md/motion/leapfrog.h"
#include <math.h>
#include <string.h>

enum { N = 7 };

static double x[N][3], x_new[N][3], v[N][3], mass[N];
static float f[N][3];
static md_rows rows = {.n_owned = N, .n_rows = N, .x = x, .v = v, .f = f, .mass = mass};

static void start(void)
{
    for (int r = 0; r < N; r++) {
        mass[r] = 1 + 2.5 * r;
        for (int k = 0; k < 3; k++) {
            x[r][k] = 0.1 * r + 0.03 * k;
            v[r][k] = sin(3 * r + k);
            f[r][k] = (float)(100 * (r - 3) + 7 * k);
        }
    }
}

static void advance(double dt)
{
    md_leapfrog_step(&rows, 1.0, dt, x_new);
    memcpy(x, x_new, sizeof x);
}

/* x(n dt) = x0 + n dt v(-dt/2) + n (n+1)/2 a dt^2 */
static void test_constant_force(void)
{
    const double dt = 0.002;
    const int n = 1000;
    double x0[N][3], v0[N][3];
    start();
    memcpy(x0, x, sizeof x);
    memcpy(v0, v, sizeof v);
    for (int i = 0; i < n / 2; i++) advance(dt);
    for (int i = 0; i < n / 2; i++) md_leapfrog_step(&rows, 1.0, dt, x); /* in place */
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 3; k++) {
            const double a = (double)f[r][k] / mass[r];
            CHECK_NEAR(v[r][k], v0[r][k] + n * a * dt, 1e-10);
            CHECK_NEAR(x[r][k], x0[r][k] + n * dt * v0[r][k] + 0.5 * n * (n + 1) * a * dt * dt,
                       1e-10);
        }
}

/* Only owned rows move; lambda scales the old velocity; rows->x stays. */
static void test_scaling_and_ghosts(void)
{
    double v0[N][3], before[3];
    start();
    memcpy(v0, v, sizeof v);
    memcpy(before, x[2], sizeof before);
    memset(x_new, 0, sizeof x_new);
    rows.n_owned = N - 2;
    md_leapfrog_step(&rows, 0.9, 0.01, x_new);
    rows.n_owned = N;
    CHECK(memcmp(before, x[2], sizeof before) == 0);
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 3; k++) {
            const double want =
                r < N - 2 ? 0.9 * v0[r][k] + 0.01 * (double)f[r][k] / mass[r] : v0[r][k];
            CHECK_NEAR(v[r][k], want, 1e-14);
            CHECK_NEAR(x_new[r][k], r < N - 2 ? x[r][k] + 0.01 * want : 0, 1e-14);
        }
}

static void spring(void)
{
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 3; k++) f[r][k] = (float)(-400 * mass[r] * x[r][k]);
}

/* Forward, turn the velocities, back. Forces are float functions of x, so the way back is only as
 * exact as the double arithmetic of the step. */
static void test_time_reversal(void)
{
    double x0[N][3], v0[N][3];
    const double dt = 0.005;
    start();
    memcpy(x0, x, sizeof x);
    memcpy(v0, v, sizeof v);
    for (int i = 0; i < 200; i++) {
        spring();
        advance(dt);
    }
    /* x(n+1), v(n+1/2): going back starts with x(n), v(n+1/2) reversed */
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 3; k++) {
            x[r][k] -= dt * v[r][k];
            v[r][k] = -v[r][k];
        }
    for (int i = 0; i < 199; i++) {
        spring();
        advance(dt);
    }
    spring();
    md_leapfrog_step(&rows, 1.0, dt, x_new);
    for (int r = 0; r < N; r++)
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(x[r][k], x0[r][k], 1e-7);
            CHECK_NEAR(-v[r][k], v0[r][k], 2e-6);
        }
}

/* An oscillator started half a step back: the error falls with dt^2. */
static void test_second_order(void)
{
    double error[2];
    const double omega = 20, end = 0.4;
    for (int level = 0; level < 2; level++) {
        const int n = level ? 160 : 80;
        const double dt = end / n;
        start();
        for (int r = 0; r < N; r++)
            for (int k = 0; k < 3; k++) {
                x[r][k] = 1;
                v[r][k] = omega * sin(omega * 0.5 * dt);
            }
        for (int i = 0; i < n; i++) {
            spring();
            advance(dt);
        }
        error[level] = fabs(x[0][0] - cos(omega * end));
    }
    CHECK(error[0] > 1e-4);
    CHECK_NEAR(error[0] / error[1], 4, 0.2);
}

static void test_sums(void)
{
    double ekin[3][3], momentum[3], m, want[3][3] = {{0}}, p[3] = {0}, total = 0, drift[3];
    start();
    for (int r = 0; r < N; r++) {
        total += mass[r];
        for (int i = 0; i < 3; i++) {
            p[i] += mass[r] * v[r][i];
            for (int j = 0; j < 3; j++) want[i][j] += 0.5 * mass[r] * v[r][i] * v[r][j];
        }
    }
    md_kinetic_tensor(&rows, ekin);
    md_momentum(&rows, momentum, &m);
    CHECK_NEAR(m, total, 1e-12);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(momentum[i], p[i], 1e-12);
        for (int j = 0; j < 3; j++) CHECK_NEAR(ekin[i][j], want[i][j], 1e-12);
        drift[i] = momentum[i] / m;
    }
    md_remove_drift(&rows, drift);
    md_momentum(&rows, momentum, &m);
    for (int i = 0; i < 3; i++) CHECK_NEAR(momentum[i], 0, 1e-12);
}

int main(void)
{
    test_constant_force();
    test_scaling_and_ghosts();
    test_time_reversal();
    test_second_order();
    test_sums();
    return 0;
}
