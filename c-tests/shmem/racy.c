/* A program that is wrong: PE 0 puts data and then, without shmem_fence, a flag; PE 1 waits for the flag and reads the
 * data. With "fence" as the first argument it is right. Prints how often the data was not there.
 * shmem-test: manual */
#include "shtest.h"

enum { WORDS = 64, MESSAGES = 50 };
static long data[WORDS], flag, ack;

int main(int argc, char **argv) {
    int right = argc > 1 && strcmp(argv[1], "fence") == 0;
    test_begin();
    shmem_barrier_all();
    int stale = 0;
    for (long i = 1; i <= MESSAGES; i++) {
        if (me == 0) {
            long source[WORDS];
            for (int w = 0; w < WORDS; w++) source[w] = i;
            shmem_long_put(data, source, WORDS, 1); /* RACY data */
            if (right) shmem_fence();
            shmem_long_p(&flag, i, 1); /* RACY flag */
            /* Quiet before that would bring the data as soon as the flag. */
            shmem_long_wait_until(&ack, SHMEM_CMP_GE, i);
            shmem_quiet();
        } else if (me == 1) {
            shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
            for (int w = 0; w < WORDS; w++) {
                /* Not by shmem_long_get: the program looks at its own memory. */
                if (*(volatile long *)&data[w] != i) {
                    stale++;
                    break;
                }
            }
            shmem_long_atomic_set(&ack, i, 0);
        }
    }
    shmem_barrier_all();
    if (me == 1) {
        printf("stale %d of %d\n", stale, MESSAGES);
        fflush(stdout);
    }
    shmem_finalize();
    return 0;
}
