/* Rank 0 only sends, more collectives than an engine keeps, to a rank that has begun one, has not taken its result and
 * has left. What is sent is kept for nobody: everything ends. */
#include "../goal/gtest.h"

enum { MANY = 40 };

int main(void)
{
    long word[MANY];
    GOAL_Handle h[MANY];
    int i, rank;
    begin("only_sends");
    rank = me();
    CHECK(ranks() == 2);
    if (rank == 1) {
        CHECK(goal_ibroadcast(&word[0], &word[0], sizeof word[0], 0, &h[0]) == GOAL_SUCCESS);
        return GOAL_Finalize();
    }
    for (i = 0; i < MANY; i++) {
        word[i] = i;
        CHECK(goal_ibroadcast(&word[i], &word[i], sizeof word[i], 0, &h[i]) == GOAL_SUCCESS);
    }
    for (i = 0; i < MANY; i++)
        CHECK(GOAL_Wait(&h[i]) == GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    printf("only_sends: passed, %ld checks on rank 0 of 2\n", gtest_checks);
    return 0;
}
