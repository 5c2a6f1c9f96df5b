/* LINCS stars for processors with AVX2: lincs_lanes.h once more; this file is compiled for that
 * instruction set (src/CMakeLists.txt). Elsewhere the table is empty. */
#ifdef __AVX2__
#include "md/motion/lincs_lanes.h"

const lincs_kernels md_lincs_kernels_avx2 = {lincs_positions, lincs_velocities};
#else
#include "md/motion/lincs.h"

const lincs_kernels md_lincs_kernels_avx2 = {NULL, NULL};
#endif
