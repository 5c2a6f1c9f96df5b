/* What happens at some steps only, wherever they are computed: outputs, reports, the decision to
 * stop. All of them read w->rows on every rank and write files on rank 0. */
#ifndef MD_MILESTONES_H
#define MD_MILESTONES_H
#include "md/run/worker.h"

/* Energies of this step are reported. */
bool md_energies_due(const md_worker *w, int64_t step, bool last);
/* Which of x, v, f of this step somebody wants; false: none. */
bool md_frame_due(const md_worker *w, int64_t step, bool last, bool want[3]);

/* Where rows may be ordered anew, all agree: stop here (w->stop), since a rank wants to? A
 * checkpoint now, since rank 0 does?
 * Collective. */
sundog_status md_decide(md_worker *w, int64_t step, bool *checkpoint);
/* Collective. */
sundog_status md_write_checkpoint(md_worker *w, int64_t step);
/* The frame of this step, if one is due; collects the whole system on rank 0. Collective. */
sundog_status md_write_frame(md_worker *w, int64_t step, bool last);
/* The end of the run, from what md_write_frame collected. After the step, not before: a state that
 * cannot be moved must not take the place of the last good one. */
sundog_status md_write_last(md_worker *w);
/* The energies of w->report go where they are due. */
sundog_status md_report_step(md_worker *w, int64_t step, bool last);
/* Tests and tools that look on, from what md_write_frame collected. */
void md_observe(md_worker *w, int64_t step, bool last, bool has_energy);
#endif
