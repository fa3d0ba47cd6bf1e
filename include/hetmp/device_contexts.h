/* Queues for workgroups that come and go (part of hetmp/device.h; include that file).
 *
 * A queue has one initiator at a time. A kernel often has more workgroups than there should be queues, and only as many
 * of them run at once as the device has room for. A pool lends queues: the host opens it with as many queues as
 * initiators may hold at the same time; inside of the kernel a workgroup takes one, posts with it, and gives it back.
 *
 *     hetmp_device_queue queues[8];  uint32_t taken[8];  hetmp_device_contexts pool;     // memory that the device can
 *     map hetmp_contexts_open(SHMEM_TEAM_WORLD, 64, 0, queues, taken, 8, &pool);             // on the host, not
 *     collective ... in the kernel:
 *     hetmp_device_queue *ctx = hetmp_context_take(&pool);   // NULL: all are taken
 *     hetmp_put(ctx, pe, dest, source, bytes);
 *     hetmp_context_give(&pool, ctx);                        // waits until its operations are done
 *     ...
 *     hetmp_contexts_close(&pool);
 */
#ifndef HETMP_DEVICE_CONTEXTS_H
#define HETMP_DEVICE_CONTEXTS_H
#ifndef HETMP_DEVICE_H
#error "include <hetmp/device.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hetmp_device_contexts {
    hetmp_device_queue *queues; /* n queues */
    uint32_t *taken;            /* for each queue 1 while it is lent, else 0 */
    uint32_t n;
} hetmp_device_contexts;

#if defined(HETMP_DEVICE_PASS)
HETMP_DEVICE_FN uint32_t hetmp_device_swap32(uint32_t *at, uint32_t value) {
    uint32_t old;
    __threadfence();
    old = atomicExch(at, value);
    __threadfence();
    return old;
}
#else
HETMP_DEVICE_FN uint32_t hetmp_device_swap32(uint32_t *at, uint32_t value) {
    return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
}
#endif

/* On the host: opens `n` queues of `depth` descriptors in `queues`, with `flags`, for the PEs of `team`. `taken` has n
 * words. Both arrays belong to the pool until hetmp_contexts_close. Returns 0, or the negative constant of
 * hetmp_device_queue_open; then no queue is open. */
static inline int hetmp_contexts_open(shmem_team_t team, size_t depth, unsigned flags, hetmp_device_queue *queues,
                                      uint32_t *taken, uint32_t n, hetmp_device_contexts *pool) {
    uint32_t i;
    if (!pool) return HETMP_DEVICE_BAD_QUEUE;
    pool->queues = queues;
    pool->taken = taken;
    pool->n = 0;
    if (!queues || !taken || n == 0) return HETMP_DEVICE_BAD_VALUE;
    for (i = 0; i < n; i++) {
        int bad = hetmp_device_queue_open_flags(team, depth, flags, queues + i);
        if (bad) {
            while (i-- > 0) hetmp_device_queue_close(queues + i);
            return bad;
        }
        taken[i] = 0;
    }
    pool->n = n;
    return HETMP_DEVICE_OK;
}

/* A queue that nobody else has, or NULL while all are taken. For a thread, or the leader of a workgroup. */
HETMP_DEVICE_FN hetmp_device_queue *hetmp_context_take(hetmp_device_contexts *pool) {
    uint32_t i;
    for (i = 0; i < pool->n; i++)
        if (hetmp_device_swap32(pool->taken + i, 1) == 0) return pool->queues + i;
    return NULL;
}

/* Waits until all operations of the queue are done, and gives it back. Returns the status of hetmp_quiet;
 * HETMP_DEVICE_BAD_QUEUE, and nothing was done, for a queue that is not of the pool, or not taken. */
HETMP_DEVICE_FN int hetmp_context_give(hetmp_device_contexts *pool, hetmp_device_queue *queue) {
    uint64_t at = ((uint64_t)(uintptr_t)queue - (uint64_t)(uintptr_t)pool->queues) / sizeof *queue;
    int status;
    if (at >= pool->n || pool->queues + at != queue || pool->taken[at] == 0) return HETMP_DEVICE_BAD_QUEUE;
    status = hetmp_quiet(queue);
    hetmp_device_swap32(pool->taken + at, 0);
    return status;
}

/* On the host, when no kernel uses the pool: closes all queues. Returns the first status that is not 0, or
 * HETMP_DEVICE_BAD_QUEUE if the pool is not open. */
static inline int hetmp_contexts_close(hetmp_device_contexts *pool) {
    int status = pool->n ? HETMP_DEVICE_OK : HETMP_DEVICE_BAD_QUEUE;
    uint32_t i;
    for (i = 0; i < pool->n; i++) {
        int bad = hetmp_device_queue_close(pool->queues + i);
        if (status == HETMP_DEVICE_OK) status = bad;
    }
    pool->n = 0;
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
