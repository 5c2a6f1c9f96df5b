/* With a sample x that follows n others of sum S, the squared deviations grow by
 *
 *      (S / n - (S + x) / (n + 1))^2 n (n + 1)
 *
 * which loses no digits where the mean is large beside the fluctuation, as it is for energies.
 */
#include "md/out/averages.h"

#include "base/alloc.h"

#include <string.h>

void md_averages_create(int n_terms, md_averages *out)
{
    out->n_terms = n_terms;
    out->value = base_alloc_zero((1 + 2 * (size_t)n_terms) * sizeof *out->value);
}

void md_averages_destroy(md_averages *averages)
{
    base_free(averages->value);
    memset(averages, 0, sizeof *averages);
}

void md_averages_clear(md_averages *averages)
{
    memset(averages->value, 0, (1 + 2 * (size_t)averages->n_terms) * sizeof *averages->value);
}

void md_averages_add(md_averages *averages, const double *values)
{
    double n = averages->value[0], *sum = averages->value + 1, *square = sum + averages->n_terms;
    for (int t = 0; t < averages->n_terms; t++) {
        double step = n > 0 ? sum[t] / n - (sum[t] + values[t]) / (n + 1) : 0;
        square[t] += step * step * n * (n + 1);
        sum[t] += values[t];
    }
    averages->value[0] = n + 1;
}

int64_t md_averages_count(const md_averages *averages)
{
    return (int64_t)averages->value[0];
}

double md_averages_sum(const md_averages *averages, int term)
{
    return averages->value[1 + term];
}

double md_averages_square(const md_averages *averages, int term)
{
    return averages->value[1 + averages->n_terms + term];
}
