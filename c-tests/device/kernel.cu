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

__global__ void what_else(hetmp_device_queue *queues, hetmp_device_group *group, hetmp_device_contexts *pool, uint64_t *words,
                          double *values, int *status) {
    hetmp_device_group g = *group;
    hetmp_device_queue *q = hetmp_context_take(pool);
    int bad = q == NULL;
    if (bad) q = queues;
    bad |= hetmp_wait_until(words, SHMEM_CMP_GE, 1) | hetmp_wait_until32((uint32_t *)words, SHMEM_CMP_NE, 0);
    bad |= hetmp_test(words, SHMEM_CMP_EQ, 1) | hetmp_test32((uint32_t *)words, SHMEM_CMP_EQ, 1);
    bad |= hetmp_wait_until_all(words, 4, NULL, SHMEM_CMP_GT, 0) | hetmp_test_all(words, 4, status, SHMEM_CMP_LE, 9);
    bad |= hetmp_wait_until_any(words, 4, status, SHMEM_CMP_LT, 7) == HETMP_DEVICE_NONE;
    bad |= hetmp_wait_until_wg(words, SHMEM_CMP_GE, 1);
    bad |= hetmp_group_sync(q, &g) | hetmp_group_barrier(q, &g) | hetmp_group_broadcast(q, &g, words, values, 8, 0);
    bad |= hetmp_group_fcollect(q, &g, words, values, 8) | hetmp_group_alltoall(q, &g, words, values, 8);
    bad |= hetmp_group_reduce(q, &g, values, values, 3, HETMP_TYPE_DOUBLE, HETMP_OP_MAX);
    bad |= hetmp_group_reduce(q, &g, words, words, 3, HETMP_TYPE_UINT64, HETMP_OP_XOR);
    bad |= hetmp_group_sync_wg(q, &g) | hetmp_group_barrier_wg(q, &g) | hetmp_group_broadcast_wg(q, &g, words, values, 8, 0);
    bad |= hetmp_group_fcollect_wg(q, &g, words, values, 8) | hetmp_group_alltoall_wg(q, &g, words, values, 8);
    bad |= hetmp_group_reduce_wg(q, &g, values, values, 3, HETMP_TYPE_FLOAT, HETMP_OP_MIN);
    bad |= hetmp_context_give(pool, q);
    *group = g;
    *status = bad;
}

/* The host's part of the header. */
int open_and_close(hetmp_device_queue *q) {
    int bad = hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 64, HETMP_DEVICE_POLLED, q);
    return bad ? bad : hetmp_device_queue_close(q);
}
