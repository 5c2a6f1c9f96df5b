/* Every directive and every function type of GROMACS: read, or refused by its name. The names are
 * those of the reference manual, not of our tables, so one that is forgotten there is found here.
 */
#include "md/in/top.h"
#include "scratch.h"

#define HEAD                                                                                       \
    "[ defaults ]\n1 2 yes 0.5 0.8\n[ atomtypes ]\nA 12 0 A 0.3 0.5\n[ moleculetype ]\nM 3\n"      \
    "[ atoms ]\n1 A 1 R A 1\n2 A 1 R B 1\n3 A 1 R C 1\n4 A 1 R D 1\n5 A 1 R E 1\n"

static bool is_supported(const char *directive)
{
    const char *name;
    for (int k = 0; (name = md_top_directive(k)) != NULL; k++)
        if (strcmp(name, directive) == 0) return true;
    return false;
}

static sundog_status read_text(const char *text)
{
    md_topology *topology = NULL;
    const md_top_options options = {.constraints = MD_CONSTRAINTS_NONE};
    sundog_status status = md_top_read(scratch_write("a.top", text), &options, &topology);
    md_topology_destroy(&topology);
    return status;
}

static void test_directives(void)
{
    static const char *const names[] = {"defaults",
                                        "atomtypes",
                                        "bondtypes",
                                        "pairtypes",
                                        "angletypes",
                                        "dihedraltypes",
                                        "constrainttypes",
                                        "nonbond_params",
                                        "moleculetype",
                                        "atoms",
                                        "bonds",
                                        "pairs",
                                        "pairs_nb",
                                        "angles",
                                        "dihedrals",
                                        "exclusions",
                                        "constraints",
                                        "settles",
                                        "virtual_sites1",
                                        "virtual_sites2",
                                        "virtual_sites3",
                                        "virtual_sites4",
                                        "virtual_sitesn",
                                        "position_restraints",
                                        "distance_restraints",
                                        "dihedral_restraints",
                                        "orientation_restraints",
                                        "angle_restraints",
                                        "angle_restraints_z",
                                        "cmap",
                                        "polarization",
                                        "water_polarization",
                                        "thole_polarization",
                                        "system",
                                        "molecules",
                                        "intermolecular_interactions"};
    int n_supported = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char text[1024], wanted[128];
        n_supported += is_supported(names[k]);
        if (is_supported(names[k])) continue;
        snprintf(text, sizeof text, HEAD "[ %s ]\n1 2 3 4 5 1\n", names[k]);
        snprintf(wanted, sizeof wanted, "a.top:13: [ %s ] is not supported; supported: defaults,",
                 names[k]);
        CHECK(read_text(text) == SUNDOG_ERR_UNSUPPORTED);
        scratch_expect(SUNDOG_ERR_UNSUPPORTED, wanted, text);
    }
    int n = 0;
    while (md_top_directive(n)) n++;
    CHECK(n == n_supported); /* and nothing is supported that GROMACS does not know */
}

/* Function types 0 to 12 of each interaction: those in the list that users see are known, the
 * others are refused with directive, number and what there is instead. */
static void test_function_types(void)
{
    static const struct {
        const char *directive, *atoms;
    } kinds[] = {
        {"bonds", "1 2"},
        {"pairs", "1 2"},
        {"angles", "1 2 3"},
        {"dihedrals", "1 2 3 4"},
        {"constraints", "1 2"},
        {"settles", "1"},
        {"position_restraints", "1"},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char types[64], listed[80], text[1024], wanted[160], supported[96];
        md_top_function_types(kinds[k].directive, types, sizeof types);
        CHECK(types[0]);
        snprintf(listed, sizeof listed, ", %s,", types);
        snprintf(supported, sizeof supported, " is not supported; supported: %s", types);
        for (int func = 0; func <= 12; func++) {
            char one[16];
            snprintf(one, sizeof one, " %d,", func);
            bool is_listed = strstr(listed, one) != NULL;
            /* one parameter that is no number: known types complain of that, or of their number */
            snprintf(text, sizeof text, HEAD "[ %s ]\n%s %d x\n", kinds[k].directive,
                     kinds[k].atoms, func);
            sundog_status status = read_text(text);
            CHECK(status == (is_listed ? SUNDOG_ERR_INPUT : SUNDOG_ERR_UNSUPPORTED));
            if (is_listed) {
                scratch_expect(status, "a.top:14: [ ", text);
                CHECK(!strstr(sundog_last_error(), "not supported"));
                continue;
            }
            snprintf(wanted, sizeof wanted, "a.top:14: [ %s ]: function type %d",
                     kinds[k].directive, func);
            scratch_expect(status, wanted, text);
            scratch_expect(status, supported, text);
        }
    }
}

int main(void)
{
    scratch_write("a.top", "");
    test_directives();
    test_function_types();
    return 0;
}
