/* test_group_averages.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_group_averages.c"
