/* sundog bench md: steps of a real system, without files; a JSON line a run.
 *
 *      one run    as the options say
 *      -sweep     the input 1, 2, 4, 8, 16, 32 times, on one GPU and on more, in both schemes where
 *                 they differ; -quick: of it what takes half a minute
 *
 * The first half of the steps is not timed: it loads kernels, warms up caches and lets the lists
 * find their sizes. */
#include "build_info.h"
#include "commands.h"
#include "run_args.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: sundog bench md -f FILE.mdp -c FILE.gro -p FILE.top [options]\n\n"
    "Runs without writing files and prints ns/day, us/step and where the time went, as one JSON\n"
    "line. The first half of the steps is not timed.\n\n";

/* "peer/flit direct deterministic" */
static void print_exchange(FILE *file, const char *text)
{
    char fabric[32], rung[32], route[32];
    if (sscanf(text, "%31[^/]/%31s %31s", fabric, rung, route) == 3)
        fprintf(file, "\"fabric\": \"%s\", \"exchange\": \"%s\", \"route\": \"%s\"", fabric, rung,
                route);
    else
        fprintf(file, "\"fabric\": \"none\", \"exchange\": \"%s\", \"route\": \"none\"", text);
}

static void print_phases(FILE *file, const md_run_result *result)
{
    double n = (double)result->n_timed_steps;
    fprintf(file, "\"phases_us_per_step\": {");
    for (int p = 0, some = 0; p < MD_N_PHASES; p++) {
        if (result->timing.count[p] == 0) continue;
        fprintf(file, "%s\"%s\": %.3f", some++ ? ", " : "", md_phase_name((md_phase)p),
                1e6 * result->timing.seconds[p] / n);
    }
    fputc('}', file);
}

/* Parts of a step on the GPU, each alone; the share of the time that the host only waits for it. */
static void print_parts(FILE *file, const md_run_result *result)
{
    if (result->n_gpus == 0) return;
    double total = md_timing_total(&result->timing);
    fprintf(file, ", \"host_idle\": %.3f, \"parts_us\": {",
            total > 0 ? result->timing.seconds[MD_PHASE_DEVICE] / total : 0);
    for (int p = 0; p < MD_GPU_N_PARTS; p++)
        fprintf(file, "%s\"%s\": %.3f", p ? ", " : "", md_gpu_part_name((md_gpu_part)p),
                result->part_us[p]);
    fputc('}', file);
}

static void print_result(FILE *file, const md_run_options *options, const md_run_result *result)
{
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    fprintf(file,
            "{\"bench\": \"md\", \"date\": \"%s\", \"commit\": \"%s\", \"compiler\": \"%s\", "
            "\"flags\": \"%s\", \"device\": \"%s\", \"gpus\": %d, \"gpu\": \"%s\", "
            "\"driver\": \"%s\", \"conf\": \"%s\", \"atoms\": %" PRId64 ", \"domains\": %d, "
            "\"grid\": [%d, %d, %d], \"scheme\": \"%s\", ",
            date, build_commit, build_compiler, build_flags, result->n_gpus > 0 ? "gpu" : "cpu",
            result->n_gpus, result->gpus, result->driver, options->conf, result->n_atoms,
            result->n_domains, result->grid[0], result->grid[1], result->grid[2],
            result->scheme == MD_SCHEME_SHELL ? "shell" : "return");
    print_exchange(file, result->exchange);
    fprintf(file,
            ", \"kernel\": \"%s\", \"rlist\": %.4f, \"nstlist\": %d, \"timed_steps\": %" PRId64
            ", \"us_per_step\": %.3f, \"ns_per_day\": %.4f, ",
            result->kernel, result->rlist, result->nstlist, result->n_timed_steps,
            1e3 * result->ms_per_step, result->ns_per_day);
    print_phases(file, result);
    print_parts(file, result);
    fprintf(file, "}\n");
    fflush(file);
}

static int run_one(md_run_options *options, int64_t n_steps, FILE *file)
{
    md_run_result result;
    options->nsteps_given = true;
    options->nsteps = n_steps;
    options->out_dir = NULL;
    options->measure_parts = true;
    options->timing_from_step = -n_steps / 2;
    if (md_run(options, &result) != SUNDOG_OK) {
        fprintf(stderr, "sundog bench md: error: %s\n", sundog_last_error());
        return 1;
    }
    print_result(file, options, &result);
    return 0;
}

