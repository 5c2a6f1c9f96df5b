/* state.cpt: everything that a restart needs. Written to a temporary name, synced, renamed; the
 * previous one is kept as state_prev.cpt. Ends with a checksum of all that comes before. */
#ifndef MD_CHECKPOINT_H
#define MD_CHECKPOINT_H
#include "md/core/state.h"

enum { MD_N_OUTPUTS = 5 }; /* energy.csv, traj_comp.xtc, traj.trr, md.log, ener.edr */
typedef struct md_checkpoint {
    md_state state;
    uint64_t topology_hash, params_hash; /* of the inputs, to refuse a foreign restart */
    int64_t seed;                        /* thermostat */
    int64_t output_offset[MD_N_OUTPUTS]; /* bytes of each output at this step; -1: not open */
    /* md_tail_sum of each output at its offset; has_tails false: not known (versions 1, 2) */
    uint64_t output_tail[MD_N_OUTPUTS];
    bool has_tails;
    size_t n_averages; /* sums of energies that go on, as the writer keeps them; may be 0 */
    double *averages;  /* [n_averages] */
} md_checkpoint;

sundog_status md_checkpoint_write(const char *path, const md_checkpoint *checkpoint);
/* Refuses truncated, foreign or damaged files, each with its own text. */
sundog_status md_checkpoint_read(const char *path, md_checkpoint *out);
/* state.cpt -> state_prev.cpt: where the one before is kept. To be freed with base_free. */
char *md_checkpoint_previous_name(const char *path);
void md_checkpoint_destroy(md_checkpoint *checkpoint);
#endif
