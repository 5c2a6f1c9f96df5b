#include "md/motion/random.h"

#include <math.h>
#include <stdbool.h>

enum { WORDS_PER_BLOCK = 4 };

md_random md_random_open(int64_t seed, md_random_purpose purpose, int64_t index, int64_t member)
{
    return (md_random){.key = {{(uint64_t)seed, (uint64_t)purpose, (uint64_t)member, 0}},
                       .counter = {{(uint64_t)index, 0, 0, 0}},
                       .next = WORDS_PER_BLOCK};
}

double md_random_uniform(md_random *random)
{
    if (random->next == WORDS_PER_BLOCK) {
        random->block = threefry4x64(random->counter, random->key);
        random->counter.v[1]++;
        random->next = 0;
    }
    return ((double)(random->block.v[random->next++] >> 12) + 0.5) * 0x1p-52;
}

/* Box-Muller; the second deviate is not kept, nobody needs many of one stream. */
double md_random_gaussian(md_random *random)
{
    const double two_pi = 6.283185307179586;
    const double radius = sqrt(-2.0 * log(md_random_uniform(random)));
    return radius * cos(two_pi * md_random_uniform(random));
}

/* Marsaglia and Tsang (ACM TOMS 26, 363, 2000): constant time for any shape. A shape below 1 is
 * raised by 1 and brought back by a power of a uniform deviate (same paper, section 6). */
double md_random_gamma(md_random *random, double shape)
{
    if (shape < 1.0) {
        const double raised = md_random_gamma(random, shape + 1.0);
        return raised * pow(md_random_uniform(random), 1.0 / shape);
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    while (true) {
        const double x = md_random_gaussian(random), t = 1.0 + c * x;
        if (t <= 0) continue;
        const double v = t * t * t;
        if (log(md_random_uniform(random)) < 0.5 * x * x + d * (1.0 - v + log(v))) return d * v;
    }
}
