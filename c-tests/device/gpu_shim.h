/* What the headers of CUDA and HIP would define of all that hetmp/device.h uses: enough for clang to check and to
 * compile the header for both, host and device side, where no SDK is installed (clang -nocudainc -nocudalib, -nogpuinc
 * -nogpulib). */
#ifndef GPU_SHIM_H
#define GPU_SHIM_H
#include <stdlib.h>
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
struct gpu_shim_index {
    unsigned x, y, z;
};
extern __device__ const gpu_shim_index threadIdx;
/* What a launch on the host side becomes. */
struct dim3 {
    unsigned x, y, z;
};
#if defined(__HIP__)
typedef int hipError_t;
typedef void *hipStream_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
#else
typedef int cudaError_t;
typedef void *cudaStream_t;
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#endif
__device__ inline unsigned atomicExch(unsigned *at, unsigned value) {
    unsigned old;
    __atomic_exchange(at, &value, &old, __ATOMIC_RELAXED);
    return old;
}
#if defined(__CUDA__) && !defined(__HIP__)
/* __syncthreads is built in. */
__device__ inline void __threadfence(void) { __nvvm_membar_gl(); }
__device__ inline void __threadfence_system(void) { __nvvm_membar_sys(); }
#elif defined(__AMDGCN__)
__device__ inline void __syncthreads(void) { __builtin_amdgcn_s_barrier(); }
__device__ inline void __threadfence_system(void) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
__device__ inline void __threadfence(void) { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
#else
__device__ void __syncthreads(void);
__device__ void __threadfence(void);
__device__ void __threadfence_system(void);
#endif
#endif
