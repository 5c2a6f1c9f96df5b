/* The groups that gmx makes when there is no index file. Residues are sorted into Protein, DNA,
 * RNA, Water and Ion by their names (case counts), all others are Other:
 *
 *      System
 *      Protein, then its parts by atom names (below), non-Protein
 *      Water, SOL (the same), non-Water
 *      Other, Ion, DNA, RNA, and a group for each residue name in these but DNA and RNA
 *      Water_and_ions
 *
 * gmx leaves out a class that has no residues, and so do we; as in gmx a part of Protein may be
 * empty. Two things are offered beside gmx's: residue names of ions also where there are only ions
 * (gmx: only beside Other), and every molecule type under its name, unless a group has it.
 *
 * Names of atoms are compared without regard to case and without the digits they begin with.
 */
#include "md/in/index.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum residue_class { PROTEIN, DNA, RNA, WATER, ION, OTHER, N_CLASSES } residue_class;
static const char *const class_name[N_CLASSES] = {"Protein", "DNA", "RNA", "Water", "Ion", "Other"};

/* Residue names of the common force fields, blanks around each. */
static const char *const residues[OTHER] = {
    [PROTEIN] =
        " ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL"
        " ABU ACE AIB DALA HYP MELEU MEVAL NAC NME NHE NH2 PGLU ORN DAB CT3"
        " ARGN ASN1 ASP1 ASPH ASPP ASH CYS1 CYS2 CYSH CYM CYN CYX GLUH GLUP GLH"
        " HIS1 HISA HISB HISH HISD HISE HISP HSD HSE HSP HID HIE HIP LSN LYSN LYSH LYP LYN"
        " PHEH PHEU PHL TRPH TRPU TYRH TYRU"
        " NALA NGLY NSER NTHR NLEU NILE NVAL NASN NGLN NARG NHID NHIE NHIP NHISD NHISE NHISH"
        " NTRP NPHE NTYR NGLU NASP NLYS NORN NDAB NLYSN NPRO NHYP NCYS NCYS2 NMET NASPH NGLUH"
        " CALA CGLY CSER CTHR CLEU CILE CVAL CASN CGLN CARG CHID CHIE CHIP CHISD CHISE CHISH"
        " CTRP CPHE CTYR CGLU CASP CLYS CORN CDAB CLYSN CPRO CHYP CCYS CCYS2 CMET CASPH CGLUH ",
    [DNA] = " DA DG DC DT DA5 DG5 DC5 DT5 DA3 DG3 DC3 DT3 DAN DGN DCN DTN ",
    [RNA] = " A U C G RA RU RC RG RA5 RU5 RC5 RG5 RT5 RA3 RU3 RC3 RG3 RT3 RAN RUN RCN RGN RTN ",
    [WATER] = " SOL WAT HOH OHH TIP T3P T4P T5P T3H ",
    [ION] = " NA NA+ CL CL- K MG CA ZN CU CU1 LI RB CS F BR I OH Cal IB+ ",
};

static residue_class class_of(const char *name)
{
    char word[24];
    int n = snprintf(word, sizeof word, " %s ", name);
    if (n < 0 || n >= (int)sizeof word || strchr(name, ' ')) return OTHER;
    for (int c = 0; c < OTHER; c++)
        if (strstr(residues[c], word)) return (residue_class)c;
    return OTHER;
}

/* ---- which atoms ---------------------------------------------------------------------------- */

#define MAIN_CHAIN "N", "CA", "C", "O", "O1", "O2", "OC1", "OC2", "OT", "OXT"
static const char *const hydrogen[] = {"H", NULL}, *const alpha[] = {"CA", NULL};
static const char *const backbone[] = {"N", "CA", "C", NULL};
static const char *const main_chain[] = {MAIN_CHAIN, NULL};
static const char *const main_chain_cb[] = {MAIN_CHAIN, "CB", NULL};
static const char *const main_chain_h[] = {MAIN_CHAIN, "H", "H1", "H2", "H3", "HN", NULL};
static const char *const dummies[] = {"MN1",  "MN2",  "MCB1", "MCB2", "MCG1", "MCG2", "MCD1",
                                      "MCD2", "MCE1", "MCE2", "MNZ1", "MNZ2", NULL};

