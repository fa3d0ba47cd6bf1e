/* The inline functions of hetmp/mq.h. hetmp/mq.h includes this file; programs do not.
 *
 * The layout of a ring, and the steps by which a message goes through it, are part of the library's binary
 * interface. The library runs the same steps (runtime/mq/src/ring.rs).
 *
 * A ring is a row of slots, which hold only messages, and two addresses. One says how far the sender has sent; only the
 * sender writes it. The other says how far the receiver has released; only the receiver writes it. Each side keeps a
 * copy of the other side's address, and reads the address itself again only when the copy allows no further step. Every
 * other field belongs to one side alone. So no step is a read-modify-write, and in the steady state one read of the
 * other side's address serves many messages. If messages are shorter than the queue's message size, their lengths are
 * stored next to the ring, from the first short message on.
 *
 * A thread finds its rings in tables of its own, one table for each kind of use. If a ring is not in the table (no such
 * queue, another thread's end, a queue of two stages), the library handles the call. A thread also keeps the rings that
 * it used last in thread-local storage of each source file. To find such a ring again takes one comparison: the word
 * `pass` of each end says which thread may use which handle. The library clears `pass` when a queue is destroyed, and
 * never uses a ring's memory for anything else.
 *
 * To handle one message at a time is the usual case, and has a short path. `stop` is the slot up to which slots are
 * available and the ring does not wrap. If a thread gives back the only message that it holds, `oldest` becomes `next`.
 *
 * Sleeping. A side that goes to sleep sets its `waits` word. Before its last look it makes the kernel run a memory
 * barrier on the other side's thread (membarrier). So the other side needs no barrier of its own between its store and
 * its look at `waits`.
 */
#ifndef HETMP_MQ_INLINE_H
#define HETMP_MQ_INLINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* One side of a ring, for that side's thread. Destroying the queue changes `handle` and `pass`. */
struct hetmp_mq_end {
    uint32_t handle;   /* all ones once the queue is destroyed */
    uint32_t shift;    /* a message's length lies at its offset shifted right by this */
    char *next;        /* the message that the next allocate or receive returns */
    char *oldest;      /* the message that the next send or release must be given */
    char *first;       /* the first message of the ring ... */
    char *last;        /* ... and the address after the last slot */
    char *limit;       /* the other side's position as last seen; sender: `next` may not reach it, receiver: not pass */
    uint64_t stride;   /* bytes from slot to slot */
    uint64_t msg_bytes;
    uint64_t owner;
    uint64_t fresh;    /* bits that are 0 in the addresses at which the sender begins a line */
    uint64_t usual;    /* sender: msg_bytes while every message had that length, then a length that none has */
    uint32_t patience; /* pauses between two looks; grows while a look finds many messages */
    uint32_t reserved_half;
    char *stop;        /* up to this slot, `next` goes forward without another test */
    uint64_t pass;     /* the thread and the handle that may use this end, as hetmp_mq_me describes; 0 for none */
    uint64_t reserved[2];
} __attribute__((aligned(128)));

struct hetmp_mq_ring {
    struct hetmp_mq_end sender;
    struct hetmp_mq_end receiver;
    char *released;    /* the receiver's `oldest`, on a line of its own */
    char *padding[15];
    char *sent;        /* the sender's `oldest`, on a line of its own */
    char *padding_too[15];
    uint32_t waits[2]; /* not 0: the sender (the receiver) sleeps */
    uint32_t varied;   /* not 0: a message was shorter than msg_bytes, and `missing` counts */
    uint32_t *missing; /* for each message, msg_bytes minus its length */
};

/* A thread's tables of rings, by the use that the thread may make of a ring. A master's tables have 4096 entries for
 * each of 256 slaves, a slave's have 4096. */
struct hetmp_mq_tables {
    struct hetmp_mq_ring *const *m_send;
    struct hetmp_mq_ring *const *m_recv;
    struct hetmp_mq_ring *const *s_send;
    struct hetmp_mq_ring *const *s_recv;
    uint32_t pauses; /* before a wait in the library: 0 where threads outnumber cores */
    uint32_t number; /* of 24 bits, no other thread's; 0 for none */
};

/* The calling thread's tables; never NULL, valid until the thread ends. */
const struct hetmp_mq_tables *hetmp_mq_caller(void);
/* The calling thread's ring, if the tables do not have it yet. NULL if there is no such ring, or if another thread uses
 * this end. */
struct hetmp_mq_ring *hetmp_mq_first_use(int slave, int handle, int send);
/* Stores or prints why a Try form took nothing. Returns NULL. */
void *hetmp_mq_try_failed(int slave, int handle, int send, int *err);
/* Waits until the queue has a message or a free slot to take. slave: -1 on a slave. After MQ_OK the caller tries again.
 * After an error, which was stored or printed, the caller returns NULL. */
