/* A rank that has begun collectives of one group, and waits for one of another, still takes what its peers have given
 * to the first. Without that the peers find no room for more, and both wait for ever. */
/* goal-test: ranks=2 4 */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"

enum { LONG = 256, MOST = 200 };

static GOAL_Group first, second;

static void wait_all(GOAL_Handle *handles, int n)
{
    int i;
    for (i = 0; i < n; i++)
        CHECK(GOAL_Wait(&handles[i]) == GOAL_SUCCESS);
}

/* `n` broadcasts or reductions of the first group. Rank 0 waits for them first, the others for the second group's
 * barrier. With `other_way`, the others wait for them first. */
static void both(int n, int words, int reduces, int other_way, int tests)
{
    static int give[MOST][LONG], get[MOST][LONG];
    GOAL_Handle handles[MOST], barrier;
    int i, early = (me() == 0) != other_way;

    for (i = 0; i < n; i++) {
        give[i][0] = give[i][words - 1] = me() + i;
        get[i][0] = get[i][words - 1] = -1;
        if (reduces)
            CHECK(goal_group_ireduce(first, give[i], get[i], words, GOAL_INT, GOAL_ADD, 0, &handles[i]) ==
                  GOAL_SUCCESS);
        else
            CHECK(goal_group_ibroadcast(first, give[i], get[i], sizeof(int) * words, 0, &handles[i]) == GOAL_SUCCESS);
    }
    if (early)
        wait_all(handles, n);
    CHECK(goal_group_ibarrier(second, &barrier) == GOAL_SUCCESS);
    while (tests && barrier != GOAL_HANDLE_NULL) {
        int done;
        CHECK(GOAL_Test(&barrier, &done) == GOAL_SUCCESS);
    }
    CHECK(GOAL_Wait(&barrier) == GOAL_SUCCESS);
    if (!early)
        wait_all(handles, n);
    for (i = 0; i < n; i++) {
        int sum = ranks() * (ranks() - 1) / 2 + ranks() * i, expected = reduces ? sum : i;
        if (!reduces || me() == 0)
            CHECK(get[i][0] == expected && get[i][words - 1] == expected);
    }
}

int main(void)
{
    int list[16], i;

    begin("two_groups");
    for (i = 0; i < ranks(); i++)
        list[i] = i;
    CHECK(GOAL_Group_create(1, list, ranks(), &first) == GOAL_SUCCESS);
    CHECK(GOAL_Group_create(2, list, ranks(), &second) == GOAL_SUCCESS);
    for (i = 0; i < 16; i++) {
        int reduces = i & 1, other_way = i >> 1 & 1, tests = i >> 2 & 1, brief = i >> 3;
        both(brief ? MOST : 5, brief ? 2 : LONG, reduces, other_way, tests);
    }
    return finish();
}
