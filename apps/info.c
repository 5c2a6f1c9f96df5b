/* sundog info: what was built, what this machine has, what a run would choose and why. */
#include "build_info.h"
#include "commands.h"
#include "processes.h"
#include "run_args.h"

#include "md/force/nonbonded.h"
#include "md/in/mdp_keys.h"
#include "md/in/top.h"
#include "md/run/setup.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static void print_machine(void)
{
    char model[256] = "unknown", line[512];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
            model[strcspn(model, "\n")] = '\0';
            break;
        }
    if (file) fclose(file);
    cpu_set_t set;
    int usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    printf("Machine\n  processor        %s\n  cores            %ld, usable by this process %d\n"
           "  memory           %.1f GiB\n",
           model, sysconf(_SC_NPROCESSORS_ONLN), usable,
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE) / 1073741824.0);
}

static void print_choices(void)
{
    int n;
    printf("Pair-force kernels, best first\n");
    const char *const *kernels = md_nonbonded_kernels(&n);
    bool chosen = false;
    for (int i = 0; i < n; i++) {
        bool runs = md_nonbonded_kernel_runs(kernels[i]);
        printf("  %-16s %s%s\n", kernels[i],
               runs ? "runs here" : "this processor lacks its instructions",
               runs && !chosen ? "; chosen, the first that runs" : "");
        chosen = chosen || runs;
    }
    printf("Halo exchange (fabric threads: domains are threads of one process)\n");
    const char *const *rungs = sundog_exchange_rungs(&n);
    for (int i = 0; i < n; i++)
        printf("  %-16s available%s\n", rungs[i], i == 0 ? "; chosen, the best" : "");
    printf("Processes\n  %-16s %s\n", "mpi",
           processes_built_with() ? processes_built_with()
                                  : "not built: this program runs in one process");
    char text[1024];
    bool nvshmem = sundog_nvshmem_describe(text, sizeof text) == SUNDOG_OK;
    printf("  %-16s %s%s\n", "nvshmem", nvshmem ? "" : "not available: ",
           nvshmem ? text : sundog_last_error());
    info_print_gpus();
}

static int print_system(const md_run_options *options)
{
    md_system system;
    if (md_setup(options, &system) != SUNDOG_OK) {
        fprintf(stderr, "sundog info: error: %s\n", sundog_last_error());
        return 1;
    }
    printf("System\n  %s: %" PRId64 " atoms, box %g x %g x %g nm (diagonal)\n",
           system.topology->title, system.topology->n_atoms, system.state.box.m[0][0],
           system.state.box.m[1][1], system.state.box.m[2][2]);
    printf("  pair list        radius %.3f nm, made every %d steps%s\n", system.rlist,
           system.nstlist,
           system.params.verlet_buffer_tolerance < 0 ? ", as given"
                                                     : ", from verlet-buffer-tolerance");
    printf("  constraint groups stay whole, radius %.3f nm: a domain needs ghosts up to %.3f nm "
           "away\n",
           system.reach.group_radius, system.rlist + system.reach.group_radius);
    printf("  domains          %d x %d x %d, pulses %d %d %d%s\n", system.grid.n[0],
           system.grid.n[1], system.grid.n[2], system.n_pulses[0], system.n_pulses[1],
           system.n_pulses[2],
           options->dd[0] ? ", as given" : ": smallest halo and number of pulses for that many");
    fputs(system.notes, stdout);
    md_setup_destroy(&system);
    return 0;
}

/* ---- formats -------------------------------------------------------------------------------- */

/* The rows of README.md's table that follow from the tables of the readers; a test compares. */
static void print_directives(void)
{
    const char *name, *between = "";
    printf("| directives of `.top` (function types) | ");
    for (int k = 0; (name = md_top_directive(k)) != NULL; k++) {
        char types[64];
        md_top_function_types(name, types, sizeof types);
        printf("%s%s", between, name);
        if (types[0]) printf(" (%s)", types);
        between = ", ";
    }
    printf(" |\n");
}

/* Worth telling: a choice, or the one way in which something is done; not "switched off". */
static bool is_choice(const md_mdp_key *key)
{
    if (key->kind == MDP_CHOICE) return true;
    if (key->kind != MDP_FIXED || key->choice[1].word) return false;
    const char *word = key->choice[0].word;
    return strcmp(word, "no") != 0 && strcmp(word, "inactive") != 0 && strlen(word) > 1;
}

static void print_choices_of_keys(const md_mdp_key *keys, int n)
{
    const char *between = "";
    printf("| `.mdp`: ways of doing things | ");
    for (int k = 0; k < n; k++) {
        if (!is_choice(&keys[k])) continue;
        printf("%s%s = ", between, keys[k].name);
        for (const md_mdp_choice *c = keys[k].choice; c->word; c++) {
            if (c > keys[k].choice && c->value == c[-1].value) continue; /* an older name */
            printf("%s%s", c > keys[k].choice ? ", " : "", c->word);
        }
        between = "; ";
    }
    printf(" |\n");
}

static void print_values_of_keys(const md_mdp_key *keys, int n)
{
    const char *between = "";
    printf("| `.mdp`: numbers, switches, names | ");
    for (int k = 0; k < n; k++) {
        bool is_value = keys[k].size > 0 && keys[k].kind != MDP_CHOICE;
        if (!is_value) continue;
        printf("%s%s", between, keys[k].name);
        between = ", ";
    }
    printf(" |\n");
}

static void print_formats(void)
{
    int n;
    const md_mdp_key *keys = md_mdp_keys(&n);
    print_directives();
    print_choices_of_keys(keys, n);
    print_values_of_keys(keys, n);
}

int command_info(int argc, char **argv)
{
    run_args args;
    bool formats = false;
    arg table[RUN_ARGS_MAX + 1] = {{"-formats", ARG_FLAG, &formats, NULL, NULL,
                                    "what of .top and .mdp is supported, as rows of a table"}};
    run_args_default(&args);
    run_args_table(&args, false, table + 1);
    int code = args_parse("sundog info", argc, argv, table, NULL, 0, NULL);
    if (code == -1) {
        printf(
            "usage: sundog info [-f FILE.mdp -c FILE.gro -p FILE.top [options]]\n\n"
            "What was built and what this machine has; with input files also what a run of them\n"
            "would choose.\n\n");
        args_print(stdout, table);
        return 0;
    }
    if (code == 0 && formats) {
        print_formats();
        return 0;
    }
    md_run_options *o = &args.options;
    bool any = o->mdp || o->conf || o->top;
    if (code == 0 && any) code = run_args_finish("sundog info", &args);
    if (code != 0) return code;

    printf("Build\n  version          " SUNDOG_VERSION " (%s)\n  compiler         %s, %s%s\n",
           build_commit, build_compiler, build_type, build_flags);
    print_machine();
    print_choices();
    return any ? print_system(o) : 0;
}
