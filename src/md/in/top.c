/* .top reader: preprocessed lines go to the directive that they stand under. The table below says,
 * for each directive, where in the file it may stand and what it needs before it:
 *
 *      [ defaults ]   [ atomtypes ] and other ...types   [ moleculetype ] [ atoms ] [ bonds ] ...
 *      once           any number, any order              once a molecule; then
 *      [ system ]     [ molecules ]
 */
#include "md/in/top.h"

#include "base/alloc.h"
#include "md/in/text.h"
#include "md/in/top_parser.h"

#include <ctype.h>
#include <string.h>

typedef enum need {
    NEED_NOTHING, NEED_DEFAULTS, NEED_ATOMTYPES, NEED_MOLECULE, NEED_ATOMS
} need;

typedef struct directive {
    const char *name;
    top_phase first, last;          /* phases of the file where it may stand */
    top_phase then;                 /* phase that it begins */
    need need;
    top_parse *parse;               /* NULL: known, not supported */
} directive;

#define TYPES TOP_TYPES, TOP_TYPES, TOP_TYPES
#define MOLECULE TOP_MOLECULES, TOP_MOLECULES, TOP_MOLECULES, NEED_ATOMS
#define NOT_SUPPORTED TOP_START, TOP_BLOCKS, TOP_START, NEED_NOTHING, NULL

static const directive directives[] = {
    {"defaults", TOP_START, TOP_START, TOP_TYPES, NEED_NOTHING, top_parse_defaults},
    {"atomtypes", TYPES, NEED_DEFAULTS, top_parse_atomtypes},
    {"nonbond_params", TYPES, NEED_ATOMTYPES, top_parse_nonbond_params},
    {"pairtypes", TYPES, NEED_ATOMTYPES, top_parse_types},
    {"bondtypes", TYPES, NEED_ATOMTYPES, top_parse_types},
    {"constrainttypes", TYPES, NEED_ATOMTYPES, top_parse_types},
    {"angletypes", TYPES, NEED_ATOMTYPES, top_parse_types},
    {"dihedraltypes", TYPES, NEED_ATOMTYPES, top_parse_types},
    {"moleculetype", TOP_TYPES, TOP_MOLECULES, TOP_MOLECULES, NEED_ATOMTYPES,
     top_parse_moleculetype},
    {"atoms", TOP_MOLECULES, TOP_MOLECULES, TOP_MOLECULES, NEED_MOLECULE, top_parse_atoms},
    {"bonds", MOLECULE, top_parse_interaction},
    {"pairs", MOLECULE, top_parse_interaction},
    {"angles", MOLECULE, top_parse_interaction},
    {"dihedrals", MOLECULE, top_parse_interaction},
    {"constraints", MOLECULE, top_parse_interaction},
    {"settles", MOLECULE, top_parse_settles},
    {"exclusions", MOLECULE, top_parse_exclusions},
    {"position_restraints", MOLECULE, top_parse_interaction},
    {"system", TOP_MOLECULES, TOP_MOLECULES, TOP_SYSTEM, NEED_NOTHING, top_parse_system},
    {"molecules", TOP_SYSTEM, TOP_SYSTEM, TOP_BLOCKS, NEED_NOTHING, top_parse_molecules},
    {"cmaptypes", TYPES, NEED_ATOMTYPES, top_parse_unused},
    {"implicit_genborn_params", TYPES, NEED_ATOMTYPES, top_parse_unused},
    {"implicit_surface_params", TYPES, NEED_ATOMTYPES, top_parse_unused},
    {"cmap", NOT_SUPPORTED},
    {"pairs_nb", NOT_SUPPORTED},
    {"virtual_sites1", NOT_SUPPORTED},
    {"virtual_sites2", NOT_SUPPORTED},
    {"virtual_sites3", NOT_SUPPORTED},
    {"virtual_sites4", NOT_SUPPORTED},
    {"virtual_sitesn", NOT_SUPPORTED},
    {"dummies1", NOT_SUPPORTED},
    {"dummies2", NOT_SUPPORTED},
    {"dummies3", NOT_SUPPORTED},
    {"dummies4", NOT_SUPPORTED},
    {"dummiesn", NOT_SUPPORTED},
    {"polarization", NOT_SUPPORTED},
    {"water_polarization", NOT_SUPPORTED},
    {"thole_polarization", NOT_SUPPORTED},
    {"distance_restraints", NOT_SUPPORTED},
    {"angle_restraints", NOT_SUPPORTED},
    {"angle_restraints_z", NOT_SUPPORTED},
    {"dihedral_restraints", NOT_SUPPORTED},
    {"orientation_restraints", NOT_SUPPORTED},
    {"intermolecular_interactions", NOT_SUPPORTED},
};
enum { N_DIRECTIVES = sizeof directives / sizeof directives[0] };

