/* The inline paths of hetmp/mq.h; included by it, not by programs.
 *
 * What is here is part of the library's binary interface: the layout of a ring, and the steps by which a
 * message goes through it. The library runs the same steps (runtime/mq/src/ring.rs).
 *
 * A ring is a row of slots, each with a 64-bit word directly before the message: how often the ring has gone
 * round (its lap) in the upper half, the message's length in the lower. That word is the slot's state as
 * the receiver reads it: the lap it waits for means Ready. What the sender needs to know, how far the receiver
 * is, is one address that only the receiver writes, and that the sender looks at when it has used up what it saw
 * last. Every other field belongs to one side alone. So no step is a read-modify-write, and in the steady
 * state a small message costs the line that it lies in and nothing else.
 *
 * A thread finds its rings in tables of its own, one for each thing it may do with them; whatever is not there (no such
 * queue, another thread's end, a queue of two stages) is the library's business.
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

/* One side of a ring; touched by that side's thread. */
struct hetmp_mq_end {
    uint32_t handle;   /* all ones once the queue is destroyed */
    uint32_t lap;      /* sender: of `oldest`; receiver: of `next` */
    char *next;        /* what the next allocate or receive returns */
    char *oldest;      /* what the next send or release must be given */
    char *first;       /* the first message of the ring ... */
    char *last;        /* ... and the address after the last slot */
    char *limit;       /* sender: `next` may not reach this before a look at `released` */
    uint64_t stride;   /* bytes from slot to slot */
    uint64_t msg_bytes;
    uint64_t owner;
    uint64_t reserved[7];
} __attribute__((aligned(128)));

struct hetmp_mq_ring {
    struct hetmp_mq_end sender;
    struct hetmp_mq_end receiver;
    char *released;    /* the receiver's `oldest`, on a line of its own */
    char *padding[15];
    uint32_t waits[2]; /* not 0: the sender (the receiver) sleeps */
};

/* What a thread may do with its rings: 256 slaves of 4096 entries, and for slaves 4096. */
struct hetmp_mq_caller {
    struct hetmp_mq_ring *const *m_send;
    struct hetmp_mq_ring *const *m_recv;
    struct hetmp_mq_ring *const *s_send;
    struct hetmp_mq_ring *const *s_recv;
    uint32_t pauses; /* before a wait in the library: 0 where threads outnumber cores */
};

/* The calling thread's tables; never NULL, valid until the thread ends. */
const struct hetmp_mq_caller *hetmp_mq_caller(void);
/* The calling thread's ring where the tables do not have it yet; NULL where it is none, or not this thread's. */
struct hetmp_mq_ring *hetmp_mq_first_use(int slave, int handle, int send);
/* Says why a Try form took nothing; NULL. */
void *hetmp_mq_try_failed(int slave, int handle, int send, int *err);
/* Waits until the queue has something to take. slave: -1 on a slave. MQ_OK: try again; else NULL is to be returned,
 * and the error is stored or said. */
int hetmp_mq_wait(int slave, int handle, int send, int *err);
/* Wakes the other side. */
void hetmp_mq_wake(struct hetmp_mq_ring *ring, int sender);

#ifdef __cplusplus
}
#endif

#define HETMP_MQ_LIKELY(x) __builtin_expect(!!(x), 1)
#define HETMP_MQ_INLINE static inline __attribute__((always_inline, unused))

/* Fetched once by each thread for each file. */
static __thread const struct hetmp_mq_caller *hetmp_mq_me __attribute__((unused));

HETMP_MQ_INLINE const struct hetmp_mq_caller *hetmp_mq_get_caller(void) {
    const struct hetmp_mq_caller *me = hetmp_mq_me;
    if (!HETMP_MQ_LIKELY(me)) hetmp_mq_me = me = hetmp_mq_caller();
    return me;
}

/* The ring of an entry if it is the handle's, else NULL. */
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_entry(struct hetmp_mq_ring *const *entry, int handle, int send) {
    struct hetmp_mq_ring *r = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    if (!HETMP_MQ_LIKELY(r)) return NULL;
    uint32_t theirs = __atomic_load_n(send ? &r->sender.handle : &r->receiver.handle, __ATOMIC_RELAXED);
    return HETMP_MQ_LIKELY(theirs == (uint32_t)handle) ? r : NULL;
}
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_m(int slave, int handle, int send) {
    const struct hetmp_mq_caller *me = hetmp_mq_get_caller();
    if (!HETMP_MQ_LIKELY((unsigned)slave < 256)) return NULL;
    return hetmp_mq_entry((send ? me->m_send : me->m_recv) + (size_t)slave * 4096 + ((unsigned)handle & 4095), handle,
                          send);
}
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_s(int handle, int send) {
    const struct hetmp_mq_caller *me = hetmp_mq_get_caller();
    return hetmp_mq_entry((send ? me->s_send : me->s_recv) + ((unsigned)handle & 4095), handle, send);
}

