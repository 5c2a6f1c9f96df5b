/* test_single_points.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_single_points.c"
