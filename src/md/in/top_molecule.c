/* Molecules: [ moleculetype ], [ atoms ] and everything that names atoms. */
#include "base/alloc.h"
#include "md/core/groups.h"
#include "md/in/text.h"
#include "md/in/top_parser.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static md_moltype *current(const top_parser *parser)
{
    return &parser->topology->moltype[parser->topology->n_moltypes - 1];
}

sundog_status top_parse_moleculetype(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), nrexcl = -1;
    if (parser->molecule.place.line)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ moleculetype ]: a second line; one molecule has one line");
    if (n != 2 || !md_text_int(word[1], strlen(word[1]), &nrexcl) || nrexcl < 0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ moleculetype ]: expected a name and the number of bonds for "
                        "exclusions (0 or more)");
    if (md_map_find_name(&parser->moltype_of_name, word[0]) >= 0)
        return top_fail(parser, SUNDOG_ERR_INPUT, "molecule %s is defined twice", word[0]);
    md_topology *topology = parser->topology;
    BASE_RESERVE(topology->moltype, parser->capacity_moltype, topology->n_moltypes + 1);
    BASE_RESERVE(parser->place_of_moltype, parser->capacity_moltype_place,
                 topology->n_moltypes + 1);
    parser->place_of_moltype[topology->n_moltypes] = parser->place;
    md_map_set_name(&parser->moltype_of_name, word[0], topology->n_moltypes);
    md_moltype *moltype = &topology->moltype[topology->n_moltypes++];
    memset(moltype, 0, sizeof *moltype);
    moltype->name = base_strdup(word[0]);
    parser->molecule.nrexcl = nrexcl;
    parser->molecule.place = parser->place;
    return SUNDOG_OK;
}

/* ---- atoms ---------------------------------------------------------------------------------- */

static sundog_status copy_word(top_parser *parser, const char *word, const char *what, char out[16])
{
    if (strlen(word) > 15)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "[ atoms ]: the %s name %s has more than 15 characters", what, word);
    strcpy(out, word);
    return SUNDOG_OK;
}

/* Residue number, perhaps with an insertion code: "52" or "52A". A new residue begins when number,
 * code or name change. */
static sundog_status set_residue(top_parser *parser, const char *number, const char *name,
                                 int *residue)
{
    md_moltype *moltype = current(parser);
    top_molecule *molecule = &parser->molecule;
    md_residue made;
    memset(&made, 0, sizeof made);
    size_t n = strlen(number);
    char insertion = '\0';
    if (n > 1 && isalpha((unsigned char)number[n - 1])) insertion = number[--n];
    if (!md_text_int(number, n, &made.number))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atoms ]: expected a residue number, found \"%s\"", number);
    BASE_TRY(copy_word(parser, name, "residue", made.name));
    int last = moltype->n_residues - 1;
    if (last < 0 || insertion != molecule->insertion ||
        moltype->residue[last].number != made.number ||
        strcmp(moltype->residue[last].name, made.name) != 0) {
        BASE_RESERVE(moltype->residue, molecule->capacity_residue, last + 2);
        moltype->residue[++last] = made;
        moltype->n_residues++;
        molecule->insertion = insertion;
    }
    *residue = last;
    return SUNDOG_OK;
}

/* Columns 9 to 11: type, charge and mass of a free-energy B state; they may repeat those of A. */
static sundog_status check_b_state(top_parser *parser, char *const *word, int n)
{
    double a[2], b[2];
    bool same = n <= 11 && strcmp(word[8], word[1]) == 0;
    BASE_TRY(top_read_numbers(parser, word + 6, 2, a));
    if (same) BASE_TRY(top_read_numbers(parser, word + 9, n - 9, b));
    for (int k = 0; same && k < n - 9; k++) same = a[k] == b[k];
    if (same) return SUNDOG_OK;
    return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                    "[ atoms ]: columns 9 on are a free-energy B state that differs from A, which "
                    "is not supported");
}

