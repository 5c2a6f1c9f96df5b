/* Preprocessor of .top / .itp files: what the parser sees are logical lines, each with its place.
 *
 *   comments      from ';' to the end of the line
 *   continuation  a backslash at the end of a line joins the next one, before anything else
 *   #include "f"  or <f>: looked for beside the including file, then as search.c says
 *   #define NAME [value], #undef NAME, #ifdef, #ifndef, #else, #endif
 *
 * A macro with a value replaces its name where that stands as a whole word (letters, digits, '_');
 * one without a value is only there to be asked for by #ifdef. Values are expanded again, but never
 * within themselves. */
#ifndef MD_PREPROCESS_H
#define MD_PREPROCESS_H
#include "base/status.h"

typedef struct md_place {
    int file;                       /* number of an opened file */
    int line;
} md_place;

typedef struct md_preprocessor md_preprocessor;

typedef struct md_preprocess_options {
    const char *define, *include;   /* as in the .mdp: "-DNAME -DNAME=VALUE -IFOLDER", or NULL */
    const char *const *include_dir; /* [n_include_dirs], of the command line */
    int n_include_dirs;
} md_preprocess_options;

sundog_status md_preprocessor_create(const char *path, const md_preprocess_options *options,
                                     md_preprocessor **out);
void md_preprocessor_destroy(md_preprocessor **preprocessor);

/* The next line that is not blank; NULL at the end. It may be changed, and is valid until the next
 * call. */
sundog_status md_preprocessor_next(md_preprocessor *preprocessor, char **line, md_place *place);

/* The folder of the search that a file was last included from; NULL: all lay beside their own. */
const char *md_preprocessor_library(const md_preprocessor *preprocessor);

/* At the end: refuses macros of `define` that nothing asked for, in a condition or as a value: a
 * misspelt one would change the run without a word. `path` as at the start. */
sundog_status md_preprocessor_check_asked(const md_preprocessor *preprocessor, const char *path);

/* "file:line: message (included from file:line, ...)" */
sundog_status md_preprocessor_fail(const md_preprocessor *preprocessor, md_place place,
                                   sundog_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "file:line" of a place, for messages about another one; in a buffer of the preprocessor. */
const char *md_preprocessor_where(md_preprocessor *preprocessor, md_place place);
#endif
