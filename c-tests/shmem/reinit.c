/* shmem_finalize, and then shmem_init again (1.6): several lives of the library in one process, each with its own heap,
 * and static objects keep what they hold. */
#include "shtest.h"

static long kept = 5, box;

int main(void) {
    for (int life = 0; life < 4; life++) {
        int yes = -1;
        shmem_query_initialized(&yes);
        CHECK(yes == 0);
        test_begin();
        CHECKF(kept == 5 + life * 10, "%ld", kept);
        long *heap = shmem_malloc((size_t)4 << 20);
        CHECK(heap != NULL);
        heap[0] = life;
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team) == 0);
        CHECK(shmem_team_sync(team) == 0);
        shmem_long_p(&box, me + life * 100, next);
        shmem_long_atomic_add(&kept, 10, next);
        shmem_barrier_all();
        CHECK(box == prev + life * 100 && kept == 15 + life * 10);
        if (life < 3) {
            /* What is left allocated goes with the library. */
            shmem_finalize();
        }
    }
    return test_end("reinit");
}
