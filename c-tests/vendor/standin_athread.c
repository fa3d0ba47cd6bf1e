/* athread on POSIX threads. */
#include "standin.h"
#include <athread.h>
#include <sched.h>
#include <slave.h>

static __thread int my_id = -1;
static __thread struct store ldm;
static pthread_t threads[64];
static struct {
    void (*function)(void *);
    void *arg;
    int id;
} starts[64];
static int number = 64, running, ready;
static pthread_barrier_t rows[8], columns[8], array;

int athread_init(void) { return ready = 1; }
int athread_halt(void) { return ready = 0; }
int athread_get_max_threads(void) { return 64; }
int athread_set_num_threads(int n) { return number = n >= 1 && n <= 64 ? n : 64; }

static void *run(void *p) {
    my_id = starts[(intptr_t)p].id;
    ldm = (struct store){65536, 0, 0, 1 << 30};
    starts[(intptr_t)p].function(starts[(intptr_t)p].arg);
    if (ldm.taken) {
        fprintf(stderr, "slave %d left %zu bytes of its LDM taken\n", my_id, ldm.taken);
        exit(3);
    }
    return NULL;
}

int __real_athread_spawn(void *function, void *arg) {
    if (!ready || running) {
        fprintf(stderr, "athread_spawn: not initialised, or the last group was not joined\n");
        exit(3);
    }
    for (int i = 0; i < 8; i++) {
        pthread_barrier_init(&rows[i], NULL, 8);
        pthread_barrier_init(&columns[i], NULL, 8);
    }
    pthread_barrier_init(&array, NULL, 64);
    for (intptr_t i = 0; i < number; i++) {
        starts[i].function = (void (*)(void *))function;
        starts[i].arg = arg;
        starts[i].id = (int)i;
        if (pthread_create(&threads[i], NULL, run, (void *)i) != 0) return -1;
    }
    running = number;
    return running;
}

int athread_join(void) {
    for (int i = 0; i < running; i++) pthread_join(threads[i], NULL);
    running = 0;
    return 0;
}

int athread_get_id(int core) {
    if (core != -1) abort();
    return my_id;
}
int athread_syn(scope s, int mask) {
    if (number != 64 || mask != (s == ARRAY_SCOPE ? 0xffff : 0xff)) {
        fprintf(stderr, "athread_syn: %d slaves, mask %#x\n", number, mask);
        exit(3);
    }
    pthread_barrier_wait(s == ROW_SCOPE ? &rows[my_id / 8] : s == COL_SCOPE ? &columns[my_id % 8] : &array);
    return 0;
}

/* In main memory blocks of `bsize` bytes have gaps of `stride` bytes between them; in a local store they have none. */
static int transfer(char *memory, char *local, int len, void *reply, int stride, int bsize, int get) {
    /* The engine moves whole words between aligned addresses. */
    if (len <= 0 || (len | stride | bsize) % 4 || ((uintptr_t)memory | (uintptr_t)local) % 4 || stride < 0 ||
        bsize < 0 || (stride && (!bsize || len % bsize))) {
        fprintf(stderr, "athread: a transfer of %d bytes between %p and %p, blocks of %d, %d between them\n", len,
                (void *)memory, (void *)local, bsize, stride);
        exit(3);
    }
    const size_t block = (size_t)(stride ? bsize : len), step = block + (size_t)stride;
    engine_start(get ? (struct job){local, memory, (size_t)len, block, block, step, reply, NULL}
                     : (struct job){memory, local, (size_t)len, block, step, block, reply, NULL});
    return 0;
}

int athread_get(dma_mode mode, void *src, void *dst, int len, void *reply, char mask, int stride, int bsize) {
    if (mode != PE_MODE || mask) abort();
    return transfer(src, dst, len, reply, stride, bsize, 1);
}
int athread_put(dma_mode mode, void *src, void *dst, int len, void *reply, int stride, int bsize) {
    if (mode != PE_MODE) abort();
    return transfer(dst, src, len, reply, stride, bsize, 0);
}

/* Some published kernels load vectors from blocks as they are, others expect them 16 bytes past a multiple of 32. */
#ifndef LDM_PAST
#define LDM_PAST 0
#endif
void *ldm_malloc(int bytes) {
    char *p = store_malloc(&ldm, (size_t)bytes + LDM_PAST);
    return p ? p + LDM_PAST : NULL;
}
void ldm_free(void *p, int bytes) {
    (void)bytes;
    store_free(&ldm, (char *)p - LDM_PAST);
}