/* number type residue-number residue name charge-group [charge [mass]] */
sundog_status top_parse_atoms(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), number, type, charge_group;
    md_moltype *moltype = current(parser);
    if (n < 6)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atoms ]: expected number, type, residue number, residue, name, charge "
                        "group [charge [mass]], found %d words", n);
    if (!md_text_int(word[0], strlen(word[0]), &number) || number != moltype->n_atoms + 1)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atoms ]: expected atom %d, found \"%s\": atoms are numbered from 1 "
                        "without gaps", moltype->n_atoms + 1, word[0]);
    if (!md_text_int(word[5], strlen(word[5]), &charge_group))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atoms ]: expected a charge group number, found \"%s\"", word[5]);
    BASE_TRY(top_find_name(parser, &parser->atomtype_of_name, word[1], "atom type", &type));
    const md_atomtype *atomtype = &parser->topology->atomtype[type];
    md_atom atom;
    memset(&atom, 0, sizeof atom);
    atom.type = type;
    atom.charge = atomtype->charge;
    atom.mass = atomtype->mass;
    if (n > 6) BASE_TRY(top_read_numbers(parser, word + 6, 1, &atom.charge));
    if (n > 7) BASE_TRY(top_read_numbers(parser, word + 7, 1, &atom.mass));
    if (n > 8) BASE_TRY(check_b_state(parser, word, n));
    BASE_TRY(copy_word(parser, word[4], "atom", atom.name));
    if (atomtype->particle != 'A')
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "atom %d (%s) is of particle type %c; only atoms (A) are supported, no "
                        "virtual sites or shells", number, atom.name, atomtype->particle);
    if (atom.mass <= 0.0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "atom %d (%s) has mass %g; it must be positive (virtual sites are not "
                        "supported)", number, atom.name, atom.mass);
    BASE_TRY(set_residue(parser, word[2], word[3], &atom.residue));
    BASE_RESERVE(moltype->atom, parser->molecule.capacity_atom, number);
    moltype->atom[moltype->n_atoms++] = atom;
    return SUNDOG_OK;
}

/* Numbers of `n` different atoms, made 0-based. */
static sundog_status read_atoms(top_parser *parser, char *const *word, int n, int *atoms)
{
    int n_atoms = current(parser)->n_atoms;
    for (int k = 0; k < n; k++) {
        if (!md_text_int(word[k], strlen(word[k]), &atoms[k]))
            return top_fail(parser, SUNDOG_ERR_INPUT,
                            "[ %s ]: expected an atom number, found \"%s\"", parser->directive,
                            word[k]);
        if (atoms[k] < 1 || atoms[k] > n_atoms)
            return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: atom %d; molecule %s has %d atoms",
                            parser->directive, atoms[k], current(parser)->name, n_atoms);
        atoms[k]--;
        for (int l = 0; l < k; l++) {
            if (atoms[l] == atoms[k])
                return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: atom %d is named twice",
                                parser->directive, atoms[k] + 1);
        }
    }
    return SUNDOG_OK;
}

/* ---- interactions --------------------------------------------------------------------------- */

static void add_pair(top_pair **pair, size_t *capacity, size_t *n, int i, int j)
{
    BASE_RESERVE(*pair, *capacity, *n + 1);
    (*pair)[*n][0] = i;
    (*pair)[*n][1] = j;
    (*n)++;
}

static void add_bond(top_parser *parser, int i, int j)
{
    top_molecule *molecule = &parser->molecule;
    add_pair(&molecule->bond, &molecule->capacity_bond, &molecule->n_bonds, i, j);
}

/* Dihedral lists name every torsion, many with a barrier of zero; gmx leaves those out as well. */
static bool is_flat_dihedral(md_kind kind, const double p[MD_MAX_PARAM])
{
    if (kind == MD_DIH_PROPER || kind == MD_DIH_IMPROPER || kind == MD_DIH_PER_IMPROPER)
        return p[1] == 0.0;
    if (kind != MD_DIH_RB && kind != MD_DIH_FOURIER) return false;
    for (int k = 0; k < MD_MAX_PARAM; k++) {
        if (p[k] != 0.0) return false;
    }
    return true;
}

static void add_interaction(top_parser *parser, const top_form *form, const int *atoms,
                            const double p[MD_MAX_PARAM])
{
    if (is_flat_dihedral(form->kind, p)) return;
    md_interactions_add(&current(parser)->list[form->kind], form->kind, atoms,
                        top_add_param(parser, form->kind, p));
    if (form->is_bond) add_bond(parser, atoms[0], atoms[1]);
}

/* The types of some atoms by name, for a message. */
static void describe_types(const top_parser *parser, const int *atoms, int n, char *out,
                           size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < n && used < size; k++) {
        const md_atomtype *type =
            &parser->topology->atomtype[current(parser)->atom[atoms[k]].type];
        int written = snprintf(out + used, size - used, "%s%s", k ? " " : "",
                               n == 2 && parser->directive[0] == 'p' ? type->name
                                                                     : type->bonded_name);
        used += written > 0 ? (size_t)written : 0;
    }
}

