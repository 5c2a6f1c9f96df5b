/* Names of groups in the .mdp to atoms. The rules are grompp's: every atom is in one temperature
 * group; an atom may be outside all groups of centre-of-mass removal and keeps its motion then; no
 * atom may be in two groups of one key. */
#include "md/run/groups.h"

#include "base/alloc.h"
#include "md/in/index.h"
#include "md/in/text.h"
#include "md/run/freeze.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NONE = 255 }; /* of no group; MD_MAX_GROUPS is below */

typedef struct maker {
    const md_topology *topology;
    const md_params *params;
    const char *mdp_path, *index_path;
    md_index index;
    bool has_index;
    char *notes;
    size_t notes_size;
} maker;

/* What one key says. */
typedef struct assignment {
    int n;
    const md_index_group *group[MD_MAX_GROUPS];
    uint8_t *of;    /* [n_atoms] */
    int64_t n_rest; /* atoms of no group */
} assignment;

__attribute__((format(printf, 2, 3))) static void note(maker *m, const char *format, ...)
{
    size_t used = strlen(m->notes);
    va_list args;
    va_start(args, format);
    vsnprintf(m->notes + used, m->notes_size - used, format, args);
    va_end(args);
}

/* The groups are made when the first name needs them: most runs know but one group, all atoms. */
static sundog_status need_index(maker *m)
{
    if (m->has_index) return SUNDOG_OK;
    if (m->index_path)
        BASE_TRY(md_index_read(m->index_path, &m->index));
    else
        md_index_defaults(m->topology, &m->index);
    m->has_index = true;
    return SUNDOG_OK;
}

static sundog_status find(maker *m, const char *key, const char *name, const md_index_group **out)
{
    BASE_TRY(need_index(m));
    sundog_status status = md_index_find(&m->index, name, m->topology->n_atoms, out);
    if (status != SUNDOG_OK)
        return base_fail(status, "%s: %s: %s%s", m->mdp_path, key, sundog_last_error(),
                         m->index_path ? "" : "; others can be given in an index file, with -n");
    int n_same = 0;
    for (int g = 0; g < m->index.n; g++) n_same += strcasecmp(m->index.group[g].name, name) == 0;
    if (n_same > 1)
        note(m, "Warning: %d groups of %s are called %s; %s takes the first of them.\n", n_same,
             m->index.source, (*out)->name, key);
    return SUNDOG_OK;
}

/* Put the atoms of group g into a->of. */
static sundog_status take_atoms(const maker *m, const char *key, assignment *a, int g)
{
    const md_index_group *group = a->group[g];
    for (size_t r = 0; r < group->n_ranges; r++)
        for (int64_t i = group->range[r].first; i < group->range[r].end; i++) {
            if (a->of[i] == g)
                return base_fail(SUNDOG_ERR_INPUT, "%s: %s: atom %" PRId64 " is twice in group %s",
                                 m->mdp_path, key, i + 1, group->name);
            if (a->of[i] != NONE)
                return base_fail(SUNDOG_ERR_INPUT,
                                 "%s: %s: atom %" PRId64 " is in two groups, %s and %s; an atom "
                                 "may be in one only",
                                 m->mdp_path, key, i + 1, a->group[a->of[i]]->name, group->name);
            a->of[i] = (uint8_t)g;
        }
    a->n_rest -= group->n_atoms;
    return SUNDOG_OK;
}

static sundog_status assign(maker *m, const char *key, const char *names, assignment *a)
{
    char text[sizeof m->params->tc_grps], *word[MD_MAX_GROUPS];
    snprintf(text, sizeof text, "%s", names);
    a->n = md_text_split(text, word, MD_MAX_GROUPS);
    if (a->n > MD_MAX_GROUPS)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "%s: %s: %d groups; at most %d are supported",
                         m->mdp_path, key, a->n, MD_MAX_GROUPS);
    a->n_rest = m->topology->n_atoms;
    a->of = base_alloc((size_t)m->topology->n_atoms + 1);
    memset(a->of, NONE, (size_t)m->topology->n_atoms);
    for (int g = 0; g < a->n; g++) {
        BASE_TRY(find(m, key, word[g], &a->group[g]));
        BASE_TRY(take_atoms(m, key, a, g));
    }
    return SUNDOG_OK;
}

/* "System", or nothing where that means the same: no atom has to be looked at. An index file may
 * call other atoms System. */
