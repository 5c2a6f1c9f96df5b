/* sundog plot: pictures of a run's energies, of its timeline, of benchmark results. */
#include "args.h"
#include "commands.h"
#include "plot_results.h"
#include "plot_trace.h"

#include "md/out/plot.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: sundog plot energy DIR|FILE.csv [options]\n"
    "       sundog plot speed FILE.jsonl ... [options]\n"
    "       sundog plot halo FILE.jsonl ... [options]\n"
    "       sundog plot trace FILE.json [options]\n\n"
    "energy: energies, temperature and pressure of a run against time.\n"
    "speed:  lines of `sundog bench md`: ns/day and us a step against atoms, GPUs and exchange.\n"
    "        Lines of others, as {\"program\": \"GROMACS\", \"gpus\": 1, \"atoms\": 45000,\n"
    "        \"us_per_step\": 130}, become curves beside them.\n"
    "halo:   lines of `sundog bench halo -device gpu`: us against rows, by exchange.\n"
    "trace:  what each domain did when, of `sundog run -trace`; few steps are seen best.\n"
    "All need gnuplot.\n\n";

static int drawn(sundog_status status, const char *image)
{
    if (status == SUNDOG_OK) {
        printf("%s\n", image);
        return 0;
    }
    fprintf(stderr, "sundog plot: error: %s\n", sundog_last_error());
    return 1;
}

static int energy(const char *of, const char *image)
{
    char csv[4096], picture[4096];
    struct stat info;
    bool is_dir = stat(of, &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(csv, sizeof csv, is_dir ? "%s/energy.csv" : "%s", of);
    const char *slash = strrchr(csv, '/');
    snprintf(picture, sizeof picture, "%.*senergy.svg", slash ? (int)(slash - csv + 1) : 0, csv);
    if (!image) image = picture;
    return drawn(md_plot_energy(csv, image), image);
}

static int results(plot_kind kind, const char *const *path, int n, const char *image)
{
    if (!image) image = kind == PLOT_SPEED ? "speed.svg" : "halo.svg";
    return drawn(plot_results(kind, path, n, image), image);
}

int command_plot(int argc, char **argv)
{
    enum { MOST_WORDS = 32 };
    const char *image = NULL, *word[MOST_WORDS];
    int n_words = 0;
    const arg table[] = {
        {"-o", ARG_STRING, &image, NULL, "FILE",
         "picture to write, .svg or .png (default: energy.svg beside the energies; speed.svg,\n"
         "halo.svg, trace.svg)"},
        {NULL, ARG_FLAG, NULL, NULL, NULL, NULL},
    };
    int code = args_parse("sundog plot", argc, argv, table, word, MOST_WORDS, &n_words);
    if (code == -1) {
        fputs(usage, stdout);
        args_print(stdout, table);
        return 0;
    }
    if (code != 0) return code;
    const char *what = n_words > 0 ? word[0] : "";
    if (n_words == 2 && strcmp(what, "energy") == 0) return energy(word[1], image);
    if (n_words > 1 && strcmp(what, "speed") == 0)
        return results(PLOT_SPEED, word + 1, n_words - 1, image);
    if (n_words > 1 && strcmp(what, "halo") == 0)
        return results(PLOT_HALO, word + 1, n_words - 1, image);
    if (n_words == 2 && strcmp(what, "trace") == 0)
        return drawn(plot_trace(word[1], image ? image : "trace.svg"), image ? image : "trace.svg");
    fprintf(stderr, "sundog plot: say what to draw: sundog plot energy DIR, speed FILE ..., "
                    "halo FILE ..., trace FILE (see sundog plot --help)\n");
    return 2;
}
