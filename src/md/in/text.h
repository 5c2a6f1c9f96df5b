/* What all readers share: lines of a file, numbers in text, words. */
#ifndef MD_TEXT_H
#define MD_TEXT_H
#include "base/status.h"

#include <stdio.h>

/* A file read line by line; CR before LF is dropped. A line may have 16 MiB: what has more is no
 * text (a device would go on for ever), and is refused before it fills the memory. */
typedef struct md_lines {
    char *path;
    FILE *file;
    char *text;                     /* the current line, without its end; may be changed */
    size_t n;                       /* its length */
    size_t capacity;
    char *block;                    /* read ahead; [at, n_block) is still to come */
    size_t at, n_block;
    int64_t number;                 /* of the current line, from 1 */
    int64_t n_bytes;                /* size of the file, 0 when it has none (a pipe) */
} md_lines;

sundog_status md_lines_open(const char *path, md_lines *lines);
/* *more is false at the end of the file. A NUL byte inside is an error: the file is not text. */
sundog_status md_lines_next(md_lines *lines, bool *more);
/* "path:line: message" for the current line. */
sundog_status md_lines_fail(const md_lines *lines, sundog_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void md_lines_close(md_lines *lines);

/* A decimal number that fills s[0, n) up to blanks around it: sign, digits with at most one point,
 * exponent. Correctly rounded, the same bits as strtod. Not a number: false (so are inf, nan and
 * hexadecimal). Too large for a double: false. */
bool md_text_double(const char *s, size_t n, double *out);
/* The same for integers; false when out of range. */
bool md_text_int64(const char *s, size_t n, int64_t *out);
bool md_text_int(const char *s, size_t n, int *out);

/* Cut blanks off both ends, in place. */
char *md_text_trim(char *s);
/* Cut `s` into words at blanks, in place. Returns how many there are, which may exceed `max`; only
 * the first `max` are set. */
int md_text_split(char *s, char **word, int max);
/* Equal when case, '-' and '_' are disregarded (names of keys, directives and options). */
bool md_text_same_name(const char *a, const char *b);
#endif
