/* One rank ends with status 0, without GOAL_Finalize, while a collective of its own runs and before it has begun the
 * next. What it has begun still ends at its peers, or ends with an error; the next one ends with an error; nothing
 * hangs. */
#include "../goal/gtest.h"

int main(void)
{
    long give, get = 0;
    int rank, size, code, done = 0;
    GOAL_Handle first, second;
    begin("leaves");
    rank = me();
    size = ranks();
    give = rank + 1;
    CHECK(goal_iallreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD, &first) == GOAL_SUCCESS);
    if (rank == size - 1)
        exit(0);
    code = GOAL_Wait(&first);
    CHECK(code == GOAL_SUCCESS || code == GOAL_ERR_PEER_FAILED || code == GOAL_ERR_PEER_LOST);
    if (code == GOAL_SUCCESS)
        CHECK(get == (long)size * (size + 1) / 2);
    code = goal_ibarrier(&second);
    if (code == GOAL_SUCCESS)
        code = GOAL_Wait(&second);
    CHECK(code == GOAL_ERR_PEER_FAILED || code == GOAL_ERR_PEER_LOST);
    /* And so does every later one, at once. */
    code = goal_ibarrier(&second);
    if (code == GOAL_SUCCESS) {
        while (!done)
            code = GOAL_Test(&second, &done);
    }
    CHECK(code != GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    if (rank == 0)
        printf("%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
    return 0;
}
