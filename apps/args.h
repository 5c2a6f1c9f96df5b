/* Command lines, told by a table: name, how many values, what for. Names are gmx's: one dash. */
#ifndef ARGS_H
#define ARGS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum arg_kind {
    ARG_FLAG,   /* bool: -v sets, -nov clears (as gmx does) */
    ARG_STRING, /* const char * */
    ARG_INT,    /* int */
    ARG_INT64,  /* int64_t */
    ARG_INT3,   /* int[3] */
    ARG_DOUBLE, /* double */
    ARG_LIST    /* const char *[ARG_LIST_MAX], given several times */
} arg_kind;

enum { ARG_LIST_MAX = 16 };

typedef struct arg {
    const char *name; /* with its dash; NULL ends the table */
    arg_kind kind;
    void *value; /* left as it is when the option is not given */
    bool *given; /* set when it is; may be NULL */
    const char *placeholder, *help;
} arg;

/* argv[0] is not looked at. positional [max_positional]: words without a dash; more than that, or
 * anything wrong, is said on stderr in one line. Returns 0, or 2 (usage), or -1 when --help was
 * asked for. */
int args_parse(const char *program, int argc, char **argv, const arg *table,
               const char **positional, int max_positional, int *n_positional);
void args_print(FILE *file, const arg *table);
#endif
