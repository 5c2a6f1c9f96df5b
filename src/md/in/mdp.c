/* .mdp reader and writer. Lines are "key = value ; comment"; what each key takes is in the table of
 * mdp_keys.c. When all lines are read the parameters are checked against each other and completed
 * as grompp does; what that changed is kept in md_params.notes.
 */
#include "md/in/mdp.h"

#include "md/in/mdp_keys.h"
#include "md/in/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 512, DEFAULT_NSTTCOUPLE = 10, MAX_WORDS = 64 };

typedef struct reader {
    md_lines lines;
    md_params *params;
    int64_t line_of_key[MAX_KEYS];  /* 0: not in the file */
} reader;

/* ---- values --------------------------------------------------------------------------------- */

static void list_choices(const md_mdp_choice *choice, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t used = 0; choice->word && used < size; choice++) {
        const char *word = choice->word[0] ? choice->word : "an empty value";
        int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "", word);
        used += n > 0 ? (size_t)n : 0;
    }
}

static sundog_status set_choice(reader *r, const md_mdp_key *key, const char *value, void *at)
{
    for (const md_mdp_choice *c = key->choice; c->word; c++) {
        if (!md_text_same_name(c->word, value)) continue;
        if (at) memcpy(at, &c->value, sizeof(int));
        return SUNDOG_OK;
    }
    char supported[256];
    list_choices(key->choice, supported, sizeof supported);
    return md_lines_fail(&r->lines, SUNDOG_ERR_UNSUPPORTED,
                         "%s = %s is not supported; supported: %s%s%s%s", key->name, value,
                         supported, key->why ? " (" : "", key->why ? key->why : "",
                         key->why ? ")" : "");
}

/* Both bounds where both are of interest, else the one that is broken. */
static sundog_status out_of_range(reader *r, const md_mdp_key *key, const char *value,
                                  bool too_large)
{
    if (key->max < 1e9)
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s = %s: must be between %g and %g",
                             key->name, value, key->min, key->max);
    return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s = %s: must be at %s %.10g", key->name,
                         value, too_large ? "most" : "least", too_large ? key->max : key->min);
}

/* True for numbers, written in `characters`, that were not read as no variable holds them. */
static bool is_huge(const char *value, const char *characters, bool *negative)
{
    char *end;
    double number = strtod(value, &end);
    *negative = number < 0.0;
    return end != value && !*end && value[strspn(value, characters)] == '\0' && fabs(number) > 1e18;
}

static sundog_status set_integer(reader *r, const md_mdp_key *key, const char *value, void *at)
{
    int64_t number;
    bool negative;
    if (!md_text_int64(value, strlen(value), &number)) {
        if (is_huge(value, "+-0123456789", &negative))
            return out_of_range(r, key, value, !negative);
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s = %s: expected an integer", key->name,
                             value);
    }
    if ((double)number < key->min || (double)number > key->max)
        return out_of_range(r, key, value, (double)number > key->max);
    int small = (int)number;
    memcpy(at, key->kind == MDP_INT ? (const void *)&small : (const void *)&number, key->size);
    return SUNDOG_OK;
}

static sundog_status read_real(reader *r, const md_mdp_key *key, const char *value, double *out)
{
    double number;
    bool negative;
    if (!md_text_double(value, strlen(value), &number)) {
        if (is_huge(value, "+-.0123456789eE", &negative))
            return out_of_range(r, key, value, !negative);
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s = %s: expected a number%s%s%s",
                             key->name, value, key->why ? " (" : "", key->why ? key->why : "",
                             key->why ? ")" : "");
    }
    if (number < key->min || number > key->max)
        return out_of_range(r, key, value, number > key->max);
    *out = number;
    return SUNDOG_OK;
}

static sundog_status set_real(reader *r, const md_mdp_key *key, const char *value, void *at)
{
    double number = 0.0;
    BASE_TRY(read_real(r, key, value, &number));
    memcpy(at, &number, sizeof number);
    return SUNDOG_OK;
}

