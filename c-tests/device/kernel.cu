/* hetmp/device.h in kernels: every function is called from device code at thread and workgroup granularity. Compiled, not
 * run, by the tests: as CUDA and as HIP, with their SDK or with gpu_shim.h. */
#ifdef HETMP_TEST_GPU_SHIM
#include "gpu_shim.h"
#elif defined(__HIP__)
#include <hip/hip_runtime.h>
#endif
#include <hetmp/device.h>

__global__ void by_thread(hetmp_device_queue *queues, int pe, uint64_t *there, const uint64_t *here, size_t bytes, uint64_t *flag,
                          int *status) {
    hetmp_device_queue q = queues[threadIdx.x]; /* in registers or local memory while it is used */
    uint64_t old = 0;
    int bad = hetmp_put(&q, pe, there, here, bytes);
    bad |= hetmp_put_built(&q, pe, there, here, bytes);
    bad |= hetmp_get(&q, pe, there, here, bytes);
    bad |= hetmp_p(&q, pe, there, 1, 2);
    bad |= hetmp_p32(&q, pe, (uint32_t *)there, 1);
    bad |= hetmp_p64(&q, pe, there, 1);
    bad |= hetmp_put_signal(&q, pe, there, here, bytes, flag, 1);
    bad |= hetmp_put_signal_op(&q, pe, there, here, bytes, flag, 1, SHMEM_SIGNAL_ADD);
    bad |= hetmp_p64_signal(&q, pe, there, 2, flag, 3);
    bad |= hetmp_atomic_add(&q, pe, there, 1);
    bad |= hetmp_atomic_add32(&q, pe, (uint32_t *)there, 1);
    bad |= hetmp_atomic_set(&q, pe, there, 1);
    hetmp_ring(&q);
    bad |= hetmp_atomic_fetch_add(&q, pe, there, 1, &old);
    bad |= hetmp_atomic_compare_swap(&q, pe, there, 1, 2, &old);
    bad |= hetmp_atomic_fetch(&q, pe, there, &old);
    bad |= hetmp_fence(&q);
    bad |= hetmp_fence_pe(&q, pe);
    bad |= hetmp_quiet(&q);
    bad |= !hetmp_is_quiet(&q);
    queues[threadIdx.x] = q;
    *status = bad + (int)old;
}

__global__ void by_workgroup(hetmp_device_queue *q, int pe, uint64_t *there, uint64_t *here, size_t bytes, uint64_t *flag) {
    here[threadIdx.x] = threadIdx.x;
    hetmp_put_wg(q, pe, there, here, bytes);
    hetmp_fence_wg(q);
    hetmp_put_signal_wg(q, pe, there, here, bytes, flag, 1);
    hetmp_atomic_add_wg(q, pe, there, 1);
    hetmp_ring_wg(q);
    hetmp_get_wg(q, pe, here, there, bytes);
    hetmp_quiet_wg(q);
}

/* The host's part of the header. */
int open_and_close(hetmp_device_queue *q) {
    int bad = hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 64, HETMP_DEVICE_POLLED, q);
    return bad ? bad : hetmp_device_queue_close(q);
}
