/* shmem_fence and shmem_quiet as litmus tests, many times: what is put before a fence is there when what was put after
 * it is seen; what shmem_quiet has completed everybody sees: "Memory Ordering Routines".
 * shmem-test: peer=yes */
#include "shtest.h"

enum { WORDS = 700 };
static long flag, ack, data[WORDS], third, small;

/* All kinds of updates, then a fence, then the flag. */
static void message(int count) {
    long source[WORDS];
    for (long i = 1; i <= count; i++) {
        int kind = (int)(i % 6);
        size_t words = kind == 5 ? WORDS : (size_t)(1 + i % 40);
        for (size_t w = 0; w < words; w++) {
            source[w] = i * 1000 + (long)w;
        }
        switch (kind) {
        case 0: shmem_long_put(data, source, words, next); break;
        case 1: shmem_long_put_nbi(data, source, words, next); break;
        case 2:
            for (size_t w = 0; w < words; w++) shmem_long_p(&data[w], source[w], next);
            break;
        case 3: shmem_long_iput(data, source, 1, 1, words, next); break;
        case 4:
            for (size_t w = 0; w < words; w++) shmem_long_atomic_set(&data[w], source[w], next);
            break;
        default: shmem_putmem(data, source, words * sizeof(long), next);
        }
        shmem_fence();
        switch (i % 3) {
        case 0: shmem_long_p(&flag, i, next); break;
        case 1: shmem_long_atomic_set(&flag, i, next); break;
        default: shmem_long_atomic_inc(&flag, next);
        }
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
        int wrong = 0;
        for (size_t w = 0; w < words; w++) {
            wrong += data[w] != i * 1000 + (long)w;
        }
        CHECKF(wrong == 0, "%d of %zu in message %ld, kind %d", wrong, words, i, kind);
        /* Only now may the next one be written. */
        shmem_quiet();
        shmem_long_atomic_set(&ack, i, prev);
        shmem_long_wait_until(&ack, SHMEM_CMP_GE, i);
    }
    shmem_barrier_all();
    flag = ack = 0;
    shmem_barrier_all();
}

/* PE 0 puts to PE 1 and completes, then tells PE 2, who looks at PE 1. */
static void three(int count) {
    if (npes < 3) {
        return;
    }
    for (long i = 1; i <= count; i++) {
        if (me == 0) {
            long source[50];
            for (int w = 0; w < 50; w++) source[w] = i + w;
            shmem_long_put_nbi(data, source, 50, 1);
            shmem_long_atomic_add(&third, 2, 1);
            shmem_long_p(&small, i, 1);
            shmem_quiet();
            shmem_long_p(&flag, i, 2);
            shmem_long_wait_until(&ack, SHMEM_CMP_GE, i);
        } else if (me == 2) {
            shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
            long found[50];
            shmem_long_get(found, data, 50, 1);
            int wrong = 0;
            for (int w = 0; w < 50; w++) wrong += found[w] != i + w;
            CHECKF(wrong == 0, "%d", wrong);
            CHECK(shmem_long_g(&small, 1) == i);
            CHECK(shmem_long_atomic_fetch(&third, 1) == 2 * i);
            shmem_long_p(&ack, i, 0);
        }
    }
    shmem_barrier_all();
}

/* Own puts are seen by own gets after a quiet, and by those who pass a barrier. */
static void own(int count) {
    for (long i = 1; i <= count; i++) {
        long value = me * 100000 + i;
        shmem_long_put_nbi(&data[me % WORDS], &value, 1, next);
        shmem_quiet();
        CHECK(shmem_long_g(&data[me % WORDS], next) == value);
        /* Ordinary stores of this PE are seen by a PE that was told after a barrier. */
        small = value;
        shmem_barrier_all();
        CHECK(shmem_long_g(&small, next) == next * 100000 + i);
        CHECK(data[prev % WORDS] == prev * 100000 + i);
        shmem_barrier_all();
    }
}

int main(void) {
    test_begin();
    message(rounds(600));
    memset(data, 0, sizeof data);
    shmem_barrier_all();
    three(rounds(300));
    own(rounds(100));
    shmem_fence();
    shmem_quiet();
    return test_end("ordering");
}
