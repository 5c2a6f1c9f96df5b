/* Interaction functions of a topology file: one row for each function type of each directive. */
#include "base/alloc.h"
#include "md/core/units.h"
#include "md/in/text.h"
#include "md/in/top_parser.h"

#include <math.h>
#include <string.h>

static const top_form forms[] = {
    /* directive    func  kind                 table                 n   deg    bond */
    {"bonds",       1, MD_BOND,             TOP_BOND,             2,  false, true},
    {"bonds",       2, MD_BOND_G96,         TOP_BOND_G96,         2,  false, true},
    {"constraints", 1, MD_CONSTRAINT,       TOP_CONSTRAINT,       1,  false, true},
    {"constraints", 2, MD_CONSTRAINT,       TOP_CONSTRAINT_NC,    1,  false, false},
    {"angles",      1, MD_ANGLE,            TOP_ANGLE,            2,  true,  false},
    {"angles",      2, MD_ANGLE_G96,        TOP_ANGLE_G96,        2,  true,  false},
    {"angles",      5, MD_UREY_BRADLEY,     TOP_UREY_BRADLEY,     4,  true,  false},
    {"dihedrals",   1, MD_DIH_PROPER,       TOP_DIH_PROPER,       3,  true,  false},
    {"dihedrals",   2, MD_DIH_IMPROPER,     TOP_DIH_IMPROPER,     2,  true,  false},
    {"dihedrals",   3, MD_DIH_RB,           TOP_DIH_RB,           6,  false, false},
    {"dihedrals",   4, MD_DIH_PER_IMPROPER, TOP_DIH_PER_IMPROPER, 3,  true,  false},
    {"dihedrals",   5, MD_DIH_FOURIER,      TOP_DIH_FOURIER,      4,  false, false},
    {"dihedrals",   9, MD_DIH_PROPER,       TOP_DIH_PROPER,       3,  true,  false},
    {"pairs",       1, MD_PAIR14,           TOP_PAIR14,           2,  false, false},
    {"settles",     1, MD_SETTLE,           TOP_NO_TABLE,         2,  false, true},
    {"position_restraints", 1, MD_POSRES,   TOP_NO_TABLE,         3,  false, false},
};
/* Far beyond every unit, and c12 = 4 epsilon sigma^12 of it is still a number. */
static const double largest_number = 1e20;

enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* Function types of GROMACS that are not here. */
static const struct {
    const char *directive;
    int func;
    const char *name;
} others[] = {
    {"bonds", 3, "Morse"},
    {"bonds", 4, "cubic"},
    {"bonds", 5, "connection"},
    {"bonds", 6, "harmonic without exclusions"},
    {"bonds", 7, "FENE"},
    {"bonds", 8, "tabulated"},
    {"bonds", 9, "tabulated without exclusions"},
    {"bonds", 10, "restraint potential"},
    {"angles", 3, "cross bond-bond"},
    {"angles", 4, "cross bond-angle"},
    {"angles", 6, "quartic"},
    {"angles", 8, "tabulated"},
    {"angles", 9, "linear"},
    {"angles", 10, "restricted bending"},
    {"dihedrals", 8, "tabulated"},
    {"dihedrals", 10, "restricted"},
    {"dihedrals", 11, "combined bending-torsion"},
    {"pairs", 2, "with charges of its own"},
    {"position_restraints", 2, "flat-bottomed"},
};
enum { N_OTHERS = sizeof others / sizeof others[0] };

/* "bonds" is the directive of "bondtypes". */
static bool is_of(const char *of, const char *directive)
{
    if (strcmp(of, directive) == 0) return true;
    size_t n = strlen(of) - 1;      /* without the plural s */
    return strncmp(of, directive, n) == 0 && strcmp(directive + n, "types") == 0;
}

static const char *name_of_other(const char *directive, int func)
{
    for (int k = 0; k < N_OTHERS; k++) {
        if (others[k].func == func && is_of(others[k].directive, directive)) return others[k].name;
    }
    return NULL;
}

sundog_status top_find_form(top_parser *parser, const char *word, const top_form **out)
{
    int func;
    if (!md_text_int(word, strlen(word), &func))
        return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: expected a function type, found \"%s\"",
                        parser->directive, word);
    char supported[64] = "";
    for (int k = 0; k < N_FORMS; k++) {
        if (!is_of(forms[k].directive, parser->directive)) continue;
        if (forms[k].func == func) {
            *out = &forms[k];
            return SUNDOG_OK;
        }
        size_t n = strlen(supported);
        snprintf(supported + n, sizeof supported - n, "%s%d", n ? ", " : "", forms[k].func);
    }
    const char *name = name_of_other(parser->directive, func);
    return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                    "[ %s ]: function type %d%s%s%s is not supported; supported: %s",
                    parser->directive, func, name ? " (" : "", name ? name : "", name ? ")" : "",
                    supported);
}

int top_n_atoms(const top_parser *parser)
{
    int k = 0;
    while (!is_of(forms[k].directive, parser->directive)) k++;
    return md_kind_n_atoms(forms[k].kind);
}

