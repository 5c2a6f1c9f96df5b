/* Where the time of a rank went: one running phase at a time, switched explicitly.
 *
 *      md_timing_enter(&t, MD_PHASE_FORCE_LOCAL);  ... the previous phase ends here
 */
#ifndef MD_TIMING_H
#define MD_TIMING_H
#include <stdint.h>

typedef enum md_phase {
    MD_PHASE_REPARTITION, /* migration, ghosts, exchange plan, interactions in rows */
    MD_PHASE_PAIR_LIST,
    MD_PHASE_PRUNE,
    MD_PHASE_FORWARD, /* coordinates: send and wait */
    MD_PHASE_FORCE_LOCAL,
    MD_PHASE_FORCE_BORDER,
    MD_PHASE_BONDED,
    MD_PHASE_REVERSE, /* forces: send and wait */
    MD_PHASE_UPDATE,
    MD_PHASE_CONSTRAINTS,
    MD_PHASE_SUMS,   /* energies, temperature, momentum over all ranks */
    MD_PHASE_DEVICE, /* waiting for steps on the GPU */
    MD_PHASE_OUTPUT,
    MD_PHASE_REST,
    MD_N_PHASES
} md_phase;

typedef struct md_timing {
    double seconds[MD_N_PHASES];
    int64_t count[MD_N_PHASES];
    md_phase phase;
    int64_t since_ns;
    struct md_trace *trace; /* also told, trace.h; NULL: nobody is. Kept by md_timing_start */
} md_timing;

const char *md_phase_name(md_phase phase);
void md_timing_start(md_timing *timing); /* zero, enter MD_PHASE_REST */
void md_timing_enter(md_timing *timing, md_phase phase);
double md_timing_total(const md_timing *timing);
#endif
