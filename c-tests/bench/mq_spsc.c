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

static inline uint64_t add_up(const uint64_t *p, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += p[i];
    return sum;
}

static void slave(void *arg) {
    int err;
    uint64_t sum = 0;
    const uint64_t n = messages;
    const size_t w = words;
    (void)arg;
    pin(1);
    int q = sGetQueueHandle("q", &err);
    must(err, "sGetQueueHandle");
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
    ends = now();
    got_sum = sum;
}

int main(int argc, char **argv) {
    int err;
    if (argc != 5 || (bytes = strtoul(argv[2], NULL, 10)) < 8 || bytes % 8 || (slots = atoi(argv[3])) < 2 ||
        (messages = strtoull(argv[4], NULL, 10)) < 1) {
        fprintf(stderr, "hetmp: arguments: single|batch BYTES SLOTS MESSAGES are accepted\n");
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
    /* Not before: how the library waits depends on the CPUs that the process has. */
    pin(0);
    const double began = now();
    const uint64_t n = messages;
    const size_t len = bytes;
    if (!batch) {
        for (uint64_t i = 0; i < n; i++) {
            void *m = mAllocateMsg(0, q, &err);
            if (!m) must(err, "mAllocateMsg");
            if (len == 8) /* Words need no copy: the number of the message. */
                *(uint64_t *)m = i;
            else
                memcpy(m, source + i % SOURCES * words, len);
            mSendMsg(0, q, m, (int)len, &err);
        }
    } else {
        for (uint64_t i = 0; i < n;) {
            int k;
            size_t stride;
            int want = n - i < BATCH ? (int)(n - i) : BATCH;
            char *m = mAllocateBatch(0, q, want, &k, &stride, &err);
            if (!m) must(err, "mAllocateBatch");
            for (int j = 0; j < k; j++, i++)
                if (len == 8)
                    *(uint64_t *)(m + (size_t)j * stride) = i;
                else
                    memcpy(m + (size_t)j * stride, source + i % SOURCES * words, len);
            mSendBatch(0, q, m, k, (int)len, &err);
        }
    }
    mWaitSlaveThreads(t);
    const double seconds = ends - began;
    for (uint64_t i = 0; i < n; i++) sum += len == 8 ? i : sums[i % SOURCES];
    if (sum != got_sum) {
        fprintf(stderr, "hetmp: messages: %llu came as something else\n", (unsigned long long)n);
        return 1;
    }
    printf("%.6f\n", seconds);
    return 0;
}