int hetmp_mq_wait(int slave, int handle, int send, int *err);
/* Wakes the other side. */
void hetmp_mq_wake(struct hetmp_mq_ring *ring, int sender);

#ifdef __cplusplus
}
#endif

#define HETMP_MQ_LIKELY(x) __builtin_expect(!!(x), 1)
/* Tells the compiler that a slot's address is not NULL, so that it drops the program's check. */
#define HETMP_MQ_NOT_NULL(p) \
    do \
        if (!(p)) __builtin_unreachable(); \
    while (0)
#define HETMP_MQ_SLOW static __attribute__((noinline, cold, unused))
#define HETMP_MQ_APART static __attribute__((noinline, unused))
#define HETMP_MQ_INLINE static inline __attribute__((always_inline, unused))

/* A ring that no thread may use. Entries that hold no ring point to it. */
static struct hetmp_mq_ring hetmp_mq_none __attribute__((unused));
#define HETMP_MQ_RECENT 64
#define HETMP_MQ_NONE_4 &hetmp_mq_none, &hetmp_mq_none, &hetmp_mq_none, &hetmp_mq_none
#define HETMP_MQ_NONE_16 HETMP_MQ_NONE_4, HETMP_MQ_NONE_4, HETMP_MQ_NONE_4, HETMP_MQ_NONE_4
#define HETMP_MQ_NONE_64 HETMP_MQ_NONE_16, HETMP_MQ_NONE_16, HETMP_MQ_NONE_16, HETMP_MQ_NONE_16
/* The rings that the calling thread used last, by a hash of slave and handle. */
static __thread struct {
    struct hetmp_mq_ring *send[HETMP_MQ_RECENT];
    struct hetmp_mq_ring *recv[HETMP_MQ_RECENT];
} hetmp_mq_recent __attribute__((unused)) = {{HETMP_MQ_NONE_64}, {HETMP_MQ_NONE_64}};

/* The calling thread's tables, NULL at first. In each source file, each thread's first slow path fetches them. An end's
 * `pass` is the bitwise or of `key`, of 2^32 times the slave's number (0 on slaves), and of the handle. `key` is 2^40
 * times the thread's number; before the tables are fetched, it has a number that no thread has. So a `pass` is never 0.
 */
static __thread struct {
    uint64_t key;
    struct hetmp_mq_ring *const *m_send;
    struct hetmp_mq_ring *const *m_recv;
    struct hetmp_mq_ring *const *s_send;
    struct hetmp_mq_ring *const *s_recv;
    const struct hetmp_mq_tables *caller;
} hetmp_mq_me __attribute__((unused)) = {(uint64_t)0xffffff << 40, NULL, NULL, NULL, NULL, NULL};

HETMP_MQ_SLOW void hetmp_mq_fetch(void) {
    const struct hetmp_mq_tables *me = hetmp_mq_caller();
    hetmp_mq_me.m_send = me->m_send;
    hetmp_mq_me.m_recv = me->m_recv;
    hetmp_mq_me.s_send = me->s_send;
    hetmp_mq_me.s_recv = me->s_recv;
    hetmp_mq_me.caller = me;
    if (me->number) hetmp_mq_me.key = (uint64_t)me->number << 40;
}

/* The ring of a table's entry if it belongs to the handle, else NULL. This thread made the entry. Another thread may
 * destroy the queue meanwhile; this thread then notices it at the latest after its next call into the library, which
 * every wait and every failure makes. So these loads need no order, and the compiler may use one load for a receive and
 * for the release after it. */
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_entry(struct hetmp_mq_ring *const *entry, int handle, int send) {
    struct hetmp_mq_ring *r = *entry;
    if (!HETMP_MQ_LIKELY(r)) return NULL;
    return HETMP_MQ_LIKELY((send ? r->sender.handle : r->receiver.handle) == (uint32_t)handle) ? r : NULL;
}
/* Another thread may clear a `pass` meanwhile, and this thread may still see the old value. That is allowed, as for the
 * tables' entries. The load is not atomic: compilers would not compare an atomic in place. */