static bool means_all(const maker *m, const char *names, bool or_nothing)
{
    char text[sizeof m->params->tc_grps], *word[1];
    snprintf(text, sizeof text, "%s", names);
    int n = md_text_split(text, word, 1);
    return (n == 0 && or_nothing) ||
           (n == 1 && !m->index_path && strcasecmp(word[0], "System") == 0);
}

/* Names of a key that has no effect must be those of groups all the same, as with grompp. */
static sundog_status check_names(maker *m, const char *key, const char *names)
{
    char text[sizeof m->params->tc_grps], *word[MD_MAX_GROUPS];
    if (means_all(m, names, true)) return SUNDOG_OK;
    snprintf(text, sizeof text, "%s", names);
    int n = md_text_split(text, word, MD_MAX_GROUPS);
    for (int g = 0; g < n && g < MD_MAX_GROUPS; g++) {
        const md_index_group *group;
        BASE_TRY(find(m, key, word[g], &group));
    }
    return SUNDOG_OK;
}

/* ---- the keys ------------------------------------------------------------------------------- */

static void name_group(md_temperature_group *group, const char *name)
{
    snprintf(group->name, sizeof group->name, "%.63s", name);
}

static sundog_status temperature_groups(maker *m, md_groups *out)
{
    const md_params *params = m->params;
    out->n_temperature = 1;
    name_group(&out->temperature[0], "System");
    out->temperature[0].tau_t = -1;
    if (params->tcoupl == MD_TCOUPL_NO) return check_names(m, "tc-grps", params->tc_grps);
    if (!means_all(m, params->tc_grps, false)) {
        assignment a = {.n = 0};
        sundog_status status = assign(m, "tc-grps", params->tc_grps, &a);
        if (status == SUNDOG_OK && a.n_rest > 0)
            status = base_fail(SUNDOG_ERR_INPUT,
                               "%s: tc-grps: %" PRId64 " atoms are not part of any of the groups; "
                               "every atom must be in one (tau-t = -1 leaves a group uncoupled)",
                               m->mdp_path, a.n_rest);
        for (int g = 0; g < a.n && status == SUNDOG_OK; g++)
            name_group(&out->temperature[g], a.group[g]->name);
        if (status == SUNDOG_OK) out->n_temperature = a.n;
        if (status == SUNDOG_OK && a.n > 1)
            out->temperature_of = a.of;
        else
            base_free(a.of);
        if (status != SUNDOG_OK) return status;
    }
    int n_uncoupled = 0;
    for (int g = 0; g < out->n_temperature; g++) {
        out->temperature[g].tau_t = params->tau_t.value[g];
        out->temperature[g].ref_t = params->ref_t.value[g];
        n_uncoupled += params->tau_t.value[g] < 0;
    }
    double hottest = md_groups_temperature(out);
    if (n_uncoupled > 0 && hottest > 0)
        note(m,
             "Warning: %d temperature group%s not coupled; the pair-list buffer is made for %g K, "
             "the largest ref-t of the others.\n",
             n_uncoupled, n_uncoupled > 1 ? "s are" : " is", hottest);
    return SUNDOG_OK;
}

static sundog_status frozen_groups(maker *m, md_groups *out)
{
    assignment a = {.n = 0};
    char text[sizeof m->params->freezedim], *word[3 * MD_MAX_GROUPS];
    snprintf(text, sizeof text, "%s", m->params->freezedim);
    int n_axes = md_text_split(text, word, 3 * MD_MAX_GROUPS);
    if (n_axes == 0) return SUNDOG_OK;
    int64_t n_atoms = m->topology->n_atoms;
    sundog_status status = assign(m, "freezegrps", m->params->freezegrps, &a);
    for (int64_t i = 0; i < n_atoms && status == SUNDOG_OK; i++) {
        unsigned bits = 0;
        for (int k = 0; k < 3 && a.of[i] != NONE; k++)
            bits |= (unsigned)(toupper((unsigned char)word[3 * a.of[i] + k][0]) == 'Y') << k;
        a.of[i] = (uint8_t)bits;
    }
    if (status == SUNDOG_OK) status = md_freeze_check(m->topology, a.of, m->mdp_path);
    if (status != SUNDOG_OK) {
        base_free(a.of);
        return status;
    }
    out->frozen = a.of;
    note(m, "Note: %" PRId64 " atoms are in frozen groups; virial and pressure mean little then.\n",
         n_atoms - a.n_rest);
    return SUNDOG_OK;
}

