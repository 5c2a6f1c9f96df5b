/* The kernels of fabric peer: no peer is far, no relocatable device code. */
#include "halo/peer/kernels.cuh"

const halo_kernels halo_peer_kernels = HALO_KERNELS_HERE;