/* Keeps a ring from the tables among the rings that the thread used last. */
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_keep(struct hetmp_mq_ring **recent, struct hetmp_mq_ring *r,
                                                    uint64_t pass, int send) {
    if (r && (send ? r->sender.pass : r->receiver.pass) == pass) *recent = r;
    return r;
}
HETMP_MQ_INLINE uint64_t hetmp_mq_pass(int slave, int handle) {
    return hetmp_mq_me.key | (uint64_t)(unsigned)slave << 32 | (unsigned)handle;
}
HETMP_MQ_INLINE struct hetmp_mq_ring **hetmp_mq_at(int slave, int handle, int send) {
    /* 64 slaves with one queue each have different places, and so have 64 queues of one slave. */
    unsigned i = ((unsigned)slave + (unsigned)handle * 17) % HETMP_MQ_RECENT;
    return send ? &hetmp_mq_recent.send[i] : &hetmp_mq_recent.recv[i];
}
HETMP_MQ_APART struct hetmp_mq_ring *hetmp_mq_find_m(int slave, int handle, int send) {
    struct hetmp_mq_ring *const *table = send ? hetmp_mq_me.m_send : hetmp_mq_me.m_recv;
    if (!HETMP_MQ_LIKELY(table != NULL && (unsigned)slave < 256)) return NULL;
    return hetmp_mq_keep(hetmp_mq_at(slave, handle, send),
                         hetmp_mq_entry(table + (size_t)slave * 4096 + ((unsigned)handle & 4095), handle, send),
                         hetmp_mq_pass(slave, handle), send);
}
HETMP_MQ_APART struct hetmp_mq_ring *hetmp_mq_find_s(int handle, int send) {
    struct hetmp_mq_ring *const *table = send ? hetmp_mq_me.s_send : hetmp_mq_me.s_recv;
    if (!HETMP_MQ_LIKELY(table != NULL)) return NULL;
    return hetmp_mq_keep(hetmp_mq_at(0, handle, send),
                         hetmp_mq_entry(table + ((unsigned)handle & 4095), handle, send), hetmp_mq_pass(0, handle),
                             send);
}
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_m(int slave, int handle, int send) {
    struct hetmp_mq_ring *r = *hetmp_mq_at(slave, handle, send);
    if (!HETMP_MQ_LIKELY((unsigned)slave < 256 &&
                         (send ? r->sender.pass : r->receiver.pass) == hetmp_mq_pass(slave, handle)))
        return hetmp_mq_find_m(slave, handle, send);
    HETMP_MQ_NOT_NULL(r);
    return r;
}
HETMP_MQ_INLINE struct hetmp_mq_ring *hetmp_mq_s(int handle, int send) {
    struct hetmp_mq_ring *r = *hetmp_mq_at(0, handle, send);
    if (!HETMP_MQ_LIKELY((send ? r->sender.pass : r->receiver.pass) == hetmp_mq_pass(0, handle)))
        return hetmp_mq_find_s(handle, send);
    HETMP_MQ_NOT_NULL(r);
    return r;
}

/* Stores a position of this thread's end. Other threads may read it, for status queries. The store is not atomic: after
 * an atomic store, compilers load all other words again. */
HETMP_MQ_INLINE void hetmp_mq_put(char **position, char *p) { *(char *volatile *)position = p; }

/* 1 if the other side's position is not `here`. Reads that position only if the copy in `limit` is `here`. */
HETMP_MQ_INLINE int hetmp_mq_look(struct hetmp_mq_end *e, char *const *other, const char *here) {
    if (HETMP_MQ_LIKELY(here != e->limit)) return 1;
    e->limit = __atomic_load_n(other, __ATOMIC_ACQUIRE);
    return here != e->limit;
}

/* The sender will soon write this cache line, which is in the receiver's cache: asks for it early. Only a hint, so the
 * address need not be valid. */
HETMP_MQ_INLINE void hetmp_mq_soon(const char *line) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(line));
#else
    __builtin_prefetch(line, 1);
#endif
}
#define HETMP_MQ_AHEAD 256

HETMP_MQ_INLINE char *hetmp_mq_after(const struct hetmp_mq_end *e, char *p) {
    p += e->stride;
    return HETMP_MQ_LIKELY(p != e->last) ? p : e->first;
}
/* The same for n slots. */
HETMP_MQ_INLINE char *hetmp_mq_after_n(const struct hetmp_mq_end *e, char *p, int n) {
    p += (size_t)n * e->stride;
    return HETMP_MQ_LIKELY(p < e->last) ? p : p - (e->last - e->first);
}

/* Sets `stop` for an end that goes on at `next`. The sender stops one slot before the oldest message that the receiver
 * has not released. The receiver stops where the sender has not sent. Both stop at the last slot, after which the ring
 * wraps. */
HETMP_MQ_INLINE void hetmp_mq_set_stop(struct hetmp_mq_end *e, const char *next, int send) {
    if (send)
        e->stop = (e->limit > next ? e->limit : e->last) - e->stride;
    else
        e->stop = e->limit >= next ? e->limit : e->last - e->stride;
}

