/* Under the engine `thread` collectives end while the program calls nothing: who computes meanwhile finds them ended at
 * the first test. */
/* goal-test: engine=thread */
/* goal-test: always=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    int round, give, get, done, expected, size;
    begin("progress");
    size = ranks();
    expected = size * (size + 1) / 2;
    for (round = 0; round < 3; round++) {
        GOAL_Handle h;
        double until;
        give = me() + 1;
        get = 0;
        CHECK(goal_iallreduce(&give, &get, 1, GOAL_INT, GOAL_ADD, &h) == GOAL_SUCCESS);
        /* No call of the library: only memory is looked at. The time is for a machine that is very loaded. */
        until = now() + 60;
        while (*(volatile int *)&get != expected && now() < until)
            ;
        CHECK(get == expected);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        done = 0;
        CHECK(GOAL_Test(&h, &done) == GOAL_SUCCESS && done);
        CHECK(goal_barrier() == GOAL_SUCCESS);
    }
    return finish();
}
