/* The inline paths of hetmp/mq.h; included by it, not by programs.
 *
 * What is here is part of the library's binary interface: the layout of one end of a ring, and the steps by
 * which a message goes through it. The library runs the same steps (runtime/mq/src/ring.rs).
 *
 * A ring is a row of slots, each with a 64-bit word directly before the message: how often the ring has gone
 * round (its lap) in the upper half, the message's length in the lower. That word is the slot's state as
 * the receiver reads it: a lap it waits for means Ready. What the sender needs to know, how many messages were
 * released, is one counter that only the receiver writes and the sender looks at when it has used up what
 * it saw last. Every other field belongs to one side alone. So no step is a read-modify-write, and in the
 * steady state a small message costs the line that it lies in and nothing else.
 *
 * Sleeping: a side that goes to sleep sets its `waits` word and has the kernel run a memory barrier on
 * the other side's thread (membarrier) before it looks a last time; so the other side needs none of its own between
 * its store and its look at `waits`.
 */
#ifndef HETMP_MQ_INLINE_H
#define HETMP_MQ_INLINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a ring. 128 bytes, on cache lines of its own. */
struct hetmp_mq_end {
    uint64_t key;               /* slave number << 32 | handle; all ones once the queue is destroyed */
    uint64_t owner;             /* the thread that uses this end (its thread pointer), or 0 */
    char *next;                 /* what the next allocate or receive returns */
    char *oldest;               /* what the next send or release must be given */
    char *first;                /* the first message of the ring ... */
    char *last;                 /* ... and the address after the last slot */
    uint64_t taken;             /* messages allocated or received so far */
    uint64_t given;             /* messages sent or released so far */
    uint64_t limit;             /* sender: `taken` may grow to this before looking at *released */
    uint64_t *released;         /* the counter of released messages, on a line of its own */
    const uint32_t *peer_waits; /* not 0: the other side sleeps */
    uint32_t lap;               /* sender: of `oldest`; receiver: of `next` */
    uint32_t stride;            /* bytes from slot to slot */
    uint32_t msg_bytes;         /* largest message */
    uint32_t slots;
    uint32_t sender;            /* 1 at the sending end */
    uint32_t reserved[3];
} __attribute__((aligned(128)));

/* 256 slaves of 4096 master ends; a null pointer where there is no ring. */
struct hetmp_mq_end *const *hetmp_mq_master_ends(void);
/* The 4096 ends of the calling slave; NULL on other threads. */
struct hetmp_mq_end *const *hetmp_mq_slave_ends(void);
/* Waits until the end has something to take. MQ_OK: try again. */
int hetmp_mq_wait(struct hetmp_mq_end *end);
/* Stores (or says) why a wait failed; NULL. */
void *hetmp_mq_fail(struct hetmp_mq_end *end, int error, int *err);
/* Wakes the other side. */
void hetmp_mq_wake(struct hetmp_mq_end *end);

#ifdef __cplusplus
}
#endif

#define HETMP_MQ_LIKELY(x) __builtin_expect(!!(x), 1)
#define HETMP_MQ_INLINE static inline __attribute__((always_inline, unused))

/* Fetched once by each file and each thread. */
static struct hetmp_mq_end *const *hetmp_mq_master_table __attribute__((unused));
static __thread struct hetmp_mq_end *const *hetmp_mq_slave_table __attribute__((unused));

HETMP_MQ_INLINE uint64_t hetmp_mq_thread(void) {
#if defined(__x86_64__)
    uint64_t p;
    __asm__("mov %%fs:0, %0" : "=r"(p));
    return p;
#else
    return (uint64_t)(uintptr_t)__builtin_thread_pointer();
#endif
}

/* The ring's end for a call by the master, or NULL: then the library is asked. */
HETMP_MQ_INLINE struct hetmp_mq_end *hetmp_mq_m(int slave, int handle) {
    struct hetmp_mq_end *const *table = __atomic_load_n(&hetmp_mq_master_table, __ATOMIC_RELAXED);
    if (!HETMP_MQ_LIKELY(table)) {
        table = hetmp_mq_master_ends();
        __atomic_store_n(&hetmp_mq_master_table, table, __ATOMIC_RELAXED);
    }
    if (!HETMP_MQ_LIKELY((unsigned)slave < 256)) return NULL;
    struct hetmp_mq_end *end = __atomic_load_n(&table[(unsigned)slave * 4096 + ((unsigned)handle & 4095)],
                                               __ATOMIC_ACQUIRE);
    if (!HETMP_MQ_LIKELY(end)) return NULL;
    if (!HETMP_MQ_LIKELY(__atomic_load_n(&end->key, __ATOMIC_RELAXED) ==
                         ((uint64_t)(uint32_t)slave << 32 | (uint32_t)handle)))
        return NULL;
    return HETMP_MQ_LIKELY(__atomic_load_n(&end->owner, __ATOMIC_RELAXED) == hetmp_mq_thread()) ? end : NULL;
}

