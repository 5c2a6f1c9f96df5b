/* Index groups: the file, the list, the look-up (index.h). */
#include "md/in/index.h"

#include "base/alloc.h"
#include "md/in/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

md_index_group *md_index_add(md_index *index, const char *name)
{
    BASE_RESERVE(index->group, index->capacity, index->n + 1);
    md_index_group *group = &index->group[index->n++];
    memset(group, 0, sizeof *group);
    group->name = base_strdup(name);
    return group;
}

void md_index_group_add(md_index_group *group, int64_t first, int64_t end)
{
    if (first >= end) return;
    group->n_atoms += end - first;
    if (group->n_ranges > 0 && group->range[group->n_ranges - 1].end == first) {
        group->range[group->n_ranges - 1].end = end;
        return;
    }
    BASE_RESERVE(group->range, group->capacity, group->n_ranges + 1);
    group->range[group->n_ranges++] = (md_atom_range){first, end};
}

void md_index_destroy(md_index *index)
{
    for (int g = 0; g < index->n; g++) {
        base_free(index->group[g].name);
        base_free(index->group[g].range);
    }
    base_free(index->group);
    base_free(index->source);
    memset(index, 0, sizeof *index);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* "[ name ]": the first word is the name, as gmx takes it. */
static sundog_status read_header(md_lines *lines, char *text, md_index *index)
{
    char *close = strchr(text, ']'), *word[1];
    if (!close) return md_lines_fail(lines, SUNDOG_ERR_INPUT, "expected \"[ name ]\": no ']'");
    if (*md_text_trim(close + 1))
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "expected nothing behind \"[ name ]\"");
    *close = '\0';
    if (md_text_split(text + 1, word, 1) < 1)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT, "\"[ ]\": the group has no name");
    md_index_add(index, word[0]);
    return SUNDOG_OK;
}

static sundog_status read_atoms(md_lines *lines, char *text, md_index *index)
{
    if (index->n == 0)
        return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                             "expected \"[ name ]\" before the first atom, found \"%.40s\"", text);
    md_index_group *group = &index->group[index->n - 1];
    for (char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
        size_t n = strcspn(at, " \t");
        int64_t atom;
        if (!md_text_int64(at, n, &atom) || atom < 1 || atom == INT64_MAX)
            return md_lines_fail(lines, SUNDOG_ERR_INPUT,
                                 "\"%.*s\" in group %.60s: expected the number of an atom, from 1",
                                 n < 40 ? (int)n : 40, at, group->name);
        md_index_group_add(group, atom - 1, atom);
        at += n;
    }
    return SUNDOG_OK;
}

static sundog_status read_all(md_lines *lines, md_index *index)
{
    bool more;
    for (;;) {
        BASE_TRY(md_lines_next(lines, &more));
        if (!more) break;
        char *comment = strchr(lines->text, ';');
        if (comment) *comment = '\0';
        char *text = md_text_trim(lines->text);
        if (!text[0]) continue;
        BASE_TRY(text[0] == '[' ? read_header(lines, text, index) : read_atoms(lines, text, index));
    }
    if (index->n > 0) return SUNDOG_OK;
    return base_fail(SUNDOG_ERR_INPUT, "%s holds no group (\"[ name ]\", then atom numbers)",
                     lines->path);
}

sundog_status md_index_read(const char *path, md_index *out)
{
    md_lines lines;
    md_index index = {.n = 0};
    BASE_TRY(md_lines_open(path, &lines));
    sundog_status status = read_all(&lines, &index);
    md_lines_close(&lines);
    if (status != SUNDOG_OK) {
        md_index_destroy(&index);
        return status;
    }
    index.source = base_strdup(path);
    *out = index;
    return SUNDOG_OK;
}

/* ---- look-up -------------------------------------------------------------------------------- */

/* As many names as fit; the rest as a number. */
static void list_names(const md_index *index, char *out, size_t size)
{
    size_t used = 0, room = size - 32;
    out[0] = '\0';
    for (int g = 0; g < index->n; g++) {
        const char *name = index->group[g].name;
        if (used + strlen(name) + 2 > room) {
            snprintf(out + used, size - used, " and %d more", index->n - g);
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", g ? ", " : "", name);
    }
}

sundog_status md_index_find(const md_index *index, const char *name, int64_t n_atoms,
                            const md_index_group **out)
{
    const md_index_group *found = NULL;
    for (int g = 0; g < index->n && !found; g++)
        if (strcasecmp(index->group[g].name, name) == 0) found = &index->group[g];
    if (!found) {
        char names[1024];
        list_names(index, names, sizeof names);
        return base_fail(SUNDOG_ERR_INPUT, "there is no group %.60s in %s; there are: %s", name,
                         index->source, names);
    }
    for (size_t r = 0; r < found->n_ranges; r++) {
        if (found->range[r].end <= n_atoms) continue;
        return base_fail(
            SUNDOG_ERR_INPUT, "group %.60s of %s holds atom %lld, but the system has %lld atoms",
            found->name, index->source, (long long)found->range[r].end, (long long)n_atoms);
    }
    *out = found;
    return SUNDOG_OK;
}
