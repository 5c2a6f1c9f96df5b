/* Bonded kernels for any processor: bonded_lanes.h with the compiler's default instructions. */
#include "md/force/bonded_lanes.h"

bonded_kernel *const md_bonded_kernels_plain[MD_N_KINDS] = BONDED_KERNEL_LIST;
