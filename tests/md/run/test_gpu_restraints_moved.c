/* test_restraints_moved.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_restraints_moved.c"
