/* Sums over the steps at which energies are computed: what GROMACS stores with a frame of its
 * energy file, so that averages are those of all these steps and not of the frames alone. */
#ifndef MD_AVERAGES_H
#define MD_AVERAGES_H
#include <stddef.h>
#include <stdint.h>

/* Of each of n_terms, over n samples: the sum, and the sum of squared deviations from the mean of
 * these samples. All doubles, so that a checkpoint takes them as they are. */
typedef struct md_averages {
    int n_terms;
    double *value; /* [1 + 2 n_terms]: n, sums, squared deviations */
} md_averages;

void md_averages_create(int n_terms, md_averages *out);
void md_averages_destroy(md_averages *averages);
void md_averages_clear(md_averages *averages);
void md_averages_add(md_averages *averages, const double *values);
int64_t md_averages_count(const md_averages *averages);
double md_averages_sum(const md_averages *averages, int term);
double md_averages_square(const md_averages *averages, int term); /* of deviations */
#endif