sundog_status top_read_numbers(top_parser *parser, char *const *word, int n, double *out)
{
    for (int k = 0; k < n; k++) {
        if (!md_text_double(word[k], strlen(word[k]), &out[k]))
            return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: expected a number, found \"%s\"",
                            parser->directive, word[k]);
        if (fabs(out[k]) > largest_number)
            return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: %s is absurd", parser->directive,
                            word[k]);
    }
    return SUNDOG_OK;
}

bool top_type_is_unused(const top_parser *parser, const char *word)
{
    int func;
    return md_text_int(word, strlen(word), &func) && name_of_other(parser->directive, func);
}

sundog_status top_read_params(top_parser *parser, const top_form *form, char *const *word, int n,
                              double out[MD_MAX_PARAM])
{
    double b[MD_MAX_PARAM];
    bool dihedral = form->kind == MD_DIH_PROPER || form->kind == MD_DIH_PER_IMPROPER;
    int n_a = form->n_params, n_b = n - n_a;        /* A and B may share the multiplicity */
    bool b_state = form->kind != MD_SETTLE && (n_b == n_a || (dihedral && n_b == 2));
    if (n_b != 0 && !b_state)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: parameters of function type %d: %d expected, %d found",
                        parser->directive, form->func, n_a, n);
    memset(out, 0, MD_MAX_PARAM * sizeof *out);
    BASE_TRY(top_read_numbers(parser, word, n_a, out));
    BASE_TRY(top_read_numbers(parser, word + n_a, n_b, b));
    for (int k = 0; k < n_b; k++) {
        if (b[k] != out[k])
            return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                            "[ %s ]: %d parameters with a free-energy B state that differs from A, "
                            "which is not supported", parser->directive, n);
    }
    return SUNDOG_OK;
}

/* Ryckaert-Bellemans coefficients (in phi - 180 degrees) of the Fourier form. */
static void fourier_to_rb(const double f[4], double c[6])
{
    c[0] = f[1] + 0.5 * (f[0] + f[2]);
    c[1] = 0.5 * (3.0 * f[2] - f[0]);
    c[2] = 4.0 * f[3] - f[1];
    c[3] = -2.0 * f[2];
    c[4] = -4.0 * f[3];
    c[5] = 0.0;
}

static sundog_status check_lengths(top_parser *parser, const top_form *form, const double *p)
{
    if ((form->kind == MD_BOND || form->kind == MD_BOND_G96) && p[0] < 0.0)
        return top_fail(parser, SUNDOG_ERR_INPUT, "[ %s ]: a bond length of %g nm is negative",
                        parser->directive, p[0]);
    if (form->kind == MD_CONSTRAINT && p[0] <= 0.0)
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: a constraint length of %g nm is not positive", parser->directive,
                        p[0]);
    if (form->kind == MD_SETTLE && (p[0] <= 0.0 || p[1] <= 0.0 || p[1] >= 2.0 * p[0]))
        return top_fail(parser, SUNDOG_ERR_INPUT,
                        "[ %s ]: OH and HH distances of %g and %g nm do not form a triangle",
                        parser->directive, p[0], p[1]);
    return SUNDOG_OK;
}

sundog_status top_convert(top_parser *parser, const top_form *form, const double *in,
                          double out[MD_MAX_PARAM])
{
    memset(out, 0, MD_MAX_PARAM * sizeof *out);
    memcpy(out, in, (size_t)form->n_params * sizeof *out);
    BASE_TRY(check_lengths(parser, form, in));
    if (form->first_is_angle) out[0] = in[0] * MD_DEG_TO_RAD;
    if (form->kind == MD_DIH_PROPER || form->kind == MD_DIH_PER_IMPROPER) {
        if (in[2] != floor(in[2]) || fabs(in[2]) > 100.0)
            return top_fail(parser, SUNDOG_ERR_INPUT,
                            "[ %s ]: the multiplicity %g is not an integer of at most 100",
                            parser->directive, in[2]);
    } else if (form->kind == MD_DIH_FOURIER) {
        fourier_to_rb(in, out);
    } else if (form->kind == MD_PAIR14) {
        if (parser->topology->comb_rule != 1 && in[0] < 0.0)
            return top_fail(parser, SUNDOG_ERR_UNSUPPORTED,
                            "[ %s ]: a negative sigma (%g) is not supported", parser->directive,
                            in[0]);
        top_to_c6_c12(parser, in, out);
    }
    return SUNDOG_OK;
}

int top_add_param(top_parser *parser, md_kind kind, const double p[MD_MAX_PARAM])
{
    md_topology *topology = parser->topology;
    struct {
        double p[MD_MAX_PARAM];
        int64_t kind;
    } key = {.kind = kind};
    memcpy(key.p, p, sizeof key.p);
    int at = md_map_find(&parser->param_of_value, &key, sizeof key);
    if (at >= 0) return at;
    at = topology->n_params++;
    BASE_RESERVE(topology->param, topology->param_capacity, topology->n_params);
    memcpy(topology->param[at].p, p, sizeof topology->param[at].p);
    md_map_set(&parser->param_of_value, &key, sizeof key, at);
    return at;
}

void md_top_function_types(const char *directive, char *text, size_t n_text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < N_FORMS && used < n_text; k++) {
        if (strcmp(forms[k].directive, directive) != 0) continue;
        int n = snprintf(text + used, n_text - used, "%s%d", used ? ", " : "", forms[k].func);
        used += n > 0 ? (size_t)n : 0;
    }
}
