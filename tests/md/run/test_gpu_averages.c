/* test_averages.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_averages.c"
