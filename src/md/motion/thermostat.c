/* Stochastic velocity rescaling: one random step of the kinetic energy K of N degrees of freedom,
 * whose stationary distribution is the canonical one, exp(-K/kT) K^(N/2-1). Equation A7 of Bussi,
 * Donadio and Parrinello (J. Chem. Phys. 126, 014101, 2007), exact for any dt: with c =
 * exp(-dt/tau)
 *
 *      K' = K + (1-c) (Kref (R1^2 + S)/N - K) + 2 R1 sqrt(c (1-c) K Kref/N)
 *         = (sqrt(c K) + R1 sqrt((1-c) Kref/N))^2 + (1-c) Kref/N S
 *
 * R1 is Gaussian, S the sum of N - 1 squared Gaussians (chi-square). The second form is used, it
 * cannot become negative. S is drawn as twice a gamma deviate of shape (N-1)/2 (Marsaglia and
 * Tsang, ACM TOMS 26, 363, 2000): constant time for any N, and N need not be whole.
 *
 * The work of the thermostat is K' - K; the caller sums it up.
 *
 * Random numbers: Threefry-4x64 (Salmon et al., SC11) from Random123, a function of key (seed, a
 * constant of this use) and counter (step, how many blocks were used), so every domain and
 * every restart draws the same without keeping state.
 */
#include "md/motion/thermostat.h"
#include <Random123/threefry.h>
#include <math.h>
#include <stdbool.h>

enum { PURPOSE_THERMOSTAT = 1, WORDS_PER_BLOCK = 4 };

typedef struct stream {
    threefry4x64_key_t key;
    threefry4x64_ctr_t counter, block;
    int next; /* word of block; WORDS_PER_BLOCK: used up */
} stream;

static stream stream_open(int64_t seed, int64_t step)
{
    return (stream){.key = {{(uint64_t)seed, PURPOSE_THERMOSTAT, 0, 0}},
                    .counter = {{(uint64_t)step, 0, 0, 0}},
                    .next = WORDS_PER_BLOCK};
}

/* In (0, 1), never 0 or 1: the middle of one of 2^52 equal cells, which a double holds exactly. */
static double draw_uniform(stream *s)
{
    if (s->next == WORDS_PER_BLOCK) {
        s->block = threefry4x64(s->counter, s->key);
        s->counter.v[1]++;
        s->next = 0;
    }
    return ((double)(s->block.v[s->next++] >> 12) + 0.5) * 0x1p-52;
}

/* Box-Muller; the second deviate is not kept, a step needs few. */
static double draw_gaussian(stream *s)
{
    const double two_pi = 6.283185307179586;
    const double radius = sqrt(-2.0 * log(draw_uniform(s)));
    return radius * cos(two_pi * draw_uniform(s));
}

/* Gamma deviate of this shape > 0 and scale 1. A shape below 1 is raised by 1 and brought back by a
 * power of a uniform deviate (same paper, section 6). */
static double draw_gamma(stream *s, double shape)
{
    if (shape < 1.0) {
        const double raised = draw_gamma(s, shape + 1.0);
        return raised * pow(draw_uniform(s), 1.0 / shape);
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    while (true) {
        const double x = draw_gaussian(s), t = 1.0 + c * x;
        if (t <= 0) continue;
        const double v = t * t * t;
        if (log(draw_uniform(s)) < 0.5 * x * x + d * (1.0 - v + log(v))) return d * v;
    }
}

double md_vrescale_ekin(double ekin, double ekin_ref, double n_dof, double dt, double tau,
                        int64_t seed, int64_t step)
{
    if (!(ekin > 0) || n_dof <= 0 || tau < 0) return ekin;
    stream s = stream_open(seed, step);
    const double keep = tau > 0 ? exp(-dt / tau) : 0.0;
    const double fresh = (1.0 - keep) * ekin_ref / n_dof;
    const double first = sqrt(keep * ekin) + sqrt(fresh) * draw_gaussian(&s);
    const double rest = n_dof > 1 ? 2.0 * draw_gamma(&s, 0.5 * (n_dof - 1.0)) : 0.0;
    return first * first + fresh * rest;
}
