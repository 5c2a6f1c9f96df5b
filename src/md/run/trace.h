/* The timeline of chosen steps on processors: what each domain did from when to when, as a file in
 * the trace-event format that Perfetto and chrome://tracing read.
 *
 *      options->trace_path         NULL: nothing is recorded, and a phase costs a comparison more
 *      trace_from, trace_steps     the steps; written as soon as they are over
 *
 * Times are those of the machine's monotonic clock: domains of one machine can be compared, those
 * of several cannot. */
#ifndef MD_TRACE_H
#define MD_TRACE_H
#include "md/run/setup.h"
#include "md/run/timing.h"

typedef struct md_span {
    int64_t begin_ns, end_ns, step;
    int64_t phase;
} md_span;

typedef struct md_trace {
    int64_t from, end, step; /* steps [from, end); step: the one under way */
    bool on;
    size_t n, capacity;
    md_span *span;
} md_trace;

/* Before any output is touched: can what is asked for be done, and the file be written? */
sundog_status md_trace_check(const md_run_options *options, const md_system *system);
/* Refused where steps are not computed on processors. *out NULL: nothing is asked for. */
sundog_status md_trace_create(const md_run_options *options, const md_system *system,
                              md_trace **out);
void md_trace_destroy(md_trace **trace); /* accepts NULL */
void md_trace_add(md_trace *trace, md_phase phase, int64_t begin_ns, int64_t end_ns);
/* Before step `step`; trace may be NULL. Writes the file behind the last of the chosen steps.
 * Collective. */
sundog_status md_trace_step(md_trace *trace, sundog_team *team, const char *path, int64_t step);
/* After the last step. Collective. */
sundog_status md_trace_finish(md_trace *trace, sundog_team *team, const char *path);
#endif
