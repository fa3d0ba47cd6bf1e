/* SHMEM_THREAD_MULTIPLE with POSIX threads: all threads on the default context, each on a context of its own, on one
 * shared context; waiting in one thread for what another sends; collectives from one of them at a time.
 * shmem-test: flags=-pthread */
#include "shtest.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 200 };
static long counter, tickets[THREADS], slots[64][THREADS][8], flags[THREADS], sums[THREADS], by_ctx;
static shmem_ctx_t shared;
static pthread_barrier_t meet;

static void *work(void *argument) {
    int t = (int)(long)argument;
    shmem_ctx_t own;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &own) == 0);
    long source[8], found[8];
    for (int i = 1; i <= EACH; i++) {
        /* The default context, from all threads. */
        shmem_long_atomic_add(&counter, 1, 0);
        (void)shmem_long_atomic_fetch_inc(&counter, 0);
        for (int w = 0; w < 8; w++) source[w] = me * 1000000 + t * 10000 + i * 8 + w;
        shmem_long_put(slots[me % 64][t], source, 8, next);
        shmem_quiet();
        shmem_long_get(found, slots[me % 64][t], 8, next);
        CHECK(memcmp(found, source, sizeof found) == 0);
        /* One of its own. */
        shmem_ctx_long_put_nbi(own, slots[me % 64][t], source, 8, next);
        shmem_ctx_fence(own);
        shmem_ctx_long_atomic_inc(own, &by_ctx, 0);
        shmem_ctx_quiet(own);
        /* The shared one. */
        shmem_ctx_long_atomic_add(shared, &sums[t], 2, next);
        CHECK(shmem_ctx_long_g(shared, &slots[me % 64][t][3], next) == source[3]);
    }
    shmem_ctx_quiet(shared);
    shmem_ctx_destroy(own);
    pthread_barrier_wait(&meet);

    /* Thread t waits for thread t of the PE before, all at the same time. */
    for (long i = 1; i <= 50; i++) {
        shmem_long_atomic_set(&flags[t], i, next);
        shmem_long_wait_until(&flags[t], SHMEM_CMP_GE, i);
        pthread_barrier_wait(&meet);
        if (t == (int)(i % THREADS)) {
            shmem_barrier_all();
        }
        pthread_barrier_wait(&meet);
    }

    /* Within a PE: a thread waits for what another thread of this PE stores by an atomic. */
    if (t == 0) {
        shmem_long_wait_until(&tickets[0], SHMEM_CMP_EQ, THREADS - 1);
    } else {
        shmem_long_atomic_inc(&tickets[0], me);
    }
    return NULL;
}

int main(void) {
    int provided = -1;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    test_numbers();
    CHECK(shmem_ctx_create(0, &shared) == 0);
    pthread_barrier_init(&meet, NULL, THREADS);
    shmem_barrier_all();
    for (int again = 1; again <= 3; again++) {
        pthread_t thread[THREADS];
        tickets[0] = 0;
        memset(flags, 0, sizeof flags);
        shmem_barrier_all();
        for (long t = 0; t < THREADS; t++) {
            CHECK(pthread_create(&thread[t], NULL, work, (void *)t) == 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(thread[t], NULL);
        }
        shmem_barrier_all();
        long all = (long)again * npes * THREADS * EACH;
        CHECKF(me != 0 || counter == 2 * all, "%ld", counter);
        CHECKF(me != 0 || by_ctx == all, "%ld", by_ctx);
        for (int t = 0; t < THREADS; t++) {
            CHECKF(sums[t] == 2L * again * EACH, "%ld", sums[t]);
        }
        shmem_barrier_all();
    }
    shmem_ctx_destroy(shared);
    return test_end("threads_pthread");
}
