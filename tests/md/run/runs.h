/* Whole runs of the bundled systems, in this process, and comparison with their double-precision
 * references. Limits are those of the project: potential 5e-6 relative, each term 2e-5 relative
 * plus 0.01 kJ/mol, forces 1e-5 relative RMS (2e-5 where bonds are not constrained). */
#ifndef RUNS_H
#define RUNS_H
#include "check.h"
#include "md/core/box.h"
#include "md/run/run.h"
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What rank 0 saw at one step. */
typedef struct run_frame {
    int64_t step, n_atoms;
    md_box box;
    double (*x)[3], (*v)[3];
    float (*f)[3];
    md_energy_report energy;
    bool has_energy;
} run_frame;

enum { RUN_MAX_FRAMES = 16 };
typedef struct run_frames {
    int64_t want[RUN_MAX_FRAMES]; /* steps to keep; ends with -1 */
    int n;
    run_frame frame[RUN_MAX_FRAMES];
} run_frames;

static inline void run_keep(void *arg, const md_observation *what)
{
    run_frames *frames = arg;
    bool wanted = false;
    for (int i = 0; frames->want[i] >= 0; i++) wanted = wanted || frames->want[i] == what->step;
    if (!wanted || frames->n == RUN_MAX_FRAMES) return;
    run_frame *frame = &frames->frame[frames->n++];
    size_t n = (size_t)what->n_atoms;
    frame->step = what->step;
    frame->n_atoms = what->n_atoms;
    frame->box = *what->box;
    frame->x = malloc(n * sizeof *frame->x);
    frame->v = malloc(n * sizeof *frame->v);
    frame->f = malloc(n * sizeof *frame->f);
    CHECK(frame->x && frame->v && frame->f);
    memcpy(frame->x, what->x, n * sizeof *frame->x);
    memcpy(frame->v, what->v, n * sizeof *frame->v);
    memcpy(frame->f, what->f, n * sizeof *frame->f);
    frame->has_energy = what->energy != NULL;
    if (what->energy) frame->energy = *what->energy;
}

static inline void run_frames_free(run_frames *frames)
{
    for (int i = 0; i < frames->n; i++) {
        free(frames->frame[i].x);
        free(frames->frame[i].v);
        free(frames->frame[i].f);
    }
    frames->n = 0;
}

/* How to cut and exchange. */
typedef struct run_way {
    int grid[3];
    md_scheme scheme;
    const char *rung, *route; /* NULL: default */
    const char *sizes[3];
} run_way;

static inline const char *run_way_text(const run_way *way)
{
    static char text[160];
    snprintf(text, sizeof text, "-dd %d %d %d -scheme %s -exchange %s -route %s%s", way->grid[0],
             way->grid[1], way->grid[2], way->scheme == MD_SCHEME_SHELL ? "shell" : "return",
             way->rung ? way->rung : "(default)", way->route ? way->route : "(default)",
             way->sizes[0] || way->sizes[1] || way->sizes[2] ? ", uneven" : "");
    return text;
}

/* Where the runs of this program compute, and the scheme that is the default there. The programs
 * test_gpu_*.c are those without _gpu with another device, and some of their own. */
#ifndef RUN_ON_GPU
#define RUN_ON_GPU 0
#endif
#define RUN_SCHEME (RUN_ON_GPU ? MD_SCHEME_SHELL : MD_SCHEME_RETURN)

/* On GPUs: ends the program with 77 (skipped) where there are none. */
static inline void run_need_device(void)
{
    if (!RUN_ON_GPU) return;
    /* As the program does, and like it before CUDA starts: many domains share a GPU here. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    setvbuf(stdout, NULL, _IOLBF, 0); /* a log that ends early shows where */
    if (sundog_gpu_count() > 0) return;
    printf("skipped: no GPU\n");
    exit(77);
}

/* Options for a system of systems/ with an mdp given by its path there; strings live in static
 * storage until the fourth next call. */
