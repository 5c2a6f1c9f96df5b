/* Sites: every distinct atom of the topology (molecule kind, atom in it) once, with what a row of
 * that atom needs at a repartition. Rows carry their site number, so nothing is looked up by global
 * atom number in inner loops, and the table stays small enough for the cache.
 *
 * A site's *partners* are the atoms it meets: as first atom of an interaction, or by an exclusion.
 * Terms and exclusions name partners, so each is searched once per row, whatever the number of
 * terms.
 */
#ifndef MD_DOMAIN_SITES_H
#define MD_DOMAIN_SITES_H
#include "md/core/topology.h"

typedef struct md_partner {
    int gid_delta;                  /* partner's atom number minus the site's */
    int row_delta;                  /* the same in rows, where the group is owned */
    bool same_group;
} md_partner;

typedef struct md_term {
    md_kind kind;
    int param;
    int index;                      /* within the molecule's list of its kind */
    int n_others;
    int partner[MD_MAX_KIND_ATOMS - 1];     /* counted from the site's first partner */
} md_term;

typedef struct md_site {
    int moltype, atom, type;
    float charge;
    double mass;
    int group_size, group_position; /* in the order in which a group's rows stand */
    int parent;                     /* position of an earlier atom of the group that this one is
                                       constrained to; -1 for the reference atom */
    bool spans;                     /* its molecule has several groups, so partners may be apart */
    /* ranges of the arrays in md_sites */
    int partner, n_partners;
    int term, n_terms_within, n_terms;      /* those within the group come first */
    int exclusion, n_exclusions;
} md_site;

typedef struct md_sites {
    int n_sites;
    md_site *site;
    int *first;                     /* [n_moltypes], first site of a molecule kind */
    int *group_site;                /* [n_sites]: sites group by group, as their rows stand */
    int *group_first;               /* [n_sites]: index into group_site of the site's group */
    size_t n_partners, capacity_partner;
    md_partner *partner;
    size_t n_terms, capacity_term;
    md_term *term;
    size_t n_exclusions, capacity_exclusion;
    int *exclusion;                 /* partners, counted as in md_term */
    int max_partners;               /* of one site */
} md_sites;

void md_sites_create(const md_topology *topology, md_sites *out);
void md_sites_destroy(md_sites *sites);
#endif
