/* A process has done its part of the last run, and leaves, before others begin theirs: what it sent is there. Here the
 * last rank tells rank 0 something and leaves, while rank 0 waits for the others; only then it asks for what the last
 * one said. */
/* goal-test: ranks=3 4 7 */
/* goal-test: env=HETMP_NIC=emulated */
/* goal-test: env=HETMP_NIC=tcp */
#include "gtest.h"
#include <time.h>

int main(void)
{
    GOAL_Graph g;
    GOAL_Schedule first, second;
    GOAL_Handle h;
    struct timespec rest = {0, 300000000};
    int rank, size, said = 0, word = 42, r, waits[64];

    begin("leaves_first");
    rank = me();
    size = ranks();
    CHECK(goal_barrier() == GOAL_SUCCESS);

    /* The first run is of all but the last rank: they let rank 0 wait. */
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0)
        for (r = 1; r < size - 1; r++)
            CHECK(GOAL_Recv(g, &waits[r], 0, sizeof(int), r, 1, NULL) == GOAL_SUCCESS);
    else if (rank < size - 1)
        CHECK(GOAL_Send(g, &word, 0, sizeof word, 0, 1, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &first) == GOAL_SUCCESS);
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0)
        CHECK(GOAL_Recv(g, &said, 0, sizeof said, size - 1, 2, NULL) == GOAL_SUCCESS);
    else if (rank == size - 1)
        CHECK(GOAL_Send(g, &word, 0, sizeof word, 0, 2, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Compile(g, &second) == GOAL_SUCCESS);

    if (rank != 0 && rank != size - 1)
        nanosleep(&rest, NULL);
    CHECK(GOAL_Run(first, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    CHECK(GOAL_Run(second, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    if (rank == 0) {
        CHECK(said == 42);
        for (r = 1; r < size - 1; r++)
            CHECK(waits[r] == 42);
    }
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    if (rank == 0)
        printf("%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
    return 0;
}
