/* -replicate: copies of a system have its energy times their number, and its forces. One system has
 * molecules broken across the boundary, atom by atom and in a triclinic box; one is restrained, and
 * its molecule is broken here. */
#include "md/core/state.h"
#include "md/in/gro.h"
#include "md/in/top.h"
#include "runs.h"

static const run_way one_domain = {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}};

static double potential_of(md_run_options *options, float (**f)[3], size_t *n_atoms)
{
    run_frames frames = {.want = {0, -1}};
    options->observe = run_keep;
    options->observe_arg = &frames;
    options->observe_every = 1;
    md_run_result result;
    CHECK(run_can(options, &result));
    CHECK(frames.n == 1);
    *n_atoms = (size_t)frames.frame[0].n_atoms;
    *f = malloc(*n_atoms * sizeof **f);
    CHECK(*f);
    memcpy(*f, frames.frame[0].f, *n_atoms * sizeof **f);
    double potential = frames.frame[0].energy.potential;
    run_frames_free(&frames);
    return potential;
}

static void check(const char *system, const char *mdp, const char *reference)
{
    float(*f)[3], (*f_copies)[3];
    size_t n, n_copies;
    md_run_options options = run_options(system, reference_path("%s", mdp), &one_domain);
    options.reference = reference ? reference_path("%s", reference) : NULL;
    double one = potential_of(&options, &f, &n);
    options = run_options(system, reference_path("%s", mdp), &one_domain);
    options.reference = reference ? reference_path("%s", reference) : NULL;
    options.replicate[0] = 2, options.replicate[1] = 2, options.replicate[2] = 1;
    double four = potential_of(&options, &f_copies, &n_copies);
    printf("%s: potential %.9g, of four copies %.9g\n", system, one, four);
    CHECK(n_copies == 4 * n);
    CHECK_NEAR(four / 4, one, 2e-7 * fabs(one));
    /* the first molecule kind comes first in both */
    double difference = 0, size = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            difference += pow((double)f_copies[i][k] - (double)f[i][k], 2);
            size += pow((double)f[i][k], 2);
        }
    CHECK(sqrt(difference / size) < 1e-5);
    free(f), free(f_copies);
}

/* Every other atom of the peptide a box vector away; its references, too. */
static void test_references_follow(void)
{
    md_topology *topology;
    md_gro gro, whole;
    const md_top_options options = {.define = "-DPOSRES"};
    CHECK_OK(md_top_read(reference_path("peptide/ala_dipeptide/topol.top"), &options, &topology));
    CHECK_OK(md_gro_read(reference_path("peptide/ala_dipeptide/conf.gro"), &gro));
    CHECK_OK(md_gro_read(reference_path("peptide/ala_dipeptide/conf.gro"), &whole));
    const int n = topology->moltype[0].n_atoms;
    for (int i = 1; i < n; i += 2) gro.state.x[i][1] += gro.state.box.m[1][1];
    md_topology_set_posres(topology, (const double(*)[3])gro.state.x, &gro.state.box);
    md_state_make_whole(&gro.state, topology);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(gro.state.x[i][k], whole.state.x[i][k], 1e-12);
            CHECK_NEAR(topology->molblock[0].posres_x[i][k], whole.state.x[i][k], 1e-12);
        }
    md_gro_destroy(&gro);
    md_gro_destroy(&whole);
    md_topology_destroy(&topology);
}

int main(void)
{
    run_need_device();
    test_references_follow();
    check("water/tip3p_dodec", "reference/water/tip3p_dodec/sp_rf.mdp", NULL);
    check("peptide/ala_dipeptide", "reference/peptide/ala_dipeptide/sp_rf_posres_no.mdp",
          "peptide/ala_dipeptide/conf.gro");
    return 0;
}
