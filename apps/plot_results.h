/* Pictures of what `sundog bench` wrote: JSON lines, of one file or several. */
#ifndef PLOT_RESULTS_H
#define PLOT_RESULTS_H
#include "base/status.h"

typedef enum plot_kind {
    PLOT_SPEED, /* lines of `bench md`: ns/day and us a step against atoms, GPUs, exchange */
    PLOT_HALO   /* lines of `bench halo`: us against rows, a panel for each set-up */
} plot_kind;

/* Lines of other benchmarks are passed over; a line of another program counts when it has atoms and
 * us_per_step, ms_per_step or ns_per_day with dt_ps, and `program` names it. */
sundog_status plot_results(plot_kind kind, const char *const *path, int n_paths,
                           const char *image_path);
#endif
