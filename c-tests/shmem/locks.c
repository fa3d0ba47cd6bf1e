/* Distributed locks: mutual exclusion from all PEs, several locks at once, shmem_test_lock, and that what was written
 * under a lock is there for the next who has it: "Distributed Locking Routines". */
#include "shtest.h"

static long one, several[4], tried, guarded_sum, guarded[4], order[3];

int main(void) {
    test_begin();
    long *in_heap = shmem_calloc(2, sizeof(long));
    /* Not atomic: only the lock keeps it right. */
    int count = rounds(100);
    for (int i = 0; i < count; i++) {
        shmem_set_lock(&one);
        long now = shmem_long_g(&guarded_sum, npes - 1);
        shmem_long_p(&guarded_sum, now + 1, npes - 1);
        shmem_quiet();
        shmem_clear_lock(&one);
    }
    shmem_barrier_all();
    CHECKF(me != npes - 1 || guarded_sum == (long)count * npes, "%ld", guarded_sum);
    shmem_barrier_all();

    /* In the heap, and with other locks held. */
    for (int i = 0; i < count; i++) {
        int l = (i + me) % 4;
        shmem_set_lock(&several[l]);
        shmem_set_lock(&in_heap[1]);
        long now = shmem_long_g(&guarded[3], 0);
        shmem_long_p(&guarded[3], now + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&in_heap[1]);
        now = shmem_long_g(&guarded[l % 3], 0);
        shmem_quiet();
        shmem_clear_lock(&several[l]);
        CHECK(now == 0);
    }
    shmem_barrier_all();
    CHECK(me != 0 || guarded[3] == (long)count * npes);

    /* A free lock is got at once, a held one is not. */
    if (me == 0) {
        CHECK(shmem_test_lock(&tried) == 0);
    }
    shmem_barrier_all();
    if (me != 0) {
        CHECK(shmem_test_lock(&tried) != 0);
        CHECK(shmem_test_lock(&tried) == 1);
    }
    shmem_barrier_all();
    if (me == 0) {
        shmem_clear_lock(&tried);
    }
    shmem_barrier_all();
    for (int i = 0; i < 20; i++) {
        while (shmem_test_lock(&tried) != 0) {
        }
        long now = shmem_long_g(&order[1], 0);
        shmem_long_p(&order[1], now + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&tried);
    }
    shmem_barrier_all();
    CHECK(me != 0 || order[1] == 20L * npes);
    shmem_barrier_all();

    /* Tests and sets in one queue; a PE that has the lock and takes its time. */
    for (int i = 0; i < 20; i++) {
        if ((i + me) % 2 == 0 || shmem_test_lock(&tried) != 0) {
            shmem_set_lock(&tried);
        }
        long now = shmem_long_g(&order[2], 0);
        if (i % 7 == me % 7) {
            struct timespec pause = {0, 1000000};
            nanosleep(&pause, NULL);
        }
        shmem_long_p(&order[2], now + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&tried);
    }
    shmem_barrier_all();
    CHECK(me != 0 || order[2] == 20L * npes);
    shmem_free(in_heap);
    return test_end("locks");
}
