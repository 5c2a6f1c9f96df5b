/* .top / .itp: preprocess and parse into a topology. */
#ifndef MD_TOP_H
#define MD_TOP_H
#include "md/core/params.h"
#include "md/core/topology.h"

typedef struct md_top_options {
    const char *define, *include;   /* of the mdp: "-DFLEXIBLE -DK=1000", "-Ifolder"; may be NULL.
                                       Every macro must be asked for by the topology */
    const char *const *include_dir; /* [n_include_dirs] of the command line; where else included
                                       files are looked for: search.c */
    int n_include_dirs;
    char *notes;                    /* [n_notes] for what the user should know, a line each, or
                                       NULL */
    size_t n_notes;
    md_constraints constraints;     /* h-bonds, all-bonds: bonds become constraints, as with
                                       grompp */
} md_top_options;

/* Errors name file, line and the chain of includes, the directive and what is supported. The
 * result is finished (md_topology_finish). */
sundog_status md_top_read(const char *path, const md_top_options *options, md_topology **out);

/* What is supported: the k-th directive, NULL behind the last one; and the function types of
 * interactions that the reader of a directive knows, "1, 2", empty for other directives. */
const char *md_top_directive(int k);
void md_top_function_types(const char *directive, char *text, size_t n_text);
#endif
