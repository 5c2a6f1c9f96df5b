/* Device side of force_slots.h. */
#ifndef MD_FORCE_SLOTS_CUH
#define MD_FORCE_SLOTS_CUH
#include "md/core/force_slots.h"
#include "md/core/vec3.cuh"

/* f + the slots of a row */
static __device__ __forceinline__ float3 force_slots_add(const md_force_slots &slots, int row,
                                                         float3 f)
{
    if (slots.d_start == NULL) return f;
    for (int k = slots.d_start[row]; k < slots.d_start[row + 1]; k++) {
        const float4 s = *(const float4 *)slots.d_slot[slots.d_index[k]];
        f = make_float3(f.x + s.x, f.y + s.y, f.z + s.z);
    }
    return f;
}
#endif
