/* Rank 0 sends more than a link has room for, is told that its sends are over, and never calls again until rank 1 has
 * got everything. The two speak of that through memory of their own, so that no call of GOAL's helps. */
/* goal-test: ranks=2 */
/* goal-test: engine=thread */
/* goal-test: always=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MESSAGES = 40, BYTES = 4096 };

/* The words of both ranks, whose parent is the same launcher. */
static atomic_int *words(char *name, size_t bytes)
{
    void *at;
    int file;
    snprintf(name, bytes, "/goal-sender-%d", (int)getppid());
    file = shm_open(name, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0);
    CHECK(ftruncate(file, 4096) == 0);
    at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

int main(void)
{
    static char data[MESSAGES][BYTES];
    GOAL_Handle h[MESSAGES];
    atomic_int *word;
    char name[60];
    int rank, i, turns = 0;
    begin("sender_goes_on");
    rank = me();
    CHECK(ranks() == 2);
    word = words(name, sizeof name);
    CHECK(goal_barrier() == GOAL_SUCCESS);
    if (rank == 0) {
        for (i = 0; i < MESSAGES; i++) {
            memset(data[i], i + 1, BYTES);
            CHECK(goal_ibroadcast(data[i], data[i], BYTES, 0, &h[i]) == GOAL_SUCCESS);
        }
        for (i = 0; i < MESSAGES; i++)
            CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
        atomic_store(&word[0], 1);
        while (!atomic_load(&word[1]) && turns++ < 60000)
            usleep(1000);
        CHECK(atomic_load(&word[1]));
    } else {
        while (!atomic_load(&word[0]) && turns++ < 60000)
            usleep(1000);
        for (i = 0; i < MESSAGES; i++) {
            CHECK(goal_ibroadcast(data[i], data[i], BYTES, 0, &h[i]) == GOAL_SUCCESS);
            CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
            CHECK(data[i][0] == i + 1 && data[i][BYTES - 1] == i + 1);
        }
        atomic_store(&word[1], 1);
        shm_unlink(name);
    }
    return finish();
}