/* Parameters from the force-field sections. */
static sundog_status add_from_types(top_parser *parser, const top_form *form, const int *atoms)
{
    int id[MD_MAX_KIND_ATOMS], n_atoms = md_kind_n_atoms(form->kind), first, n;
    double p[MD_MAX_PARAM] = {0};
    for (int k = 0; k < n_atoms; k++) {
        int type = current(parser)->atom[atoms[k]].type;
        id[k] = form->kind == MD_PAIR14 ? type : parser->bonded_of_atomtype[type];
    }
    top_find_type(parser, form, id, &first, &n);
    if (n == 0 && form->kind == MD_PAIR14 && parser->gen_pairs) {
        top_generate_pair(parser, id[0], id[1], p);
        add_interaction(parser, form, atoms, p);
        return SUNDOG_OK;
    }
    char types[160];
    describe_types(parser, atoms, n_atoms, types, sizeof types);
    if (n == 0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: no parameters here and none of function type %d for the types %s"
                        "%s", parser->directive, form->func, types,
                        form->kind == MD_PAIR14 ? " (gen-pairs is no)" : "");
    if (n > 1 && form->func != 9)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: several lines for the types %s; only function type 9 adds them up",
                        parser->directive, types);
    for (int k = first; k < first + n; k++) {
        BASE_TRY(top_convert(parser, form, parser->table[form->table].entry[k].p, p));
        add_interaction(parser, form, atoms, p);
    }
    return SUNDOG_OK;
}

/* bonds, constraints, pairs, angles, dihedrals, position_restraints:
 * atoms [function type [parameters]] */
sundog_status top_parse_interaction(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), atoms[MD_MAX_KIND_ATOMS];
    int n_atoms = top_n_atoms(parser);
    if (n < n_atoms || n > TOP_MAX_WORDS)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: expected %d atoms, a function type and parameters, found %d words",
                        parser->directive, n_atoms, n);
    BASE_TRY(read_atoms(parser, word, n_atoms, atoms));
    const top_form *form;
    BASE_TRY(top_find_form(parser, n > n_atoms ? word[n_atoms] : "1", &form));
    int n_given = n > n_atoms ? n - n_atoms - 1 : 0;
    if (n_given == 0 && form->table != TOP_NO_TABLE) return add_from_types(parser, form, atoms);
    double in[MD_MAX_PARAM], p[MD_MAX_PARAM];
    BASE_TRY(top_read_params(parser, form, word + n_atoms + 1, n_given, in));
    BASE_TRY(top_convert(parser, form, in, p));
    add_interaction(parser, form, atoms, p);
    return SUNDOG_OK;
}

/* Oxygen, function type and distances; the hydrogens are the next two atoms. */
sundog_status top_parse_settles(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), atoms[MD_MAX_KIND_ATOMS];
    const top_form *form;
    double in[MD_MAX_PARAM], p[MD_MAX_PARAM];
    if (n < 2)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ settles ]: expected an atom, a function type and 2 distances");
    BASE_TRY(read_atoms(parser, word, 1, atoms));
    BASE_TRY(top_find_form(parser, word[1], &form));
    BASE_TRY(top_read_params(parser, form, word + 2, n - 2, in));
    BASE_TRY(top_convert(parser, form, in, p));
    if (atoms[0] + 2 >= current(parser)->n_atoms)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ settles ]: two hydrogens must follow atom %d; molecule %s has %d atoms",
                        atoms[0] + 1, current(parser)->name, current(parser)->n_atoms);
    atoms[1] = atoms[0] + 1;
    atoms[2] = atoms[0] + 2;
    add_interaction(parser, form, atoms, p);
    add_bond(parser, atoms[0], atoms[2]);
    return SUNDOG_OK;
}

/* An atom and those that it does not interact with; any number, so the line is not split. */
sundog_status top_parse_exclusions(top_parser *parser, char *line)
{
    top_molecule *molecule = &parser->molecule;
    int first = -1;
    while (*line) {
        char *end = line;
        while (*end && !isspace((unsigned char)*end)) end++;
        char *next = end;
        while (isspace((unsigned char)*next)) next++;
        *end = '\0';
        int atom;
        BASE_TRY(read_atoms(parser, &line, 1, &atom));
        if (first < 0)
            first = atom;
        else if (atom != first)
            add_pair(&molecule->excluded, &molecule->capacity_excluded, &molecule->n_excluded,
                     first, atom);
        line = next;
    }
    return SUNDOG_OK;
}

