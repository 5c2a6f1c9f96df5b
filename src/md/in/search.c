/* Included files are looked for, as grompp does:
 *
 *      beside the including file
 *      -I         of the command line, then of `define` and `include` in the .mdp
 *      GMXLIB     folders with ':' between them
 *      GROMACS    GMXDATA/top; share/gromacs/top of the gmx on PATH; /usr/local/gromacs; /usr
 *
 * The last line is where "oplsaa.ff/forcefield.itp" is found. grompp knows its own data folder;
 * here the gmx that the user would call comes before the one of the system.
 */
#include "md/in/search.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_readable_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);     /* nor devices: they have no end */
}

static char *join_path(const char *folder, size_t n_folder, const char *name)
{
    char *path = base_alloc(n_folder + strlen(name) + 2);
    memcpy(path, folder, n_folder);
    if (n_folder > 0 && folder[n_folder - 1] != '/') path[n_folder++] = '/';
    strcpy(path + n_folder, name);
    return path;
}

void md_search_add(md_search *search, const char *path, size_t n_path, const char *from)
{
    while (n_path > 1 && path[n_path - 1] == '/') n_path--;
    for (int i = 0; i < search->n; i++) {
        const char *known = search->folder[i].path;
        if (strncmp(known, path, n_path) == 0 && known[n_path] == '\0') return;
    }
    BASE_RESERVE(search->folder, search->capacity, search->n + 1);
    char *copy = base_alloc(n_path + 1);
    memcpy(copy, path, n_path);
    copy[n_path] = '\0';
    search->folder[search->n++] = (md_search_folder){copy, from};
}

void md_search_destroy(md_search *search)
{
    for (int i = 0; i < search->n; i++) base_free(search->folder[i].path);
    base_free(search->folder);
    memset(search, 0, sizeof *search);
}

/* ---- environment ---------------------------------------------------------------------------- */

/* The next piece of a list with ':' between, which is not empty; NULL at the end. */
static const char *next_piece(const char **list, size_t *n)
{
    while (*list && **list) {
        const char *piece = *list;
        *n = strcspn(piece, ":");
        *list = piece + *n + (piece[*n] == ':');
        if (*n > 0) return piece;
    }
    return NULL;
}

static void add_if_there(md_search *search, const char *folder, size_t n, const char *below)
{
    char *path = join_path(folder, n, below);
    if (is_folder(path)) md_search_add(search, path, strlen(path), "GROMACS");
    base_free(path);
}

/* PREFIX/bin/gmx belongs to PREFIX/share/gromacs/top, links followed. */
static void add_of_program(md_search *search, const char *program)
{
    const char *list = getenv("PATH"), *piece;
    size_t n;
    while ((piece = next_piece(&list, &n)) != NULL) {
        char *path = join_path(piece, n, program);
        bool is_program = is_readable_file(path) && access(path, X_OK) == 0;
        char *real = is_program ? realpath(path, NULL) : NULL;
        base_free(path);
        if (!real) continue;
        for (int level = 0; level < 2; level++) {
            char *slash = strrchr(real, '/');
            if (slash) *slash = '\0';
        }
        add_if_there(search, real, strlen(real), "share/gromacs/top");
        free(real);                 /* from realpath */
        return;
    }
}

void md_search_add_environment(md_search *search)
{
    const char *list = getenv("GMXLIB"), *data = getenv("GMXDATA"), *piece;
    size_t n;
    while ((piece = next_piece(&list, &n)) != NULL) md_search_add(search, piece, n, "GMXLIB");
    if (data && data[0]) add_if_there(search, data, strlen(data), "top");
    static const char *const programs[] = {"gmx", "gmx_mpi", "gmx_d"};
    for (int k = 0; k < 3; k++) add_of_program(search, programs[k]);
    static const char *const prefixes[] = {"/usr/local/gromacs", "/usr"};
    for (int k = 0; k < 2; k++)
        add_if_there(search, prefixes[k], strlen(prefixes[k]), "share/gromacs/top");
}

/* ---- use ------------------------------------------------------------------------------------ */

char *md_search_find(const md_search *search, const char *including, const char *name,
                     const md_search_folder **at)
{
    const char *slash = strrchr(including, '/');
    size_t n = slash && name[0] != '/' ? (size_t)(slash - including) + 1 : 0;
    char *path = join_path(including, n, name);
    *at = NULL;
    if (is_readable_file(path)) return path;
    base_free(path);
    for (int i = 0; i < search->n && name[0] != '/'; i++) {
        *at = &search->folder[i];
        path = join_path((*at)->path, strlen((*at)->path), name);
        if (is_readable_file(path)) return path;
        base_free(path);
    }
    *at = NULL;
    return NULL;
}

void md_search_describe(const md_search *search, char *text, size_t n_text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < search->n && used < n_text; i++) {
        const md_search_folder *folder = &search->folder[i];
        int n = snprintf(text + used, n_text - used, "%s%s (%s%s)", i ? ", " : " or in ",
                         folder->path, folder->from,
                         is_folder(folder->path) ? "" : ", no such folder");
        used += n > 0 ? (size_t)n : 0;
    }
}
