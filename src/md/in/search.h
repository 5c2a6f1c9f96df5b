/* Where included files are looked for. */
#ifndef MD_SEARCH_H
#define MD_SEARCH_H
#include <stdbool.h>
#include <stddef.h>

typedef struct md_search_folder {
    char *path;
    const char *from;               /* "-I", "GMXLIB" or "GROMACS" */
} md_search_folder;

typedef struct md_search {
    md_search_folder *folder;       /* in order */
    int n;
    size_t capacity;
} md_search;

/* `from` outlives the search. A folder that is there already is not added again. */
void md_search_add(md_search *search, const char *path, size_t n_path, const char *from);
/* The folders of GMXLIB, then those of GROMACS installations that exist. */
void md_search_add_environment(md_search *search);
void md_search_destroy(md_search *search);

/* Path of file `name`: beside `including`, or else in the first folder that has it; then *at is
 * that folder, else NULL. NULL: nowhere. To be freed. */
char *md_search_find(const md_search *search, const char *including, const char *name,
                     const md_search_folder **at);
/* " or in DIR (-I), DIR (GMXLIB), ...", saying which do not exist; empty without folders. */
void md_search_describe(const md_search *search, char *text, size_t n_text);
#endif
