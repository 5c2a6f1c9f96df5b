/* Programmatic dependent launch, on the device. A kernel that was launched early runs beside the
 * one before it in the stream until it waits. */
#ifndef DEVICE_EARLY_CUH
#define DEVICE_EARLY_CUH

/* Wait for the kernel before; let the next one start. */
static __device__ __forceinline__ void wait_for_previous(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
#endif
