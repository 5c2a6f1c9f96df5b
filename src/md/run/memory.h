/* Is there memory for this run? Asked before it is taken: the system's own answer, later, is to
 * kill a process. */
#ifndef MD_MEMORY_H
#define MD_MEMORY_H
#include "md/run/setup.h"

/* Bytes that a run of n_atoms takes, n_rows of them rows of all domains, ghosts included. */
double md_memory_estimate(double n_atoms, double n_rows, double n_pairs_per_atom);
/* With n_copies of the system as it is, before replication; no domains yet: a lower bound. */
sundog_status md_memory_check_copies(const md_system *system, int n_copies);
/* When the grid is known. A note when it is close. */
sundog_status md_memory_check(const md_run_options *options, md_system *system);
/* When GPUs are chosen: is there room on each? */
sundog_status md_memory_check_gpus(const md_system *system);
/* Rows of all domains, ghosts included, at the mean density. */
double md_memory_rows(const md_system *system);
#endif