/* Copies along x, y, z: each time the shortest edge of a cube is doubled. */
static const int copies[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 2, 2}, {4, 2, 2}, {4, 4, 2}};
enum { N_SIZES = (int)(sizeof copies / sizeof copies[0]) };

/* One size on one number of GPUs (0: as the options say). */
static int run_size(const run_args *args, int size, int n_gpus, FILE *file)
{
    int n_copies = copies[size][0] * copies[size][1] * copies[size][2], n_failed = 0;
    int64_t n_steps = args->options.nsteps / n_copies;
    for (int scheme = 0; scheme < 2; scheme++) {
        md_run_options options = args->options;
        memcpy(options.replicate, copies[size], sizeof options.replicate);
        if (n_gpus > 0) {
            options.n_gpus = n_gpus;
            for (int i = 0; i < n_gpus; i++)
                options.gpus[i] = args->options.n_gpus > 0 ? args->options.gpus[i] : i;
        }
        if (!options.scheme_given) {
            options.scheme = scheme == 0 ? MD_SCHEME_SHELL : MD_SCHEME_RETURN;
            options.scheme_given = true;
        } else if (scheme > 0) {
            continue;
        }
        /* Without lists on GPUs: a step takes a hundred times as long. */
        bool slow = n_gpus > 0 && options.scheme == MD_SCHEME_RETURN;
        int64_t least = slow ? 20 : 400, n = slow ? n_steps / 50 : n_steps;
        n_failed += run_one(&options, n > least ? n : least, file);
    }
    return n_failed;
}

static int sweep(const run_args *args, bool quick, FILE *file)
{
    const md_run_options *options = &args->options;
    int n_failed = 0, n_there = options->device == MD_DEVICE_CPU ? 0 : sundog_gpu_count();
    if (options->n_gpus > 0 && options->n_gpus < n_there) n_there = options->n_gpus;
    for (int size = 0; size < N_SIZES; size += quick ? 2 : 1) {
        if (quick && size > 2) break;
        if (n_there == 0) n_failed += run_size(args, size, 0, file);
        for (int n = 1; n <= n_there && n <= MD_MAX_GPUS; n *= 2)
            n_failed += run_size(args, size, n, file);
    }
    return n_failed;
}

int command_bench_md(int argc, char **argv)
{
    run_args args;
    arg table[RUN_ARGS_MAX + 3];
    const char *json = NULL;
    bool all_sizes = false, quick = false;
    run_args_default(&args);
    run_args_table(&args, false, table);
    int n = 0;
    while (table[n].name) n++;
    table[n + 3] = table[n];
    table[n] = (arg){"-json", ARG_STRING, &json, NULL, "FILE", "append the JSON line to this file"};
    table[n + 1] = (arg){"-sweep",
                         ARG_FLAG,
                         &all_sizes,
                         NULL,
                         NULL,
                         "the input 1, 2, 4, ... 32 times, on 1, 2, 4 ... of the GPUs, in both\n"
                         "schemes: a line each; -nsteps is for the smallest (default 20000)"};
    table[n + 2] = (arg){"-quick", ARG_FLAG, &quick,
                         NULL,     NULL,     "a short sweep: two sizes, a fifth of the steps"};
    int code = args_parse("sundog bench md", argc, argv, table, NULL, 0, NULL);
    if (code == -1) {
        fputs(usage, stdout);
        args_print(stdout, table);
        return 0;
    }
    if (code == 0) code = run_args_finish("sundog bench md", &args);
    if (code != 0) return code;
    all_sizes = all_sizes || quick;
    if (all_sizes && args.replicate_given) {
        fprintf(stderr, "sundog bench md: -sweep replicates by itself\n");
        return 2;
    }
    if (!args.nsteps_given) args.options.nsteps = quick ? 4000 : all_sizes ? 20000 : 1000;
    if (args.options.nsteps < 2) {
        fprintf(stderr, "sundog bench md: -nsteps must be at least 2\n");
        return 2;
    }
    FILE *file = bench_open_json(json);
    if (!file) return 1;
    code = all_sizes ? sweep(&args, quick, file) > 0
                     : run_one(&args.options, args.options.nsteps, file);
    if (file != stdout && fclose(file) != 0) return 1;
    return code;
}
