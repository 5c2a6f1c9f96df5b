/* The .top parser from inside: what its parts share. Not for other rooms.
 *
 *      top.c            directives in order, [ defaults ], [ system ], [ molecules ], the end
 *      top_forms.c      table of interaction functions: directive, function type, parameters
 *      top_types.c      force-field sections and the look-up of parameters
 *      top_molecule.c   molecules: atoms, interactions, constraints
 *      exclusions.c     exclusions from bonds
 */
#ifndef MD_TOP_PARSER_H
#define MD_TOP_PARSER_H
#include "md/in/map.h"
#include "md/in/preprocess.h"
#include "md/in/top.h"

enum { TOP_MAX_WORDS = 32, TOP_WILDCARD = -1 };

/* Tables of the ...types directives; each function type has its own, as its parameters differ. */
typedef enum top_table_id {
    TOP_BOND, TOP_BOND_G96, TOP_CONSTRAINT, TOP_CONSTRAINT_NC, TOP_ANGLE, TOP_ANGLE_G96,
    TOP_UREY_BRADLEY, TOP_DIH_PROPER, TOP_DIH_IMPROPER, TOP_DIH_RB, TOP_DIH_PER_IMPROPER,
    TOP_DIH_FOURIER, TOP_PAIR14, TOP_N_TABLES, TOP_NO_TABLE = TOP_N_TABLES
} top_table_id;

/* One function type of one directive. */
typedef struct top_form {
    const char *directive;          /* of the interactions; its types directive adds "types" */
    int func;
    md_kind kind;
    top_table_id table;
    int n_params;                   /* in the file */
    bool first_is_angle;            /* p[0] in degrees in the file */
    bool is_bond;                   /* counts for exclusions (nrexcl) */
} top_form;

typedef struct top_type_entry {
    int id[MD_MAX_KIND_ATOMS];      /* bonded types (atom types for pairs), TOP_WILDCARD for X */
    double p[MD_MAX_PARAM];         /* in units of the file */
    int func;
    md_place place;
} top_type_entry;

typedef struct top_table {
    int n;
    top_type_entry *entry;
    size_t capacity;
    md_map exact;                   /* ids, in the smaller direction -> first entry */
    md_map found;                   /* ids of an interaction -> first entry that fits + 1, or 0 */
} top_table;

typedef struct top_nonbond {
    double p[2];
    md_place place;
} top_nonbond;

typedef int top_pair[2];

/* Lists of the molecule in hand. */
typedef struct top_molecule {
    int nrexcl;
    md_place place;
    size_t capacity_atom, capacity_residue;
    char insertion;                 /* insertion code of the last residue */
    top_pair *bond, *excluded;      /* chemical bonds; [ exclusions ] */
    size_t n_bonds, n_excluded, capacity_bond, capacity_excluded;
} top_molecule;

typedef enum top_phase {
    TOP_START, TOP_TYPES, TOP_MOLECULES, TOP_SYSTEM, TOP_BLOCKS
} top_phase;

typedef struct top_parser {
    md_preprocessor *preprocessor;
    md_place place;                 /* of the line in hand */
    const char *directive;          /* canonical name */
    md_constraints constraints;
    top_phase phase;
    bool gen_pairs;
    md_topology *topology;
    size_t capacity_atomtype, capacity_moltype, capacity_molblock;
    md_map atomtype_of_name, bonded_of_name, moltype_of_name;
    int *bonded_of_atomtype;
    md_place *place_of_atomtype;
    md_place *place_of_moltype;         /* as numbered in moltype_of_name */
    size_t capacity_bonded, capacity_place, capacity_moltype_place;
    top_table table[TOP_N_TABLES];
    top_nonbond *nonbond;
    int n_nonbond;
    size_t capacity_nonbond;
    md_map nonbond_of_pair;
    md_map param_of_value;
    top_molecule molecule;
} top_parser;

/* What each directive does with one of its lines; `line` may be cut up. */
typedef sundog_status top_parse(top_parser *parser, char *line);
top_parse top_parse_defaults, top_parse_atomtypes, top_parse_nonbond_params, top_parse_types,
    top_parse_moleculetype, top_parse_atoms, top_parse_interaction, top_parse_settles,
    top_parse_exclusions, top_parse_system, top_parse_molecules, top_parse_unused;

/* Fail at the line in hand. */
#define top_fail(parser, status, ...) \
    md_preprocessor_fail((parser)->preprocessor, (parser)->place, status, __VA_ARGS__)

/* ---- top_forms.c ---------------------------------------------------------------------------- */

/* The form of the directive in hand ("bonds" or "bondtypes") with function type `word`; refuses
 * others, naming those supported. */
sundog_status top_find_form(top_parser *parser, const char *word, const top_form **out);
/* Atoms in an interaction, or types in a line, of the directive in hand. */
int top_n_atoms(const top_parser *parser);
/* True when the types directive in hand may have function type `word` in GROMACS, though not here:
 * only an interaction of that type could use the line, and that is refused itself. */
bool top_type_is_unused(const top_parser *parser, const char *word);
/* Read the parameters of a form, word [n]. A free-energy B state is accepted when it equals the A
 * state. */
sundog_status top_read_params(top_parser *parser, const top_form *form, char *const *word, int n,
                              double out[MD_MAX_PARAM]);
/* Check and convert parameters from the file (n_params of them) to those of md_kind. */
sundog_status top_convert(top_parser *parser, const top_form *form, const double *in,
                          double out[MD_MAX_PARAM]);
/* Read `n` numbers; refuses anything else. */
sundog_status top_read_numbers(top_parser *parser, char *const *word, int n, double *out);
/* Number of a parameter set in the topology; equal sets of one kind share it. */
int top_add_param(top_parser *parser, md_kind kind, const double p[MD_MAX_PARAM]);

/* ---- top_types.c ---------------------------------------------------------------------------- */

/* c6 and c12 of a pair of atom types. */
void top_nonbond_c6_c12(const top_parser *parser, int i, int j, double *c6, double *c12);
/* 4 epsilon sigma^6 and ^12, or the numbers themselves with combination rule 1. */
void top_to_c6_c12(const top_parser *parser, const double p[2], double c6_c12[2]);
/* Entries [*first, *first + *n) fit the types `id`; *n is 0 when there are none. */
void top_find_type(top_parser *parser, const top_form *form, const int *id, int *first, int *n);
/* Parameters of a 1-4 pair that are not in [ pairtypes ]: the combined ones, scaled by fudgeLJ. */
void top_generate_pair(const top_parser *parser, int i, int j, double c6_c12[2]);
/* The number of a name in `map`, or a failure that says what it should be. */
sundog_status top_find_name(top_parser *parser, const md_map *map, const char *name,
                            const char *what, int *out);

/* ---- top_molecule.c ------------------------------------------------------------------------- */

/* Complete the molecule in hand, if there is one. */
sundog_status top_finish_molecule(top_parser *parser);
/* Refuse atoms that are constrained twice, at the place of the molecule. */
sundog_status top_check_constraints(top_parser *parser, const md_moltype *moltype);
void top_molecule_clear(top_molecule *molecule);

/* ---- exclusions.c --------------------------------------------------------------------------- */

/* Exclusions of all atoms within nrexcl bonds, and of the pairs `extra`. False when there are more
 * than md_exclusions_limit: a large nrexcl excludes every pair of a large molecule. */
bool md_exclusions_build(int n_atoms, const top_pair *bond, size_t n_bonds, int nrexcl,
                         const top_pair *extra, size_t n_extra, int **start, int **excluded);
int64_t md_exclusions_limit(int n_atoms);
#endif
