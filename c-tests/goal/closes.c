/* Ranks between whose runs the program closes descriptors that it did not open, or takes their numbers. */
/* goal-test: ranks=2 4 */
/* goal-test: always=HETMP_NIC=shm */
#define SAY(...) ((void)(0 && printf(__VA_ARGS__)))
#include "../openmp/closes.h"
#include "gtest.h"

/* Each rank's word goes to the next one, and all words are added. The first one is late: who waits long asks the system
   whether it lives. */
static void work(const char *step)
{
    static int round;
    int rank = me(), size = ranks(), got = -1, sum = -1, word = 100 * ++round + rank, from = (rank + size - 1) % size;
    GOAL_Graph g;
    GOAL_Schedule s;
    GOAL_Handle h;

    (void)step;
    if (rank == 0)
        usleep(50000);
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, &word, GOAL_USERSPACE, sizeof word, (rank + 1) % size, 1, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Recv(g, &got, GOAL_USERSPACE, sizeof got, from, 1, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    CHECK(got == 100 * round + from);
    CHECK(goal_iallreduce(&word, &sum, 1, GOAL_INT, GOAL_ADD, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    CHECK(sum == 100 * round * size + size * (size - 1) / 2);
    CHECK(goal_barrier() == GOAL_SUCCESS);
}

int main(void)
{
    begin("closes");
    use_descriptors(work);
    return finish();
}