/* An end has reached its `stop`: reads the other side's position, and goes on if that allows a step. */
HETMP_MQ_APART void *hetmp_mq_turn_send(struct hetmp_mq_ring *r) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->next, *n = hetmp_mq_after(e, p);
    if (!hetmp_mq_look(e, &r->released, n)) return NULL;
    if (((uintptr_t)p & e->fresh) == 0) hetmp_mq_soon(p + HETMP_MQ_AHEAD);
    hetmp_mq_put(&e->next, n);
    hetmp_mq_set_stop(e, n, 1);
    return p;
}
HETMP_MQ_APART void *hetmp_mq_turn_receive(struct hetmp_mq_ring *r) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->next, *n = hetmp_mq_after(e, p);
    if (!hetmp_mq_look(e, &r->sent, p)) return NULL;
    hetmp_mq_put(&e->next, n);
    hetmp_mq_set_stop(e, n, 0);
    return p;
}

HETMP_MQ_INLINE void *hetmp_mq_try_allocate(struct hetmp_mq_ring *r) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->next;
    if (!HETMP_MQ_LIKELY(p != e->stop)) return hetmp_mq_turn_send(r);
    if (((uintptr_t)p & e->fresh) == 0) hetmp_mq_soon(p + HETMP_MQ_AHEAD);
    hetmp_mq_put(&e->next, p + e->stride);
    HETMP_MQ_NOT_NULL(p);
    return p;
}

HETMP_MQ_INLINE void *hetmp_mq_try_receive(struct hetmp_mq_ring *r, int *bytes) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->next;
    if (HETMP_MQ_LIKELY(p != e->stop)) {
        hetmp_mq_put(&e->next, p + e->stride);
    } else {
        p = (char *)hetmp_mq_turn_receive(r);
        if (!p) return NULL;
    }
    if (bytes) {
        *bytes = (int)e->msg_bytes;
        if (!HETMP_MQ_LIKELY(__atomic_load_n(&r->varied, __ATOMIC_RELAXED) == 0))
            *bytes -= (int)__atomic_load_n(r->missing + ((size_t)(p - e->first) >> e->shift), __ATOMIC_RELAXED);
    }
    HETMP_MQ_NOT_NULL(p);
    return p;
}

HETMP_MQ_INLINE void hetmp_mq_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* Called after a store that the other side may wait for: wakes that side if it sleeps. */
HETMP_MQ_INLINE void hetmp_mq_published(struct hetmp_mq_ring *r, int sender) {
    /* The compiler keeps the order; the sleeper's membarrier keeps it for the processor. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!HETMP_MQ_LIKELY(__atomic_load_n(&r->waits[sender], __ATOMIC_RELAXED) == 0)) hetmp_mq_wake(r, sender);
}

/* Notes the messages' length before they are sent, if not all messages have msg_bytes. */
HETMP_MQ_INLINE void hetmp_mq_note_lengths(struct hetmp_mq_ring *r, char *p, int n, uint32_t missing) {
    struct hetmp_mq_end *e = &r->sender;
    e->usual = ~(uint64_t)0;
    __atomic_store_n(&r->varied, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < n; i++, p = hetmp_mq_after(e, p))
        __atomic_store_n(r->missing + ((size_t)(p - e->first) >> e->shift), missing, __ATOMIC_RELAXED);
}

/* Marks the n oldest allocated messages as ready. The caller has checked them. */
HETMP_MQ_INLINE void hetmp_mq_send(struct hetmp_mq_ring *r, int n, int bytes) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->oldest;
    if (!HETMP_MQ_LIKELY((uint32_t)bytes == e->usual))
        hetmp_mq_note_lengths(r, p, n, (uint32_t)e->msg_bytes - (uint32_t)bytes);
    p = hetmp_mq_after_n(e, p, n);
    hetmp_mq_put(&e->oldest, p);
    __atomic_store_n(&r->sent, p, __ATOMIC_RELEASE);
    hetmp_mq_published(r, 1);
}

HETMP_MQ_INLINE void hetmp_mq_release(struct hetmp_mq_ring *r, int n) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = hetmp_mq_after_n(e, e->oldest, n);
    hetmp_mq_put(&e->oldest, p);
    __atomic_store_n(&r->released, p, __ATOMIC_RELEASE);
    hetmp_mq_published(r, 0);
}

/* Bytes from one position of an end to another, going forward. */
HETMP_MQ_INLINE uint64_t hetmp_mq_between(const struct hetmp_mq_end *e, const char *from, const char *to) {
    return (uint64_t)(to >= from ? to - from : to - from + (e->last - e->first));
}

