/* Everything that a run is made of before the first step; read-only for the domains. */
#ifndef MD_SETUP_H
#define MD_SETUP_H
#include "md/core/params.h"
#include "md/core/state.h"
#include "md/core/topology.h"
#include "md/domain/domain.h"
#include "md/out/checkpoint.h"
#include "md/run/dispersion.h"
#include "md/run/groups.h"
#include "md/run/run.h"

typedef struct md_system {
    md_params params;
    md_topology *topology;
    md_state state; /* at the start of this run; without x and v once the run has them */
    bool continued; /* from a checkpoint: nothing is constrained at the start */
    int64_t output_offset[MD_N_OUTPUTS]; /* of the checkpoint; -1: create */
    uint64_t output_tail[MD_N_OUTPUTS];  /* checkpoint.h */
    bool has_tails;
    size_t n_averages; /* sums of energies that the checkpoint holds */
    double *averages;
    int64_t last_step; /* INT64_MAX: no end */
    md_groups groups;
    md_box start_box;      /* of the start structure: lists and grid are made for it,
                              so that a restart has the same */
    double n_dof, mass;    /* degrees of freedom, mass (u) of all atoms */
    double temperature;    /* that the Verlet buffer was made for, K */
    int nstlist, nstprune; /* nstprune 0: no pruning */
    double rlist, rprune;  /* nm */
    int nstpartition;      /* steps between repartitions, a multiple of nstlist */
    int nstrenew;          /* GPUs: blocks of the lists, a divisor of it; 0: with repartitions */
    md_grid grid;
    int n_processes;
    int n_pulses[3];
    md_reach reach;
    int n_gpus, gpus[MD_MAX_GPUS]; /* n_gpus 0: this run computes on the CPU. Domain r is on
                                      md_device_of_domain(system, r) */
    const char *rung;              /* on GPUs never NULL */
    sundog_route route;
    bool has_constraints;
    md_dispersion dispersion; /* of the topology after replication */
    uint64_t topology_hash, params_hash;
    char notes[8192]; /* warnings and choices, a line each, for log and stderr */
} md_system;

sundog_status md_setup(const md_run_options *options, md_system *system);
void md_setup_destroy(md_system *system);

/* FNV-1a over everything that decides the physics. Run length, output intervals and list settings
 * are left out of the parameters, since a restart may change them. */
uint64_t md_topology_hash(const md_topology *topology);
uint64_t md_params_hash(const md_params *params);
#endif
