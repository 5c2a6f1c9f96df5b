/* Force-field sections: [ atomtypes ], [ nonbond_params ] and the ...types, and how an interaction
 * without parameters finds them.
 *
 * Look-up goes by bonded type, forward or reversed (for pairs by atom type). Dihedrals: of all
 * lines that fit, with X for any type, the first one with the most types named outright; with
 * function type 9 the lines that follow it for the same types add further terms.
 */
#include "base/alloc.h"
#include "md/in/text.h"
#include "md/in/top_parser.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- atom types ----------------------------------------------------------------------------- */

static bool is_letter(const char *word)
{
    return isalpha((unsigned char)word[0]) && word[1] == '\0';
}

/* Which optional columns a line has: the one-letter particle type says so, as it is followed by two
 * parameters. name [bonded] [number] mass charge particle p1 p2 */
static sundog_status find_columns(top_parser *parser, char **word, int n, bool *has_bonded,
                                  bool *has_number)
{
    int particle = n - 3;
    if (n < 6 || n > 8 || !is_letter(word[particle]))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atomtypes ]: expected name [bonded type] [atomic number] mass charge "
                        "particle and 2 parameters, found %d words", n);
    *has_bonded = particle == 5 || (particle == 4 && isalpha((unsigned char)word[1][0]));
    *has_number = particle == 5 || (particle == 4 && !*has_bonded);
    return SUNDOG_OK;
}

static sundog_status copy_name(top_parser *parser, const char *name, size_t capacity, char *out)
{
    if (strlen(name) >= capacity)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "[ %s ]: the name %s has more than %zu characters", parser->directive, name,
                        capacity - 1);
    strcpy(out, name);
    return SUNDOG_OK;
}

static bool same_atomtype(const md_atomtype *a, const md_atomtype *b)
{
    return strcmp(a->bonded_name, b->bonded_name) == 0 && a->atomic_number == b->atomic_number &&
           a->mass == b->mass && a->charge == b->charge && a->particle == b->particle &&
           a->lj[0] == b->lj[0] && a->lj[1] == b->lj[1];
}

static sundog_status add_atomtype(top_parser *parser, const md_atomtype *type)
{
    md_topology *topology = parser->topology;
    int known = md_map_find_name(&parser->atomtype_of_name, type->name);
    if (known >= 0) {
        if (same_atomtype(&topology->atomtype[known], type)) return SUNDOG_OK;
        return top_fail(parser, SUNDOG_ERR_INPUT, "atom type %s was defined otherwise at %s",
                        type->name,
                        md_preprocessor_where(parser->preprocessor,
                                              parser->place_of_atomtype[known]));
    }
    int bonded = md_map_find_name(&parser->bonded_of_name, type->bonded_name);
    if (bonded < 0) {
        bonded = parser->bonded_of_name.n;
        md_map_set_name(&parser->bonded_of_name, type->bonded_name, bonded);
    }
    int at = topology->n_atomtypes++;
    BASE_RESERVE(topology->atomtype, parser->capacity_atomtype, topology->n_atomtypes);
    BASE_RESERVE(parser->bonded_of_atomtype, parser->capacity_bonded, topology->n_atomtypes);
    BASE_RESERVE(parser->place_of_atomtype, parser->capacity_place, topology->n_atomtypes);
    topology->atomtype[at] = *type;
    parser->bonded_of_atomtype[at] = bonded;
    parser->place_of_atomtype[at] = parser->place;
    md_map_set_name(&parser->atomtype_of_name, type->name, at);
    return SUNDOG_OK;
}