/* ---- completion ----------------------------------------------------------------------------- */

static bool is_hydrogen(const md_atom *atom)
{
    return atom->name[0] == 'H' || atom->name[0] == 'h';
}

/* Move bonds of one kind to the constraints, those with a hydrogen or all. */
static sundog_status constrain_bonds(top_parser *parser, md_kind kind)
{
    md_moltype *moltype = current(parser);
    md_interactions *list = &moltype->list[kind];
    int kept = 0;
    for (int n = 0; n < list->n; n++) {
        const int atoms[2] = {list->atoms[2 * n], list->atoms[2 * n + 1]};
        if (parser->constraints == MD_CONSTRAINTS_H_BONDS &&
            !is_hydrogen(&moltype->atom[atoms[0]]) && !is_hydrogen(&moltype->atom[atoms[1]])) {
            list->atoms[2 * kept] = atoms[0];
            list->atoms[2 * kept + 1] = atoms[1];
            list->param[kept++] = list->param[n];
            continue;
        }
        const double p[MD_MAX_PARAM] = {parser->topology->param[list->param[n]].p[0]};
        if (p[0] <= 0.0)
            return md_preprocessor_fail(parser->preprocessor, parser->molecule.place,
                                        SUNDOG_ERR_INPUT,
                                        "molecule %s: the bond of atoms %d and %d cannot be "
                                        "constrained to a length of %g nm", moltype->name,
                                        atoms[0] + 1, atoms[1] + 1, p[0]);
        md_interactions_add(&moltype->list[MD_CONSTRAINT], MD_CONSTRAINT, atoms,
                            top_add_param(parser, MD_CONSTRAINT, p));
    }
    list->n = kept;
    return SUNDOG_OK;
}

sundog_status top_finish_molecule(top_parser *parser)
{
    top_molecule *molecule = &parser->molecule;
    if (!molecule->place.line) return SUNDOG_OK;
    md_moltype *moltype = current(parser);
    if (moltype->n_atoms == 0)
        return md_preprocessor_fail(parser->preprocessor, molecule->place, SUNDOG_ERR_INPUT,
                                    "molecule %s has no [ atoms ]", moltype->name);
    if (!md_exclusions_build(moltype->n_atoms, (const top_pair *)molecule->bond, molecule->n_bonds,
                             molecule->nrexcl, (const top_pair *)molecule->excluded,
                             molecule->n_excluded, &moltype->exclusion_start, &moltype->exclusion))
        return md_preprocessor_fail(parser->preprocessor, molecule->place, SUNDOG_ERR_UNSUPPORTED,
                                    "molecule %s: nrexcl = %d makes more than %lld exclusions",
                                    moltype->name, molecule->nrexcl,
                                    (long long)md_exclusions_limit(moltype->n_atoms));
    if (parser->constraints != MD_CONSTRAINTS_NONE) {
        BASE_TRY(constrain_bonds(parser, MD_BOND));
        BASE_TRY(constrain_bonds(parser, MD_BOND_G96));
    }
    top_molecule_clear(molecule);
    return SUNDOG_OK;
}

sundog_status top_check_constraints(top_parser *parser, const md_moltype *moltype)
{
    md_place place =
        parser->place_of_moltype[md_map_find_name(&parser->moltype_of_name, moltype->name)];
    sundog_status status = md_moltype_check_settles(moltype);
    if (status != SUNDOG_OK)
        return md_preprocessor_fail(parser->preprocessor, place, status, "%s",
                                    sundog_last_error());
    const md_interactions *list = &moltype->list[MD_CONSTRAINT];
    md_map seen;
    memset(&seen, 0, sizeof seen);
    for (int n = 0; n < list->n && status == SUNDOG_OK; n++) {
        int i = list->atoms[2 * n], j = list->atoms[2 * n + 1];
        const int key[2] = {i < j ? i : j, i < j ? j : i};
        if (md_map_find(&seen, key, sizeof key) >= 0)
            status = md_preprocessor_fail(parser->preprocessor, place, SUNDOG_ERR_INPUT,
                                          "molecule %s: atoms %d and %d are constrained twice",
                                          moltype->name, key[0] + 1, key[1] + 1);
        md_map_set(&seen, key, sizeof key, n);
    }
    md_map_destroy(&seen);
    return status;
}

void top_molecule_clear(top_molecule *molecule)
{
    base_free(molecule->bond);
    base_free(molecule->excluded);
    memset(molecule, 0, sizeof *molecule);
}
