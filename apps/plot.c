/* sundog plot energy DIR: a picture of energy.csv. */
#include "args.h"
#include "commands.h"

#include "md/out/plot.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int command_plot(int argc, char **argv)
{
    const char *image = NULL, *word[2];
    int n_words = 0;
    const arg table[] = {
        {"-o", ARG_STRING, &image, NULL, "FILE",
         "picture to write, .svg or .png (default: energy.svg beside the energies)"},
        {NULL, ARG_FLAG, NULL, NULL, NULL, NULL},
    };
    int code = args_parse("sundog plot", argc, argv, table, word, 2, &n_words);
    if (code == -1) {
        printf(
            "usage: sundog plot energy DIR|FILE.csv [options]\n\n"
            "Draws energies, temperature and pressure of a run against time (needs gnuplot).\n\n");
        args_print(stdout, table);
        return 0;
    }
    if (code != 0) return code;
    if (n_words != 2 || strcmp(word[0], "energy") != 0) {
        fprintf(stderr,
                "sundog plot: say what to draw: sundog plot energy DIR (see sundog plot --help)\n");
        return 2;
    }
    char csv[4096], picture[4096];
    struct stat info;
    bool is_dir = stat(word[1], &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(csv, sizeof csv, is_dir ? "%s/energy.csv" : "%s", word[1]);
    const char *slash = strrchr(csv, '/');
    snprintf(picture, sizeof picture, "%.*senergy.svg", slash ? (int)(slash - csv + 1) : 0, csv);
    if (!image) image = picture;
    if (md_plot_energy(csv, image) != SUNDOG_OK) {
        fprintf(stderr, "sundog plot: error: %s\n", sundog_last_error());
        return 1;
    }
    printf("%s\n", image);
    return 0;
}
