/* test_pressure.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_pressure.c"