/* ---- directives in order -------------------------------------------------------------------- */

static void list_supported(char *out, size_t size)
{
    size_t used = 0;
    const char *name;
    for (int k = 0; (name = md_top_directive(k)) != NULL && used < size; k++) {
        int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
        used += n > 0 ? (size_t)n : 0;
    }
}

const char *md_top_directive(int k)
{
    for (int d = 0; d < N_DIRECTIVES; d++) {
        if (!directives[d].parse || directives[d].parse == top_parse_unused) continue;
        if (k-- == 0) return directives[d].name;
    }
    return NULL;
}

static sundog_status check_place(top_parser *parser, const directive *d)
{
    static const char *const phase_text[] = {
        [TOP_START] = "at the start, before [ defaults ]",
        [TOP_TYPES] = "among the force-field parameters, before the first [ moleculetype ]",
        [TOP_MOLECULES] = "among the molecules, before [ system ]",
        [TOP_SYSTEM] = "behind [ system ]",
        [TOP_BLOCKS] = "behind [ molecules ]",
    };
    const char *missing = NULL;
    if (parser->phase < d->first || parser->phase > d->last)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ] is not allowed here, %s; its place is %s", d->name,
                        phase_text[parser->phase], phase_text[d->first]);
    const md_topology *topology = parser->topology;
    if (d->need == NEED_DEFAULTS && !topology->comb_rule) missing = "defaults";
    if (d->need == NEED_ATOMTYPES && topology->n_atomtypes == 0) missing = "atomtypes";
    if (d->need >= NEED_MOLECULE && !parser->molecule.place.line) missing = "moleculetype";
    if (d->need == NEED_ATOMS && !missing &&
        topology->moltype[topology->n_moltypes - 1].n_atoms == 0)
        missing = "atoms";
    if (!missing) return SUNDOG_OK;
    return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ] needs lines of [ %s ] before it", d->name,
                    missing);
}

/* "[ name ]" */
static sundog_status begin_directive(top_parser *parser, char *line, const directive **out)
{
    char *end = strchr(line, ']');
    if (!end || md_text_trim(end + 1)[0])
        return top_fail(parser, SUNDOG_ERR_INPUT, "expected [ directive ], found \"%.60s\"", line);
    *end = '\0';
    const char *name = md_text_trim(line + 1);
    char supported[512];
    list_supported(supported, sizeof supported);
    for (int k = 0; k < N_DIRECTIVES; k++) {
        const directive *d = &directives[k];
        if (!md_text_same_name(d->name, name)) continue;
        if (!d->parse)
            return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                            "[ %s ] is not supported; supported: %s", d->name, supported);
        if (d->parse == top_parse_moleculetype || d->parse == top_parse_system)
            BASE_TRY(top_finish_molecule(parser));
        BASE_TRY(check_place(parser, d));
        parser->phase = d->then;
        parser->directive = d->name;
        *out = d;
        return SUNDOG_OK;
    }
    return top_fail(parser, SUNDOG_ERR_INPUT, "unknown directive [ %.60s ]; supported: %s", name,
                    supported);
}

static sundog_status parse_lines(top_parser *parser)
{
    const directive *d = NULL;
    char *line;
    for (;;) {
        BASE_TRY(md_preprocessor_next(parser->preprocessor, &line, &parser->place));
        if (!line) return SUNDOG_OK;
        if (line[0] == '[') {
            BASE_TRY(begin_directive(parser, line, &d));
            continue;
        }
        if (!d && line[0] == '*') continue;     /* force fields begin with a box of asterisks */
        if (!d)
            return top_fail(parser, SUNDOG_ERR_INPUT,
                            "\"%.60s\" stands before any [ directive ]", line);
        BASE_TRY(d->parse(parser, line));
    }
}

/* Parameters that only directives could use which are refused themselves. */
sundog_status top_parse_unused(top_parser *parser, char *line)
{
    (void)parser;
    (void)line;
    return SUNDOG_OK;
}

/* ---- defaults, system, molecules ------------------------------------------------------------ */