sundog_status top_parse_atomtypes(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS);
    bool has_bonded = false, has_number = false;
    BASE_TRY(find_columns(parser, word, n, &has_bonded, &has_number));
    md_atomtype type;
    memset(&type, 0, sizeof type);
    BASE_TRY(copy_name(parser, word[0], sizeof type.name, type.name));
    BASE_TRY(copy_name(parser, word[has_bonded ? 1 : 0], sizeof type.bonded_name,
                       type.bonded_name));
    const char *number = word[has_bonded ? 2 : 1];
    if (has_number && !md_text_int(number, strlen(number), &type.atomic_number))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atomtypes ]: expected an atomic number, found \"%s\"", number);
    double mass_charge[2];
    BASE_TRY(top_read_numbers(parser, word + n - 5, 2, mass_charge));
    BASE_TRY(top_read_numbers(parser, word + n - 2, 2, type.lj));
    type.mass = mass_charge[0];
    type.charge = mass_charge[1];
    type.particle = (char)toupper((unsigned char)word[n - 3][0]);
    if (!strchr("ASVD", type.particle))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ atomtypes ]: the particle type %s is none of A, S, V and D",
                        word[n - 3]);
    if (parser->topology->comb_rule != 1 && type.lj[0] < 0.0)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "atom type %s: a negative sigma (%g) is not supported", type.name,
                        type.lj[0]);
    if (type.lj[0] < 0.0 || type.lj[1] < 0.0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "atom type %s: the parameters %g and %g are negative and cannot be "
                        "combined with other types", type.name, type.lj[0], type.lj[1]);
    return add_atomtype(parser, &type);
}

/* ---- Lennard-Jones pairs -------------------------------------------------------------------- */

sundog_status top_find_name(top_parser *parser, const md_map *map, const char *name,
                            const char *what, int *out)
{
    *out = md_map_find_name(map, name);
    if (*out >= 0) return SUNDOG_OK;
    return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: unknown %s %s", parser->directive, what,
                    name);
}

static void pair_key(int i, int j, int key[2])
{
    key[0] = i < j ? i : j;
    key[1] = i < j ? j : i;
}

sundog_status top_parse_nonbond_params(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS), i, j, key[2];
    if (n < 3 || strcmp(word[2], "1") != 0)
        return top_fail(parser, n < 3 ? SUNDOG_ERR_INPUT : SUNDOG_ERR_UNSUPPORTED,
                        "[ nonbond_params ]: function type %s; only 1 (Lennard-Jones) is supported",
                        n < 3 ? "missing" : word[2]);
    if (n != 5)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ nonbond_params ]: expected 2 parameters, found %d", n - 3);
    BASE_TRY(top_find_name(parser, &parser->atomtype_of_name, word[0], "atom type", &i));
    BASE_TRY(top_find_name(parser, &parser->atomtype_of_name, word[1], "atom type", &j));
    top_nonbond entry = {.place = parser->place};
    BASE_TRY(top_read_numbers(parser, word + 3, 2, entry.p));
    if (parser->topology->comb_rule != 1 && entry.p[0] < 0.0)
        return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                        "[ nonbond_params ]: a negative sigma (%g) is not supported", entry.p[0]);
    pair_key(i, j, key);
    int known = md_map_find(&parser->nonbond_of_pair, key, sizeof key);
    if (known >= 0) {
        const top_nonbond *old = &parser->nonbond[known];
        if (old->p[0] == entry.p[0] && old->p[1] == entry.p[1]) return SUNDOG_OK;
        return top_fail(parser, SUNDOG_ERR_INPUT, "%s %s was defined otherwise at %s", word[0],
                        word[1], md_preprocessor_where(parser->preprocessor, old->place));
    }
    BASE_RESERVE(parser->nonbond, parser->capacity_nonbond, parser->n_nonbond + 1);
    parser->nonbond[parser->n_nonbond] = entry;
    md_map_set(&parser->nonbond_of_pair, key, sizeof key, parser->n_nonbond++);
    return SUNDOG_OK;
}

void top_to_c6_c12(const top_parser *parser, const double p[2], double c6_c12[2])
{
    if (parser->topology->comb_rule == 1) {
        c6_c12[0] = p[0];
        c6_c12[1] = p[1];
        return;
    }
    double sigma2 = p[0] * p[0], sigma6 = sigma2 * sigma2 * sigma2, epsilon = p[1];
    c6_c12[0] = 4.0 * epsilon * sigma6;
    c6_c12[1] = 4.0 * epsilon * sigma6 * sigma6;
}

