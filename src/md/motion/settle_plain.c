/* SETTLE for any processor: settle_lanes.h with the compiler's default instructions. */
#include "md/motion/settle_lanes.h"

const settle_kernels md_settle_kernels_plain = {settle_positions, settle_velocities};