HETMP_MQ_INLINE struct hetmp_mq_end *hetmp_mq_s(int handle) {
    struct hetmp_mq_end *const *table = hetmp_mq_slave_table;
    if (!HETMP_MQ_LIKELY(table)) {
        hetmp_mq_slave_table = table = hetmp_mq_slave_ends();
        if (!table) return NULL;
    }
    struct hetmp_mq_end *end = __atomic_load_n(&table[(unsigned)handle & 4095], __ATOMIC_ACQUIRE);
    if (!HETMP_MQ_LIKELY(end)) return NULL;
    return HETMP_MQ_LIKELY((uint32_t)__atomic_load_n(&end->key, __ATOMIC_RELAXED) == (uint32_t)handle) ? end : NULL;
}

/* How many messages the sender may allocate now; looks at the receiver's counter only when it must. */
HETMP_MQ_INLINE uint64_t hetmp_mq_room(struct hetmp_mq_end *e) {
    if (!HETMP_MQ_LIKELY(e->taken != e->limit))
        e->limit = __atomic_load_n(e->released, __ATOMIC_ACQUIRE) + e->slots;
    return e->limit - e->taken;
}

HETMP_MQ_INLINE void *hetmp_mq_try_allocate(struct hetmp_mq_end *e) {
    if (!HETMP_MQ_LIKELY(hetmp_mq_room(e))) return NULL;
    char *p = e->next, *n = p + e->stride;
    e->next = n == e->last ? e->first : n;
    e->taken++;
    return p;
}

HETMP_MQ_INLINE void *hetmp_mq_try_receive(struct hetmp_mq_end *e, int *bytes) {
    char *p = e->next;
    uint64_t word = __atomic_load_n((uint64_t *)(void *)p - 1, __ATOMIC_ACQUIRE);
    if (!HETMP_MQ_LIKELY((uint32_t)(word >> 32) == e->lap)) return NULL;
    char *n = p + e->stride;
    if (n == e->last) {
        e->next = e->first;
        e->lap++;
    } else {
        e->next = n;
    }
    e->taken++;
    if (bytes) *bytes = (int)(uint32_t)word;
    return p;
}

