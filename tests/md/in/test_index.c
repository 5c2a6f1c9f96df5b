/* Index files and the groups made from a topology. Expected groups are those that gmx make_ndx
 * 2022.5 makes of the same residues and atoms; where we offer more, it is said. */
#include "md/in/index.h"
#include "md/in/top.h"
#include "reference.h"
#include "scratch.h"

/* The atoms of a group as text, "1-3 7": as counted in index files. */
static const char *atoms_of(const md_index_group *group)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (size_t r = 0; r < group->n_ranges; r++) {
        long long first = (long long)group->range[r].first + 1, last = group->range[r].end;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", r ? " " : "", first);
        if (last > first) used += (size_t)snprintf(text + used, sizeof text - used, "-%lld", last);
    }
    return text;
}

static void expect_group(const md_index *index, const char *name, const char *atoms)
{
    const md_index_group *group;
    CHECK_OK(md_index_find(index, name, INT64_MAX, &group));
    if (strcmp(atoms_of(group), atoms) == 0) return;
    fprintf(stderr, "group %s holds %s, expected %s\n", name, atoms_of(group), atoms);
    exit(1);
}

static void expect_names(const md_index *index, const char *names)
{
    char text[2048] = "";
    for (int g = 0; g < index->n; g++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", g ? " " : "",
                 index->group[g].name);
    if (strcmp(text, names) == 0) return;
    fprintf(stderr, "groups are\n  %s\nexpected\n  %s\n", text, names);
    exit(1);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void test_file(void)
{
    md_index index;
    CHECK_OK(
        md_index_read(scratch_write("a.ndx", "; made by hand\n[ System ]\n1 2 3 ; three\n 4\n"
                                             "\n[b]\r\n7 5 6\n7\n[ Two Words ]\n[ B ]\n\t9\t10\n"),
                      &index));
    expect_names(&index, "System b Two B");
    expect_group(&index, "SYSTEM", "1-4");
    expect_group(&index, "B", "7 5-7"); /* the first of that name */
    expect_group(&index, "two", "");
    CHECK(index.group[1].n_atoms == 4 && index.group[3].n_atoms == 2);
    const md_index_group *group;
    CHECK_OK(md_index_find(&index, "b", 7, &group));
    scratch_expect(md_index_find(&index, "b", 6, &group), "holds atom 7, but the system has 6",
                   "b");
    scratch_expect(md_index_find(&index, "c", 9, &group), "there are: System, b, Two, B", "c");
    md_index_destroy(&index);
}

static void test_file_refusals(void)
{
    static const char *const table[][2] = {
        {"", "a.ndx holds no group"},
        {"; nothing\n\n", "a.ndx holds no group"},
        {"1 2 3\n", "a.ndx:1: expected \"[ name ]\" before the first atom, found \"1 2 3\""},
        {"[ a\n1\n", "a.ndx:1: expected \"[ name ]\": no ']'"},
        {"[ ]\n1\n", "a.ndx:1: \"[ ]\": the group has no name"},
        {"[ a ] 1 2\n", "a.ndx:1: expected nothing behind \"[ name ]\""},
        {"[ a ]\n1 x 3\n", "a.ndx:2: \"x\" in group a: expected the number of an atom, from 1"},
        {"[ a ]\n0\n", "a.ndx:2: \"0\" in group a: expected the number"},
        {"[ a ]\n1 -4\n", "a.ndx:2: \"-4\" in group a"},
        {"[ a ]\n1.5\n", "a.ndx:2: \"1.5\" in group a"},
        {"[ a ]\n99999999999999999999\n", "a.ndx:2: \"99999999999999999999\" in group a"},
        {"[ a ]\n9223372036854775807\n", "a.ndx:2: \"9223372036854775807\" in group a"},
    };
    md_index index;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        scratch_expect(md_index_read(scratch_write("a.ndx", table[k][0]), &index), table[k][1],
                       table[k][0]);
    CHECK(md_index_read("no such.ndx", &index) == SUNDOG_ERR_IO);
    scratch_expect(md_index_read(scratch_write_bytes("a.ndx", "[ a ]\n1\0\n", 9), &index),
                   "a NUL byte", "NUL");
}

/* ---- groups of a topology ------------------------------------------------------------------- */

/* "RES:atom,atom RES:atom ..." as a molecule M. */
static md_topology *make_topology(const char *residues, int count)
{
    char text[8192], copy[1024], *rest = copy;
    snprintf(copy, sizeof copy, "%s", residues);
    snprintf(
        text, sizeof text,
        "[ defaults ]\n1 2\n[ atomtypes ]\nQ 12 0 A 0.3 0.3\n[ moleculetype ]\nM 0\n[ atoms ]\n");
    int n_residues = 0, n_atoms = 0;
    for (char *residue; (residue = strsep(&rest, " "));) {
        char *name = strsep(&residue, ":");
        n_residues++;
        for (char *atom; (atom = strsep(&residue, ","));)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d Q %d %s %s 1 0 12\n",
                     ++n_atoms, n_residues, name, atom);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "[ system ]\nt\n[ molecules ]\nM %d\n", count);
    md_topology *topology;
    CHECK_OK(md_top_read(scratch_write("a.top", text), &(md_top_options){.define = ""}, &topology));
    return topology;
}