/* Parameters of a pair, in the form of the combination rule; epsilon (or c6 and c12) scaled. */
static void combine(const top_parser *parser, int i, int j, double scale, double p[2])
{
    int key[2], rule = parser->topology->comb_rule;
    pair_key(i, j, key);
    int given = md_map_find(&parser->nonbond_of_pair, key, sizeof key);
    if (given >= 0) {
        p[0] = parser->nonbond[given].p[0];
        p[1] = parser->nonbond[given].p[1];
    } else {
        const double *a = parser->topology->atomtype[i].lj, *b = parser->topology->atomtype[j].lj;
        p[0] = rule == 2 ? 0.5 * (a[0] + b[0]) : sqrt(a[0] * b[0]);
        p[1] = sqrt(a[1] * b[1]);
    }
    if (rule == 1) p[0] *= scale;
    p[1] *= scale;
}

void top_nonbond_c6_c12(const top_parser *parser, int i, int j, double *c6, double *c12)
{
    double p[2], c[2];
    combine(parser, i, j, 1.0, p);
    top_to_c6_c12(parser, p, c);
    *c6 = c[0];
    *c12 = c[1];
}

void top_generate_pair(const top_parser *parser, int i, int j, double c6_c12[2])
{
    double p[2];
    combine(parser, i, j, parser->topology->fudge_lj, p);
    top_to_c6_c12(parser, p, c6_c12);
}

/* ---- bonded types --------------------------------------------------------------------------- */

/* ids in the direction that compares smaller, so that both directions have one key. */
static void canonical(const int *id, int n, int key[MD_MAX_KIND_ATOMS])
{
    bool reversed = false;
    for (int k = 0; k < n; k++) {
        if (id[k] == id[n - 1 - k]) continue;
        reversed = id[k] > id[n - 1 - k];
        break;
    }
    for (int k = 0; k < MD_MAX_KIND_ATOMS; k++)
        key[k] = k < n ? id[reversed ? n - 1 - k : k] : TOP_WILDCARD;
}

static bool same_entry(const top_type_entry *a, const top_type_entry *b)
{
    return memcmp(a->p, b->p, sizeof a->p) == 0;
}

/* Add a line. A second one for the same types must say the same, except that lines of function
 * type 9 directly below each other are further terms. */
static sundog_status add_type(top_parser *parser, const top_form *form, const top_type_entry *entry)
{
    top_table *table = &parser->table[form->table];
    int key[MD_MAX_KIND_ATOMS], last[MD_MAX_KIND_ATOMS];
    int n_atoms = md_kind_n_atoms(form->kind);
    canonical(entry->id, n_atoms, key);
    int known = md_map_find(&table->exact, key, sizeof key);
    if (known >= 0) {
        canonical(table->entry[table->n - 1].id, n_atoms, last);
        bool continues = form->func == 9 && table->entry[known].func == 9 &&
                         memcmp(key, last, sizeof key) == 0;
        bool single = known + 1 == table->n ||
                      memcmp(table->entry[known + 1].id, table->entry[known].id,
                             sizeof entry->id) != 0;
        if (!continues && single && same_entry(&table->entry[known], entry)) return SUNDOG_OK;
        if (!continues)
            return top_fail(parser, SUNDOG_ERR_INPUT,
                            form->func == 9
                                ? "[ %s ]: these types have other lines at %s; all lines of one "
                                  "dihedral type 9 must follow each other"
                                : "[ %s ]: these types were defined otherwise at %s",
                            parser->directive,
                            md_preprocessor_where(parser->preprocessor,
                                                  table->entry[known].place));
    } else {
        md_map_set(&table->exact, key, sizeof key, table->n);
    }
    BASE_RESERVE(table->entry, table->capacity, table->n + 1);
    table->entry[table->n++] = *entry;
    return SUNDOG_OK;
}

