/* What both stand-ins need: a store with a limit for each slave, and an engine thread that moves memory. */
#ifndef STANDIN_H
#define STANDIN_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slave's local memory: blocks from malloc, so that a checker of memory errors sees their ends. */
struct store {
    size_t size, taken;
    int blocks, most;
};

/* Before a block stands its size. Blocks are aligned to the widest vector. */
enum { STORE_LINE = 128 };

static inline void *store_malloc(struct store *s, size_t bytes) {
    size_t *p;
    if (s->taken + bytes > s->size || s->blocks == s->most) return NULL;
    if (posix_memalign((void **)&p, STORE_LINE, bytes + STORE_LINE) != 0) return NULL;
    p[0] = bytes;
    s->taken += bytes;
    s->blocks++;
    /* The chip's holds what was there before; here large numbers, no NaNs: programs compare by `difference > limit`. */
    return memset((char *)p + STORE_LINE, 0x47, bytes);
}

static inline void store_free(struct store *s, void *block) {
    size_t *p = (size_t *)(void *)((char *)block - STORE_LINE);
    s->taken -= p[0];
    s->blocks--;
    free(p);
}

/* The engine: one thread, transfers in order, each over only after a while. */
struct job {
    char *dst;
    const char *src;
    /* In blocks, which lie `dst_step` and `src_step` apart. */
    size_t bytes, block, dst_step, src_step;
    volatile int *reply;
    struct job *next;
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t engine_more = PTHREAD_COND_INITIALIZER, engine_done = PTHREAD_COND_INITIALIZER;
static struct job *engine_first, **engine_last = &engine_first;

static void *engine(void *unused) {
    pthread_mutex_lock(&engine_lock);
    for (;;) {
        while (!engine_first) pthread_cond_wait(&engine_more, &engine_lock);
        struct job *j = engine_first;
        pthread_mutex_unlock(&engine_lock);
        for (; j->bytes; j->bytes -= j->block, j->dst += j->dst_step, j->src += j->src_step)
            memcpy(j->dst, j->src, j->block);
        pthread_mutex_lock(&engine_lock);
        engine_first = j->next;
        if (!engine_first) engine_last = &engine_first;
        __atomic_fetch_add(j->reply, 1, __ATOMIC_RELEASE);
        free(j);
        pthread_cond_broadcast(&engine_done);
    }
    return unused;
}

static inline void engine_start(struct job what) {
    static int running;
    struct job *j = malloc(sizeof *j);
    if (!j) abort();
    *j = what;
    pthread_mutex_lock(&engine_lock);
    if (!running) {
        pthread_t t;
        running = 1;
        if (pthread_create(&t, NULL, engine, NULL) != 0) abort();
        /* Slaves wait busily: the engine goes before them, where that is allowed. */
        pthread_setschedparam(t, SCHED_RR, &(struct sched_param){.sched_priority = 1});
        pthread_detach(t);
    }
    *engine_last = j;
    engine_last = &j->next;
    pthread_cond_signal(&engine_more);
    pthread_mutex_unlock(&engine_lock);
}

#endif
