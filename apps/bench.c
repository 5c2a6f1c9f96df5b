/* sundog bench md|halo: JSON lines on stdout (or -json FILE), one case each. bench_md.c has md. */
#include "args.h"
#include "build_info.h"
#include "commands.h"

#include "bench/bench_halo.h"
#include "bench/bench_halo_gpu.h"
#include "sundog/sundog.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

FILE *bench_open_json(const char *path)
{
    if (!path) return stdout;
    FILE *file = fopen(path, "a");
    if (!file) fprintf(stderr, "sundog bench: cannot open %s\n", path);
    return file;
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
    if (!gpu && strcmp(device, "cpu") != 0) {
        fprintf(stderr, "sundog bench halo: -device is cpu or gpu, not %s\n", device);
        return 2;
    }
    if (n_domains < 1 || n_gpus < 1) {
        bool nd = n_domains < 1;
        fprintf(stderr, "sundog bench halo: %s must be 1 or more, not %d\n", nd ? "-nd" : "-ngpus",
                nd ? n_domains : n_gpus);
        return 2;
    }
    FILE *file = bench_open_json(json);
    if (!file) return 1;
    char origin[1024], date[32];
    time_t today = time(NULL);
    struct tm utc;
    gmtime_r(&today, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(origin, sizeof origin,
             "\"commit\":\"%s\",\"compiler\":\"%s\",\"flags\":\"%s\",\"date\":\"%s\"",
             build_commit, build_compiler, build_flags, date);
    code = gpu ? bench_halo_gpu(n_gpus, origin, file) : bench_halo(n_domains, origin, file);
    if (file != stdout && fclose(file) != 0) return 1;
    return code;
}

int command_bench(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "md") == 0) return command_bench_md(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "halo") == 0) return bench_exchange(argc - 1, argv + 1);
    bool help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    fprintf(
        help ? stdout : stderr,
        "usage: sundog bench md|halo [options]\n\n  md    steps of a real system: ns/day, ms/step\n"
        "  halo  the exchange alone: latency by size and rung\n\nEach has its own --help.\n");
    return help ? 0 : 2;
}
