/* When a run goes wrong: warnings of the constraints, where it happened, and what is left for
 * those who want to see it. */
#ifndef MD_FAULTS_H
#define MD_FAULTS_H
#include "md/run/step.h"
#include "md/run/worker.h"

typedef struct md_faults md_faults; /* shared by the threads of a run */

/* At most 999 steps with constraint warnings, as gmx has it, or GMX_MAXCONSTRWARN (-1: no limit).
 */
md_faults *md_faults_create(int n_domains, int n_here /* in this process */);
void md_faults_destroy(md_faults **faults);

/* Log the warnings of the last md_constrain_positions, if any. SUNDOG_ERR_PHYSICS when there have
 * been too many. Not collective. */
sundog_status md_faults_warn(md_worker *w, int64_t step);
/* The same with this text, a line, for n_steps steps from `step` on. */
sundog_status md_faults_add_warning(const md_worker *w, int64_t step, int n_steps,
                                    const char *warning);
int64_t md_faults_n_warnings(const md_faults *faults);

/* The failure was found by this domain alone: its text gets the domain. */
sundog_status md_faults_here(const md_worker *w, sundog_status status);
/* The failure was found by all domains alike: its text gets the atom with the largest force, or one
 * that is not finite. Collective. */
sundog_status md_faults_blame(const md_worker *w, sundog_status status);

/* These domains of this process launch nothing on GPUs any more. */
void md_faults_leave(md_faults *faults, int n_domains);
/* Until all have left: once a team is dead kernels wait for nothing, but they still store into the
 * peers' rows, so none are freed before. */
void md_faults_meet(md_faults *faults);

/* Keep this rank's part of the last good state and of what followed. Called when a rank leaves a
 * run that failed. */
void md_faults_keep(md_worker *w);
/* Bring what all processes keep to the first. Collective over processes; status: the failure, which
 * is returned with its text. */
struct md_processes;
sundog_status md_faults_gather(md_faults *faults, const struct md_processes *processes,
                               sundog_status status);
/* After all ranks have left, in the first process: write the two as step<N>b.gro and step<N>c.gro,
 * as rank `cause` has them, and add that to the text of the failure. */
sundog_status md_faults_write(md_faults *faults, md_outputs *outputs, const md_system *system,
                              int cause, sundog_status status);
#endif
