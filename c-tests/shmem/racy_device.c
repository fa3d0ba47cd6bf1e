/* The wrong program of racy.c, posting by hetmp/device.h: PE 0 puts data and then, without hetmp_fence, a flag; PE 1
 * waits for the flag and reads the data. Arguments: "fence" makes it right; "polled" stores the doorbell record without
 * a call into the library, as a device does. Prints how often the data was not there.
 * shmem-test: manual */
#include "shtest.h"
#include <hetmp/device.h>

enum { WORDS = 64, MESSAGES = 50 };
static uint64_t data[WORDS], flag, ack;

static void ring(hetmp_device_queue *q, int polled) {
    if (!polled) {
        hetmp_ring(q);
        return;
    }
    q->rung = q->staged;
    hetmp_word_release(q->posted, q->staged); /* hetmp_ring of the device pass */
}

int main(int argc, char **argv) {
    int right = 0, polled = 0;
    for (int i = 1; i < argc; i++) {
        right |= strcmp(argv[i], "fence") == 0;
        polled |= strcmp(argv[i], "polled") == 0;
    }
    test_begin();
    hetmp_device_queue q;
    if (hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 8, polled ? HETMP_DEVICE_POLLED : 0, &q) != 0)
        shmem_global_exit(1);
    shmem_barrier_all();
    int stale = 0;
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        if (me == 0) {
            uint64_t source[WORDS];
            for (int w = 0; w < WORDS; w++) source[w] = i;
            hetmp_put(&q, 1, data, source, sizeof source); /* RACY data */
            if (right) hetmp_fence_pe(&q, 1);
            hetmp_p64(&q, 1, &flag, i); /* RACY flag */
            ring(&q, polled);
            /* Quiet before that would bring the data as soon as the flag. */
            hetmp_wait_until(&ack, SHMEM_CMP_GE, i);
            hetmp_quiet(&q);
        } else if (me == 1) {
            hetmp_wait_until(&flag, SHMEM_CMP_GE, i);
            for (int w = 0; w < WORDS; w++) {
                if (*(volatile uint64_t *)&data[w] != i) {
                    stale++;
                    break;
                }
            }
            hetmp_atomic_set(&q, 0, &ack, i);
            hetmp_quiet(&q);
        }
    }
    shmem_barrier_all();
    hetmp_device_queue_close(&q);
    if (me == 1) {
        printf("stale %d of %d\n", stale, MESSAGES);
        fflush(stdout);
    }
    shmem_finalize();
    return 0;
}
