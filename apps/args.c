#include "args.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const arg *find(const arg *table, const char *name, bool *negated)
{
    *negated = false;
    for (const arg *a = table; a->name; a++)
        if (strcmp(a->name, name) == 0) return a;
    for (const arg *a = table; a->name; a++)
        if (a->kind == ARG_FLAG && strncmp(name, "-no", 3) == 0 &&
            strcmp(a->name + 1, name + 3) == 0) {
            *negated = true;
            return a;
        }
    return NULL;
}

static bool to_int64(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) return false;
    *value = number;
    return true;
}

static bool to_int(const char *text, int *value)
{
    int64_t wide;
    if (!to_int64(text, &wide) || wide < INT_MIN || wide > INT_MAX) return false;
    *value = (int)wide;
    return true;
}

static bool to_double(const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0') return false;
    *value = number;
    return true;
}

static int n_values(arg_kind kind)
{
    return kind == ARG_FLAG ? 0 : kind == ARG_INT3 ? 3 : 1;
}

static bool store(const arg *a, char **words, bool negated)
{
    switch (a->kind) {
    case ARG_FLAG: *(bool *)a->value = !negated; return true;
    case ARG_STRING: *(const char **)a->value = words[0]; return true;
    case ARG_INT: return to_int(words[0], a->value);
    case ARG_INT64: return to_int64(words[0], a->value);
    case ARG_DOUBLE: return to_double(words[0], a->value);
    case ARG_INT3: {
        int *three = a->value;
        return to_int(words[0], &three[0]) && to_int(words[1], &three[1]) &&
               to_int(words[2], &three[2]);
    }
    case ARG_LIST: {
        const char **list = a->value;
        for (int i = 0; i < ARG_LIST_MAX; i++)
            if (!list[i]) {
                list[i] = words[0];
                return true;
            }
        return false;
    }
    }
    return false;
}

static bool was_before(char **argv, int at, const char *name)
{
    for (int i = 1; i < at; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return false;
}

static int usage(const char *program, const char *what, const char *word)
{
    fprintf(stderr, "%s: %s%s (see %s --help)\n", program, what, word, program);
    return 2;
}

int args_parse(const char *program, int argc, char **argv, const arg *table,
               const char **positional, int max_positional, int *n_positional)
{
    int n_words = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-help") == 0)
            return -1;
        if (word[0] != '-' || word[1] == '\0') {
            if (n_words >= max_positional) return usage(program, "what is meant by ", word);
            positional[n_words++] = word;
            continue;
        }
        bool negated;
        const arg *a = find(table, word, &negated);
        if (!a) return usage(program, "unknown option ", word);
        int n = n_values(a->kind);
        if (i + n >= argc) {
            char what[64];
            snprintf(what, sizeof what, "%d value%s missing after ", i + n + 1 - argc,
                     i + n + 1 - argc == 1 ? " is" : "s are");
            return usage(program, what, word);
        }
        if (!store(a, argv + i + 1, negated)) {
            char what[256];
            snprintf(what, sizeof what, "option %s takes %s, not ", word, a->placeholder);
            /* the first of three that is no number */
            int unused;
            while (a->kind == ARG_INT3 && n > 1 && to_int(argv[i + 1], &unused)) i++, n--;
            return usage(program, what, argv[i + 1]);
        }
        if (a->given) *a->given = true;
        if (a->kind != ARG_LIST && a->kind != ARG_FLAG && was_before(argv, i, a->name))
            return usage(program, "given twice: ", word);
        i += n;
    }
    if (n_positional) *n_positional = n_words;
    return 0;
}

void args_print(FILE *file, const arg *table)
{
    for (const arg *a = table; a->name; a++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", a->name, a->placeholder ? a->placeholder : "");
        /* Long explanations carry their own line breaks; align them. */
        const char *line = a->help;
        fprintf(file, "  %-24s ", left);
        for (const char *end; (end = strchr(line, '\n')); line = end + 1)
            fprintf(file, "%.*s\n%27s", (int)(end - line), line, "");
        fprintf(file, "%s\n", line);
    }
}
