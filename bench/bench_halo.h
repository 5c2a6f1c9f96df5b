/* Latency of the halo exchange, by size, shape, rung and route. */
#ifndef BENCH_HALO_H
#define BENCH_HALO_H
#include <stdio.h>

/* Run all cases on n_ranks threads; one JSON line a case to `json`, with the members `origin`,
 * which say whose build it was and when. Every rung is first verified against the reference. 0 ok;
 * 1 failed, with one line on stderr. */
int bench_halo(int n_ranks, const char *origin, FILE *json);
#endif