/* `first` is the oldest of at least n held messages. */
HETMP_MQ_INLINE int hetmp_mq_holds(const struct hetmp_mq_end *e, const void *first, int n) {
    if (first != e->oldest || e->oldest == e->next) return 0;
    return n == 1 || (n > 1 && hetmp_mq_between(e, e->oldest, e->next) >= (uint64_t)(unsigned)n * e->stride);
}
HETMP_MQ_INLINE int hetmp_mq_may_send(const struct hetmp_mq_ring *r, const void *first, int n, int bytes) {
    return r && hetmp_mq_holds(&r->sender, first, n) &&
           (HETMP_MQ_LIKELY((uint32_t)bytes == r->sender.usual) || (uint32_t)bytes <= r->sender.msg_bytes);
}
HETMP_MQ_INLINE int hetmp_mq_may_release(const struct hetmp_mq_ring *r, const void *first, int n) {
    return r && hetmp_mq_holds(&r->receiver, first, n);
}

HETMP_MQ_INLINE void hetmp_mq_ok(int *err) {
    if (err) *err = MQ_OK;
}

/* The short paths of send and release. Return 1 if the message was sent or released. */
HETMP_MQ_INLINE int hetmp_mq_send_only(struct hetmp_mq_ring *r, void *msg, int bytes, int *err) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = (char *)msg, *n = p + e->stride;
    if (!HETMP_MQ_LIKELY(p == e->oldest && n == e->next && (uint32_t)bytes == e->usual)) return 0;
    hetmp_mq_put(&e->oldest, n);
    __atomic_store_n(&r->sent, n, __ATOMIC_RELEASE);
    hetmp_mq_published(r, 1);
    hetmp_mq_ok(err);
    return 1;
}
HETMP_MQ_INLINE int hetmp_mq_release_only(struct hetmp_mq_ring *r, void *msg, int *err) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = (char *)msg, *n = p + e->stride;
    if (!HETMP_MQ_LIKELY(p == e->oldest && n == e->next)) return 0;
    hetmp_mq_put(&e->oldest, n);
    __atomic_store_n(&r->released, n, __ATOMIC_RELEASE);
    hetmp_mq_published(r, 0);
    hetmp_mq_ok(err);
    return 1;
}

