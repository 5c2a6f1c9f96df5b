#include "md/run/trace.h"

#include "base/alloc.h"
#include "md/out/file.h"
#include "md/run/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static sundog_status check_steps(const md_system *system)
{
    if (system->n_gpus > 0)
        return base_fail(SUNDOG_ERR_UNSUPPORTED,
                         "-trace shows steps on processors, and this run computes on GPUs; "
                         "-device cpu keeps it off them");
    if (system->params.integrator != MD_INTEGRATOR_MD)
        return base_fail(SUNDOG_ERR_UNSUPPORTED, "-trace shows steps of integrator = md alone");
    return SUNDOG_OK;
}

/* A folder that the run will make is no obstacle: that of the outputs itself, none below it. */
static bool is_in_new_folder(const md_run_options *options)
{
    struct stat folder;
    const char *name = strrchr(options->trace_path, '/');
    size_t n = options->out_dir ? strlen(options->out_dir) : 0;
    size_t n_folder = name ? (size_t)(name - options->trace_path) : 0;
    while (n > 1 && options->out_dir[n - 1] == '/') n--;
    while (n_folder > 1 && options->trace_path[n_folder - 1] == '/') n_folder--;
    return n > 0 && n == n_folder && memcmp(options->trace_path, options->out_dir, n) == 0 &&
           stat(options->out_dir, &folder) != 0;
}

/* What a file cannot replace, though one can be made beside it. */
static sundog_status check_name(const char *path)
{
    struct stat there;
    size_t n = strlen(path);
    if (n == 0) return base_fail(SUNDOG_ERR_INPUT, "-trace needs the name of a file");
    if (path[n - 1] == '/' || (stat(path, &there) == 0 && S_ISDIR(there.st_mode)))
        return base_fail(SUNDOG_ERR_INPUT, "-trace %s: a folder, not a file", path);
    return SUNDOG_OK;
}

sundog_status md_trace_check(const md_run_options *options, const md_system *system)
{
    md_replace file;
    if (!options->trace_path) return SUNDOG_OK;
    BASE_TRY(check_steps(system));
    if (!md_processes_is_first(options->processes)) return SUNDOG_OK;
    BASE_TRY(check_name(options->trace_path));
    if (is_in_new_folder(options)) return SUNDOG_OK;
    BASE_TRY(md_replace_begin(options->trace_path, &file));
    md_replace_cancel(&file);
    return SUNDOG_OK;
}

sundog_status md_trace_create(const md_run_options *options, const md_system *system,
                              md_trace **out)
{
    enum { LISTS_BEFORE = 2, STEPS = 20 };
    *out = NULL;
    if (!options->trace_path) return SUNDOG_OK;
    BASE_TRY(check_steps(system));
    md_trace *trace = base_alloc_zero(sizeof *trace);
    int64_t start = system->state.step, n = options->trace_steps > 0 ? options->trace_steps : STEPS;
    /* Not given: behind the first lists, unless the run is over before. */
    trace->from = start + LISTS_BEFORE * system->nstlist;
    if (options->trace_from >= 0) trace->from = options->trace_from;
    if (options->trace_from < 0 && trace->from > system->last_step) trace->from = start;
    trace->end = trace->from < INT64_MAX - n ? trace->from + n : INT64_MAX;
    *out = trace;
    return SUNDOG_OK;
}

void md_trace_destroy(md_trace **trace)
{
    if (!*trace) return;
    base_free((*trace)->span);
    base_free(*trace);
    *trace = NULL;
}

void md_trace_add(md_trace *trace, md_phase phase, int64_t begin_ns, int64_t end_ns)
{
    if (!trace->on) return;
    BASE_RESERVE(trace->span, trace->capacity, trace->n + 1);
    trace->span[trace->n++] = (md_span){begin_ns, end_ns, trace->step, phase};
}

static void put_events(FILE *out, const md_span *span, const size_t *offset, int n_ranks)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < offset[n_ranks] / sizeof *span; i++)
        if (span[i].begin_ns < first) first = span[i].begin_ns;
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
          "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, "
          "\"args\": {\"name\": \"sundog\"}}",
          out);
    for (int rank = 0; rank < n_ranks; rank++) {
        fprintf(out,
                ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": %d, "
                "\"args\": {\"name\": \"domain %d\"}}",
                rank, rank);
        for (size_t i = offset[rank] / sizeof *span; i < offset[rank + 1] / sizeof *span; i++)
            fprintf(out,
                    ",\n{\"name\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, "
                    "\"pid\": 0, \"tid\": %d, \"args\": {\"step\": %" PRId64 "}}",
                    md_phase_name((md_phase)span[i].phase),
                    1e-3 * (double)(span[i].begin_ns - first),
                    1e-3 * (double)(span[i].end_ns - span[i].begin_ns), rank, span[i].step);
    }
    fputs("\n]}\n", out);
}

static sundog_status write_file(const char *path, const md_span *span, const size_t *offset,
                                int n_ranks)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);
    if (!out) return base_fail(SUNDOG_ERR_MEMORY, "%s: no memory for the trace", path);
    put_events(out, span, offset, n_ranks);
    fclose(out);
    md_replace file;
    sundog_status status = md_replace_begin(path, &file);
    if (status == SUNDOG_OK) {
        status = md_replace_write(&file, text, n_bytes);
        if (status == SUNDOG_OK)
            status = md_replace_commit(&file, NULL);
        else
            md_replace_cancel(&file);
    }
    free(text);
    return status;
}

/* Spans of all domains to rank 0, and there into the file. */
static sundog_status gather_and_write(md_trace *trace, sundog_team *team, const char *path)
{
    int n = sundog_team_size(team);
    size_t *offset = base_alloc_zero(2 * ((size_t)n + 1) * sizeof *offset);
    size_t *from = offset + n + 1;
    for (int rank = 1; rank <= n; rank++) offset[rank] = trace->n * sizeof *trace->span;
    md_span *all = NULL;
    sundog_status status = sundog_team_alltoall_sizes(team, offset, from);
    if (status == SUNDOG_OK) {
        all = base_alloc(from[n] + 1);
        status = sundog_team_alltoall(team, trace->span, offset, all, from);
    }
    if (status == SUNDOG_OK && sundog_team_rank(team) == 0) status = write_file(path, all, from, n);
    base_free(all);
    base_free(offset);
    trace->on = false;
    trace->end = trace->from; /* once */
    return status;
}

sundog_status md_trace_step(md_trace *trace, sundog_team *team, const char *path, int64_t step)
{
    if (!trace) return SUNDOG_OK;
    if (trace->on && step >= trace->end) return gather_and_write(trace, team, path);
    trace->on = step >= trace->from && step < trace->end;
    trace->step = step;
    return SUNDOG_OK;
}

sundog_status md_trace_finish(md_trace *trace, sundog_team *team, const char *path)
{
    return trace && trace->on ? gather_and_write(trace, team, path) : SUNDOG_OK;
}