static sundog_status set_reals(reader *r, const md_mdp_key *key, char *value, void *at)
{
    md_reals reals;
    char *word[MD_MAX_GROUPS];
    memset(&reals, 0, sizeof reals); /* its padding too: parameters are compared as bytes */
    int n = md_text_split(value, word, MD_MAX_GROUPS);
    if (n > MD_MAX_GROUPS)
        return md_lines_fail(&r->lines, SUNDOG_ERR_UNSUPPORTED, "%s: %d values; at most %d groups "
                             "are supported", key->name, n, MD_MAX_GROUPS);
    for (int k = 0; k < n; k++) BASE_TRY(read_real(r, key, word[k], &reals.value[k]));
    reals.n = n;
    memcpy(at, &reals, sizeof reals);
    return SUNDOG_OK;
}

static sundog_status set_bool(reader *r, const md_mdp_key *key, const char *value, void *at)
{
    bool yes = md_text_same_name(value, "yes");
    if (!yes && !md_text_same_name(value, "no"))
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s = %s: expected yes or no", key->name,
                             value);
    memcpy(at, &yes, sizeof yes);
    return SUNDOG_OK;
}

static sundog_status check_zero(reader *r, const md_mdp_key *key, char *value)
{
    char copy[256], *word[MAX_WORDS];
    snprintf(copy, sizeof copy, "%s", value);
    int n = md_text_split(copy, word, MAX_WORDS);
    for (int k = 0; k < n; k++) {
        double number = 1.0;
        if (k < MAX_WORDS && md_text_double(word[k], strlen(word[k]), &number) && number == 0.0)
            continue;
        return md_lines_fail(&r->lines, SUNDOG_ERR_UNSUPPORTED,
                             "%s = %s is not supported; supported: 0", key->name, value);
    }
    return SUNDOG_OK;
}

/* "no no no": the refusal shows the whole value. */
static sundog_status check_list(reader *r, const md_mdp_key *key, const char *value)
{
    char copy[256], *word[MAX_WORDS];
    snprintf(copy, sizeof copy, "%s", value);
    int n = md_text_split(copy, word, MAX_WORDS);
    for (int k = 0; k < n && k < MAX_WORDS; k++)
        if (!md_text_same_name(word[k], key->choice->word)) return set_choice(r, key, value, NULL);
    return SUNDOG_OK;
}

static sundog_status set_value(reader *r, const md_mdp_key *key, const char *name, char *value)
{
    char *at = (char *)r->params + key->offset;
    if (key->kind == MDP_REFUSED)
        return md_lines_fail(&r->lines, SUNDOG_ERR_UNSUPPORTED,
                             "%.120s belongs to %s, which is not supported", name, key->why);
    if (!value[0] || key->kind == MDP_IGNORED) return SUNDOG_OK;    /* empty: the default */
    switch (key->kind) {
    case MDP_INT:
    case MDP_INT64: return set_integer(r, key, value, at);
    case MDP_REAL: return set_real(r, key, value, at);
    case MDP_REALS: return set_reals(r, key, value, at);
    case MDP_CHOICE: return set_choice(r, key, value, at);
    case MDP_BOOL: return set_bool(r, key, value, at);
    case MDP_FIXED: return set_choice(r, key, value, NULL);
    case MDP_FIXED_LIST: return check_list(r, key, value);
    case MDP_ZERO: return check_zero(r, key, value);
    default: break;
    }
    if (strlen(value) >= key->size)
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s: more than %zu characters", key->name,
                             key->size - 1);
    strcpy(at, value);
    return SUNDOG_OK;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static sundog_status read_line(reader *r)
{
    int n;
    const md_mdp_key *keys = md_mdp_keys(&n);
    char *comment = strchr(r->lines.text, ';');
    if (comment) *comment = '\0';
    char *text = md_text_trim(r->lines.text);
    if (!text[0]) return SUNDOG_OK;
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "expected key = value, found \"%.60s\"",
                             text);
    *equals = '\0';
    const char *name = md_text_trim(text);
    int k = md_mdp_find(name);
    if (k < 0) {
        int nearest = md_mdp_nearest(name);
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "unknown key \"%.60s\"; %s%s", name,
                             nearest < 0 ? "docs/input.md lists those that are known"
                                         : "the nearest known one is ",
                             nearest < 0 ? "" : keys[nearest].name);
    }
    if (r->line_of_key[k] && !strchr(keys[k].name, '*'))
        return md_lines_fail(&r->lines, SUNDOG_ERR_INPUT, "%s is given twice, first on line %lld",
                             keys[k].name, (long long)r->line_of_key[k]);
    r->line_of_key[k] = r->lines.number;
    return set_value(r, &keys[k], name, md_text_trim(equals + 1));
}

