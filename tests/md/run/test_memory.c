/* Rows that the estimate of memory counts: those of points spread evenly, counted one by one. A
 * point is a row of a domain for each image of it within reach of the cell; where rows wrap there
 * is one for all images, and none beside the atom itself in its own cell. Reach is a box around the
 * cell, as in the estimate, which errs to the safe side at edges. */
#include "check.h"
#include "md/run/memory.h"

#include <math.h>
#include <stdlib.h>

enum { N_POINTS = 20000 };
static const double side[3] = {4, 5, 6};

/* Images of s (a fraction of the box, along one axis) within reach of cell c of n, one image at
 * most where rows wrap. */
static int images(double s, int c, int n, double reach, int sides, bool one)
{
    int found = 0;
    for (int image = -3; image <= 3; image++) {
        double at = s + image;
        double lo = (double)c / n - (sides == 2 ? reach : 0), hi = (double)(c + 1) / n + reach;
        found += at >= lo && at < hi;
    }
    return one && found > 1 ? 1 : found;
}

static void check(md_scheme scheme, bool wrapped, bool complete, const int n[3], double limit)
{
    const double *const even[3] = {NULL, NULL, NULL};
    md_topology topology = {.n_atoms = N_POINTS};
    md_system system = {.topology = &topology,
                        .reach = {.scheme = scheme,
                                  .rlist = 1,
                                  .group_radius = 0.1,
                                  .wrapped = wrapped,
                                  .complete = complete}};
    double counted = 0;
    int sides = scheme == MD_SCHEME_SHELL ? 2 : 1;
    for (int k = 0; k < 3; k++) system.state.box.m[k][k] = side[k];
    CHECK_OK(md_grid_create(n, even, &system.grid));
    srand(1);
    for (int p = 0; p < N_POINTS; p++) {
        double rows = 1;
        for (int k = 0; k < 3; k++) {
            double s = rand() / (RAND_MAX + 1.0), axis = 0;
            bool one = wrapped && (n[k] == 1 || scheme == MD_SCHEME_SHELL);
            for (int c = 0; c < n[k]; c++)
                axis += complete ? 1 : images(s, c, n[k], 1.1 / side[k], sides, one);
            rows *= axis;
        }
        counted += rows;
    }
    double estimate = md_memory_rows(&system);
    printf("%d x %d x %d, %s%s%s: %.0f rows, counted %.0f\n", n[0], n[1], n[2],
           scheme == MD_SCHEME_SHELL ? "shell" : "return", wrapped ? ", wrapped" : "",
           complete ? ", all ghosts" : "", estimate, counted);
    CHECK(fabs(estimate - counted) < limit * counted);
    md_grid_destroy(&system.grid);
}

int main(void)
{
    static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 3}, {2, 2, 2}};
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        check(MD_SCHEME_RETURN, false, false, grids[g], 0.02);
        check(MD_SCHEME_SHELL, false, false, grids[g], 0.02);
        check(MD_SCHEME_SHELL, true, false, grids[g], 0.02);
        check(MD_SCHEME_RETURN, true, false, grids[g], 0.02);
        check(MD_SCHEME_SHELL, true, true, grids[g], 1e-12);
    }
    return 0;
}
