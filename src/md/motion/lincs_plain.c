/* LINCS stars for any processor: lincs_lanes.h with the compiler's default instructions. */
#include "md/motion/lincs_lanes.h"

const lincs_kernels md_lincs_kernels_plain = {lincs_positions, lincs_velocities};
