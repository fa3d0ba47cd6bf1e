/* A process ends with status 0 while its run goes on, and without GOAL_Finalize: what it sent before arrives, and the
 * peers that wait for more get an error and go on. */
/* goal-test: ranks=2 4 7 */
#include "gtest.h"

int main(void)
{
    GOAL_Graph g;
    GOAL_Schedule s;
    GOAL_Handle h;
    static char big[50000];
    int rank, size, code, first = 0, second = 0, value = 7, done;

    begin("exit_running");
    rank = me();
    size = ranks();
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == size - 1) {
        /* Sends one message, and never the second: it waits for a long message that nobody sends. */
        GOAL_Op got, send;
        CHECK(GOAL_Send(g, &value, 0, sizeof value, 0, 1, NULL) == GOAL_SUCCESS);
        CHECK(GOAL_Recv(g, big, 0, sizeof big, 0, 3, &got) == GOAL_SUCCESS);
        CHECK(GOAL_Send(g, &value, 0, sizeof value, 0, 2, &send) == GOAL_SUCCESS);
        CHECK(GOAL_Requires(g, send, got) == GOAL_SUCCESS);
    } else if (rank == 0) {
        CHECK(GOAL_Recv(g, &first, 0, sizeof first, size - 1, 1, NULL) == GOAL_SUCCESS);
        CHECK(GOAL_Recv(g, &second, 0, sizeof second, size - 1, 2, NULL) == GOAL_SUCCESS);
    }
    CHECK(GOAL_Compile(g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    if (rank == size - 1)
        exit(0);
    code = GOAL_Wait(&h);
    if (rank != 0) {
        CHECK(code == GOAL_SUCCESS);
    } else {
        CHECK(code == GOAL_ERR_PEER_FAILED || code == GOAL_ERR_PEER_LOST);
        CHECK(first == 7 && second == 0);
        /* And a new run with the one that has left ends at once. */
        CHECK(goal_ibarrier(&h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) != GOAL_SUCCESS);
        done = 0;
        CHECK(GOAL_Test(&h, &done) == GOAL_SUCCESS && done);
    }
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_ERR_STATE);
    if (rank == 0)
        printf("%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
    return 0;
}
