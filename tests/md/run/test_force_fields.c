/* The force fields of an installed GROMACS (Debian: gromacs-data): topologies as gmx pdb2gmx builds
 * them, parameters from the installed files, single points against double precision. Three of them
 * are also held against the references of the shared peptide systems, whose topologies hold the
 * same parameters in another form. What is refused of these force fields is refused by name.
 * Cannot catch: force fields that are not there; parameters that no interaction here uses. */
#include "md/in/search.h"
#include "md/in/top.h"
#include "runs.h"

typedef struct stock_case {
    const char *name, *force_field;
    const char *shared;   /* a system of the same solute and force field, or NULL, */
    int n_water, n_pairs; /* and what else it holds: water, CL, NA */
} stock_case;

static const stock_case cases[] = {
    {"amber_ala", "amber99sb-ildn", "peptide/ala_dipeptide", 699, 0},
    {"amber_wkdpys", "amber99sb-ildn", "peptide/wkdpys_amber", 1232, 4},
    {"opls_ala", "oplsaa", NULL, 0, 0},
    {"opls_wkdpys", "oplsaa", NULL, 0, 0},
    {"opls_fre", "oplsaa", "peptide/fre_opls", 854, 3},
    {"charmm_ala", "charmm27", NULL, 0, 0},
    {"charmm_wkdpys", "charmm27", NULL, 0, 0},
    {"charmm_fre", "charmm27", NULL, 0, 0},
    {"gromos_ala", "gromos54a7", NULL, 0, 0},
    {"gromos_wkdpys", "gromos54a7", NULL, 0, 0},
    {"gromos_fre", "gromos54a7", NULL, 0, 0},
};
enum { N_CASES = (int)(sizeof cases / sizeof cases[0]) };

