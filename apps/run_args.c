#include "run_args.h"

#include "md/force/nonbonded.h"
#include "sundog/sundog.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void run_args_default(run_args *args)
{
    memset(args, 0, sizeof *args);
    md_run_options_default(&args->options);
}

void run_args_table(run_args *args, bool running, arg *table)
{
    md_run_options *o = &args->options;
    const arg inputs[] = {
        {"-f", ARG_STRING, &o->mdp, NULL, "FILE.mdp", "run parameters"},
        {"-c", ARG_STRING, &o->conf, NULL, "FILE.gro", "start structure, .gro or .pdb"},
        {"-p", ARG_STRING, &o->top, NULL, "FILE.top", "topology"},
        {"-r", ARG_STRING, &o->reference, NULL, "FILE.gro",
         "reference positions of position restraints, .gro or .pdb (may be the file of -c)"},
        {"-n", ARG_STRING, &o->index, NULL, "FILE.ndx",
         "index groups (default: those that gmx makes from the topology)"},
        {"-I", ARG_LIST, args->include_dir, NULL, "DIR",
         "also look here for included topology files, before GMXLIB and the data folder\n"
         "of GROMACS (may be repeated)"},
        {"-nsteps", ARG_INT64, &o->nsteps, &args->nsteps_given, "N",
         "number of steps, instead of the mdp's; -1: no end"},
        {"-nstlist", ARG_INT, &o->nstlist, &args->nstlist_given, "N",
         "steps between pair lists and repartitions, exactly (default: the mdp's, or more\n"
         "where that is faster and the mdp asks for a tolerance)"},
        {"-replicate", ARG_INT3, o->replicate, &args->replicate_given, "NX NY NZ",
         "multiply the box along its vectors"},
        {"-dd", ARG_INT3, o->dd, &args->dd_given, "NX NY NZ", "grid of domains"},
        {"-nd", ARG_INT, &o->n_domains, &args->nd_given, "N",
         "number of domains; the grid is chosen by halo volume and number of pulses\n"
         "(default: one a core, or one a GPU, of 500 atoms at least)"},
        {"-nt", ARG_INT, &args->n_threads, &args->nt_given, "N",
         "number of domains of each process, a thread each (default: its share of the cores)"},
        {"-ddcsx", ARG_STRING, &o->dd_sizes[0], NULL, "\"S S ...\"",
         "relative sizes of the domains along x; also -ddcsy, -ddcsz"},
        {"-ddcsy", ARG_STRING, &o->dd_sizes[1], NULL, "\"S S ...\"", "along y"},
        {"-ddcsz", ARG_STRING, &o->dd_sizes[2], NULL, "\"S S ...\"", "along z"},
        {"-device", ARG_STRING, &args->device, NULL, "auto|cpu|gpu",
         "where to compute: auto (default) takes the GPUs that are there, if they can do\n"
         "all that is asked for, else the processor"},
        {"-gpus", ARG_STRING, &args->gpus, NULL, "I,J,...",
         "GPUs to use, as `sundog info` numbers them (default: all)"},
        {"-exchange", ARG_STRING, &o->rung, NULL, "NAME",
         "halo exchange: reference, mpi, pulse, fused, direct; on GPUs those that `sundog info`\n"
         "lists (default: the best)"},
        {"-route", ARG_STRING, &o->route, NULL, "staged|direct",
         "ghosts hop from domain to domain, or come straight from their owner"},
        {"-scheme", ARG_STRING, &args->scheme, NULL, "return|shell",
         "return: ghosts towards + only, their forces are sent home (default on the CPU);\n"
         "shell: ghosts all around, every domain computes all forces on its own atoms\n"
         "(default on GPUs)"},
        {"-ghosts", ARG_STRING, &args->ghosts, NULL, "near|all",
         "GPUs: near: ghosts within reach; all: every domain has all atoms, so domains last\n"
         "(default up to 2 million atoms)"},
        {"-kernel", ARG_STRING, &o->kernel, NULL, "NAME",
         "pair-force kernel of the CPU: reference, avx2, avx512 (default: the best that\n"
         "runs here)"},
        {"-reproducible", ARG_FLAG, &o->reproducible, NULL, NULL,
         "same grid, same input: the same trajectory, bit for bit"},
        {NULL, ARG_FLAG, NULL, NULL, NULL, NULL},
    };
    const arg outputs[] = {
        {"-o", ARG_STRING, &o->out_dir, NULL, "DIR",
         "folder for all output (default: the current one); old files of the\n"
         "same names are kept as #name.1#"},
        {"-cpi", ARG_STRING, &o->cpi, NULL, "FILE.cpt",
         "go on from this checkpoint (if it exists) and append to the outputs"},
        {"-cpt", ARG_DOUBLE, &o->checkpoint_minutes, NULL, "MINUTES",
         "time between checkpoints (default 15; 0: only at the end)"},
        {"-maxh", ARG_DOUBLE, &o->max_hours, &args->maxh_given, "HOURS",
         "stop cleanly, with a checkpoint, after 0.99 times this time"},
        {"-mpi", ARG_STRING, &args->mpi, NULL, "auto|yes|no",
         "auto (default): processes that mpirun or srun has started work together; no: each\n"
         "by itself, with an output folder of its own; yes: MPI in any case"},
        {"-trace", ARG_STRING, &o->trace_path, NULL, "FILE.json",
         "what each domain did in some steps, for Perfetto or `sundog plot trace`\n"
         "(processors alone)"},
        {"-tracefrom", ARG_INT64, &o->trace_from, &args->trace_from_given, "STEP",
         "the first of them (default: after two pair lists)"},
        {"-tracesteps", ARG_INT, &o->trace_steps, &args->trace_steps_given, "N",
         "how many (default 20)"},
        {"-v", ARG_FLAG, &o->verbose, NULL, NULL,
         "show progress (step, ns/day, time left) also where stderr is no terminal"},
        {NULL, ARG_FLAG, NULL, NULL, NULL, NULL},
    };
    int n = 0;
    for (const arg *a = inputs; a->name; a++) table[n++] = *a;
    for (const arg *a = outputs; running && a->name; a++) table[n++] = *a;
    table[n] = inputs[sizeof inputs / sizeof inputs[0] - 1];
}