/* After a store that the other side may wait for. */
HETMP_MQ_INLINE void hetmp_mq_published(struct hetmp_mq_end *e) {
    /* The compiler keeps the order; the sleeper's membarrier keeps it for the processor. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!HETMP_MQ_LIKELY(__atomic_load_n(e->peer_waits, __ATOMIC_RELAXED) == 0)) hetmp_mq_wake(e);
}

/* Marks the n oldest allocated messages as ready. The caller has checked them. */
HETMP_MQ_INLINE void hetmp_mq_send(struct hetmp_mq_end *e, int n, int bytes) {
    char *p = e->oldest;
    for (int i = 0; i < n; i++) {
        __atomic_store_n((uint64_t *)(void *)p - 1, (uint64_t)e->lap << 32 | (uint32_t)bytes, __ATOMIC_RELEASE);
        p += e->stride;
        if (p == e->last) {
            p = e->first;
            e->lap++;
        }
    }
    e->oldest = p;
    e->given += (uint64_t)n;
    hetmp_mq_published(e);
}

HETMP_MQ_INLINE void hetmp_mq_release(struct hetmp_mq_end *e, int n) {
    char *p = e->oldest + (size_t)n * e->stride;
    e->oldest = p >= e->last ? p - (e->last - e->first) : p;
    e->given += (uint64_t)n;
    __atomic_store_n(e->released, e->given, __ATOMIC_RELEASE);
    hetmp_mq_published(e);
}

HETMP_MQ_INLINE void hetmp_mq_ok(int *err) {
    if (err) *err = MQ_OK;
}

/* Waits in the library until a retry may succeed; NULL end: the library's own function says what is wrong. */
#define HETMP_MQ_TAKE(END, SENDER, TRY, SLOW)                          \
    struct hetmp_mq_end *e = (END);                                    \
    if (HETMP_MQ_LIKELY(e && e->sender == (SENDER))) {                 \
        for (;;) {                                                     \
            void *p = (TRY);                                           \
            if (HETMP_MQ_LIKELY(p)) {                                  \
                hetmp_mq_ok(err);                                      \
                return p;                                              \
            }                                                          \
            int why = hetmp_mq_wait(e);                                \
            if (why != MQ_OK) return hetmp_mq_fail(e, why, err);       \
        }                                                              \
    }                                                                  \
    return SLOW

#define HETMP_MQ_TRY(END, SENDER, TRY, SLOW)                           \
    struct hetmp_mq_end *e = (END);                                    \
    if (HETMP_MQ_LIKELY(e && e->sender == (SENDER))) {                 \
        void *p = (TRY);                                               \
        if (HETMP_MQ_LIKELY(p)) {                                      \
            hetmp_mq_ok(err);                                          \
            return p;                                                  \
        }                                                              \
    }                                                                  \
    return SLOW

HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateMsg(int slave, int handle, int *err) {
    HETMP_MQ_TAKE(hetmp_mq_m(slave, handle), 1, hetmp_mq_try_allocate(e), mAllocateMsg(slave, handle, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryAllocateMsg(int slave, int handle, int *err) {
    HETMP_MQ_TRY(hetmp_mq_m(slave, handle), 1, hetmp_mq_try_allocate(e), mTryAllocateMsg(slave, handle, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvMsg(int slave, int handle, int *bytes, int *err) {
    HETMP_MQ_TAKE(hetmp_mq_m(slave, handle), 0, hetmp_mq_try_receive(e, bytes),
                  mRecvMsg(slave, handle, bytes, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryRecvMsg(int slave, int handle, int *bytes, int *err) {
    HETMP_MQ_TRY(hetmp_mq_m(slave, handle), 0, hetmp_mq_try_receive(e, bytes),
                 mTryRecvMsg(slave, handle, bytes, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateMsg(int handle, int *err) {
    HETMP_MQ_TAKE(hetmp_mq_s(handle), 1, hetmp_mq_try_allocate(e), sAllocateMsg(handle, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryAllocateMsg(int handle, int *err) {
    HETMP_MQ_TRY(hetmp_mq_s(handle), 1, hetmp_mq_try_allocate(e), sTryAllocateMsg(handle, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvMsg(int handle, int *bytes, int *err) {
    HETMP_MQ_TAKE(hetmp_mq_s(handle), 0, hetmp_mq_try_receive(e, bytes), sRecvMsg(handle, bytes, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryRecvMsg(int handle, int *bytes, int *err) {
    HETMP_MQ_TRY(hetmp_mq_s(handle), 0, hetmp_mq_try_receive(e, bytes), sTryRecvMsg(handle, bytes, err));
}

/* `first` is the oldest of at least n held messages, and the length fits. */
HETMP_MQ_INLINE int hetmp_mq_may_send(const struct hetmp_mq_end *e, const void *first, int n, int bytes) {
    return e && e->sender && first == e->oldest && n > 0 && e->taken - e->given >= (uint64_t)n &&
           (uint32_t)bytes <= e->msg_bytes;
}
HETMP_MQ_INLINE int hetmp_mq_may_release(const struct hetmp_mq_end *e, const void *first, int n) {
    return e && !e->sender && first == e->oldest && n > 0 && e->taken - e->given >= (uint64_t)n;
}

HETMP_MQ_INLINE void hetmp_mq_inline_mSendMsg(int slave, int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_m(slave, handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(e, msg, 1, bytes))) {
        mSendMsg(slave, handle, msg, bytes, err);
        return;
    }
    hetmp_mq_send(e, 1, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendMsg(int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_s(handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(e, msg, 1, bytes))) {
        sSendMsg(handle, msg, bytes, err);
        return;
    }
    hetmp_mq_send(e, 1, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseMsg(int slave, int handle, void *msg, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_m(slave, handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(e, msg, 1))) {
        mReleaseMsg(slave, handle, msg, err);
        return;
    }
    hetmp_mq_release(e, 1);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseMsg(int handle, void *msg, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_s(handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(e, msg, 1))) {
        sReleaseMsg(handle, msg, err);
        return;
    }
    hetmp_mq_release(e, 1);
    hetmp_mq_ok(err);
}

/* Batches: as many as there are without a second look, up to the end of the ring. */
HETMP_MQ_INLINE void *hetmp_mq_try_allocate_batch(struct hetmp_mq_end *e, int want, int *got, size_t *stride) {
    uint64_t n = hetmp_mq_room(e);
    if (n == 0) return NULL;
    char *p = e->next;
    uint64_t here = (uint64_t)(e->last - p);
    if (n > (uint64_t)want) n = (uint64_t)want;
    if (n * e->stride >= here) {
        n = here / e->stride;
        e->next = e->first;
    } else {
        e->next = p + n * e->stride;
    }
    e->taken += n;
    *got = (int)n;
    *stride = e->stride;
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_try_receive_batch(struct hetmp_mq_end *e, int want, int *got, size_t *stride) {
    char *p = e->next, *q = p;
    int n = 0;
    while (n < want && q != e->last &&
           (uint32_t)(__atomic_load_n((uint64_t *)(void *)q - 1, __ATOMIC_ACQUIRE) >> 32) == e->lap) {
        q += e->stride;
        n++;
    }
    if (n == 0) return NULL;
    if (q == e->last) {
        e->next = e->first;
        e->lap++;
    } else {
        e->next = q;
    }
    e->taken += (uint64_t)n;
    *got = n;
    *stride = e->stride;
    return p;
}
#define HETMP_MQ_BATCHED(e) ((e) && want > 0 && got && stride)
HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateBatch(int slave, int handle, int want, int *got, size_t *stride,
                                                     int *err) {
    struct hetmp_mq_end *end = hetmp_mq_m(slave, handle);
    HETMP_MQ_TAKE(HETMP_MQ_BATCHED(end) ? end : NULL, 1, hetmp_mq_try_allocate_batch(e, want, got, stride),
                  mAllocateBatch(slave, handle, want, got, stride, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvBatch(int slave, int handle, int want, int *got, size_t *stride,
                                                 int *err) {
    struct hetmp_mq_end *end = hetmp_mq_m(slave, handle);
    HETMP_MQ_TAKE(HETMP_MQ_BATCHED(end) ? end : NULL, 0, hetmp_mq_try_receive_batch(e, want, got, stride),
                  mRecvBatch(slave, handle, want, got, stride, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateBatch(int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_end *end = hetmp_mq_s(handle);
    HETMP_MQ_TAKE(HETMP_MQ_BATCHED(end) ? end : NULL, 1, hetmp_mq_try_allocate_batch(e, want, got, stride),
                  sAllocateBatch(handle, want, got, stride, err));
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvBatch(int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_end *end = hetmp_mq_s(handle);
    HETMP_MQ_TAKE(HETMP_MQ_BATCHED(end) ? end : NULL, 0, hetmp_mq_try_receive_batch(e, want, got, stride),
                  sRecvBatch(handle, want, got, stride, err));
}
HETMP_MQ_INLINE void hetmp_mq_inline_mSendBatch(int slave, int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_m(slave, handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(e, first, n, bytes))) {
        mSendBatch(slave, handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(e, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendBatch(int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_s(handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(e, first, n, bytes))) {
        sSendBatch(handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(e, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseBatch(int slave, int handle, void *first, int n, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_m(slave, handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(e, first, n))) {
        mReleaseBatch(slave, handle, first, n, err);
        return;
    }
    hetmp_mq_release(e, n);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseBatch(int handle, void *first, int n, int *err) {
    struct hetmp_mq_end *e = hetmp_mq_s(handle);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(e, first, n))) {
        sReleaseBatch(handle, first, n, err);
        return;
    }
    hetmp_mq_release(e, n);
    hetmp_mq_ok(err);
}

#define mAllocateMsg(slave, handle, err) hetmp_mq_inline_mAllocateMsg(slave, handle, err)
#define mTryAllocateMsg(slave, handle, err) hetmp_mq_inline_mTryAllocateMsg(slave, handle, err)
#define mSendMsg(slave, handle, msg, bytes, err) hetmp_mq_inline_mSendMsg(slave, handle, msg, bytes, err)
#define mRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mRecvMsg(slave, handle, bytes, err)
#define mTryRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mTryRecvMsg(slave, handle, bytes, err)
#define mReleaseMsg(slave, handle, msg, err) hetmp_mq_inline_mReleaseMsg(slave, handle, msg, err)
#define sAllocateMsg(handle, err) hetmp_mq_inline_sAllocateMsg(handle, err)
#define sTryAllocateMsg(handle, err) hetmp_mq_inline_sTryAllocateMsg(handle, err)
#define sSendMsg(handle, msg, bytes, err) hetmp_mq_inline_sSendMsg(handle, msg, bytes, err)
#define sRecvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define sTryRecvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)
#define sReleaseMsg(handle, msg, err) hetmp_mq_inline_sReleaseMsg(handle, msg, err)
#define sResvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define sTryResvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)
#define mAllocateBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mAllocateBatch(slave, handle, want, got, stride, err)
#define mRecvBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mRecvBatch(slave, handle, want, got, stride, err)
#define mSendBatch(slave, handle, first, n, bytes, err) hetmp_mq_inline_mSendBatch(slave, handle, first, n, bytes, err)
#define mReleaseBatch(slave, handle, first, n, err) hetmp_mq_inline_mReleaseBatch(slave, handle, first, n, err)
#define sAllocateBatch(handle, want, got, stride, err) hetmp_mq_inline_sAllocateBatch(handle, want, got, stride, err)
#define sRecvBatch(handle, want, got, stride, err) hetmp_mq_inline_sRecvBatch(handle, want, got, stride, err)
#define sSendBatch(handle, first, n, bytes, err) hetmp_mq_inline_sSendBatch(handle, first, n, bytes, err)
#define sReleaseBatch(handle, first, n, err) hetmp_mq_inline_sReleaseBatch(handle, first, n, err)

#endif
