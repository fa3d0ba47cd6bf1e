/* OpenSHMEM and GOAL in one program: one job, and neither takes the other's messages. */
#include "gtest.h"
#include <shmem.h>

int main(void)
{
    static long counter;
    int i, rank, size;
    /* The test limits the size of files, and the heap is one. */
    setenv("SHMEM_SYMMETRIC_SIZE", "1M", 1);
    shmem_init();
    begin("with_shmem");
    rank = me();
    size = ranks();
    CHECK(rank == shmem_my_pe() && size == shmem_n_pes());
    for (i = 0; i < 20; i++) {
        GOAL_Handle h;
        long mine = rank + i, sum = 0;
        CHECK(goal_iallreduce(&mine, &sum, 1, GOAL_LONG, GOAL_ADD, &h) == GOAL_SUCCESS);
        shmem_long_atomic_inc(&counter, (rank + 1) % size);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(sum == (long)size * (size - 1) / 2 + (long)size * i);
        shmem_barrier_all();
    }
    CHECK(counter == 20);
    CHECK(goal_barrier() == GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    shmem_finalize();
    if (rank == 0)
        printf("%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
    return 0;
}