/* What does not move at all is no part of the motion that is removed. */
static void take_frozen_out(maker *m, md_groups *out)
{
    int64_t n_frozen = 0, n_atoms = m->topology->n_atoms;
    for (int64_t i = 0; i < n_atoms; i++) {
        if (out->frozen[i] != MD_FROZEN_ALL) continue;
        if (!out->com_of) out->com_of = base_alloc_zero((size_t)n_atoms + 1);
        n_frozen += out->com_of[i] != out->n_com;
        out->com_of[i] = (uint8_t)out->n_com;
    }
    if (n_frozen > 0)
        note(m, "Note: %" PRId64 " frozen atoms are taken out of centre-of-mass removal.\n",
             n_frozen);
}

/* Atoms outside all groups keep their motion; gmx warns, too. */
static sundog_status com_groups(maker *m, md_groups *out)
{
    out->n_com = 1;
    if (m->params->comm_mode == MD_COMM_NONE)
        return check_names(m, "comm-grps", m->params->comm_grps);
    if (means_all(m, m->params->comm_grps, true)) return SUNDOG_OK;
    assignment a = {.n = 0};
    sundog_status status = assign(m, "comm-grps", m->params->comm_grps, &a);
    if (status != SUNDOG_OK || (a.n == 1 && a.n_rest == 0)) {
        base_free(a.of);
        return status;
    }
    out->n_com = a.n;
    out->com_of = a.of;
    for (int64_t i = 0; i < m->topology->n_atoms; i++)
        if (a.of[i] == NONE) a.of[i] = (uint8_t)a.n;
    if (a.n_rest > 0)
        note(m,
             "Warning: %" PRId64 " atoms are not part of any group of comm-grps; their motion is "
             "not removed. In most cases one group of the whole system is right.\n",
             a.n_rest);
    return SUNDOG_OK;
}

/* Several groups make one, in the order of the system. */
static sundog_status compressed_groups(maker *m, md_groups *out)
{
    const md_params *params = m->params;
    if (params->nstxout_compressed == 0)
        return check_names(m, "compressed-x-grps", params->compressed_x_grps);
    if (means_all(m, params->compressed_x_grps, true)) return SUNDOG_OK;
    assignment a = {.n = 0};
    int64_t n_atoms = m->topology->n_atoms;
    sundog_status status = assign(m, "compressed-x-grps", params->compressed_x_grps, &a);
    if (status == SUNDOG_OK && a.n_rest == n_atoms)
        status = base_fail(SUNDOG_ERR_INPUT, "%s: compressed-x-grps: there is no atom in %s",
                           m->mdp_path, params->compressed_x_grps);
    if (status == SUNDOG_OK && a.n_rest > 0) {
        out->compressed = base_alloc((size_t)(n_atoms - a.n_rest) * sizeof *out->compressed);
        for (int64_t i = 0; i < n_atoms; i++)
            if (a.of[i] != NONE) out->compressed[out->n_compressed++] = i;
    }
    base_free(a.of);
    return status;
}

sundog_status md_groups_create(const md_topology *topology, const md_params *params,
                               const char *mdp_path, const char *index_path, char *notes,
                               size_t notes_size, md_groups *out)
{
    maker m = {.topology = topology,
               .params = params,
               .mdp_path = mdp_path,
               .index_path = index_path,
               .notes = notes,
               .notes_size = notes_size};
    memset(out, 0, sizeof *out);
    /* A file that is given is read, whether a group of it is used or not. */
    sundog_status status = index_path ? need_index(&m) : SUNDOG_OK;
    if (status == SUNDOG_OK) status = temperature_groups(&m, out);
    if (status == SUNDOG_OK) status = frozen_groups(&m, out);
    if (status == SUNDOG_OK) status = com_groups(&m, out);
    if (status == SUNDOG_OK && out->frozen && params->comm_mode != MD_COMM_NONE)
        take_frozen_out(&m, out);
    if (status == SUNDOG_OK) status = compressed_groups(&m, out);
    md_index_destroy(&m.index);
    if (status != SUNDOG_OK) md_groups_destroy(out);
    return status;
}

void md_groups_destroy(md_groups *groups)
{
    base_free(groups->temperature_of);
    base_free(groups->com_of);
    base_free(groups->frozen);
    base_free(groups->compressed);
    memset(groups, 0, sizeof *groups);
}

double md_groups_temperature(const md_groups *groups)
{
    double hottest = 0;
    for (int g = 0; g < groups->n_temperature; g++) {
        const md_temperature_group *group = &groups->temperature[g];
        if (group->tau_t >= 0 && group->ref_t > hottest) hottest = group->ref_t;
    }
    return hottest;
}