static void test_classes(void)
{
    md_index index;
    md_topology *topology = make_topology(
        "SOL:OW,HW1,HW2 NA:NA ETH:C,O DA:P,C1 CL:CL LIG:C1,HX ALA:N,H,CA,HA,CB,HB1,1HB,C,O LIG2:Q "
        "gly:N,H2,HN,CA,OXT,1HA,MN1,MCB1,CD A:P tip:OW Na+:NA GLY:OT,O1,HW,H1,H3,H12,h,D",
        1);
    md_index_defaults(topology, &index);
    expect_names(&index, "System Protein Protein-H C-alpha Backbone MainChain MainChain+Cb "
                         "MainChain+H SideChain SideChain-H Prot-Masses non-Protein DNA RNA Water "
                         "SOL non-Water Other Ion NA ETH CL LIG LIG2 gly tip Na+ Water_and_ions M");
    expect_group(&index, "System", "1-41");
    expect_group(&index, "SOL", "1-3");
    expect_group(&index, "Water", "1-3");
    expect_group(&index, "Non-Water", "4-41");
    expect_group(&index, "Ion", "4 9");
    expect_group(&index, "Other", "5-6 10-11 21-30 32-33");
    expect_group(&index, "gly", "22-30");
    expect_group(&index, "DNA", "7-8");
    expect_group(&index, "RNA", "31");
    expect_group(&index, "Water_and_ions", "1-4 9");
    expect_group(&index, "Protein", "12-20 34-41");
    expect_group(&index, "non-protein", "1-11 21-33");
    expect_group(&index, "Protein-H", "12 14 16 19-20 34-35 41");
    expect_group(&index, "C-alpha", "14");
    expect_group(&index, "Backbone", "12 14 19");
    expect_group(&index, "MainChain", "12 14 19-20 34-35");
    expect_group(&index, "MainChain+Cb", "12 14 16 19-20 34-35");
    expect_group(&index, "MainChain+H", "12-14 19-20 34-35 37-38 40");
    expect_group(&index, "SideChain", "15-18 36 39 41");
    expect_group(&index, "SideChain-H", "16 41");
    expect_group(&index, "Prot-Masses", "12-20 34-41");
    expect_group(&index, "M", "1-41");
    md_index_destroy(&index);
    md_topology_destroy(&topology);
}

static void test_atom_names(void)
{
    md_index index;
    md_topology *topology = make_topology("ALA:12H,1CA,C1,Ca,n,OXT1,oxt,H4,HN1,1,HN,MN11,1MN2", 1);
    md_index_defaults(topology, &index);
    expect_names(&index, "System Protein Protein-H C-alpha Backbone MainChain MainChain+Cb "
                         "MainChain+H SideChain SideChain-H Prot-Masses M");
    expect_group(&index, "Protein-H", "2-7 10 12-13");
    expect_group(&index, "C-alpha", "2 4");
    expect_group(&index, "Backbone", "2 4-5");
    expect_group(&index, "MainChain", "2 4-5 7");
    expect_group(&index, "MainChain+H", "1-2 4-5 7 11");
    expect_group(&index, "SideChain", "3 6 8-10 12-13");
    expect_group(&index, "SideChain-H", "3 6 10 12-13");
    expect_group(&index, "Prot-Masses", "1-12");
    md_index_destroy(&index);
    md_topology_destroy(&topology);

    topology = make_topology("LIG:C SOL:OW,HW1,HW2", 2); /* parts of a molecule, twice */
    md_index_defaults(topology, &index);
    expect_names(&index, "System Water SOL non-Water Other LIG M");
    expect_group(&index, "SOL", "2-4 6-8");
    expect_group(&index, "LIG", "1 5");
    CHECK(index.group[1].n_atoms == 6);
    md_index_destroy(&index);
    md_topology_destroy(&topology);
}

/* Real systems: sizes from gmx make_ndx. */
static void test_systems(void)
{
    static const struct {
        const char *system, *group;
        int64_t n_atoms;
    } table[] = {
        {"peptide/fre_opls", "System", 2630},         {"peptide/fre_opls", "Protein", 62},
        {"peptide/fre_opls", "Protein-H", 32},        {"peptide/fre_opls", "C-alpha", 3},
        {"peptide/fre_opls", "Backbone", 9},          {"peptide/fre_opls", "MainChain", 13},
        {"peptide/fre_opls", "MainChain+Cb", 16},     {"peptide/fre_opls", "MainChain+H", 18},
        {"peptide/fre_opls", "SideChain", 44},        {"peptide/fre_opls", "SideChain-H", 19},
        {"peptide/fre_opls", "non-Protein", 2568},    {"peptide/fre_opls", "Water", 2562},
        {"peptide/fre_opls", "non-Water", 68},        {"peptide/fre_opls", "Ion", 6},
        {"peptide/fre_opls", "Water_and_ions", 2568}, {"ions/nacl_3k", "Ion", 40},
        {"ions/nacl_3k", "Water_and_ions", 2920},     {"grappa-like/0001.5", "Other", 288},
        {"grappa-like/0001.5", "ETH", 288},           {"grappa-like/0001.5", "SOL", 1212},
        {"grappa-like/0001.5", "non-Water", 288},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        md_topology *topology;
        md_index index;
        const md_index_group *group;
        CHECK_OK(md_top_read(reference_path("%s/topol.top", table[k].system),
                             &(md_top_options){.define = ""}, &topology));
        md_index_defaults(topology, &index);
        CHECK_OK(md_index_find(&index, table[k].group, topology->n_atoms, &group));
        CHECK(group->n_atoms == table[k].n_atoms);
        /* a large block of molecules takes no more memory than one */
        if (strcmp(table[k].group, "Water") == 0) CHECK(group->n_ranges == 1);
        md_index_destroy(&index);
        md_topology_destroy(&topology);
    }
}

int main(void)
{
    test_file();
    test_file_refusals();
    test_classes();
    test_atom_names();
    test_systems();
    return 0;
}
