/* What a program without a library writes instead of queues: buffers between two threads, a flag for
 * each that says whether it is full, and a thread that polls the flag (or waits on a condition
 * variable). The applications use it as the comparison. */
#ifndef HAND_H
#define HAND_H

#include "app.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

struct hand_flag {
    _Alignas(128) atomic_int full;
    int bytes;
};

/* One direction between two threads. */
struct hand {
    struct hand_flag *flags;
    char *buffers;
    size_t stride;
    int slots;
    int sleeps; /* waits on the condition variable */
    int spins;  /* looks before the core is given away */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Alignas(128) int in; /* the sender's buffer */
    _Alignas(128) int out; /* the receiver's */
};

static inline struct hand *hand_new(const struct app *app, size_t bytes, int slots) {
    struct hand *h = app_memory(sizeof *h);
    h->stride = (bytes + 63) / 64 * 64;
    h->slots = slots;
    h->sleeps = app->way == CONDVAR;
    /* With more threads than CPUs, whoever spins is in the way of whom it waits for. */
    h->spins = app->slaves + 1 > sysconf(_SC_NPROCESSORS_ONLN) ? 1 : 200;
    h->buffers = app_memory(h->stride * (size_t)slots);
    h->flags = app_memory(sizeof *h->flags * (size_t)slots);
    for (int i = 0; i < slots; i++) atomic_init(&h->flags[i].full, 0);
    h->in = h->out = 0;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    return h;
}

static inline void hand_delete(struct hand *h) {
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h->flags);
    free(h->buffers);
    free(h);
}

/* Waits until a buffer is full, or empty. */
static inline void hand_wait(struct hand *h, struct hand_flag *flag, int full) {
    for (int turn = 0; atomic_load_explicit(&flag->full, memory_order_acquire) != full; turn++) {
        if (turn < h->spins) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else if (!h->sleeps) {
            sched_yield();
        } else {
            pthread_mutex_lock(&h->lock);
            while (atomic_load_explicit(&flag->full, memory_order_acquire) != full)
                pthread_cond_wait(&h->changed, &h->lock);
            pthread_mutex_unlock(&h->lock);
        }
    }
}

static inline void hand_set(struct hand *h, struct hand_flag *flag, int full) {
    if (!h->sleeps) {
        atomic_store_explicit(&flag->full, full, memory_order_release);
        return;
    }
    pthread_mutex_lock(&h->lock);
    atomic_store_explicit(&flag->full, full, memory_order_release);
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* The sender: a buffer to fill, then to be sent. */
static inline void *hand_buffer(struct hand *h) {
    hand_wait(h, &h->flags[h->in], 0);
    return h->buffers + h->stride * (size_t)h->in;
}
static inline void hand_send(struct hand *h, int bytes) {
    struct hand_flag *flag = &h->flags[h->in];
    flag->bytes = bytes;
    h->in = h->in + 1 == h->slots ? 0 : h->in + 1;
    hand_set(h, flag, 1);
}

/* The receiver: a full buffer, then to be given back. */
static inline void *hand_receive(struct hand *h, int *bytes) {
    struct hand_flag *flag = &h->flags[h->out];
    hand_wait(h, flag, 1);
    *bytes = flag->bytes;
    return h->buffers + h->stride * (size_t)h->out;
}
static inline int hand_has(struct hand *h) {
    return atomic_load_explicit(&h->flags[h->out].full, memory_order_acquire);
}
static inline void hand_return(struct hand *h) {
    struct hand_flag *flag = &h->flags[h->out];
    h->out = h->out + 1 == h->slots ? 0 : h->out + 1;
    hand_set(h, flag, 0);
}

/* A worker thread, its pipes, and whatever else its program tells it. */
struct worker {
    pthread_t thread;
    int number;
    struct hand *in, *in2, *out;
    void *arg;
};

static inline struct worker *workers_new(const struct app *app) {
    return calloc((size_t)app->slaves, sizeof(struct worker));
}
static inline void workers_start(const struct app *app, struct worker *w, void *(*function)(void *)) {
    for (int s = 0; s < app->slaves; s++) {
        w[s].number = s;
        if (pthread_create(&w[s].thread, NULL, function, &w[s]) != 0) {
            fprintf(stderr, "hetmp: thread %d: cannot be started\n", s);
            exit(1);
        }
    }
}
static inline void workers_end(const struct app *app, struct worker *w) {
    for (int s = 0; s < app->slaves; s++) {
        pthread_join(w[s].thread, NULL);
        hand_delete(w[s].in);
        if (w[s].in2) hand_delete(w[s].in2);
        hand_delete(w[s].out);
    }
    free(w);
}

#endif
