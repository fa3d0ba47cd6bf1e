/* What one message of 8 bytes from one thread to another costs with nothing around it: no handles, checks, error
 * numbers or sleep. The floor under mq_spsc's single messages, by protocol:
 *
 *     mq_floor ring|kept|late|word|pair 8 SLOTS MESSAGES
 *
 * ring: the steps of hetmp/mq_inline.h, positions in registers: each message is published by a store of its own, and
 *       the other side's position is read again only when the copy is used up.
 * kept: the same, positions in memory from message to message, as calls need that find their queue by a handle: the
 *       next position then comes out of the store buffer, some cycles after it went in.
 * late: ring, published eight messages at a time. No queue may do so by itself: a message would wait for its
 *       successors.
 * word: a slot is one word, 0 while it is empty: flag and message are one store, and there are no positions.
 * pair: a slot has a sequence number next to the message.
 * Prints seconds, as mq_spsc does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cpu_set_t allowed;
static uint64_t messages, mask, got_sum;
static double ends;
static atomic_int there;
static int way;
enum { RING, KEPT, LATE, WORD, PAIR };

static struct {
    _Alignas(128) _Atomic uint64_t sent;
    _Alignas(128) _Atomic uint64_t released;
} at;
static struct {
    _Alignas(128) uint64_t next;
    uint64_t limit;
} own[2]; /* kept */
#define BETWEEN_CALLS atomic_signal_fence(memory_order_seq_cst)
static uint64_t *plain;            /* ring, kept and late */
static _Atomic uint64_t *words;    /* word */
static struct {
    _Atomic uint64_t turn;
    uint64_t message;
} *pairs;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void pin(int n) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &allowed) && n-- == 0) CPU_SET(c, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}
/* As rtrb's users do, and hetmp before it sleeps. */
static inline void pause_once(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* `each` messages are published together; a constant to the compiler. */
static inline __attribute__((always_inline)) void send_ring(uint64_t each) {
    uint64_t limit = mask + 1;
    for (uint64_t i = 0; i < messages; i++) {
        while (i == limit) { /* all slots are in use; what waits to be published goes first */
            atomic_store_explicit(&at.sent, i, memory_order_release);
            limit = atomic_load_explicit(&at.released, memory_order_acquire) + mask + 1;
            if (i == limit) pause_once();
        }
        plain[i & mask] = i;
        if ((i + 1) % each == 0) atomic_store_explicit(&at.sent, i + 1, memory_order_release);
    }
    atomic_store_explicit(&at.sent, messages, memory_order_release);
}
static inline __attribute__((always_inline)) uint64_t receive_ring(uint64_t each) {
    uint64_t limit = 0, sum = 0;
    for (uint64_t i = 0; i < messages; i++) {
        while (i == limit) {
            atomic_store_explicit(&at.released, i, memory_order_release);
            limit = atomic_load_explicit(&at.sent, memory_order_acquire);
            if (i == limit) pause_once();
        }
        sum += plain[i & mask];
        if ((i + 1) % each == 0) atomic_store_explicit(&at.released, i + 1, memory_order_release);
    }
    return sum;
}

static void send(void) {
    if (way == RING) send_ring(1);
    if (way == KEPT)
        for (own[0].next = own[0].limit = 0; own[0].next < messages; BETWEEN_CALLS) {
            const uint64_t i = own[0].next;
            while (i == own[0].limit) {
                own[0].limit = atomic_load_explicit(&at.released, memory_order_acquire) + mask + 1;
                if (i == own[0].limit) pause_once();
            }
            plain[i & mask] = i;
            own[0].next = i + 1;
            atomic_store_explicit(&at.sent, i + 1, memory_order_release);
        }
    if (way == LATE) send_ring(8);
    if (way == WORD)
        for (uint64_t i = 0; i < messages; i++) {
            while (atomic_load_explicit(&words[i & mask], memory_order_relaxed)) pause_once();
            atomic_store_explicit(&words[i & mask], i + 1, memory_order_release);
        }
    if (way == PAIR)
        for (uint64_t i = 0; i < messages; i++) {
            const uint64_t empty = i / (mask + 1) * 2;
            while (atomic_load_explicit(&pairs[i & mask].turn, memory_order_acquire) != empty) pause_once();
            pairs[i & mask].message = i;
            atomic_store_explicit(&pairs[i & mask].turn, empty + 1, memory_order_release);
        }
}
static void *receiver(void *arg) {
    uint64_t sum = 0, x;
    pin(1);
    atomic_store(&there, 1);
    if (way == RING) sum = receive_ring(1);
    if (way == KEPT)
        for (; own[1].next < messages; BETWEEN_CALLS) {
            const uint64_t i = own[1].next;
            while (i == own[1].limit) {
                own[1].limit = atomic_load_explicit(&at.sent, memory_order_acquire);
                if (i == own[1].limit) pause_once();
            }
            sum += plain[i & mask];
            own[1].next = i + 1;
            atomic_store_explicit(&at.released, i + 1, memory_order_release);
        }
    if (way == LATE) sum = receive_ring(8);
    if (way == WORD)
        for (uint64_t i = 0; i < messages; i++) {
            while (!(x = atomic_load_explicit(&words[i & mask], memory_order_acquire))) pause_once();
            sum += x - 1;
            atomic_store_explicit(&words[i & mask], 0, memory_order_release);
        }
    if (way == PAIR)
        for (uint64_t i = 0; i < messages; i++) {
            const uint64_t full = i / (mask + 1) * 2 + 1;
            while (atomic_load_explicit(&pairs[i & mask].turn, memory_order_acquire) != full) pause_once();
            sum += pairs[i & mask].message;
            atomic_store_explicit(&pairs[i & mask].turn, full + 1, memory_order_release);
        }
    got_sum = sum;
    ends = now();
    return arg;
}

int main(int argc, char **argv) {
    static const char *const ways[] = {"ring", "kept", "late", "word", "pair"};
    uint64_t slots = argc == 5 ? strtoull(argv[3], NULL, 10) : 0;
    way = -1;
    for (int i = 0; argc == 5 && i < 5; i++)
        if (strcmp(argv[1], ways[i]) == 0) way = i;
    if (way < 0 || strcmp(argv[2], "8") != 0 || slots < 16 || (slots & (slots - 1)) ||
        (messages = strtoull(argv[4], NULL, 10)) < 1) {
        fprintf(stderr, "hetmp: arguments: not usable (expected ring|kept|late|word|pair 8 SLOTS MESSAGES, SLOTS a "
                        "power of 2, 16 or more)\n");
        return 2;
    }
    mask = slots - 1;
    sched_getaffinity(0, sizeof allowed, &allowed);
    plain = aligned_alloc(128, slots * 8);
    words = aligned_alloc(128, slots * 8);
    pairs = aligned_alloc(128, slots * 16);
    if (!plain || !words || !pairs) return 1;
    memset(plain, 0, slots * 8);
    memset((void *)words, 0, slots * 8);
    memset((void *)pairs, 0, slots * 16);
    pthread_t thread;
    if (pthread_create(&thread, NULL, receiver, NULL) != 0) return 1;
    while (!atomic_load(&there)) sched_yield();
    pin(0);
    const double began = now();
    send();
    pthread_join(thread, NULL);
    if (got_sum != (messages % 2 ? messages * ((messages - 1) / 2) : messages / 2 * (messages - 1))) {
        fprintf(stderr, "hetmp: messages: %llu came as something else\n", (unsigned long long)messages);
        return 1;
    }
    printf("%.6f\n", ends - began);
    return 0;
}
