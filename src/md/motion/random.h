/* Random numbers that are a function of what they are for: a stream is a seed, a purpose and two
 * numbers (a step, a group, an atom), and gives the same numbers on every domain and after every
 * restart, without a state that anybody would have to keep.
 *
 * Threefry-4x64 (Salmon et al., SC11) from Random123: key (seed, purpose, member, 0), counter
 * (index, how many blocks were used, 0, 0). */
#ifndef MD_RANDOM_H
#define MD_RANDOM_H
#include <Random123/threefry.h>
#include <stdint.h>

typedef enum md_random_purpose {
    MD_RANDOM_THERMOSTAT = 1, /* index: step, member: temperature group */
    MD_RANDOM_VELOCITIES = 2, /* index: global atom */
    MD_RANDOM_BAROSTAT = 3    /* index: step */
} md_random_purpose;

typedef struct md_random {
    threefry4x64_key_t key;
    threefry4x64_ctr_t counter, block;
    int next; /* word of block; 4: used up */
} md_random;

md_random md_random_open(int64_t seed, md_random_purpose purpose, int64_t index, int64_t member);
/* In (0, 1), never 0 or 1: the middle of one of 2^52 equal cells, which a double holds exactly. */
double md_random_uniform(md_random *random);
/* Mean 0, variance 1. */
double md_random_gaussian(md_random *random);
/* Gamma deviate of this shape > 0 and scale 1. */
double md_random_gamma(md_random *random, double shape);
#endif