/* ---- checks of all parameters together ------------------------------------------------------- */

static int64_t line_of(const reader *r, const char *name)
{
    return r->line_of_key[md_mdp_find(name)];
}

/* Fail at the line of `name`, or at the file when it is not there. */
static sundog_status fail_at(const reader *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static sundog_status fail_at(const reader *r, const char *name, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int64_t line = line_of(r, name);
    if (line)
        return base_fail(SUNDOG_ERR_INPUT, "%s:%lld: %s", r->lines.path, (long long)line, text);
    return base_fail(SUNDOG_ERR_INPUT, "%s: %s", r->lines.path, text);
}

static void note(md_params *params, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(md_params *params, const char *format, ...)
{
    size_t used = strlen(params->notes);
    if (used > 0 && used < sizeof params->notes - 1) params->notes[used++] = '\n';
    va_list args;
    va_start(args, format);
    vsnprintf(params->notes + used, sizeof params->notes - used, format, args);
    va_end(args);
}

static int greatest_common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Energies are written at steps where they are computed, so one interval divides the other. */
static sundog_status complete_energy_intervals(reader *r)
{
    md_params *p = r->params;
    if (p->nstcalcenergy == 0) return SUNDOG_OK; /* only where they are written */
    if (p->nstcalcenergy < 0) {
        p->nstcalcenergy = p->nstenergy > 0 ? greatest_common_divisor(p->nstenergy, p->nstlist)
                                            : p->nstlist;
        note(p, "nstcalcenergy = -1: set to %d", p->nstcalcenergy);
    } else if (p->nstenergy > 0 && p->nstcalcenergy > p->nstenergy) {
        note(p, "nstcalcenergy = %d: lowered to nstenergy, %d", p->nstcalcenergy, p->nstenergy);
        p->nstcalcenergy = p->nstenergy;
    }
    int rest = p->nstenergy % p->nstcalcenergy;
    if (rest == 0) return SUNDOG_OK;
    if (p->nstenergy > INT_MAX - p->nstcalcenergy)
        return fail_at(r, "nstenergy", "nstenergy = %d is no multiple of nstcalcenergy, %d",
                       p->nstenergy, p->nstcalcenergy);
    int raised = p->nstenergy - rest + p->nstcalcenergy;
    note(p, "nstenergy = %d: raised to %d, a multiple of nstcalcenergy, %d", p->nstenergy, raised,
         p->nstcalcenergy);
    p->nstenergy = raised;
    return SUNDOG_OK;
}

static sundog_status check_switch(reader *r)
{
    md_params *p = r->params;
    if (!md_vdw_is_switched(p->vdw_modifier)) return SUNDOG_OK;
    if (p->rvdw_switch >= p->rvdw)
        return fail_at(r, "rvdw-switch", "rvdw-switch = %g: must be smaller than rvdw, %g, as "
                       "vdw-modifier switches between them", p->rvdw_switch, p->rvdw);
    if (p->rvdw_switch == 0.0 && p->disp_corr != MD_DISP_CORR_NO)
        return fail_at(r, "rvdw-switch", "rvdw-switch = 0: must be positive with DispCorr, which "
                       "integrates what the switch leaves out");
    if (p->rvdw_switch < 0.5 * p->rvdw)
        note(p, "rvdw-switch = %g: the switch reaches over more than half of rvdw, %g; it is meant "
             "to act close to the cut-off only", p->rvdw_switch, p->rvdw);
    return SUNDOG_OK;
}

static sundog_status check_cut_offs(reader *r)
{
    md_params *p = r->params;
    if (p->rcoulomb != p->rvdw)
        return fail_at(r, line_of(r, "rvdw") ? "rvdw" : "rcoulomb",
                       "rvdw = %g and rcoulomb = %g: must be equal", p->rvdw, p->rcoulomb);
    if (p->verlet_buffer_tolerance == 0.0)
        return fail_at(r, "verlet-buffer-tolerance", "verlet-buffer-tolerance = 0: must be "
                                                     "positive, or -1 to use rlist as it is");
    if (p->verlet_buffer_tolerance < 0.0) {
        p->verlet_buffer_tolerance = -1.0;
        if (p->rlist < p->rvdw)
            return fail_at(r, "rlist", "rlist = %g: must not be smaller than the cut-off, %g, when "
                           "verlet-buffer-tolerance is -1", p->rlist, p->rvdw);
    } else if (line_of(r, "rlist")) {
        note(p, "rlist = %g: not used, as verlet-buffer-tolerance sets it (-1 would use it)",
             p->rlist);
    }
    if (p->coulombtype == MD_COULOMB_REACTION_FIELD && p->epsilon_rf != 0.0 &&
        p->epsilon_rf < p->epsilon_r)
        return fail_at(r, "epsilon-rf", "epsilon-rf = %g: must be 0 (infinite) or at least "
                       "epsilon-r, %g", p->epsilon_rf, p->epsilon_r);
    return SUNDOG_OK;
}

static sundog_status complete_thermostat(reader *r)
{
    md_params *p = r->params;
    if (p->tcoupl == MD_TCOUPL_NO) return SUNDOG_OK;
    static const char *const needed[] = {"tc-grps", "tau-t", "ref-t"};
    for (int k = 0; k < 3; k++) {
        if (!line_of(r, needed[k]))
            return fail_at(r, "tcoupl", "tcoupl = v-rescale: needs tc-grps, tau-t and ref-t; %s is "
                           "missing", needed[k]);
    }
    char names[sizeof p->tc_grps], *word[1];
    snprintf(names, sizeof names, "%s", p->tc_grps);
    int n = md_text_split(names, word, 1);
    if (n == 0) return fail_at(r, "tc-grps", "tc-grps: no group is named");
    if (n > MD_MAX_GROUPS)
        return fail_at(r, "tc-grps", "tc-grps: %d groups; at most %d are supported", n,
                       MD_MAX_GROUPS);
    if (p->ref_t.n != n || p->tau_t.n != n)
        return fail_at(r, "tc-grps", "tc-grps names %d group%s, but there are %d ref-t values and "
                       "%d tau-t values: one of each a group is needed", n, n == 1 ? "" : "s",
                       p->ref_t.n, p->tau_t.n);
    for (int g = 0; g < n; g++) {
        if (p->ref_t.value[g] < 0.0)
            return fail_at(r, "ref-t", "ref-t = %g: must not be negative", p->ref_t.value[g]);
        if (p->tau_t.value[g] < 0.0) p->tau_t.value[g] = -1.0;
    }
    if (p->nsttcouple == 0)
        return fail_at(r, "nsttcouple", "nsttcouple = 0: must be positive, or -1 for the default");
    if (p->nsttcouple < 0) p->nsttcouple = DEFAULT_NSTTCOUPLE;
    return SUNDOG_OK;
}

/* A minimiser has no time, no velocities and nothing to couple: grompp passes over those keys, too.
 * Steps count from 0. */
static sundog_status complete_minimiser(reader *r)
{
    md_params *p = r->params;
    if (p->integrator != MD_INTEGRATOR_STEEP) return SUNDOG_OK;
    if (p->emtol <= 0.0) return fail_at(r, "emtol", "emtol = %g: must be positive", p->emtol);
    if (p->emstep <= 0.0) return fail_at(r, "emstep", "emstep = %g: must be positive", p->emstep);
    p->dt = 1.0;
    p->tinit = 0.0;
    p->init_step = 0;
    p->tcoupl = MD_TCOUPL_NO;
    p->pcoupl = MD_PCOUPL_NO;
    p->comm_mode = MD_COMM_NONE;
    p->gen_vel = false;
    p->nstvout = 0;
    return SUNDOG_OK;
}

/* Three words a group; only the first letter counts, as in grompp. */
static sundog_status check_freezing(reader *r)
{
    md_params *p = r->params;
    char names[sizeof p->freezegrps], axes[sizeof p->freezedim], *word[3 * MD_MAX_GROUPS];
    snprintf(names, sizeof names, "%s", p->freezegrps);
    snprintf(axes, sizeof axes, "%s", p->freezedim);
    int n = md_text_split(names, word, MD_MAX_GROUPS);
    int n_axes = md_text_split(axes, word, 3 * MD_MAX_GROUPS);
    if (n_axes != 3 * n)
        return fail_at(r, "freezedim", "freezegrps names %d group%s, but freezedim has %d values: "
                       "three a group are needed, Y or N", n, n == 1 ? "" : "s", n_axes);
    for (int k = 0; k < n_axes && k < 3 * MD_MAX_GROUPS; k++) {
        char first = word[k][0];
        if (first != 'Y' && first != 'y' && first != 'N' && first != 'n')
            return fail_at(r, "freezedim", "freezedim: %.40s: expected Y or N", word[k]);
    }
    return SUNDOG_OK;
}

/* The largest divisor of the default interval that couples often enough within tau, as gmx. */
static int coupling_interval(double tau, double dt)
{
    enum { DEFAULT_NSTPCOUPLE = 100, STEPS_A_TAU = 5 };
    double most = tau / (dt * STEPS_A_TAU);
    int n = most >= DEFAULT_NSTPCOUPLE ? DEFAULT_NSTPCOUPLE : most >= 1 ? (int)most : 1;
    while (DEFAULT_NSTPCOUPLE % n) n--;
    return n;
}

static sundog_status check_directions(const reader *r, const char *name, const md_reals *given,
                                      int needed, const char *type)
{
    if (given->n == needed) return SUNDOG_OK;
    return fail_at(r, line_of(r, name) ? name : "pcoupl",
                   "pcoupl = C-rescale, %s: needs %d value%s of %s, %s; there %s %d", type, needed,
                   needed > 1 ? "s" : "", name, needed > 1 ? "for x/y and z" : "for all directions",
                   given->n == 1 ? "is" : "are", given->n);
}

static sundog_status complete_barostat(reader *r)
{
    md_params *p = r->params;
    if (p->pcoupl == MD_PCOUPL_NO) return SUNDOG_OK;
    bool semi = p->pcoupltype == MD_PCOUPLTYPE_SEMIISOTROPIC;
    const char *type = semi ? "semiisotropic" : "isotropic";
    BASE_TRY(check_directions(r, "compressibility", &p->compressibility, semi ? 2 : 1, type));
    BASE_TRY(check_directions(r, "ref-p", &p->ref_p, semi ? 2 : 1, type));
    for (int k = 0; k < p->compressibility.n; k++)
        if (p->compressibility.value[k] < 0)
            return fail_at(r, "compressibility", "compressibility = %g: must not be negative",
                           p->compressibility.value[k]);
    if (p->tcoupl == MD_TCOUPL_NO)
        return fail_at(r, "pcoupl", "pcoupl = C-rescale: needs tcoupl = v-rescale, as ref-t sets "
                       "the strength of its noise");
    for (int g = 0; g < p->ref_t.n; g++)
        if (p->tau_t.value[g] < 0 || p->ref_t.value[g] != p->ref_t.value[0])
            return fail_at(r, p->tau_t.value[g] < 0 ? "tau-t" : "ref-t",
                           "pcoupl = C-rescale: needs one temperature, so all groups must be "
                           "coupled, to the same ref-t");
    if (p->tau_p <= 0.0) return fail_at(r, "tau-p", "tau-p = %g: must be positive", p->tau_p);
    if (p->nstpcouple == 0)
        return fail_at(r, "nstpcouple", "nstpcouple = 0: must be positive, or -1 for the default");
    if (p->nstpcouple < 0) p->nstpcouple = coupling_interval(p->tau_p, p->dt);
    if (p->tau_p < 5 * p->nstpcouple * p->dt)
        note(p, "tau-p = %g: less than five coupling intervals (nstpcouple = %d, dt = %g); the "
             "pressure may not be coupled properly", p->tau_p, p->nstpcouple, p->dt);
    return SUNDOG_OK;
}

static sundog_status complete(reader *r)
{
    md_params *p = r->params;
    BASE_TRY(complete_minimiser(r));
    BASE_TRY(check_cut_offs(r));
    BASE_TRY(check_switch(r));
    BASE_TRY(complete_energy_intervals(r));
    BASE_TRY(complete_thermostat(r));
    BASE_TRY(complete_barostat(r));
    BASE_TRY(check_freezing(r));
    if (p->gen_vel && p->continuation)
        return fail_at(r, "gen-vel", "gen-vel = yes and continuation = yes: velocities are "
                       "generated for a start, not for the continuation of a run; choose one");
    if (p->comm_mode != MD_COMM_NONE && p->nstcomm == 0) {
        p->comm_mode = MD_COMM_NONE;
        note(p, "nstcomm = 0: comm-mode set to none");
    }
    return SUNDOG_OK;
}

/* ---- reading and writing -------------------------------------------------------------------- */

static sundog_status read_all(reader *r)
{
    bool more;
    for (;;) {
        BASE_TRY(md_lines_next(&r->lines, &more));
        if (!more) return complete(r);
        BASE_TRY(read_line(r));
    }
}

sundog_status md_mdp_read(const char *path, md_params *out)
{
    md_params params;
    reader r;
    memset(&r, 0, sizeof r);
    BASE_TRY(md_lines_open(path, &r.lines));
    md_params_default(&params);
    r.params = &params;
    sundog_status status = read_all(&r);
    md_lines_close(&r.lines);
    if (status == SUNDOG_OK) *out = params;
    return status;
}

/* As many digits as it takes to read back the same value. */
static void write_real(double value, FILE *file)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, file);
}

