/* test_replicate.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_replicate.c"