/* Atoms of one class of residues, or of all others. */
typedef struct rule {
    const char *group;
    const char *const *names, *const *prefixes; /* NULL: none */
    bool complement;                            /* those that have none of the names */
} rule;

/* Parts of Protein. */
static const rule parts[] = {
    {"Protein", NULL, NULL, true},
    {"Protein-H", NULL, hydrogen, true},
    {"C-alpha", alpha, NULL, false},
    {"Backbone", backbone, NULL, false},
    {"MainChain", main_chain, NULL, false},
    {"MainChain+Cb", main_chain_cb, NULL, false},
    {"MainChain+H", main_chain_h, NULL, false},
    {"SideChain", main_chain_h, NULL, true},
    {"SideChain-H", main_chain_h, hydrogen, true},
    {"Prot-Masses", dummies, NULL, true},
};

static bool has_name(const rule *r, const char *name)
{
    name += strspn(name, "0123456789");
    for (int k = 0; r->names && r->names[k]; k++)
        if (strcasecmp(r->names[k], name) == 0) return true;
    for (int k = 0; r->prefixes && r->prefixes[k]; k++)
        if (strncasecmp(r->prefixes[k], name, strlen(r->prefixes[k])) == 0) return true;
    return false;
}

typedef struct maker {
    const md_topology *topology;
    md_index *index;
    unsigned char **class; /* [n_moltypes][n_residues] */
    int64_t count[N_CLASSES];
    bool *selected; /* [atoms of the largest molecule] */
} maker;

/* Which atoms of a molecule kind: those of residues of `classes` (bits), with this residue name
 * unless it is NULL, that obey the rule unless it is NULL. */
typedef struct selection {
    unsigned classes;
    const char *residue;
    const rule *part;
} selection;

static bool is_selected(const maker *m, const selection *s, int moltype, int i)
{
    const md_moltype *kind = &m->topology->moltype[moltype];
    const md_atom *atom = &kind->atom[i];
    if (!(s->classes >> m->class[moltype][atom->residue] & 1)) return false;
    if (s->residue && strcmp(kind->residue[atom->residue].name, s->residue) != 0) return false;
    return !s->part || has_name(s->part, atom->name) != s->part->complement;
}

static void add_selected(maker *m, md_index_group *group, const selection *s)
{
    for (int b = 0; b < m->topology->n_molblocks; b++) {
        const md_molblock *block = &m->topology->molblock[b];
        int n = m->topology->moltype[block->moltype].n_atoms, n_selected = 0;
        for (int i = 0; i < n; i++) {
            m->selected[i] = is_selected(m, s, block->moltype, i);
            n_selected += m->selected[i];
        }
        int64_t first = block->first_atom;
        if (n_selected == n)
            md_index_group_add(group, first, first + (int64_t)n * block->count);
        else if (n_selected > 0)
            for (int64_t mol = 0; mol < block->count; mol++, first += n)
                for (int i = 0; i < n; i++)
                    if (m->selected[i]) md_index_group_add(group, first + i, first + i + 1);
    }
}

static void add_group(maker *m, const char *name, unsigned classes)
{
    add_selected(m, md_index_add(m->index, name), &(selection){classes, NULL, NULL});
}

/* ---- the list ------------------------------------------------------------------------------- */

static bool has_group(const md_index *index, const char *name)
{
    for (int g = 0; g < index->n; g++)
        if (strcasecmp(index->group[g].name, name) == 0) return true;
    return false;
}

enum { ALL = (1u << N_CLASSES) - 1, SPLIT = 1u << OTHER | 1u << ION };

