/* md_top_read with its preprocessor. An input is a whole folder in one text: lines that begin with
 * '@' say what follows.
 *
 *      @define -DFLEXIBLE -DK=1000     the `define` of the .mdp
 *      @include -Iinc                  its `include`
 *      @constraints h-bonds            its `constraints`: none, h-bonds or all-bonds
 *      @file water.itp                 the lines below belong to this file, up to the next '@file';
 *                                      inc/water.itp is found as by -I
 *
 * Lines before the first '@file' are those of topol.top, which is read. Includes that lead out of
 * the sandbox are not tried. What the reader accepts is a sound topology.
 */
#include "fuzz.h"

#include "md/in/index.h"
#include "md/in/top.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 8, MAX_NAME = 32 };

typedef struct bundle {
    char define[1024], include[1024];
    md_constraints constraints;
    int n_files;
    char name[MAX_FILES][MAX_NAME];
} bundle;

static bool is_file_name(const char *name)
{
    if (strncmp(name, "inc/", 4) == 0) name += 4;
    size_t n = strlen(name);
    if (n == 0 || name[0] == '.' || strcmp(name, "inc") == 0) return false;
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '.' && name[i] != '_') return false;
    }
    return true;
}

/* Text of a line behind `word`, without the blanks around it; false if it is another line. */
static bool says(const char *line, size_t n, const char *word, char *out, size_t size)
{
    size_t n_word = strlen(word);
    if (n < n_word || memcmp(line, word, n_word) != 0) return false;
    line += n_word;
    n -= n_word;
    while (n > 0 && isspace((unsigned char)line[n - 1])) n--;
    while (n > 0 && isspace((unsigned char)*line)) line++, n--;
    if (n >= size || memchr(line, '\0', n)) n = 0;
    memcpy(out, line, n);
    out[n] = '\0';
    return true;
}

/* An option or the start of a file; then `word` is its name. */
static bool obey(const char *line, size_t n, bundle *b, char word[1024])
{
    word[0] = '\0';
    if (says(line, n, "@define ", b->define, sizeof b->define)) return true;
    if (says(line, n, "@include ", b->include, sizeof b->include)) return true;
    if (says(line, n, "@constraints ", word, 1024)) {
        b->constraints = word[0] == 'h'   ? MD_CONSTRAINTS_H_BONDS
                         : word[0] == 'a' ? MD_CONSTRAINTS_ALL_BONDS
                                          : MD_CONSTRAINTS_NONE;
        word[0] = '\0';
        return true;
    }
    return says(line, n, "@file ", word, 1024) && b->n_files < MAX_FILES &&
           strlen(word) < MAX_NAME && is_file_name(word);
}

/* Write the files, take the options. */
static void unpack(const char *text, size_t size, bundle *b)
{
    char word[1024], *contents = malloc(size ? size : 1);
    size_t n_contents = 0;
    FUZZ_CHECK(contents);
    memset(b, 0, sizeof *b);
    strcpy(b->name[b->n_files++], "topol.top");
    for (const char *line = text, *end = text + size; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        if (!obey(line, n, b, word)) {
            memcpy(contents + n_contents, line, n);
            n_contents += n;
        } else if (word[0]) {
            fuzz_write(b->name[b->n_files - 1], contents, n_contents);
            strcpy(b->name[b->n_files++], word);
            n_contents = 0;
        }
        line += n;
    }
    fuzz_write(b->name[b->n_files - 1], contents, n_contents);
    free(contents);
}

static bool leads_out(const char *text, size_t size)
{
    static const char *const ways[] = {"\"/", "</", "..", "-I/", ".ff/"};
    for (int k = 0; k < 5; k++)
        if (memmem(text, size, ways[k], strlen(ways[k]))) return true;
    return false;
}

/* ---- what a sound topology is ---------------------------------------------------------------- */

static void check_exclusions(const md_moltype *m)
{
    FUZZ_CHECK(m->exclusion_start[0] == 0);
    for (int i = 0; i < m->n_atoms; i++) {
        int begin = m->exclusion_start[i], end = m->exclusion_start[i + 1];
        FUZZ_CHECK(begin <= end);
        for (int e = begin; e < end; e++) {
            int j = m->exclusion[e];
            FUZZ_CHECK(j >= 0 && j < m->n_atoms && j != i);
            FUZZ_CHECK(e == begin || m->exclusion[e - 1] < j);
        }
    }
}

