/* Messages from the master to one slave, each on a CPU of its own: ns a message and GB/s, for
 * hetmp/mq.h's calls. abi-compat/examples/spsc_peers.rs is the same over other queues.
 *
 *     mq_spsc single|batch BYTES SLOTS MESSAGES
 *
 * SLOTS counts those of both sides. The sender copies each message from a buffer of its own, the receiver
 * adds up all its words in place. -DHETMP_MQ_NO_INLINE makes every step a call of the library. */
#define _GNU_SOURCE
#include <hetmp/mq.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64, SOURCES = 8 };

static int batch, slots;
static cpu_set_t allowed;
static size_t bytes, words;
static uint64_t messages, got_sum;
static double ends;
static atomic_int there; /* the receiver is on its CPU */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Keeps the thread on the n-th of the CPUs that the process may use. */
static void pin(int n) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &allowed) && n-- == 0) CPU_SET(c, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void must(int err, const char *what) {
    if (err == MQ_OK) return;
    fprintf(stderr, "hetmp: %s: %s\n", what, mqErrorText(err));
    exit(1);
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Eight sums: with one, the additions would take longer than the message's way. */
ALWAYS_INLINE uint64_t add_up(const uint64_t *p, size_t n) {
    uint64_t a[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) a[k] += p[i + (size_t)k];
    for (; i < n; i++) a[0] += p[i];
    return a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7];
}

/* As the peers: compiled for messages of this many words. */
ALWAYS_INLINE uint64_t receive(int q, uint64_t n, size_t w) {
    int err;
    uint64_t sum = 0;
    if (!batch) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t *m = sRecvMsg(q, NULL, &err);
            if (!m) must(err, "sRecvMsg");
            sum += add_up(m, w);
            sReleaseMsg(q, m, &err);
        }
    } else {
        for (uint64_t i = 0; i < n;) {
            int k;
            size_t stride;
            char *m = sRecvBatch(q, BATCH, &k, &stride, &err);
            if (!m) must(err, "sRecvBatch");
            for (int j = 0; j < k; j++) sum += add_up((const uint64_t *)(m + (size_t)j * stride), w);
            sReleaseBatch(q, m, k, &err);
            i += (uint64_t)k;
        }
    }
    return sum;
}

static void slave(void *arg) {
    int err;
    (void)arg;
    pin(1);
    atomic_store(&there, 1);
    int q = sGetQueueHandle("q", &err);
    must(err, "sGetQueueHandle");
    got_sum = bytes == 8       ? receive(q, messages, 1)
              : bytes == 16384 ? receive(q, messages, 2048)
                               : receive(q, messages, words);
    ends = now();
}

/* Words need no copy: the number of the message. */
ALWAYS_INLINE void fill(void *m, const uint64_t *source, uint64_t i, size_t w) {
    if (w == 1)
        *(uint64_t *)m = i;
    else
        memcpy(m, source + i % SOURCES * w, w * 8);
}

ALWAYS_INLINE void send(int q, uint64_t n, const uint64_t *source, size_t w) {
    int err;
    if (!batch) {
        for (uint64_t i = 0; i < n; i++) {
            void *m = mAllocateMsg(0, q, &err);
            if (!m) must(err, "mAllocateMsg");
            fill(m, source, i, w);
            mSendMsg(0, q, m, (int)w * 8, &err);
        }
    } else {
        for (uint64_t i = 0; i < n;) {
            int k;
            size_t stride;
            int want = n - i < BATCH ? (int)(n - i) : BATCH;
            char *m = mAllocateBatch(0, q, want, &k, &stride, &err);
            if (!m) must(err, "mAllocateBatch");
            for (int j = 0; j < k; j++, i++) fill(m + (size_t)j * stride, source, i, w);
            mSendBatch(0, q, m, k, (int)w * 8, &err);
        }
    }
}

int main(int argc, char **argv) {
    int err;
    if (argc != 5 || (bytes = strtoul(argv[2], NULL, 10)) < 8 || bytes % 8 || (slots = atoi(argv[3])) < 2 ||
        (messages = strtoull(argv[4], NULL, 10)) < 1) {
        fprintf(stderr, "hetmp: arguments: not usable (expected single|batch BYTES SLOTS MESSAGES)\n");
        return 2;
    }
    batch = strcmp(argv[1], "batch") == 0;
    words = bytes / 8;
    sched_getaffinity(0, sizeof allowed, &allowed);
    uint64_t *source = aligned_alloc(4096, (SOURCES * bytes + 4095) / 4096 * 4096), sum = 0, sums[SOURCES];
    for (size_t i = 0; i < SOURCES * words; i++) source[i] = i * 2654435761u;
    for (int i = 0; i < SOURCES; i++) sums[i] = add_up(source + (size_t)i * words, words);
    int q = mCreateQueue(0, "q", 0, bytes, slots / 2, slots - slots / 2, NULL, SlaveScalarMem, MasterToSlave, &err);
    must(err, "mCreateQueue");
    ThreadID t = mStartSlaveThreads(0, 1, (void *)slave, NULL);
    if (t.m_num != 1) return 1;
    /* A receiver that begins on this CPU, behind a sender that spins, may wait there for a tick of some milliseconds.
       */
    while (!atomic_load(&there)) sched_yield();
    /* Not before: how the library waits depends on the CPUs that the process has. */
    pin(0);
    const double began = now();
    const uint64_t n = messages;
    if (bytes == 8)
        send(q, n, source, 1);
    else if (bytes == 16384)
        send(q, n, source, 2048);
    else
        send(q, n, source, words);
    mWaitSlaveThreads(t);
    const double seconds = ends - began;
    for (uint64_t i = 0; i < n; i++) sum += bytes == 8 ? i : sums[i % SOURCES];
    if (sum != got_sum) {
        fprintf(stderr, "hetmp: messages: %llu came as something else\n", (unsigned long long)n);
        return 1;
    }
    printf("%.6f\n", seconds);
    return 0;
}