sundog_status top_parse_defaults(top_parser *parser, char *line)
{
    md_topology *topology = parser->topology;
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), nbfunc = 0;
    double power = 12.0;
    if (topology->comb_rule)
        return top_fail(parser, SUNDOG_ERR_INPUT, "[ defaults ]: a second line");
    if (n < 2 || n > 6 || !md_text_int(word[0], strlen(word[0]), &nbfunc) ||
        !md_text_int(word[1], strlen(word[1]), &topology->comb_rule))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ defaults ]: expected function type and combination rule [gen-pairs "
                        "[fudgeLJ [fudgeQQ]]]");
    if (nbfunc != 1)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "[ defaults ]: function type %d; only 1 (Lennard-Jones) is supported",
                        nbfunc);
    if (topology->comb_rule < 1 || topology->comb_rule > 3)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ defaults ]: combination rule %d; there are 1, 2 and 3",
                        topology->comb_rule);
    char answer = n > 2 ? (char)tolower((unsigned char)word[2][0]) : 'n';
    if (answer != 'y' && answer != 'n')
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ defaults ]: gen-pairs is yes or no, not \"%s\"", word[2]);
    parser->gen_pairs = answer == 'y';
    if (n > 3) BASE_TRY(top_read_numbers(parser, word + 3, 1, &topology->fudge_lj));
    if (n > 4) BASE_TRY(top_read_numbers(parser, word + 4, 1, &topology->fudge_qq));
    if (n > 5) BASE_TRY(top_read_numbers(parser, word + 5, 1, &power));
    if (power != 12.0)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "[ defaults ]: a repulsion power of %g; only 12 is supported", power);
    return SUNDOG_OK;
}

sundog_status top_parse_system(top_parser *parser, char *line)
{
    base_free(parser->topology->title);
    parser->topology->title = base_strdup(line);
    return SUNDOG_OK;
}

/* A molecule by its name: exactly, or the only one that differs in case alone. */
static sundog_status find_moltype(top_parser *parser, const char *name, int *out)
{
    const md_topology *topology = parser->topology;
    int n_similar = 0;
    *out = md_map_find_name(&parser->moltype_of_name, name);
    if (*out >= 0) return SUNDOG_OK;
    for (int m = 0; m < topology->n_moltypes; m++) {
        if (strcasecmp(topology->moltype[m].name, name) != 0) continue;
        n_similar++;
        *out = m;
    }
    if (n_similar == 1) return SUNDOG_OK;
    char known[512] = "";
    for (int m = 0; m < topology->n_moltypes; m++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", m ? ", " : "",
                 topology->moltype[m].name);
    }
    return top_fail(parser, SUNDOG_ERR_INPUT,
                    "[ molecules ]: no [ moleculetype ] %s; there are: %s", name, known);
}

sundog_status top_parse_molecules(top_parser *parser, char *line)
{
    md_topology *topology = parser->topology;
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS);
    md_molblock block;
    memset(&block, 0, sizeof block);
    if (n != 2 || !md_text_int(word[1], strlen(word[1]), &block.count) || block.count < 0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ molecules ]: expected a name and a number of molecules");
    BASE_TRY(find_moltype(parser, word[0], &block.moltype));
    if (block.count == 0) return SUNDOG_OK;
    BASE_RESERVE(topology->molblock, parser->capacity_molblock, topology->n_molblocks + 1);
    topology->molblock[topology->n_molblocks++] = block;
    return SUNDOG_OK;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Keep only the molecules that are present. */
static void drop_unused_moltypes(md_topology *topology)
{
    int *renumbered = base_alloc_zero((size_t)topology->n_moltypes * sizeof *renumbered);
    for (int b = 0; b < topology->n_molblocks; b++) renumbered[topology->molblock[b].moltype] = 1;
    int kept = 0;
    for (int m = 0; m < topology->n_moltypes; m++) {
        md_moltype swapped = topology->moltype[kept];
        if (!renumbered[m]) continue;
        topology->moltype[kept] = topology->moltype[m];
        topology->moltype[m] = swapped;
        renumbered[m] = kept++;
    }
    for (int b = 0; b < topology->n_molblocks; b++)
        topology->molblock[b].moltype = renumbered[topology->molblock[b].moltype];
    for (int m = kept; m < topology->n_moltypes; m++) md_moltype_clear(&topology->moltype[m]);
    topology->n_moltypes = kept;
    base_free(renumbered);
}