/* Batches take the messages that are available without another look at the other side, up to the end of the ring. */
HETMP_MQ_INLINE int hetmp_mq_in_a_row(const struct hetmp_mq_end *e, const char *p, uint64_t all, int want) {
    uint64_t here = (uint64_t)(e->last - p), bytes = all < here ? all : here;
    return HETMP_MQ_LIKELY(bytes >= (uint64_t)(unsigned)want * e->stride) ? want : (int)(bytes / e->stride);
}
HETMP_MQ_INLINE void *hetmp_mq_try_allocate_batch(struct hetmp_mq_ring *r, int want, int *got, size_t *stride) {
    struct hetmp_mq_end *e = &r->sender;
    char *p = e->next;
    if (!HETMP_MQ_LIKELY(hetmp_mq_look(e, &r->released, hetmp_mq_after(e, p)))) return NULL;
    /* Up to the slot that must stay empty. */
    uint64_t all = (e->limit > p ? 0 : (uint64_t)(e->last - e->first)) + (uint64_t)(e->limit - p) - e->stride;
    int n = hetmp_mq_in_a_row(e, p, all, want);
    char *end = p + (size_t)(unsigned)n * e->stride;
    if (e->fresh == 63) {
        const char *most = end - p < 1024 ? end : p + 1024;
        for (const char *line = p; line < most; line += 64) hetmp_mq_soon(line);
    }
    if (!HETMP_MQ_LIKELY(end != e->last)) end = e->first;
    hetmp_mq_put(&e->next, end);
    hetmp_mq_set_stop(e, end, 1);
    *got = n;
    *stride = e->stride;
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_try_receive_batch(struct hetmp_mq_ring *r, int want, int *got, size_t *stride) {
    struct hetmp_mq_end *e = &r->receiver;
    char *p = e->next;
    if (!HETMP_MQ_LIKELY(hetmp_mq_look(e, &r->sent, p))) return NULL;
    int n = hetmp_mq_in_a_row(e, p, (uint64_t)((e->limit > p ? e->limit : e->last) - p), want);
    char *end = p + (size_t)(unsigned)n * e->stride;
    if (!HETMP_MQ_LIKELY(end != e->last)) end = e->first;
    hetmp_mq_put(&e->next, end);
    hetmp_mq_set_stop(e, end, 0);
    *got = n;
    *stride = e->stride;
    return p;
}

/* -- Slow paths: once for each file, out of the way ------------------------------------------------------ */

/* Allocates or receives for all calls below, and waits if necessary. The thread need not have asked for its ring yet.
 * `got` is NULL for a single message; the length of a received message is stored in `bytes`. Returns NULL if nothing
 * was taken; if *again is 1 then, the caller calls the library's own function. */
HETMP_MQ_SLOW void *hetmp_mq_slow_take(int m, int slave, int handle, int send, int want, int *got, size_t *stride,
                                       int *bytes, int *err, int *again) {
    if (!hetmp_mq_me.caller) hetmp_mq_fetch();
    struct hetmp_mq_ring *r = m ? hetmp_mq_m(slave, handle, send) : hetmp_mq_s(handle, send);
    if (!r) r = hetmp_mq_first_use(m ? slave : -1, handle, send);
    *again = 1;
    if (!r || want < 1) return NULL;
    *again = 0;
    struct hetmp_mq_end *e = send ? &r->sender : &r->receiver;
    for (uint32_t turn = 0;; turn++) {
        void *p = got    ? send ? hetmp_mq_try_allocate_batch(r, want, got, stride)
                                : hetmp_mq_try_receive_batch(r, want, got, stride)
                  : send ? hetmp_mq_try_allocate(r)
                         : hetmp_mq_try_receive(r, bytes);
        if (p) {
            /* Adapts the pauses. If a look found many messages, longer pauses are good: the other side then gets
             * further ahead, and one look serves more messages. If a look found one or two, the other side probably
             * waits for each answer: shorter pauses are good. */
            uint64_t more = hetmp_mq_between(e, e->next, e->limit);
            if (turn > 0 && more >= 32 * e->stride && e->patience < 16) e->patience *= 2;
            if (turn > 0 && more <= 2 * e->stride && e->patience > 2) e->patience /= 2;
            if (err) *err = MQ_OK;
            return p;
        }
        /* The library knows how many threads share the cores, and when to sleep. */
        if (turn >= __atomic_load_n(&hetmp_mq_me.caller->pauses, __ATOMIC_RELAXED)) {
            if (hetmp_mq_wait(m ? slave : -1, handle, send, err) != MQ_OK) return NULL;
            continue;
        }
        /* For large messages, one look for each message costs little: only one pause. */
        for (uint32_t i = 1; i < e->patience && e->stride < 4096; i++) hetmp_mq_pause();
        hetmp_mq_pause();
    }
}

/* The ring for a Try form, a send or a release. The thread need not have asked for the ring yet. */
HETMP_MQ_SLOW struct hetmp_mq_ring *hetmp_mq_slow_ring(int m, int slave, int handle, int send) {
    if (!hetmp_mq_me.caller) hetmp_mq_fetch();
    return hetmp_mq_first_use(m ? slave : -1, handle, send);
}

/* Sends and releases that the short paths refuse. 0: the caller calls the library's own function, which reports the
 * error. */
HETMP_MQ_APART int hetmp_mq_long_give(int m, int slave, int handle, int send, void *msg, int bytes, int *err) {
    struct hetmp_mq_ring *r = m ? hetmp_mq_m(slave, handle, send) : hetmp_mq_s(handle, send);
    if (!r) r = hetmp_mq_slow_ring(m, slave, handle, send);
    if (!(send ? hetmp_mq_may_send(r, msg, 1, bytes) : hetmp_mq_may_release(r, msg, 1))) return 0;
    if (send)
        hetmp_mq_send(r, 1, bytes);
    else
        hetmp_mq_release(r, 1);
    hetmp_mq_ok(err);
    return 1;
}

/* -- The calls ------------------------------------------------------------------------------------------ */

HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateMsg(int slave, int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    void *p;
    int again;
    if (HETMP_MQ_LIKELY(r != NULL) && HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate(r)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    p = hetmp_mq_slow_take(1, slave, handle, 1, 1, NULL, NULL, NULL, err, &again);
    return p || !again ? p : mAllocateMsg(slave, handle, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryAllocateMsg(int slave, int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(1, slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return mTryAllocateMsg(slave, handle, err);
    void *p = hetmp_mq_try_allocate(r);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(slave, handle, 1, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mAllocateBatch(int slave, int handle, int want, int *got, size_t *stride,
                                                 int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    void *p = NULL;
    int again = 1;
    if (HETMP_MQ_LIKELY(r && want > 0 && got && stride) &&
        HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate_batch(r, want, got, stride)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    if (got && stride) p = hetmp_mq_slow_take(1, slave, handle, 1, want, got, stride, NULL, err, &again);
    return p || !again ? p : mAllocateBatch(slave, handle, want, got, stride, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvMsg(int slave, int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    void *p;
    int again;
    if (HETMP_MQ_LIKELY(r != NULL) && HETMP_MQ_LIKELY((p = hetmp_mq_try_receive(r, bytes)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    p = hetmp_mq_slow_take(1, slave, handle, 0, 1, NULL, NULL, bytes, err, &again);
    return p || !again ? p : mRecvMsg(slave, handle, bytes, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mTryRecvMsg(int slave, int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(1, slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return mTryRecvMsg(slave, handle, bytes, err);
    void *p = hetmp_mq_try_receive(r, bytes);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(slave, handle, 0, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_mRecvBatch(int slave, int handle, int want, int *got, size_t *stride,
                                                 int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    void *p = NULL;
    int again = 1;
    if (HETMP_MQ_LIKELY(r && want > 0 && got && stride) &&
        HETMP_MQ_LIKELY((p = hetmp_mq_try_receive_batch(r, want, got, stride)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    if (got && stride) p = hetmp_mq_slow_take(1, slave, handle, 0, want, got, stride, NULL, err, &again);
    return p || !again ? p : mRecvBatch(slave, handle, want, got, stride, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mSendMsg(int slave, int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!(HETMP_MQ_LIKELY(r) && HETMP_MQ_LIKELY(hetmp_mq_send_only(r, msg, bytes, err))) &&
        !hetmp_mq_long_give(1, slave, handle, 1, msg, bytes, err))
        mSendMsg(slave, handle, msg, bytes, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseMsg(int slave, int handle, void *msg, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!(HETMP_MQ_LIKELY(r) && HETMP_MQ_LIKELY(hetmp_mq_release_only(r, msg, err))) &&
        !hetmp_mq_long_give(1, slave, handle, 0, msg, 0, err))
        mReleaseMsg(slave, handle, msg, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mSendBatch(int slave, int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(1, slave, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, first, n, bytes))) {
        mSendBatch(slave, handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(r, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_mReleaseBatch(int slave, int handle, void *first, int n, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_m(slave, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(1, slave, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, first, n))) {
        mReleaseBatch(slave, handle, first, n, err);
        return;
    }
    hetmp_mq_release(r, n);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateMsg(int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    void *p;
    int again;
    if (HETMP_MQ_LIKELY(r != NULL) && HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate(r)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    p = hetmp_mq_slow_take(0, -1, handle, 1, 1, NULL, NULL, NULL, err, &again);
    return p || !again ? p : sAllocateMsg(handle, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryAllocateMsg(int handle, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(0, -1, handle, 1);
    if (!HETMP_MQ_LIKELY(r)) return sTryAllocateMsg(handle, err);
    void *p = hetmp_mq_try_allocate(r);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(-1, handle, 1, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sAllocateBatch(int handle, int want, int *got, size_t *stride,
                                                 int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    void *p = NULL;
    int again = 1;
    if (HETMP_MQ_LIKELY(r && want > 0 && got && stride) &&
        HETMP_MQ_LIKELY((p = hetmp_mq_try_allocate_batch(r, want, got, stride)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    if (got && stride) p = hetmp_mq_slow_take(0, -1, handle, 1, want, got, stride, NULL, err, &again);
    return p || !again ? p : sAllocateBatch(handle, want, got, stride, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvMsg(int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    void *p;
    int again;
    if (HETMP_MQ_LIKELY(r != NULL) && HETMP_MQ_LIKELY((p = hetmp_mq_try_receive(r, bytes)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    p = hetmp_mq_slow_take(0, -1, handle, 0, 1, NULL, NULL, bytes, err, &again);
    return p || !again ? p : sRecvMsg(handle, bytes, err);
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sTryRecvMsg(int handle, int *bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(0, -1, handle, 0);
    if (!HETMP_MQ_LIKELY(r)) return sTryRecvMsg(handle, bytes, err);
    void *p = hetmp_mq_try_receive(r, bytes);
    if (!HETMP_MQ_LIKELY(p)) return hetmp_mq_try_failed(-1, handle, 0, err);
    hetmp_mq_ok(err);
    return p;
}
HETMP_MQ_INLINE void *hetmp_mq_inline_sRecvBatch(int handle, int want, int *got, size_t *stride,
                                                 int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    void *p = NULL;
    int again = 1;
    if (HETMP_MQ_LIKELY(r && want > 0 && got && stride) &&
        HETMP_MQ_LIKELY((p = hetmp_mq_try_receive_batch(r, want, got, stride)) != NULL)) {
        hetmp_mq_ok(err);
        return p;
    }
    if (got && stride) p = hetmp_mq_slow_take(0, -1, handle, 0, want, got, stride, NULL, err, &again);
    return p || !again ? p : sRecvBatch(handle, want, got, stride, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendMsg(int handle, void *msg, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!(HETMP_MQ_LIKELY(r) && HETMP_MQ_LIKELY(hetmp_mq_send_only(r, msg, bytes, err))) &&
        !hetmp_mq_long_give(0, -1, handle, 1, msg, bytes, err))
        sSendMsg(handle, msg, bytes, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseMsg(int handle, void *msg, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!(HETMP_MQ_LIKELY(r) && HETMP_MQ_LIKELY(hetmp_mq_release_only(r, msg, err))) &&
        !hetmp_mq_long_give(0, -1, handle, 0, msg, 0, err))
        sReleaseMsg(handle, msg, err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sSendBatch(int handle, void *first, int n, int bytes, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 1);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(0, -1, handle, 1);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_send(r, first, n, bytes))) {
        sSendBatch(handle, first, n, bytes, err);
        return;
    }
    hetmp_mq_send(r, n, bytes);
    hetmp_mq_ok(err);
}
HETMP_MQ_INLINE void hetmp_mq_inline_sReleaseBatch(int handle, void *first, int n, int *err) {
    struct hetmp_mq_ring *r = hetmp_mq_s(handle, 0);
    if (!HETMP_MQ_LIKELY(r)) r = hetmp_mq_slow_ring(0, -1, handle, 0);
    if (!HETMP_MQ_LIKELY(hetmp_mq_may_release(r, first, n))) {
        sReleaseBatch(handle, first, n, err);
        return;
    }
    hetmp_mq_release(r, n);
    hetmp_mq_ok(err);
}

#define mAllocateMsg(slave, handle, err) hetmp_mq_inline_mAllocateMsg(slave, handle, err)
#define hetmp_mTryAllocateMsg(slave, handle, err) hetmp_mq_inline_mTryAllocateMsg(slave, handle, err)
#define mRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mRecvMsg(slave, handle, bytes, err)
#define hetmp_mTryRecvMsg(slave, handle, bytes, err) hetmp_mq_inline_mTryRecvMsg(slave, handle, bytes, err)
#define hetmp_mAllocateBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mAllocateBatch(slave, handle, want, got, stride, err)
#define hetmp_mRecvBatch(slave, handle, want, got, stride, err) \
    hetmp_mq_inline_mRecvBatch(slave, handle, want, got, stride, err)
#define mSendMsg(slave, handle, msg, bytes, err) hetmp_mq_inline_mSendMsg(slave, handle, msg, bytes, err)
#define mReleaseMsg(slave, handle, msg, err) hetmp_mq_inline_mReleaseMsg(slave, handle, msg, err)
#define hetmp_mSendBatch(slave, handle, first, n, bytes, err) \
    hetmp_mq_inline_mSendBatch(slave, handle, first, n, bytes, err)
#define hetmp_mReleaseBatch(slave, handle, first, n, err) \
    hetmp_mq_inline_mReleaseBatch(slave, handle, first, n, err)
#define hetmp_sAllocateMsg(handle, err) hetmp_mq_inline_sAllocateMsg(handle, err)
#define hetmp_sTryAllocateMsg(handle, err) hetmp_mq_inline_sTryAllocateMsg(handle, err)
#define sRecvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define hetmp_sTryRecvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)
#define hetmp_sAllocateBatch(handle, want, got, stride, err) \
    hetmp_mq_inline_sAllocateBatch(handle, want, got, stride, err)
#define hetmp_sRecvBatch(handle, want, got, stride, err) hetmp_mq_inline_sRecvBatch(handle, want, got, stride, err)
#define hetmp_sSendMsg(handle, msg, bytes, err) hetmp_mq_inline_sSendMsg(handle, msg, bytes, err)
#define sReleaseMsg(handle, msg, err) hetmp_mq_inline_sReleaseMsg(handle, msg, err)
#define hetmp_sSendBatch(handle, first, n, bytes, err) hetmp_mq_inline_sSendBatch(handle, first, n, bytes, err)
#define hetmp_sReleaseBatch(handle, first, n, err) hetmp_mq_inline_sReleaseBatch(handle, first, n, err)
#define sResvMsg(handle, bytes, err) hetmp_mq_inline_sRecvMsg(handle, bytes, err)
#define hetmp_sTryResvMsg(handle, bytes, err) hetmp_mq_inline_sTryRecvMsg(handle, bytes, err)

#endif
