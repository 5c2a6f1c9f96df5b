/* Reference positions of position restraints: from -r alone, as many as atoms, copied with the
 * system; part of what a checkpoint must agree with. */
#include "md/run/setup.h"
#include "runs.h"

static const run_way one_domain = {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}};
static const char *mdp_path = "restrained.mdp";

static md_run_options options_of(const char *reference)
{
    md_run_options options = run_options("peptide/ala_dipeptide", mdp_path, &one_domain);
    options.reference = reference ? reference_path("%s/conf.gro", reference) : NULL;
    return options;
}

static void expect_refusal(const md_run_options *options, const char *wanted)
{
    md_system system;
    CHECK(md_setup(options, &system) == SUNDOG_ERR_INPUT);
    if (strstr(sundog_last_error(), wanted)) return;
    fprintf(stderr, "expected: %s\ngot: %s\n", wanted, sundog_last_error());
    exit(1);
}

static void test_refusals(void)
{
    md_run_options options = options_of(NULL);
    expect_refusal(&options,
                   "topol.top has position restraints: give the file with their reference "
                   "positions as -r conf.gro");
    options = options_of("ethanol/single");
    expect_refusal(&options, "single/conf.gro (-r) has 9 atoms, ");
    expect_refusal(&options, "topol.top has 2119: the reference positions of all atoms");
    options = options_of("peptide/ala_dipeptide");
    options.reference = "nowhere.gro";
    md_system system;
    CHECK(md_setup(&options, &system) == SUNDOG_ERR_IO);
}

static void test_positions(void)
{
    md_run_options options = options_of("peptide/ala_dipeptide");
    md_system one, eight;
    CHECK_OK(md_setup(&options, &one));
    for (int k = 0; k < 3; k++) options.replicate[k] = 2;
    CHECK_OK(md_setup(&options, &eight));
    const md_topology *t = one.topology;
    CHECK(t->molblock[0].posres_x && !t->molblock[1].posres_x);
    CHECK(memcmp(&t->posres_box, &one.state.box, sizeof t->posres_box) == 0);
    size_t n = (size_t)t->moltype[0].n_atoms * sizeof *one.state.x;
    CHECK(memcmp(t->molblock[0].posres_x, one.state.x, n) == 0);
    CHECK(memcmp(eight.topology->molblock[0].posres_x, eight.state.x, 8 * n) == 0);
    CHECK(memcmp(&eight.topology->posres_box, &eight.state.box, sizeof eight.state.box) == 0);

    /* Another reference is another system. */
    uint64_t hash = md_topology_hash(t);
    CHECK(hash == one.topology_hash);
    one.topology->molblock[0].posres_x[3][1] += 0.001;
    CHECK(md_topology_hash(t) != hash);
    md_setup_destroy(&one);
    md_setup_destroy(&eight);
}

/* Without -DPOSRES there is nothing to refer to: said, not refused. */
static void test_unused(void)
{
    md_run_options options = options_of("peptide/ala_dipeptide");
    options.mdp = reference_path("reference/peptide/ala_dipeptide/sp_rf.mdp");
    md_system system;
    CHECK_OK(md_setup(&options, &system));
    CHECK(strstr(system.notes, "has no position restraints; ") && strstr(system.notes, "(-r)"));
    md_setup_destroy(&system);
}

int main(void)
{
    FILE *file = fopen(mdp_path, "w");
    CHECK(file && fprintf(file, "define = -DPOSRES\nrcoulomb = 0.9\nrvdw = 0.9\n") > 0);
    CHECK(fclose(file) == 0);
    test_refusals();
    test_positions();
    test_unused();
    remove(mdp_path);
    return 0;
}
