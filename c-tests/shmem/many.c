/* More PEs than cores: a bit of everything, with as many PEs as the launcher starts.
 * shmem-test: pes=1 16
 * shmem-test: env=SHMEM_SYMMETRIC_SIZE=16M */
#include "shtest.h"

static long token, counter, lock, total, all[64], mine[64];

int main(void) {
    test_begin();
    /* A token goes round. */
    for (long lap = 1; lap <= 10; lap++) {
        if (me == 0) {
            shmem_long_p(&token, lap, next);
        }
        shmem_long_wait_until(&token, SHMEM_CMP_GE, lap);
        if (me != 0) {
            shmem_long_p(&token, lap, next);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < 50; i++) {
        shmem_long_atomic_inc(&counter, i % npes);
        shmem_barrier_all();
    }
    CHECK(counter >= 50 / npes * npes);
    for (int i = 0; i < 5; i++) {
        shmem_set_lock(&lock);
        long now = shmem_long_g(&total, 0);
        shmem_long_p(&total, now + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECKF(shmem_long_g(&total, 0) == 5L * npes, "%ld", shmem_long_g(&total, 0));
    for (int r = 0; r < 20; r++) {
        for (int pe = 0; pe < npes; pe++) {
            mine[pe] = r * 1000 + me * 20 + pe;
        }
        shmem_sync_all();
        CHECK(shmem_long_alltoall(SHMEM_TEAM_WORLD, all, mine, 1) == 0);
        for (int pe = 0; pe < npes; pe++) {
            CHECK(all[pe] == r * 1000 + pe * 20 + me);
        }
        shmem_sync_all();
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 1) == 0);
        CHECK(all[0] == r * 1000L * npes + 20L * npes * (npes - 1) / 2);
        shmem_sync_all();
    }
    return test_end("many");
}
