/* test_trajectories.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_trajectories.c"
