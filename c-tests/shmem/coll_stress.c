/* Collectives back to back without anything between them, on overlapping teams at the same time, and mixed with
 * puts and waits: what one leaves behind must not disturb the next. */
#include "shtest.h"

int main(void) {
    test_begin();
    enum { SLOTS = 8 };
    shmem_team_t evens, odds = SHMEM_TEAM_INVALID, backwards, pair, column;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &evens) == 0);
    if (npes > 1) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, npes / 2, NULL, 0, &odds) == 0);
    }
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &backwards) == 0);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &pair, NULL, 0, &column) == 0);
    shmem_team_t half = me % 2 ? odds : evens;

    /* Results of a round stay where they are until the round SLOTS later. */
    long *give = shmem_calloc(SLOTS * (size_t)npes, sizeof(long));
    long *sum = shmem_calloc(SLOTS, sizeof(long)), *most = shmem_calloc(SLOTS, sizeof(long));
    long *from = shmem_calloc(SLOTS, sizeof(long)), *all = shmem_calloc(SLOTS * (size_t)npes, sizeof(long));
    long *turned = shmem_calloc(SLOTS * (size_t)npes, sizeof(long)), *in_half = shmem_calloc(SLOTS, sizeof(long));
    long *in_pair = shmem_calloc(SLOTS, sizeof(long));
    int count = rounds(300);
    for (int r = 0; r < count; r++) {
        int s = r % SLOTS;
        if (s == 0) {
            shmem_sync_all();
        }
        long *mine = give + (size_t)s * (size_t)npes;
        for (int pe = 0; pe < npes; pe++) {
            mine[pe] = r * 1000 + me * 30 + pe;
        }
        int root = r % npes;
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum[s], mine, 1) == 0);
        CHECK(shmem_long_max_reduce(backwards, &most[s], mine, 1) == 0);
        CHECK(shmem_long_broadcast(SHMEM_TEAM_WORLD, &from[s], mine, 1, root) == 0);
        CHECK(shmem_long_fcollect(SHMEM_TEAM_WORLD, &all[s * npes], mine, 1) == 0);
        CHECK(shmem_long_alltoall(SHMEM_TEAM_WORLD, &turned[s * npes], mine, 1) == 0);
        CHECK(shmem_long_sum_reduce(half, &in_half[s], mine, 1) == 0);
        CHECK(shmem_long_min_reduce(pair, &in_pair[s], mine, 1) == 0);
        long first = r * 1000;
        CHECKF(sum[s] == first * npes + 30L * npes * (npes - 1) / 2, "round %d: %ld", r, sum[s]);
        CHECKF(most[s] == first + 30L * (npes - 1), "round %d: %ld", r, most[s]);
        CHECKF(from[s] == first + root * 30, "round %d: %ld", r, from[s]);
        long halves = 0;
        for (int pe = 0; pe < npes; pe++) {
            CHECKF(all[s * npes + pe] == first + pe * 30, "round %d, %d: %ld", r, pe, all[s * npes + pe]);
            CHECKF(turned[s * npes + pe] == first + pe * 30 + me, "round %d, %d: %ld", r, pe, turned[s * npes + pe]);
            halves += pe % 2 == me % 2 ? first + pe * 30 : 0;
        }
        CHECKF(in_half[s] == halves, "round %d: %ld", r, in_half[s]);
        CHECKF(in_pair[s] == first + me / 2 * 2 * 30, "round %d: %ld", r, in_pair[s]);
    }

    /* Slow PEs, another one each time. */
    static int number, together;
    for (int r = 0; r < 20; r++) {
        if (me == r % npes) {
            struct timespec pause = {0, 3000000};
            nanosleep(&pause, NULL);
        }
        shmem_sync_all();
        number = me + r;
        shmem_sync_all();
        CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &together, &number, 1) == 0);
        CHECK(together == npes * (npes - 1) / 2 + r * npes);
    }

    /* A barrier waits for what was put before it, a thousand times. */
    static long token;
    shmem_barrier_all();
    for (int r = 1; r <= rounds(500); r++) {
        long source = r * 10L + me;
        shmem_long_put_nbi(&token, &source, 1, next);
        shmem_barrier_all();
        CHECKF(token == r * 10L + prev, "%ld", token);
        shmem_sync_all();
    }
    shmem_team_destroy(column);
    shmem_team_destroy(pair);
    shmem_team_destroy(backwards);
    shmem_team_destroy(odds);
    shmem_team_destroy(evens);
    shmem_free(give);
    return test_end("coll_stress");
}
