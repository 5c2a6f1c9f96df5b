/* sundog bench md|halo: JSON lines on stdout (or -json FILE), one case each. */
#include "build_info.h"
#include "commands.h"
#include "run_args.h"

#include "bench/bench_halo.h"
#include "bench/bench_halo_gpu.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char md_usage[] =
    "usage: sundog bench md -f FILE.mdp -c FILE.gro -p FILE.top [options]\n\n"
    "Runs without writing files and prints ns/day, ms/step and where the time went, as one JSON\n"
    "line. The first half of the steps is not timed.\n\n";

static FILE *open_json(const char *path)
{
    if (!path) return stdout;
    FILE *file = fopen(path, "a");
    if (!file) fprintf(stderr, "sundog bench: cannot open %s\n", path);
    return file;
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
            "\"flags\": \"%s\","
            " \"conf\": \"%s\", \"atoms\": %" PRId64
            ", \"domains\": [%d, %d, %d], \"scheme\": \"%s\","
            " \"exchange\": \"%s\", \"kernel\": \"%s\", \"rlist_nm\": %.4f, \"nstlist\": %d,"
            " \"timed_steps\": %" PRId64
            ", \"ms_per_step\": %.5f, \"ns_per_day\": %.4f, \"phases_ms_per_step\": {",
            date, build_commit, build_compiler, build_flags, options->conf, result->n_atoms,
            result->grid[0], result->grid[1], result->grid[2],
            result->scheme == MD_SCHEME_SHELL ? "shell" : "return", result->exchange,
            result->kernel, result->rlist, result->nstlist, result->n_timed_steps,
            result->ms_per_step, result->ns_per_day);
    for (int p = 0; p < MD_N_PHASES; p++)
        fprintf(file, "%s\"%s\": %.5f", p ? ", " : "", md_phase_name((md_phase)p),
                1e3 * result->timing.seconds[p] / (double)result->n_timed_steps);
    fprintf(file, "}}\n");
}

static int bench_md(int argc, char **argv)
{
    run_args args;
    arg table[RUN_ARGS_MAX];
    const char *json = NULL;
    run_args_default(&args);
    run_args_table(&args, false, table);
    int n = 0;
    while (table[n].name) n++;
    table[n + 1] = table[n];
    table[n] = (arg){"-json", ARG_STRING, &json, NULL, "FILE", "append the JSON line to this file"};
    args.options.nsteps = 1000;
    int code = args_parse("sundog bench md", argc, argv, table, NULL, 0, NULL);
    if (code == -1) {
        fputs(md_usage, stdout);
        args_print(stdout, table);
        return 0;
    }
    if (code == 0) code = run_args_finish("sundog bench md", &args);
    if (code != 0) return code;
    md_run_options *options = &args.options;
    if (options->nsteps < 2) {
        fprintf(stderr, "sundog bench md: -nsteps must be at least 2\n");
        return 2;
    }
    options->nsteps_given = true;
    options->out_dir = NULL;
    options->timing_from_step = -options->nsteps / 2;
    md_run_result result;
    if (md_run(options, &result) != SUNDOG_OK) {
        fprintf(stderr, "sundog bench md: error: %s\n", sundog_last_error());
        return 1;
    }
    FILE *file = open_json(json);
    if (!file) return 1;
    print_result(file, options, &result);
    if (file != stdout && fclose(file) != 0) return 1;
    return 0;
}

static const char halo_usage[] =
    "usage: sundog bench halo [options]\n\n"
    "Latency of the exchange by size, rung and route, forward and reverse; one JSON line a case.\n"
    "On GPUs: two ranks that answer each other from inside kernels (us_one_way), and rounds of\n"
    "forward and reverse as a time step launches them (us_round).\n\n";

static int bench_exchange(int argc, char **argv)
{
    const char *json = NULL, *device = "cpu";
    int n_domains = 2, n_gpus = sundog_gpu_count() > 1 ? 2 : 1;
    const arg table[] = {
        {"-device", ARG_STRING, &device, NULL, "cpu|gpu", "whose memory (default cpu)"},
        {"-nd", ARG_INT, &n_domains, NULL, "N", "cpu: ranks (threads) that exchange (default 2)"},
        {"-ngpus", ARG_INT, &n_gpus, NULL, "N", "gpu: how many GPUs (default 2 if there are)"},
        {"-json", ARG_STRING, &json, NULL, "FILE", "append the JSON lines to this file"},
        {NULL, ARG_FLAG, NULL, NULL, NULL, NULL},
    };
    int code = args_parse("sundog bench halo", argc, argv, table, NULL, 0, NULL);
    if (code == -1) {
        fputs(halo_usage, stdout);
        args_print(stdout, table);
        return 0;
    }
    if (code != 0) return code;
    bool gpu = strcmp(device, "gpu") == 0;
    if (n_domains < 1 || n_gpus < 1 || (!gpu && strcmp(device, "cpu") != 0)) {
        fprintf(stderr, "sundog bench halo: -device is cpu or gpu, -nd and -ngpus 1 or more\n");
        return 2;
    }
    FILE *file = open_json(json);
    if (!file) return 1;
    const bench_origin origin = {build_commit};
    code = gpu ? bench_halo_gpu(n_gpus, &origin, file) : bench_halo(n_domains, file);
    if (file != stdout && fclose(file) != 0) return 1;
    return code;
}

int command_bench(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "md") == 0) return bench_md(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "halo") == 0) return bench_exchange(argc - 1, argv + 1);
    bool help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    fprintf(
        help ? stdout : stderr,
        "usage: sundog bench md|halo [options]\n\n  md    steps of a real system: ns/day, ms/step\n"
        "  halo  the exchange alone: latency by size and rung\n\nEach has its own --help.\n");
    return help ? 0 : 2;
}