static sundog_status read_type_ids(top_parser *parser, char *const *word, int n, bool wildcards,
                                   int *id)
{
    bool pairs = strcmp(parser->directive, "pairtypes") == 0;
    for (int k = 0; k < n; k++) {
        if (wildcards && strcmp(word[k], "X") == 0) {
            id[k] = TOP_WILDCARD;
            continue;
        }
        BASE_TRY(top_find_name(parser, pairs ? &parser->atomtype_of_name : &parser->bonded_of_name,
                               word[k], pairs ? "atom type" : "bonded type", &id[k]));
    }
    return SUNDOG_OK;
}

/* Dihedral types may name two atoms: the middle ones, or the outer ones of impropers (type 2). */
static bool has_two_atoms(char *const *word, int n)
{
    return n > 2 && isdigit((unsigned char)word[2][0]) && word[2][1] == '\0';
}

sundog_status top_parse_types(top_parser *parser, char *line)
{
    char *word[TOP_MAX_WORDS];
    int n = md_text_split(line, word, TOP_MAX_WORDS);
    const char *directive = parser->directive;
    bool dihedral = directive[0] == 'd';
    int n_named = dihedral && has_two_atoms(word, n) ? 2 : top_n_atoms(parser);
    if (n <= n_named || n > TOP_MAX_WORDS)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: expected %d types, a function type and parameters, found %d words",
                        directive, n_named, n);
    if (top_type_is_unused(parser, word[n_named])) return SUNDOG_OK;
    const top_form *form;
    BASE_TRY(top_find_form(parser, word[n_named], &form));
    int id[MD_MAX_KIND_ATOMS];
    top_type_entry entry = {.func = form->func, .place = parser->place};
    BASE_TRY(read_type_ids(parser, word, n_named, dihedral, id));
    for (int k = 0; k < MD_MAX_KIND_ATOMS; k++) entry.id[k] = TOP_WILDCARD;
    int first = dihedral && n_named == 2 && form->func != 2 ? 1 : 0;
    int step = dihedral && n_named == 2 && form->func == 2 ? 3 : 1;
    for (int k = 0; k < n_named; k++) entry.id[first + k * step] = id[k];
    BASE_TRY(top_read_params(parser, form, word + n_named + 1, n - n_named - 1, entry.p));
    double checked[MD_MAX_PARAM];
    BASE_TRY(top_convert(parser, form, entry.p, checked));
    return add_type(parser, form, &entry);
}

/* Number of types that an entry names outright, in one direction; -1 if it does not fit. */
static int count_matches(const top_type_entry *entry, const int *id, int n, bool reversed)
{
    int matches = 0;
    for (int k = 0; k < n; k++) {
        int wanted = entry->id[reversed ? n - 1 - k : k];
        if (wanted == TOP_WILDCARD) continue;
        if (wanted != id[k]) return -1;
        matches++;
    }
    return matches;
}

/* The first of the entries that name most types outright, or -1. */
static int search_table(const top_table *table, const int *id, int n)
{
    int best = -1, most = -1;
    for (int e = 0; e < table->n && most < n; e++) {
        int forward = count_matches(&table->entry[e], id, n, false);
        int backward = count_matches(&table->entry[e], id, n, true);
        int matches = forward > backward ? forward : backward;
        if (matches <= most) continue;
        most = matches;
        best = e;
    }
    return best;
}

void top_find_type(top_parser *parser, const top_form *form, const int *id, int *first, int *n)
{
    top_table *table = &parser->table[form->table];
    int n_atoms = md_kind_n_atoms(form->kind), key[MD_MAX_KIND_ATOMS], last[MD_MAX_KIND_ATOMS];
    canonical(id, n_atoms, key);
    int known = md_map_find(&table->found, key, sizeof key);
    if (known < 0) {
        known = search_table(table, key, n_atoms) + 1;
        md_map_set(&table->found, key, sizeof key, known);
    }
    *first = known - 1;
    *n = known > 0 ? 1 : 0;
    if (known == 0) return;
    canonical(table->entry[*first].id, n_atoms, key);
    while (*first + *n < table->n) {
        canonical(table->entry[*first + *n].id, n_atoms, last);
        if (memcmp(key, last, sizeof key) != 0) break;
        (*n)++;
    }
}