/* A group for each residue name that is no biopolymer's and no water's. */
static void split_by_residue(maker *m)
{
    for (int b = 0; b < m->topology->n_molblocks; b++) {
        int k = m->topology->molblock[b].moltype;
        const md_moltype *kind = &m->topology->moltype[k];
        for (int r = 0; r < kind->n_residues; r++) {
            const char *name = kind->residue[r].name;
            if (!(SPLIT >> m->class[k][r] & 1) || has_group(m->index, name)) continue;
            add_selected(m, md_index_add(m->index, name), &(selection){SPLIT, name, NULL});
        }
    }
}

static void add_class(maker *m, residue_class c)
{
    char rest[24];
    if (m->count[c] == 0) return;
    if (c == PROTEIN)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            add_selected(m, md_index_add(m->index, parts[k].group),
                         &(selection){1u << PROTEIN, NULL, &parts[k]});
    else
        add_group(m, class_name[c], 1u << c);
    if (c == WATER) add_group(m, "SOL", 1u << WATER);
    if ((c == PROTEIN || c == WATER) && m->count[c] < m->topology->n_atoms) {
        snprintf(rest, sizeof rest, "non-%s", class_name[c]);
        add_group(m, rest, ALL & ~(1u << c));
    }
}

static void add_molecules(maker *m)
{
    for (int b = 0; b < m->topology->n_molblocks; b++) {
        int kind = m->topology->molblock[b].moltype;
        const char *name = m->topology->moltype[kind].name;
        if (has_group(m->index, name)) continue;
        md_index_group *group = md_index_add(m->index, name);
        for (int other = b; other < m->topology->n_molblocks; other++) {
            const md_molblock *block = &m->topology->molblock[other];
            if (block->moltype != kind) continue;
            int64_t n = (int64_t)m->topology->moltype[kind].n_atoms * block->count;
            md_index_group_add(group, block->first_atom, block->first_atom + n);
        }
    }
}

/* Water first, then ions, as gmx orders them. */
static void add_water_and_ions(maker *m)
{
    if (m->count[WATER] == 0 || m->count[ION] == 0) return;
    md_index_group *group = md_index_add(m->index, "Water_and_ions");
    add_selected(m, group, &(selection){1u << WATER, NULL, NULL});
    add_selected(m, group, &(selection){1u << ION, NULL, NULL});
}

static void classify(maker *m)
{
    int largest = 1;
    for (int k = 0; k < m->topology->n_moltypes; k++) {
        const md_moltype *kind = &m->topology->moltype[k];
        if (kind->n_atoms > largest) largest = kind->n_atoms;
        m->class[k] = base_alloc((size_t)kind->n_residues + 1);
        for (int r = 0; r < kind->n_residues; r++)
            m->class[k][r] = (unsigned char)class_of(kind->residue[r].name);
    }
    for (int b = 0; b < m->topology->n_molblocks; b++) {
        const md_molblock *block = &m->topology->molblock[b];
        const md_moltype *kind = &m->topology->moltype[block->moltype];
        for (int i = 0; i < kind->n_atoms; i++)
            m->count[m->class[block->moltype][kind->atom[i].residue]] += block->count;
    }
    m->selected = base_alloc((size_t)largest * sizeof *m->selected);
}

void md_index_defaults(const md_topology *topology, md_index *out)
{
    memset(out, 0, sizeof *out);
    out->source = base_strdup("the topology");
    maker m = {.topology = topology, .index = out};
    m.class = base_alloc_zero(((size_t)topology->n_moltypes + 1) * sizeof *m.class);
    classify(&m);
    add_group(&m, "System", ALL);
    static const residue_class order[N_CLASSES] = {PROTEIN, DNA, RNA, WATER, OTHER, ION};
    for (int c = 0; c < N_CLASSES; c++) add_class(&m, order[c]);
    split_by_residue(&m);
    add_water_and_ions(&m);
    add_molecules(&m);
    for (int k = 0; k < topology->n_moltypes; k++) base_free(m.class[k]);
    base_free(m.class);
    base_free(m.selected);
}