/* May `next` become n? */
HETMP_MQ_INLINE int hetmp_mq_room(struct hetmp_mq_ring *r, char *n) {
    if (HETMP_MQ_LIKELY(n != r->sender.limit)) return 1;
    r->sender.limit = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE);
    return n != r->sender.limit;
}

HETMP_MQ_INLINE void *hetmp_mq_try_allocate(struct hetmp_mq_ring *r) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->next, *n = p + e->stride;
    if (n == e->last) n = e->first;
    if (!HETMP_MQ_LIKELY(hetmp_mq_room(r, n))) return NULL;
    /* Only this thread stores here; others may look, for status queries. */
    __atomic_store_n(&e->next, n, __ATOMIC_RELAXED);
    return p;
}

HETMP_MQ_INLINE void hetmp_mq_received_to(struct hetmp_mq_end *e, char *n) {
    if (!HETMP_MQ_LIKELY(n != e->last)) {
        n = e->first;
        e->lap++;
    }
    __atomic_store_n(&e->next, n, __ATOMIC_RELAXED);
}

HETMP_MQ_INLINE uint64_t hetmp_mq_state(const char *message) {
    return __atomic_load_n((const uint64_t *)(const void *)message - 1, __ATOMIC_ACQUIRE);
}

HETMP_MQ_INLINE void *hetmp_mq_try_receive(struct hetmp_mq_ring *r, int *bytes) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->next;
    uint64_t word = hetmp_mq_state(p);
    if (!HETMP_MQ_LIKELY((uint32_t)(word >> 32) == e->lap)) return NULL;
    hetmp_mq_received_to(e, p + e->stride);
    if (bytes) *bytes = (int)(uint32_t)word;
    return p;
}

/* After a store that the other side may wait for. */
HETMP_MQ_INLINE void hetmp_mq_published(struct hetmp_mq_ring *r, int sender) {
    /* The compiler keeps the order; the sleeper's membarrier keeps it for the processor. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!HETMP_MQ_LIKELY(__atomic_load_n(&r->waits[sender], __ATOMIC_RELAXED) == 0)) hetmp_mq_wake(r, sender);
}

/* Marks the n oldest allocated messages as ready. The caller has checked them. */
HETMP_MQ_INLINE void hetmp_mq_send(struct hetmp_mq_ring *r, int n, int bytes) {
    struct hetmp_mq_end *e = &r->sender;
    /* Read anew: it is the program's pointer by value, but the ring's by right. */
    char *p = __atomic_load_n(&e->oldest, __ATOMIC_RELAXED);
    for (int i = 0; i < n; i++) {
        __atomic_store_n((uint64_t *)(void *)p - 1, (uint64_t)e->lap << 32 | (uint32_t)bytes, __ATOMIC_RELEASE);
        p += e->stride;
        if (!HETMP_MQ_LIKELY(p != e->last)) {
            p = e->first;
            e->lap++;
        }
    }
    __atomic_store_n(&e->oldest, p, __ATOMIC_RELAXED);
    hetmp_mq_published(r, 1);
}

HETMP_MQ_INLINE void hetmp_mq_release(struct hetmp_mq_ring *r, int n) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->oldest + (size_t)n * e->stride;
    if (!HETMP_MQ_LIKELY(p < e->last)) p -= e->last - e->first;
    __atomic_store_n(&e->oldest, p, __ATOMIC_RELAXED);
    __atomic_store_n(&r->released, p, __ATOMIC_RELEASE);
    hetmp_mq_published(r, 0);
}

/* How many slots lie between two positions of an end. */
HETMP_MQ_INLINE uint64_t hetmp_mq_between(const struct hetmp_mq_end *e, const char *from, const char *to) {
    return (uint64_t)(to >= from ? to - from : to - from + (e->last - e->first)) / e->stride;
}

