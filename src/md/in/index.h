/* Index groups: named sets of atoms, from an index file or from the topology. Kept as ranges of
 * atoms, so all water of a large system is one range. */
#ifndef MD_INDEX_H
#define MD_INDEX_H
#include "md/core/topology.h"

typedef struct md_atom_range {
    int64_t first, end; /* global atoms first ... end - 1 */
} md_atom_range;

typedef struct md_index_group {
    char *name;
    int64_t n_atoms;
    size_t n_ranges, capacity;
    md_atom_range *range; /* in the order of the file; may repeat atoms */
} md_index_group;

typedef struct md_index {
    int n;
    size_t capacity;
    md_index_group *group;
    char *source; /* for messages: the file, or "the topology" */
} md_index;

/* An index file: "[ name ]" begins a group, then its atoms, counted from 1; ';' begins a comment.
 * Atoms beyond the system are found by md_index_find alone, when their group is used. */
sundog_status md_index_read(const char *path, md_index *out);
/* The groups that gmx offers without an index file (index_defaults.c). */
void md_index_defaults(const md_topology *topology, md_index *out);
void md_index_destroy(md_index *index);

/* The first group of this name, without regard to case, as gmx chooses. SUNDOG_ERR_INPUT, with the
 * names that there are, when there is none; or when the group has atoms beyond n_atoms. */
sundog_status md_index_find(const md_index *index, const char *name, int64_t n_atoms,
                            const md_index_group **out);

/* For the makers of groups. */
md_index_group *md_index_add(md_index *index, const char *name);
void md_index_group_add(md_index_group *group, int64_t first, int64_t end);
#endif
