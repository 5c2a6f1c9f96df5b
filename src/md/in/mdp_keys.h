/* Table of .mdp keys: those that fill md_params, those that must have the value at which they do
 * nothing, and all others of the GROMACS manual (2022 to 2026), to be refused by name. */
#ifndef MD_MDP_KEYS_H
#define MD_MDP_KEYS_H
#include "base/status.h"

typedef enum md_mdp_kind {
    MDP_INT, MDP_INT64, MDP_REAL,   /* a number in [min, max] */
    MDP_REALS,                      /* numbers in [min, max], into md_reals */
    MDP_TEXT,                       /* the rest of the line; `size` bytes in md_params */
    MDP_CHOICE,                     /* one word of `choice`, its value into an int */
    MDP_BOOL,                       /* yes, no */
    MDP_FIXED,                      /* one of the words of `choice`, nothing else; stored nowhere */
    MDP_FIXED_LIST,                 /* such a word, any number of times, one a group */
    MDP_ZERO,                       /* numbers, all zero; stored nowhere */
    MDP_IGNORED,                    /* no effect with what is supported; gmx ignores it too */
    MDP_REFUSED                     /* belongs to something that is not supported */
} md_mdp_kind;

typedef struct md_mdp_choice {
    const char *word;               /* NULL ends the list */
    int value;                      /* the first word of a value is the one that is written */
} md_mdp_choice;

typedef struct md_mdp_key {
    const char *name;
    md_mdp_kind kind;
    size_t offset, size;            /* in md_params */
    double min, max;
    const md_mdp_choice *choice;
    const char *why;                /* for refusals: what it belongs to, or what else is wrong */
} md_mdp_key;

/* [*n] in the order in which md_mdp_write writes them. */
const md_mdp_key *md_mdp_keys(int *n);
/* Row of a key (older names included, case, '-' and '_' disregarded), or -1. Names of numbered keys
 * ("pull-coord1-k") give the row of their family. */
int md_mdp_find(const char *name);
/* Row of the name with the smallest edit distance to `name`, or -1 when more than a third of the
 * letters would have to change: then it is no slip of the pen. */
int md_mdp_nearest(const char *name);
#endif
