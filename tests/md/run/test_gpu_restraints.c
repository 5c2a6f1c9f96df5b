/* test_restraints.c on GPUs. */
#define RUN_ON_GPU 1
#include "test_restraints.c"
