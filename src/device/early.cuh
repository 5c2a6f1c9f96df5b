/* Programmatic dependent launch: a kernel that is launched early runs beside the one before it in
 * the stream until it waits, and may begin when all blocks of that one have let it.
 *
 * Who waits has behind it all that the kernel before waited for, and no more: so a kernel that is
 * launched early waits in every thread before it ends, whether or not it reads anything of the one
 * before. Launched in the ordinary way, neither call does anything. */
#ifndef DEVICE_EARLY_CUH
#define DEVICE_EARLY_CUH
#include <cuda_runtime.h>

static __device__ __forceinline__ void early_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void early_let_next(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Both: the next one starts when all before this one is done. */
static __device__ __forceinline__ void wait_for_previous(void)
{
    early_wait();
    early_let_next();
}

/* Does the current device know it? */
static inline bool early_is_possible(void)
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           major >= 9;
}

template <class... PARAMETERS>
static inline cudaError_t early_launch(void (*kernel)(PARAMETERS...), int n_blocks, int n_threads,
                                       bool early, cudaStream_t stream, PARAMETERS... arguments)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3((unsigned)n_blocks);
    config.blockDim = dim3((unsigned)n_threads);
    config.stream = stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}
#endif
