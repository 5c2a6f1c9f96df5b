/* Wrapped rows of the real systems (md/domain/wrapped.h says what is looked at): starting positions
 * with broken molecules, a triclinic box, a molecule alone in its box, peptides with long chains of
 * groups, small boxes; grids of 1 to 12 domains, before and after migration.
 */
#include "md/domain/wrapped.h"

#include "md/in/gro.h"
#include "md/in/top.h"

static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {2, 2, 2},
                               {3, 2, 1}, {1, 1, 5}, {3, 1, 1}, {3, 2, 2}};
enum { N_GRIDS = sizeof grids / sizeof *grids };

/* Scheme shell with the longest rlist up to 0.97 nm, scheme return with `shorter`. */
static void run_system(const char *name, md_constraints constraints, double shorter, int n_moves)
{
    const double *const even[3] = {NULL, NULL, NULL};
    char path[512];
    md_topology *topology;
    md_gro gro;
    md_top_options top_options = {.constraints = constraints};
    snprintf(path, sizeof path, "%s/systems/%s/topol.top", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_top_read(path, &top_options, &topology));
    snprintf(path, sizeof path, "%s/systems/%s/conf.gro", SUNDOG_SOURCE_DIR, name);
    CHECK_OK(md_gro_read(path, &gro));
    const md_box *box = &gro.state.box;
    double longest = 0.97;
    int n_returns = 0;
    for (int k = 0; k < 3; k++) longest = fmin(longest, 0.4999 * md_box_thickness(box, k));
    printf("%s, %d moves\n", name, n_moves);
    for (int scheme = 0; scheme < 2; scheme++) {
        wrapped s;
        wrapped_create(topology, &gro.state, n_moves, scheme == MD_SCHEME_SHELL ? longest : shorter,
                       &s);
        for (int g = 0; g < N_GRIDS; g++) {
            bool ran = wrapped_run(&s, grids[g], even, (md_scheme)scheme);
            CHECK(ran || scheme == MD_SCHEME_RETURN);
            n_returns += ran && scheme == MD_SCHEME_RETURN;
        }
        wrapped_destroy(&s);
    }
    CHECK(n_returns >= (constraints == MD_CONSTRAINTS_ALL_BONDS ? 1 : 3)); /* wide groups */
    fflush(stdout);
    md_gro_destroy(&gro);
    md_topology_destroy(&topology);
}

int main(void)
{
    run_system("water/tip3p_dodec", MD_CONSTRAINTS_NONE, 0.55, 0);
    run_system("water/spce_3k", MD_CONSTRAINTS_NONE, 0.6, 2);
    run_system("ethanol/single", MD_CONSTRAINTS_NONE, 0.9, 2);
    run_system("ethanol/box_256", MD_CONSTRAINTS_H_BONDS, 0.55, 2);
    run_system("peptide/wkdpys_amber", MD_CONSTRAINTS_NONE, 0.7, 0);
    run_system("peptide/wkdpys_amber", MD_CONSTRAINTS_ALL_BONDS, 0.5, 2);
    run_system("peptide/ala_dipeptide", MD_CONSTRAINTS_H_BONDS, 0.5, 2);
    run_system("terms/many_terms", MD_CONSTRAINTS_NONE, 0.5, 2);
    return 0;
}
