/* A nonblocking allreduce: begun, computed meanwhile, tested, waited for; many times, several at once. */
#include "gtest.h"

static double compute(long n)
{
    volatile double x = 1;
    long i;
    for (i = 0; i < n; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

int main(void)
{
    enum { MANY = 5, COUNT = 100 };
    long give[MANY][COUNT], get[MANY][COUNT];
    int round, i, k, rank, size;

    begin("allreduce");
    rank = me();
    size = ranks();
    for (round = 0; round < 20; round++) {
        GOAL_Handle handles[MANY];
        for (k = 0; k < MANY; k++) {
            for (i = 0; i < COUNT; i++)
                give[k][i] = (long)(rank + 1) * (i + 1) + k * round;
            CHECK(goal_iallreduce(give[k], get[k], COUNT, GOAL_LONG, GOAL_ADD, &handles[k]) == GOAL_SUCCESS);
        }
        CHECK(compute(2000) > 0);
        for (k = MANY - 1; k >= 0; k--) {
            int done = 0, tests = 0;
            while (!done && tests++ < 3)
                CHECK(GOAL_Test(&handles[k], &done) == GOAL_SUCCESS);
            CHECK((handles[k] == GOAL_HANDLE_NULL) == done);
            CHECK(GOAL_Wait(&handles[k]) == GOAL_SUCCESS);
            for (i = 0; i < COUNT; i++) {
                long sum = (long)size * (size + 1) / 2 * (i + 1) + (long)size * k * round;
                CHECK(get[k][i] == sum);
            }
        }
    }
    return finish();
}
