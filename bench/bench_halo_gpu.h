/* Latency of the exchange of device memory, by size, rung, route and number of axes. */
#ifndef BENCH_HALO_GPU_H
#define BENCH_HALO_GPU_H
#include <stdio.h>

/* All cases on the first n_gpus GPUs; one JSON line a case, as bench_halo() writes them.
 * Every case is verified. 0 ok; 1 failed, with one line on stderr. In a build without GPU support:
 * 1, saying so. */
int bench_halo_gpu(int n_gpus, const char *origin, FILE *json);
#endif
