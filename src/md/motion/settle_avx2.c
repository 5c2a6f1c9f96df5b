/* SETTLE for processors with AVX2: settle_lanes.h once more; this file is compiled for that
 * instruction set (src/CMakeLists.txt). Elsewhere the table is empty. */
#ifdef __AVX2__
#include "md/motion/settle_lanes.h"

const settle_kernels md_settle_kernels_avx2 = {settle_positions, settle_velocities};
#else
#include "md/motion/settle.h"

const settle_kernels md_settle_kernels_avx2 = {NULL, NULL};
#endif
