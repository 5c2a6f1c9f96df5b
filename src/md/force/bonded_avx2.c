/* Bonded kernels for processors with AVX2: bonded_lanes.h once more; this file is compiled for that
 * instruction set (src/CMakeLists.txt). Same results, bit for bit, as bonded_plain.c. */
#ifdef __AVX2__
#include "md/force/bonded_lanes.h"

bonded_kernel *const md_bonded_kernels_avx2[MD_N_KINDS] = BONDED_KERNEL_LIST;
#else
#include "md/force/bonded_internal.h"

bonded_kernel *const md_bonded_kernels_avx2[MD_N_KINDS] = {0};
#endif