static int wrong(const char *program, const char *what)
{
    fprintf(stderr, "%s: %s (see %s --help)\n", program, what, program);
    return 2;
}

static bool is_known_rung(const char *rung)
{
    int n;
    const char *const *known = sundog_exchange_rungs(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], rung) == 0) return true;
    known = sundog_gpu_rungs(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], rung) == 0) return true;
    return false;
}

static bool is_known_kernel(const char *kernel)
{
    int n;
    const char *const *known = md_nonbonded_kernels(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], kernel) == 0) return true;
    return false;
}

static bool read_device(run_args *args)
{
    static const char *const name[] = {"auto", "cpu", "gpu"};
    static const md_device_choice choice[] = {MD_DEVICE_AUTO, MD_DEVICE_CPU, MD_DEVICE_GPU};
    for (int i = 0; i < 3 && args->device; i++)
        if (strcmp(args->device, name[i]) == 0) {
            args->options.device = choice[i];
            return true;
        }
    return args->device == NULL;
}

static bool read_gpus(run_args *args)
{
    md_run_options *o = &args->options;
    const char *at = args->gpus;
    while (at) {
        char *end;
        long gpu = strtol(at, &end, 10);
        if (end == at || gpu < 0 || gpu > INT_MAX || o->n_gpus == MD_MAX_GPUS) return false;
        o->gpus[o->n_gpus++] = (int)gpu;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        at = end + 1;
    }
    return true;
}