static inline md_run_options run_options(const char *system, const char *mdp, const run_way *way)
{
    md_run_options options;
    md_run_options_default(&options);
    options.out_dir = NULL;
    options.conf = reference_path("%s/conf.gro", system);
    options.top = reference_path("%s/topol.top", system);
    options.mdp = mdp;
    for (int k = 0; k < 3; k++) {
        options.dd[k] = way->grid[k];
        options.dd_sizes[k] = way->sizes[k];
    }
    run_need_device();
    options.device = RUN_ON_GPU ? MD_DEVICE_GPU : MD_DEVICE_CPU;
    options.scheme = way->scheme;
    options.scheme_given = true;
    if (RUN_ON_GPU) options.peer_timeout_s = 20; /* says who waits for whom, before time is up */
    options.rung = way->rung;
    options.route = way->route;
    options.reproducible = true;
    return options;
}

/* Everything that a table has, or on GPUs, where a run is mostly its own start, a thin choice:
 * each system in some way, each way on some system. SUNDOG_TEST_ALL=1 asks for all. */
static inline bool run_all(void)
{
    const char *all = getenv("SUNDOG_TEST_ALL");
    return !RUN_ON_GPU || (all && atoi(all) > 0);
}

/* It ran on the device that was asked for. */
static inline void run_was_there(const md_run_result *result)
{
    CHECK((result->n_gpus > 0) == RUN_ON_GPU);
}

/* A run that must succeed, on the device that was asked for. False where it is one that GPUs cannot
 * do: scheme return in a box too small for its rows. */
static inline bool run_can(const md_run_options *options, md_run_result *result)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    sundog_status status = md_run(options, result);
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (RUN_ON_GPU)
        printf("  %d x %d x %d %s %s %s: %.3f s\n", options->dd[0], options->dd[1], options->dd[2],
               options->scheme == MD_SCHEME_SHELL ? "shell" : "return",
               options->rung ? options->rung : "", options->route ? options->route : "",
               (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    if (RUN_ON_GPU && status == SUNDOG_ERR_INPUT && options->scheme == MD_SCHEME_RETURN &&
        strstr(sundog_last_error(), "scheme return on GPUs needs more than"))
        return false;
    CHECK_OK(status);
    run_was_there(result);
    return true;
}

/* Do all terms of the report, and the potential, agree with the reference? Says which do not. */
static inline bool run_terms_agree(const md_energy_report *energy, const char *json,
                                   double relative, double absolute, double potential_relative)
{
    const char *name[MD_N_KINDS + 5];
    double value[MD_N_KINDS + 5];
    int n = 0;
    for (int kind = 0; kind < MD_N_KINDS; kind++) {
        if (energy->terms.bonded[kind] == 0) continue;
        name[n] = md_kind_name((md_kind)kind);
        value[n++] = energy->terms.bonded[kind];
    }
    if (energy->terms.coulomb14 != 0) {
        name[n] = "Coulomb-14";
        value[n++] = energy->terms.coulomb14;
    }
    name[n] = "LJ (SR)";
    value[n++] = energy->terms.lj;
    name[n] = "Coulomb (SR)";
    value[n++] = energy->terms.coulomb;
    if (energy->dispersion != 0) {
        name[n] = "Disper. corr.";
        value[n++] = energy->dispersion;
        name[n] = "Pres. DC";
        value[n++] = energy->dispersion_pressure;
    }
    bool good = true;
    for (int i = 0; i < n; i++) {
        double wanted;
        if (!reference_energy(json, name[i], &wanted)) return false;
        if (fabs(value[i] - wanted) <= relative * fabs(wanted) + absolute) continue;
        fprintf(stderr, "  %s is %.8g, reference %.8g (off by %.2g, relative %.2g)\n", name[i],
                value[i], wanted, value[i] - wanted, (value[i] - wanted) / wanted);
        good = false;
    }
    double wanted;
    if (!reference_energy(json, "Potential", &wanted)) return false;
    if (!(fabs(energy->potential - wanted) <= potential_relative * fabs(wanted))) {
        fprintf(stderr, "  Potential is %.8g, reference %.8g (relative %.2g)\n", energy->potential,
                wanted, (energy->potential - wanted) / wanted);
        good = false;
    }
    return good;
}
#endif
