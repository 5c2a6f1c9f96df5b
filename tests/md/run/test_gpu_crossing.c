/* test_crossing.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_crossing.c"