static const run_way ways[] = {
    {{1, 1, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
    {{2, 2, 1}, MD_SCHEME_RETURN, NULL, NULL, {NULL, NULL, NULL}},
};
static const char *scratch_top = "force_fields_scratch.top";

static bool is_installed(const char *force_field)
{
    char name[128];
    snprintf(name, sizeof name, "%s.ff/forcefield.itp", force_field);
    md_search search = {0};
    const md_search_folder *at;
    md_search_add_environment(&search);
    char *path = md_search_find(&search, "nowhere/", name, &at);
    md_search_destroy(&search);
    bool found = path != NULL;
    free(path);
    return found;
}

/* `reference`: path below systems/reference, without the endings. */
static bool check(const char *what, md_run_options options, const char *reference, double limit)
{
    run_frames frames = {.want = {0, -1}};
    options.observe = run_keep;
    options.observe_arg = &frames;
    options.observe_every = 1;
    md_run_result result;
    CHECK_OK(md_run(&options, &result));
    CHECK(frames.n == 1 && frames.frame[0].has_energy);
    const char *json = reference_path("reference/%s.energy.json", reference);
    /* These small systems have a potential that is small against its terms. */
    const md_energy_report *energy = &frames.frame[0].energy;
    double terms = fabs(energy->terms.lj) + fabs(energy->terms.coulomb) + energy->terms.coulomb14;
    double small = fmax(1, terms / fabs(energy->potential));
    bool good = run_terms_agree(energy, json, 2e-5, 0.01, 5e-6 * small);
    double *forces;
    size_t n_atoms;
    CHECK(reference_table(reference_path("reference/%s.forces.txt.xz", reference), 3, &forces,
                          &n_atoms));
    CHECK(n_atoms == (size_t)result.n_atoms);
    reference_deviation d =
        reference_compare_float(forces, 3, 0, n_atoms, (const float(*)[3])frames.frame[0].f);
    free(forces);
    if (!(d.relative < limit)) {
        fprintf(stderr, "  forces: relative RMS deviation %.3g, worst atom %zu: %.3g\n", d.relative,
                d.worst, d.largest);
        good = false;
    }
    printf("%s %-14s %d x %d x %d, %s: potential %.9g, forces off by %.2g relative RMS\n",
           good ? "ok    " : "FAILED", what, options.dd[0], options.dd[1], options.dd[2], reference,
           frames.frame[0].energy.potential, d.relative);
    run_frames_free(&frames);
    return good;
}

/* The stock topology of the solute with as much water and salt as the shared system has. */
static void write_shared_top(const stock_case *stock)
{
    FILE *from = fopen(reference_path("forcefields/%s/topol.top", stock->name), "r");
    FILE *to = fopen(scratch_top, "w");
    char line[512];
    CHECK(from && to);
    while (fgets(line, sizeof line, from) && strncmp(line, "[ molecules ]", 13) != 0)
        fputs(line, to);
    fprintf(to, "[ molecules ]\nSOLUTE 1\nSOL %d\n", stock->n_water);
    if (stock->n_pairs > 0) fprintf(to, "CL %d\nNA %d\n", stock->n_pairs, stock->n_pairs);
    CHECK(fclose(to) == 0);
    fclose(from);
}

static bool check_case(const stock_case *stock)
{
    bool good = true;
    char system[128], reference[192], mdp[4096];
    snprintf(system, sizeof system, "forcefields/%s", stock->name);
    snprintf(reference, sizeof reference, "%s/sp_rf_nocons", system);
    snprintf(mdp, sizeof mdp, "%s", reference_path("reference/%s.mdp", reference));
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        good = check(stock->name, run_options(system, mdp, &ways[w]), reference, 2e-5) && good;
    if (!stock->shared) return good;
    snprintf(reference, sizeof reference, "%s/sp_rf", stock->shared);
    snprintf(mdp, sizeof mdp, "%s", reference_path("reference/%s.mdp", reference));
    md_run_options options = run_options(stock->shared, mdp, &ways[0]);
    write_shared_top(stock);
    options.top = scratch_top;
    good = check(stock->name, options, reference, 1e-5) && good;
    remove(scratch_top);
    return good;
}

/* A topology of this force field, with `text` behind it, must fail like this. */
static bool check_refusal(const char *force_field, const char *text, const char *wanted)
{
    if (!is_installed(force_field)) return true;
    FILE *file = fopen(scratch_top, "w");
    CHECK(file);
    fprintf(file, "#include \"%s.ff/forcefield.itp\"\n%s", force_field, text);
    CHECK(fclose(file) == 0);
    md_topology *topology = NULL;
    const md_top_options options = {.constraints = MD_CONSTRAINTS_NONE};
    sundog_status status = md_top_read(scratch_top, &options, &topology);
    remove(scratch_top);
    if (status != SUNDOG_OK && strstr(sundog_last_error(), wanted)) return true;
    fprintf(stderr, "FAILED %s: expected %s, got %s\n", force_field, wanted, sundog_last_error());
    md_topology_destroy(&topology);
    return false;
}

int main(int argc, char **argv)
{
    int n_failed = 0, n_run = 0;
    char missing[256] = "";
    for (int c = 0; c < N_CASES; c++) {
        if (argc > 1 && !strstr(cases[c].name, argv[1])) continue;
        if (is_installed(cases[c].force_field)) {
            n_run++;
            n_failed += !check_case(&cases[c]);
        } else if (!strstr(missing, cases[c].force_field)) {
            size_t used = strlen(missing);
            snprintf(missing + used, sizeof missing - used, " %s.ff", cases[c].force_field);
        }
    }
    n_failed += !check_refusal("oplsaa", "#include \"oplsaa.ff/tip4p.itp\"\n",
                               "atom 4 (MW) is of particle type D; only atoms (A) are supported, "
                               "no virtual sites");
    n_failed +=
        !check_refusal("charmm27", "[ moleculetype ]\nM 1\n[ atoms ]\n1 C 1 R C 1 0 12\n[ cmap ]\n",
                       "[ cmap ] is not supported; supported: ");
    if (missing[0]) printf("not installed (Debian: gromacs-data):%s\n", missing);
    printf("%d force-field systems, %d failed\n", n_run, n_failed);
    return n_failed ? 1 : missing[0] ? 77 : 0;
}
