/* State of the whole system, in global atom order. Only where everything is in one place: start,
 * output, checkpoint. Domains hold md_rows. */
#ifndef MD_STATE_H
#define MD_STATE_H
#include "md/core/box.h"
#include "md/core/params.h"

typedef struct md_state {
    int64_t n_atoms;
    md_box box;
    double (*x)[3];                 /* nm */
    double (*v)[3];                 /* nm/ps, half a step earlier than x (leap-frog) */
    bool has_velocities;
    int64_t step;
    double time;                    /* ps */
    double thermostat_work[MD_MAX_GROUPS];  /* kJ/mol put into each temperature group by the
                                               thermostat so far */
    double barostat_work;           /* kJ/mol, of the barostat; conserved = total - all works */
    int most_units;                 /* of a block of pair lists on GPUs, as atoms let it be; 0: not
                                       known. The order of sums depends on it */
} md_state;

void md_state_create(int64_t n_atoms, md_state *state);
void md_state_destroy(md_state *state);     /* frees arrays, zeroes */
/* Bring the parts of each molecule together: an atom goes, by box vectors, to the image nearest to
 * the atom before it in its molecule; reference positions of restraints go with their atoms. */
struct md_topology;
void md_state_make_whole(md_state *state, struct md_topology *topology);
/* Multiply the box: copies[k] along box vector k. Atoms are ordered as md_topology_replicate
 * orders molecules: every block's molecules copy by copy, x fastest. Molecules must be whole: the
 * images at the old walls are no images in the larger box. */
sundog_status md_state_replicate(md_state *state, const struct md_topology *before,
                                 const int copies[3]);
#endif