/* `first` is the oldest of at least n held messages. */
HETMP_MQ_INLINE int hetmp_mq_holds(const struct hetmp_mq_end *e, const void *first, int n) {
    if (first != e->oldest || e->oldest == e->next) return 0;
    return n == 1 || (n > 1 && hetmp_mq_between(e, e->oldest, e->next) >= (uint64_t)n);
}
HETMP_MQ_INLINE int hetmp_mq_may_send(const struct hetmp_mq_ring *r, const void *first, int n, int bytes) {
    return r && hetmp_mq_holds(&r->sender, first, n) && (uint32_t)bytes <= r->sender.msg_bytes;
}
HETMP_MQ_INLINE int hetmp_mq_may_release(const struct hetmp_mq_ring *r, const void *first, int n) {
    return r && hetmp_mq_holds(&r->receiver, first, n);
}

/* A pause between two looks: the other side gets ahead by a few messages meanwhile, which then cost
 * one look together. 0 when it is time to wait in the library, which knows how many threads share
 * the cores, and when to sleep. */
HETMP_MQ_INLINE int hetmp_mq_spin(int turn) {
    if (turn >= (int)__atomic_load_n(&hetmp_mq_me->pauses, __ATOMIC_RELAXED)) return 0;
#if defined(__x86_64__) || defined(__i386__)
    for (int i = 0; i < 4; i++) __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    return 1;
}

HETMP_MQ_INLINE void hetmp_mq_ok(int *err) {
    if (err) *err = MQ_OK;
}

/* Batches: as many as there are without a second look, up to the end of the ring. */
HETMP_MQ_INLINE void *hetmp_mq_try_allocate_batch(struct hetmp_mq_ring *r, int want, int *got, size_t *stride) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->next, *n = p + e->stride;
    if (n == e->last) n = e->first;
    if (!HETMP_MQ_LIKELY(hetmp_mq_room(r, n))) return NULL;
    uint64_t size = (uint64_t)(e->last - e->first), here = (uint64_t)(e->last - p);
    /* Bytes up to the slot that must stay empty. */
    uint64_t most = (e->limit > p ? (uint64_t)(e->limit - p) : (uint64_t)(e->limit - p) + size) - e->stride;
    uint64_t bytes = (uint64_t)(unsigned)want * e->stride;
    if (bytes > most) bytes = most;
    if (bytes > here) bytes = here;
    __atomic_store_n(&e->next, bytes == here ? e->first : p + bytes, __ATOMIC_RELAXED);
    *got = (int)(bytes / e->stride);
    *stride = e->stride;
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_try_receive_batch(struct hetmp_mq_ring *r, int want, int *got, size_t *stride) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->next, *q = p;
    int n = 0;
    while (n < want && q != e->last && (uint32_t)(hetmp_mq_state(q) >> 32) == e->lap) {
        q += e->stride;
        n++;
    }
    if (n == 0) return NULL;
    hetmp_mq_received_to(e, q);
    *got = n;
    *stride = e->stride;
    return p;
}

HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateMsg(int slave, int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return mAllocateMsg(slave, handle, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate(r)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(slave, handle, 1, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryAllocateMsg(int slave, int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return mTryAllocateMsg(slave, handle, err);
    void *p = hetmp_mq_try_allocate(r);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(slave, handle, 1, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvMsg(int slave, int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return mRecvMsg(slave, handle, bytes, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_receive(r, bytes)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(slave, handle, 0, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryRecvMsg(int slave, int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return mTryRecvMsg(slave, handle, bytes, err);
    void *p = hetmp_mq_try_receive(r, bytes);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(slave, handle, 0, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateBatch(int slave, int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r && want > 0 && got && stride)) return mAllocateBatch(slave, handle, want, got, stride, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate_batch(r, want, got, stride)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(slave, handle, 1, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvBatch(int slave, int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r && want > 0 && got && stride)) return mRecvBatch(slave, handle, want, got, stride, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_receive_batch(r, want, got, stride)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(slave, handle, 0, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void hetmp_mq_inline_mSendMsg(int slave, int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, msg, 1, bytes))) {
        mSendMsg(slave, handle, msg, bytes, err);
        return;
    }
    hetmp_mq_send(r, 1, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseMsg(int slave, int handle, void *msg, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, msg, 1))) {
        mReleaseMsg(slave, handle, msg, err);
        return;
    }
    hetmp_mq_release(r, 1);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mSendBatch(int slave, int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, first, n, bytes))) {
        mSendBatch(slave, handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(r, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseBatch(int slave, int handle, void *first, int n, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, first, n))) {
        mReleaseBatch(slave, handle, first, n, err);
        return;
    }
    hetmp_mq_release(r, n);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateMsg(int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return sAllocateMsg(handle, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate(r)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(-1, handle, 1, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryAllocateMsg(int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return sTryAllocateMsg(handle, err);
    void *p = hetmp_mq_try_allocate(r);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(-1, handle, 1, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvMsg(int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return sRecvMsg(handle, bytes, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_receive(r, bytes)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(-1, handle, 0, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryRecvMsg(int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return sTryRecvMsg(handle, bytes, err);
    void *p = hetmp_mq_try_receive(r, bytes);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(-1, handle, 0, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateBatch(int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 1);
    if (!HETMP_MQ_LIKELY(r && want > 0 && got && stride)) return sAllocateBatch(handle, want, got, stride, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate_batch(r, want, got, stride)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(-1, handle, 1, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvBatch(int handle, int want, int *got, size_t *stride, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 0);
    if (!HETMP_MQ_LIKELY(r && want > 0 && got && stride)) return sRecvBatch(handle, want, got, stride, err);
    void *p;
    for (int turn = 0; !HETMP_MQ_LIKELY((p = hetmp_mq_try_receive_batch(r, want, got, stride)) != NULL); turn++)
        if (!hetmp_mq_spin(turn) && hetmp_mq_wait(-1, handle, 0, err) != MQ_OK) return NULL;
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendMsg(int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, msg, 1, bytes))) {
        sSendMsg(handle, msg, bytes, err);
        return;
    }
    hetmp_mq_send(r, 1, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseMsg(int handle, void *msg, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, msg, 1))) {
        sReleaseMsg(handle, msg, err);
        return;
    }
    hetmp_mq_release(r, 1);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendBatch(int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, first, n, bytes))) {
        sSendBatch(handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(r, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseBatch(int handle, void *first, int n, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_first_use(-1, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, first, n))) {
        sReleaseBatch(handle, first, n, err);
        return;
    }
    hetmp_mq_release(r, n);
    hetmp_mq_ok(err);
}

#define mAllocateMsg(slave, handle, err) hetmp_mq_inline_mAllocateMsg(slave, handle, err)
#define mTryAllocateMsg(slave, handle, err) hetmp_mq_inline_mTryAllocateMsg(slave, handle, err)
#define mRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mRecvMsg(slave, handle, bytes, err)
#define mTryRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mTryRecvMsg(slave, handle, bytes, err)
#define mAllocateBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mAllocateBatch(slave, handle, want, got, stride, err)
#define mRecvBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mRecvBatch(slave, handle, want, got, stride, err)
#define mSendMsg(slave, handle, msg, bytes, err) hetmp_mq_inline_mSendMsg(slave, handle, msg, bytes, err)
#define mReleaseMsg(slave, handle, msg, err) hetmp_mq_inline_mReleaseMsg(slave, handle, msg, err)
#define mSendBatch(slave, handle, first, n, bytes, err) \
    hetmp_mq_inline_mSendBatch(slave, handle, first, n, bytes, err)
#define mReleaseBatch(slave, handle, first, n, err) \
    hetmp_mq_inline_mReleaseBatch(slave, handle, first, n, err)
#define sAllocateMsg(handle, err) hetmp_mq_inline_sAllocateMsg(handle, err)
#define sTryAllocateMsg(handle, err) hetmp_mq_inline_sTryAllocateMsg(handle, err)
#define sRecvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define sTryRecvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)
#define sAllocateBatch(handle, want, got, stride, err) \
    hetmp_mq_inline_sAllocateBatch(handle, want, got, stride, err)
#define sRecvBatch(handle, want, got, stride, err) hetmp_mq_inline_sRecvBatch(handle, want, got, stride, err)
#define sSendMsg(handle, msg, bytes, err) hetmp_mq_inline_sSendMsg(handle, msg, bytes, err)
#define sReleaseMsg(handle, msg, err) hetmp_mq_inline_sReleaseMsg(handle, msg, err)
#define sSendBatch(handle, first, n, bytes, err) hetmp_mq_inline_sSendBatch(handle, first, n, bytes, err)
#define sReleaseBatch(handle, first, n, err) hetmp_mq_inline_sReleaseBatch(handle, first, n, err)
#define sResvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define sTryResvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)

#endif
