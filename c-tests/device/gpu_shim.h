/* What the headers of CUDA and HIP would define of all that hetmp/device.h and the programs here use.
 *
 * As CUDA or HIP: enough for clang to check and to compile both sides where no SDK is installed (clang -nocudainc
 * -nocudalib, -nogpuinc -nogpulib). As plain C++17: the device's half of the header, which cannot call the library, and
 * kernels that run: each thread of a block is a thread of the process, and __syncthreads is a barrier of the block. */
#ifndef GPU_SHIM_H
#define GPU_SHIM_H
#include <stdlib.h>
#if defined(__CUDA__) || defined(__HIP__)
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
#else /* plain C++ */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <thread>
#include <vector>
#define HETMP_DEVICE_PASS 1
#define __host__
#define __device__
#define __global__
struct gpu_shim_index {
    unsigned x, y, z;
};
inline thread_local gpu_shim_index threadIdx, blockIdx, blockDim, gridDim;
inline thread_local pthread_barrier_t *gpu_shim_block;
inline thread_local unsigned gpu_shim_turns;

inline void __syncthreads(void) { pthread_barrier_wait(gpu_shim_block); }
/* Device code spins on words and fences after each look. Whoever is waited for may need this core. */
inline void __threadfence_system(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (++gpu_shim_turns % 16 == 0) sched_yield();
}
inline void __threadfence(void) { __threadfence_system(); }
inline unsigned atomicExch(unsigned *at, unsigned value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); }
inline unsigned atomicAdd(unsigned *at, unsigned value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
inline unsigned long long atomicMax(unsigned long long *at, unsigned long long value) {
    unsigned long long old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}
inline unsigned atomicCAS(unsigned *at, unsigned old, unsigned value) {
    __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}

/* The kernel that runs in a stream, if one does: a second launch there waits for its end. */
struct gpu_shim_kernel {
    std::vector<std::thread> threads;
    std::vector<pthread_barrier_t> blocks;
};
inline gpu_shim_kernel gpu_shim_running[2];

inline void gpu_shim_wait(int stream) {
    gpu_shim_kernel &running = gpu_shim_running[stream];
    for (std::thread &t : running.threads) t.join();
    for (pthread_barrier_t &b : running.blocks) pthread_barrier_destroy(&b);
    running.threads.clear();
    running.blocks.clear();
}

template <class... P, class... A>
inline void gpu_shim_launch(int stream, void (*kernel)(P...), unsigned blocks, unsigned threads, A... arguments) {
    gpu_shim_kernel &running = gpu_shim_running[stream];
    gpu_shim_wait(stream);
    running.blocks.resize(blocks);
    for (unsigned b = 0; b < blocks; b++) {
        pthread_barrier_t *meet = &running.blocks[b];
        pthread_barrier_init(meet, nullptr, threads);
        for (unsigned t = 0; t < threads; t++)
            running.threads.emplace_back([=] {
                threadIdx = {t, 0, 0};
                blockIdx = {b, 0, 0};
                blockDim = {threads, 1, 1};
                gridDim = {blocks, 1, 1};
                gpu_shim_block = meet;
                kernel(arguments...);
            });
    }
}
#endif
#endif
