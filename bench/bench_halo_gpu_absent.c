/* A build without GPU support. */
#include "bench_halo_gpu.h"

int bench_halo_gpu(int n_gpus, const char *origin, FILE *json)
{
    (void)n_gpus, (void)origin, (void)json;
    fprintf(stderr, "bench halo: this build has no support for GPUs\n");
    return 1;
}
