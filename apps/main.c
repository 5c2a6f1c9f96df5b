/* sundog: the program. Finds the command, hands over. */
#include "commands.h"
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *help;
} command[] = {
    {"run", command_run, "simulate: .mdp, .gro and .top in; trajectory, energies and log out"},
    {"info", command_info, "what was built, what this machine has, what would be chosen and why"},
    {"bench", command_bench, "measure: `bench md` steps, `bench halo` exchanges; JSON lines"},
    {"plot", command_plot, "draw energies, timelines and benchmark results as SVG or PNG"},
};
enum { N_COMMANDS = (int)(sizeof command / sizeof command[0]) };

static void help(FILE *file)
{
    fprintf(file, "sundog " SUNDOG_VERSION ": molecular dynamics for systems in GROMACS formats\n\n"
                  "usage: sundog COMMAND [options]\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(file, "  %-8s %s\n", command[i].name, command[i].help);
    fprintf(file, "\n`sundog COMMAND --help` lists the options. Exit code: 0 done, 1 failed, 2 "
                  "wrong usage.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    /* For domains that share a GPU; must stand before CUDA starts. A number of connections that the
     * user has set stays, and fewer domains may then share; with kernels that are loaded when first
     * launched there is no way. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        help(stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0) {
        puts("sundog " SUNDOG_VERSION);
        return 0;
    }
    /* One program of several started together: only a run is one job of them all. */
    const launch me = launch_find();
    if (me.n > 1 && strcmp(word, "run") != 0) {
        if (me.rank > 0) return strcmp(word, "info") == 0 ? 0 : 2;
        if (strcmp(word, "info") != 0) {
            fprintf(stderr, "sundog: %s has started %d processes, but only sundog run works in "
                    "several; start sundog %s once\n", me.by, me.n, word);
            return 2;
        }
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(word, command[i].name) == 0) return command[i].main(argc - 1, argv + 1);
    fprintf(stderr,
            "sundog: unknown command %s; known are run, info, bench, plot (see sundog --help)\n",
            word);
    return 2;
}
