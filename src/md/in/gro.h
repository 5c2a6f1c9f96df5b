/* .gro: one frame of positions, names, optional velocities, box. md_gro is what readers of other
 * coordinate files fill as well: conf.h. */
#ifndef MD_GRO_H
#define MD_GRO_H
#include "md/core/state.h"

typedef struct md_gro_atom {
    int residue_number;             /* as in the file, wraps at 100000 */
    char residue[8], name[8];
} md_gro_atom;

typedef struct md_gro {
    char title[256];
    md_gro_atom *atom;              /* [state.n_atoms] */
    md_state state;                 /* step and time are 0: a run starts where its .mdp says */
    int decimals;                   /* of the positions, 3 usually */
    bool has_time, has_step;        /* the title says "t= ..." and "step= ..." */
    double time;                    /* ps */
    int64_t step;
} md_gro;

/* Read the first frame. Errors name file and line. */
sundog_status md_gro_read(const char *path, md_gro *out);
void md_gro_destroy(md_gro *gro);
/* Title, and the time and step that it names. */
void md_gro_set_title(md_gro *gro, const char *title);
#endif
