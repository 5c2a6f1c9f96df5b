/* A whole run: read, decompose, step, write. The one room that knows all the others.
 *
 *      run.c      threads, one domain each; errors of any of them end all
 *      processes.c  the same with threads of several processes
 *      setup.c    inputs and options to md_system, shared and read-only
 *      worker.c   what one domain has: rows, lists, constraints
 *      step.c     the step loop of one domain
 *      steep.c    the minimiser in its place;  minimum.c  its words
 *      faults.c   warnings, who is to blame, what is left to look at
 *      memory.c   is there enough of it?
 *      device_choice.c  CPU, or which GPUs
 *      forces.c   one force evaluation of one domain
 *      outputs.c  files, written by rank 0
 *      pressure.c pressure coupling
 *      dispersion.c  long-range correction of energy and pressure
 *      restraints.c  reference positions of position restraints
 *      report.c   md.log and the progress line
 *      timing.c   where the time went
 */
#ifndef MD_RUN_H
#define MD_RUN_H
#include "md/core/energy.h"
#include "md/core/params.h"
#include "md/core/rows.h"
#include "md/gpu/gpu.h"
#include "md/run/timing.h"

/* Energies of one step as gmx reports them. kJ/mol, K, bar. */
typedef struct md_energy_report {
    int64_t step;
    double time; /* ps */
    md_energy terms;
    double dispersion, dispersion_pressure; /* DispCorr; part of what follows and of the virial */
    double potential, kinetic, total, conserved, temperature, pressure, constraint_rmsd;
    md_box box; /* of this step */
    double kinetic_tensor[3][3], pressure_tensor[3][3];
    double group_temperature[MD_MAX_GROUPS]; /* of each temperature group */
} md_energy_report;

/* Called on rank 0's thread with the whole system, for tests and tools. x, v, f in global order;
 * v is half a step before x. energy is NULL on steps without energies; it is the energy of this
 * step. */
typedef struct md_observation {
    int64_t step;
    int64_t n_atoms;
    const md_box *box;
    const double (*x)[3], (*v)[3];
    const float (*f)[3];
    const md_energy_report *energy;
} md_observation;

typedef enum md_device_choice { MD_DEVICE_AUTO, MD_DEVICE_CPU, MD_DEVICE_GPU } md_device_choice;
enum { MD_MAX_GPUS = 16 };

/* Ghosts of domains on GPUs: those within reach, for some hundred steps; or all atoms, which costs
 * bandwidth but lasts, since domains are made on the host. */
typedef enum md_ghosts { MD_GHOSTS_AUTO, MD_GHOSTS_NEAR, MD_GHOSTS_ALL } md_ghosts;

typedef struct md_run_options {
    const char *mdp, *conf, *top;   /* input files */
    const char *reference;          /* positions of position restraints, or NULL */
    const char *out_dir;            /* NULL: write no files at all */
    const char *index;              /* index groups, or NULL: those of the topology */
    const char *cpi;                /* checkpoint to go on from, or NULL */
    const char *command_line;       /* for the log, or NULL */
    const char *const *include_dir; /* for the topology; [n_include_dirs] */
    int n_include_dirs;
    bool nsteps_given;
    int64_t nsteps;                 /* overrides the mdp */
    int nstlist;                    /* overrides the mdp; 0: not given */
    int dd[3];                      /* grid; all 0: choose for n_domains */
    const char *dd_sizes[3];        /* relative cell sizes, "1 2 1"; NULL: even */
    int n_domains;                  /* 0: one a core or GPU, of 500 atoms at least */
    struct md_processes *processes; /* processes.h; NULL: this one alone */
    int replicate[3];               /* 0 or 1: not */
    const char *rung;               /* exchange; NULL: best */
    const char *route;              /* "staged", "direct"; NULL: by rung */
    bool scheme_given;              /* else shell on GPUs, `scheme` on the CPU */
    md_scheme scheme;
    md_device_choice device;
    int n_gpus, gpus[MD_MAX_GPUS]; /* those to use; n_gpus 0: all that are there */
    const char *kernel;            /* pair kernel; NULL: best */
    bool reproducible;
    const char *trace_path;    /* timeline of some steps on processors, trace.h; or NULL */
    int64_t trace_from;        /* negative: as suits */
    int trace_steps;           /* 0: as suits */
    bool verbose;              /* progress also when stderr is no terminal */
    bool notes;                /* choices and warnings on stderr, too */
    double checkpoint_minutes; /* 0: only at the end */
    double max_hours;          /* <= 0: no limit */
    double peer_timeout_s;     /* how long a domain waits for another; 0: 600 */
    md_ghosts ghosts;          /* on GPUs */
    bool tight_lists;          /* on GPUs: lists that overflow, for tests */
    bool measure_parts;        /* at the end, on GPUs: result->part_us */
    void (*observe)(void *arg, const md_observation *what);
    void *observe_arg;
    int observe_every;        /* steps; 0: never */
    int64_t timing_from_step; /* timings leave out the steps before; negative: counted
                                 from the last step */
} md_run_options;

void md_run_options_default(md_run_options *options);

typedef struct md_run_result {
    int64_t n_steps; /* taken by this call */
    int64_t n_atoms;
    int n_domains, grid[3];
    int n_processes;
    double part_us[MD_GPU_N_PARTS]; /* slowest rank's, if measured */
    int n_gpus;                     /* 0: computed on the CPU */
    char gpus[256], driver[64];     /* "2 x NVIDIA H200", "580.95.05" */
    md_scheme scheme;
    int64_t n_constraint_warnings;
    bool interrupted; /* by a signal or -maxh; the checkpoint holds the rest */
    double seconds, ms_per_step, ns_per_day;
    int64_t n_timed_steps;
    md_timing timing;          /* mean over ranks, seconds a phase */
    double slowest_rank_force; /* seconds in forces of the slowest rank / mean */
    md_energy_report first, last;
    char exchange[128], kernel[32];
    double rlist;
    int nstlist, nstpartition; /* nstpartition: steps between repartitions; only there may a run be
                                  cut without changing its bits */
    int64_t n_overflows;       /* on GPUs: pieces repeated since lists overflowed */
    char minimisation[512];    /* how it ended, a few lines; empty when it was none */
} md_run_result;

/* Makes and joins its own threads. The error text is that of the first fault. With
 * options->processes collective over these, which give the same options; result is complete in the
 * first. */
sundog_status md_run(const md_run_options *options, md_run_result *result);

/* Ask every run in this process to end after its current list interval, with a checkpoint. False
 * when none has come so far as to open its files: nothing is lost then by ending at once.
 * Async-signal-safe. */
bool md_run_request_stop(void);
#endif