/* Keep only the atom types in use and tabulate their pairs: force fields have hundreds. */
static void build_pair_table(top_parser *parser)
{
    md_topology *topology = parser->topology;
    int *renumbered = base_alloc_zero((size_t)topology->n_atomtypes * sizeof *renumbered);
    int *original = base_alloc((size_t)topology->n_atomtypes * sizeof *original);
    for (int m = 0; m < topology->n_moltypes; m++) {
        const md_moltype *moltype = &topology->moltype[m];
        for (int i = 0; i < moltype->n_atoms; i++) renumbered[moltype->atom[i].type] = 1;
    }
    int kept = 0;
    for (int t = 0; t < topology->n_atomtypes; t++) {
        if (!renumbered[t]) continue;
        original[kept] = t;
        renumbered[t] = kept++;
    }
    size_t n = (size_t)kept;
    topology->c6 = base_alloc(n * n * sizeof *topology->c6);
    topology->c12 = base_alloc(n * n * sizeof *topology->c12);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            top_nonbond_c6_c12(parser, original[i], original[j], &topology->c6[i * n + j],
                               &topology->c12[i * n + j]);
    }
    for (int t = 0; t < kept; t++) topology->atomtype[t] = topology->atomtype[original[t]];
    topology->n_atomtypes = kept;
    for (int m = 0; m < topology->n_moltypes; m++) {
        md_moltype *moltype = &topology->moltype[m];
        for (int i = 0; i < moltype->n_atoms; i++)
            moltype->atom[i].type = renumbered[moltype->atom[i].type];
    }
    base_free(renumbered);
    base_free(original);
}

static sundog_status finish(top_parser *parser, const char *path)
{
    md_topology *topology = parser->topology;
    BASE_TRY(top_finish_molecule(parser));
    if (topology->n_molblocks == 0)
        return base_fail(SUNDOG_ERR_INPUT, "%s: no molecules: [ system ] and [ molecules ] with at "
                         "least one molecule are needed", path);
    if (!topology->title) topology->title = base_strdup("");
    drop_unused_moltypes(topology);
    for (int m = 0; m < topology->n_moltypes; m++)
        BASE_TRY(top_check_constraints(parser, &topology->moltype[m]));
    build_pair_table(parser);
    sundog_status status = md_topology_finish(topology);
    if (status != SUNDOG_OK) return base_fail(status, "%s: %s", path, sundog_last_error());
    return SUNDOG_OK;
}

static void parser_clear(top_parser *parser)
{
    md_preprocessor_destroy(&parser->preprocessor);
    md_topology_destroy(&parser->topology);
    md_map_destroy(&parser->atomtype_of_name);
    md_map_destroy(&parser->bonded_of_name);
    md_map_destroy(&parser->moltype_of_name);
    md_map_destroy(&parser->nonbond_of_pair);
    md_map_destroy(&parser->param_of_value);
    for (int t = 0; t < TOP_N_TABLES; t++) {
        base_free(parser->table[t].entry);
        md_map_destroy(&parser->table[t].exact);
        md_map_destroy(&parser->table[t].found);
    }
    base_free(parser->bonded_of_atomtype);
    base_free(parser->place_of_atomtype);
    base_free(parser->place_of_moltype);
    base_free(parser->nonbond);
    top_molecule_clear(&parser->molecule);
}

sundog_status md_top_read(const char *path, const md_top_options *options, md_topology **out)
{
    top_parser parser;
    memset(&parser, 0, sizeof parser);
    const md_preprocess_options preprocess = {options->define, options->include,
                                              options->include_dir, options->n_include_dirs};
    BASE_TRY(md_preprocessor_create(path, &preprocess, &parser.preprocessor));
    parser.constraints = options->constraints;
    parser.topology = base_alloc_zero(sizeof *parser.topology);
    parser.topology->fudge_lj = parser.topology->fudge_qq = 1.0;
    sundog_status status = parse_lines(&parser);
    if (status == SUNDOG_OK) status = md_preprocessor_check_asked(parser.preprocessor, path);
    if (status == SUNDOG_OK) status = finish(&parser, path);
    if (status == SUNDOG_OK) {
        const char *library = md_preprocessor_library(parser.preprocessor);
        if (options->n_notes > 0) options->notes[0] = '\0';
        if (options->n_notes > 0 && library)
            snprintf(options->notes, options->n_notes, "included files come from %s\n", library);
        *out = parser.topology;
        parser.topology = NULL;
    }
    parser_clear(&parser);
    return status;
}