int run_args_finish(const char *program, run_args *args)
{
    md_run_options *o = &args->options;
    o->include_dir = args->include_dir;
    while (o->n_include_dirs < ARG_LIST_MAX && args->include_dir[o->n_include_dirs])
        o->n_include_dirs++;
    o->nsteps_given = args->nsteps_given;
    if (!o->mdp || !o->conf || !o->top)
        return wrong(program,
                     "the input files -f FILE.mdp, -c FILE.gro and -p FILE.top are needed");
    if (args->nsteps_given && o->nsteps < -1)
        return wrong(program, "-nsteps must be 0 or more, or -1");
    if (args->nstlist_given && o->nstlist < 1) return wrong(program, "-nstlist must be 1 or more");
    if (args->dd_given && args->nd_given) return wrong(program, "give -dd or -nd, not both");
    if (args->nd_given && args->nt_given) return wrong(program, "give -nd or -nt, not both");
    if (args->nt_given && args->n_threads < 1) return wrong(program, "-nt must be 1 or more");
    if (args->mpi && strcmp(args->mpi, "auto") != 0 && strcmp(args->mpi, "yes") != 0 &&
        strcmp(args->mpi, "no") != 0)
        return wrong(program, "-mpi is auto, yes or no");
    if (args->nt_given && !args->dd_given) o->n_domains = args->n_threads;
    if ((args->trace_from_given && o->trace_from < 0) ||
        (args->trace_steps_given && o->trace_steps < 1))
        return wrong(program, "-tracefrom must be 0 or more, -tracesteps 1 or more");
    if (!o->trace_path && (args->trace_from_given || args->trace_steps_given))
        return wrong(program, "-tracefrom and -tracesteps go with -trace");
    if (args->nd_given && o->n_domains < 1) return wrong(program, "-nd must be 1 or more");
    for (int k = 0; k < 3; k++) {
        if (args->dd_given && o->dd[k] < 1)
            return wrong(program, "-dd needs three numbers of 1 or more");
        if (args->replicate_given && o->replicate[k] < 1)
            return wrong(program, "-replicate needs three numbers of 1 or more");
        if (o->dd_sizes[k] && !args->dd_given)
            return wrong(program, "-ddcsx, -ddcsy and -ddcsz need -dd NX NY NZ");
    }
    o->scheme_given = args->scheme != NULL;
    if (!args->scheme || strcmp(args->scheme, "return") == 0)
        o->scheme = MD_SCHEME_RETURN;
    else if (strcmp(args->scheme, "shell") == 0)
        o->scheme = MD_SCHEME_SHELL;
    else
        return wrong(program, "-scheme is return or shell");
    if (!args->ghosts)
        o->ghosts = MD_GHOSTS_AUTO;
    else if (strcmp(args->ghosts, "near") == 0)
        o->ghosts = MD_GHOSTS_NEAR;
    else if (strcmp(args->ghosts, "all") == 0)
        o->ghosts = MD_GHOSTS_ALL;
    else
        return wrong(program, "-ghosts is near or all");
    if (!read_device(args)) return wrong(program, "-device is auto, cpu or gpu");
    if (!read_gpus(args))
        return wrong(program, "-gpus is a list of numbers, as 0,1, of at most 16 GPUs");
    if (o->n_gpus > 0 && o->device == MD_DEVICE_CPU)
        return wrong(program, "-gpus does not go with -device cpu");
    if (o->route && strcmp(o->route, "staged") != 0 && strcmp(o->route, "direct") != 0)
        return wrong(program, "-route is staged or direct");
    if (o->rung && !is_known_rung(o->rung))
        return wrong(program, "-exchange is one of those that `sundog info` lists");
    if (args->maxh_given && !(o->max_hours > 0 && isfinite(o->max_hours)))
        return wrong(program, "-maxh must be more than 0 hours");
    if (o->kernel && !is_known_kernel(o->kernel))
        return wrong(program, "-kernel is one of those that `sundog info` lists");
    if (o->rung && o->route && strcmp(o->rung, "direct") == 0 && strcmp(o->route, "staged") == 0)
        return wrong(program, "-exchange direct goes with -route direct alone");
    if (!isfinite(o->checkpoint_minutes) || o->checkpoint_minutes < 0)
        return wrong(program, "-cpt must be 0 or more minutes");
    return 0;
}
