/* The files of a run, written by rank 0 and open in its process alone. Names are gmx's.
 *
 * Order of safety: the output offsets in a checkpoint are taken before anything of the checkpoint's
 * step is written, and the outputs are synced before the checkpoint is renamed into place; so a
 * restart cuts every file at that step and writes it again, whenever the kill came.
 */
#ifndef MD_OUTPUTS_H
#define MD_OUTPUTS_H
#include "md/run/setup.h"
#include <stdio.h>

typedef struct md_outputs md_outputs;

/* Every `interval` steps; 0: never. */
static inline bool md_due(int interval, int64_t step)
{
    return interval > 0 && step % interval == 0;
}

/* In the first process, opens what the parameters ask for. Old files of a new run are kept as
 * #name.N#. With options->out_dir NULL nothing is opened, and all writes do nothing. */
sundog_status md_outputs_open(const md_run_options *options, const md_system *system,
                              md_outputs **out);
FILE *md_outputs_log(md_outputs *outputs); /* NULL when there is none */
/* What trajectory files want after `count` steps. */
typedef struct md_frame_parts {
    bool xtc;     /* x, compressed */
    bool x, v, f; /* of the .trr */
} md_frame_parts;
md_frame_parts md_outputs_due(const md_outputs *outputs, const md_params *params, int64_t count);
sundog_status md_outputs_frame(md_outputs *outputs, const md_frame_parts *parts,
                               const md_state *state, const float (*f)[3]);
/* Energies of a step of nstcalcenergy, for averages: before md_outputs_energy of that step. */
void md_outputs_sample(md_outputs *outputs, const md_system *system,
                       const md_energy_report *report);
/* To the log: averages over all samples of the run. */
void md_outputs_averages(const md_outputs *outputs, const md_system *system);
sundog_status md_outputs_energy(md_outputs *outputs, const md_system *system,
                                const md_energy_report *report);
/* Offsets of all files and averages as they are now: nothing of the coming step is in them. */
void md_outputs_mark(md_outputs *outputs);
/* Write state.cpt with what the last mark noted. */
sundog_status md_outputs_checkpoint(md_outputs *outputs, const md_system *system,
                                    const md_state *state);
sundog_status md_outputs_confout(md_outputs *outputs, const md_system *system,
                                 const md_state *state);
/* A .gro for a look at what went wrong; an old one of this name is kept. path: where it is, "" when
 * no files are written. */
sundog_status md_outputs_dump(md_outputs *outputs, const md_system *system, const md_state *state,
                              const char *name, const char *title, char *path, size_t size);
sundog_status md_outputs_close(md_outputs **outputs);
#endif