static void check_groups(const md_moltype *m)
{
    int n_seen = 0;
    FUZZ_CHECK(m->n_groups >= 1 && m->group_start[0] == 0);
    FUZZ_CHECK(m->group_start[m->n_groups] == m->n_atoms);
    for (int g = 0; g < m->n_groups; g++) {
        FUZZ_CHECK(m->group_start[g] < m->group_start[g + 1]);
        for (int k = m->group_start[g]; k < m->group_start[g + 1]; k++) {
            FUZZ_CHECK(m->group_of_atom[m->group_atom[k]] == g);
            n_seen++;
        }
    }
    FUZZ_CHECK(n_seen == m->n_atoms && m->group_radius >= 0.0);
}

static void check_moltype(const md_topology *t, const md_moltype *m)
{
    FUZZ_CHECK(m->n_atoms > 0);
    for (int i = 0; i < m->n_atoms; i++) {
        FUZZ_CHECK(m->atom[i].type >= 0 && m->atom[i].type < t->n_atomtypes);
        FUZZ_CHECK(m->atom[i].residue >= 0 && m->atom[i].residue < m->n_residues);
        FUZZ_CHECK(isfinite(m->atom[i].charge) && m->atom[i].mass > 0.0);
    }
    check_exclusions(m);
    check_groups(m);
}

static void check_topology(const md_topology *t)
{
    int64_t n_atoms = 0;
    FUZZ_CHECK(t->n_molblocks > 0 && t->n_moltypes > 0 && t->n_atomtypes > 0 && t->title);
    for (int m = 0; m < t->n_moltypes; m++) check_moltype(t, &t->moltype[m]);
    for (int b = 0; b < t->n_molblocks; b++) {
        const md_molblock *block = &t->molblock[b];
        FUZZ_CHECK(block->first_atom == n_atoms && block->count > 0);
        n_atoms += (int64_t)block->count * t->moltype[block->moltype].n_atoms;
    }
    FUZZ_CHECK(n_atoms == t->n_atoms && n_atoms > 0);
    for (int k = 0; k < t->n_params; k++)
        for (int p = 0; p < MD_MAX_PARAM; p++) FUZZ_CHECK(isfinite(t->param[k].p[p]));
    for (int k = 0; k < t->n_atomtypes * t->n_atomtypes; k++)
        FUZZ_CHECK(isfinite(t->c6[k]) && isfinite(t->c12[k]));
    md_atom_place place;
    md_topology_find(t, n_atoms - 1, &place);
    FUZZ_CHECK(place.atom == t->moltype[place.moltype].n_atoms - 1);
}

/* The groups of a topology: no atom beyond it. */
static void check_groups_of(const md_topology *t)
{
    md_index index;
    memset(&index, 0, sizeof index);
    md_index_defaults(t, &index);
    for (int g = 0; g < index.n; g++) {
        const md_index_group *group = &index.group[g];
        for (size_t r = 0; r < group->n_ranges; r++)
            FUZZ_CHECK(0 <= group->range[r].first && group->range[r].first < group->range[r].end &&
                       group->range[r].end <= t->n_atoms);
    }
    md_index_destroy(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    bundle b;
    if (leads_out(text, size)) return 0;
    unpack(text, size, &b);
    char path[1024], inc[1024], notes[512] = "";
    unsetenv("GMXLIB");
    unsetenv("GMXDATA");
    setenv("PATH", "", 1); /* no installed GROMACS: an input means the same everywhere */
    snprintf(path, sizeof path, "%s/topol.top", fuzz_folder());
    snprintf(inc, sizeof inc, "%s/inc", fuzz_folder());
    const char *include_dir[] = {inc};
    md_top_options options = {.define = b.define[0] ? b.define : NULL,
                              .include = b.include[0] ? b.include : NULL,
                              .include_dir = include_dir,
                              .n_include_dirs = 1,
                              .notes = notes,
                              .n_notes = sizeof notes,
                              .constraints = b.constraints};
    md_topology *topology = NULL;
    sundog_status status = md_top_read(path, &options, &topology);
    FUZZ_CHECK((status == SUNDOG_OK) == (topology != NULL));
    fuzz_expect_text(status);
    FUZZ_CHECK(memchr(notes, '\0', sizeof notes));
    if (topology) check_topology(topology);
    if (topology && topology->n_atoms < 10000) check_groups_of(topology);
    md_topology_destroy(&topology);
    for (int k = 0; k < b.n_files; k++) fuzz_remove(b.name[k]);
    return 0;
}