static void write_value(const md_params *params, const md_mdp_key *key, FILE *file)
{
    const char *at = (const char *)params + key->offset;
    int integer;
    int64_t wide;
    double real;
    md_reals reals;
    bool yes;
    switch (key->kind) {
    case MDP_INT:
        memcpy(&integer, at, sizeof integer);
        fprintf(file, "%d", integer);
        break;
    case MDP_INT64:
        memcpy(&wide, at, sizeof wide);
        fprintf(file, "%lld", (long long)wide);
        break;
    case MDP_REAL:
        memcpy(&real, at, sizeof real);
        write_real(real, file);
        break;
    case MDP_REALS:
        memcpy(&reals, at, sizeof reals);
        for (int k = 0; k < reals.n; k++) {
            if (k > 0) fputc(' ', file);
            write_real(reals.value[k], file);
        }
        break;
    case MDP_BOOL:
        memcpy(&yes, at, sizeof yes);
        fputs(yes ? "yes" : "no", file);
        break;
    case MDP_CHOICE:
        memcpy(&integer, at, sizeof integer);
        for (const md_mdp_choice *c = key->choice; c->word; c++) {
            if (c->value != integer) continue;
            fputs(c->word, file);
            break;
        }
        break;
    case MDP_TEXT: fputs(at, file); break;
    default: fputs(key->choice[0].word, file); break;   /* MDP_FIXED */
    }
}

void md_mdp_write(const md_params *params, FILE *file)
{
    int n;
    const md_mdp_key *keys = md_mdp_keys(&n);
    for (int k = 0; k < n; k++) {
        bool stored = keys[k].size > 0;
        if (!stored && keys[k].kind != MDP_FIXED) continue;
        fprintf(file, "%-32s = ", keys[k].name);
        write_value(params, &keys[k], file);
        fputc('\n', file);
    }
}
