/* Device side of force_slots.h. */
#ifndef MD_FORCE_SLOTS_CUH
#define MD_FORCE_SLOTS_CUH
#include "md/core/force_slots.h"
#include "md/core/vec3.cuh"

/* f + slots begin .. end - 1 */
static __device__ __forceinline__ float3 force_slots_add_run(const md_force_slots &slots,
                                                             int begin, int end, float3 f)
{
    for (int k = begin; k < end; k++) {
        const float4 s = *(const float4 *)slots.d_slot[k];
        f = make_float3(f.x + s.x, f.y + s.y, f.z + s.z);
    }
    return f;
}

/* f + the slots of a row */
static __device__ __forceinline__ float3 force_slots_add(const md_force_slots &slots, int row,
                                                         float3 f)
{
    if (slots.d_start == NULL) return f;
    return force_slots_add_run(slots, slots.d_start[row], slots.d_start[row + 1], f);
}
#endif
