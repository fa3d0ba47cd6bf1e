/* Collectives of groups: of some ranks, in an order of their own, in several groups at once, begun in different orders.
   */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"

enum { COUNT = 50 };

/* Every collective of a group whose members are `list`, of which this rank is number `here`. */
static void all_of(GOAL_Group group, const int *list, int n, int here)
{
    GOAL_Handle handle;
    int give[16 * COUNT], get[16 * COUNT], i, r, root, sum = 0, other;

    for (r = 0; r < n; r++)
        sum += list[r];
    CHECK(goal_group_ibarrier(group, &handle) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
    for (root = 0; root < n; root++) {
        for (i = 0; i < COUNT; i++)
            give[i] = list[here] + i;
        CHECK(goal_group_ibroadcast(group, give, get, sizeof(int) * COUNT, root, &handle) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        for (i = 0; i < COUNT; i++)
            CHECK(get[i] == list[root] + i);
        CHECK(goal_group_ireduce(group, give, get, COUNT, GOAL_INT, GOAL_ADD, root, &handle) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        for (i = 0; i < COUNT && here == root; i++)
            CHECK(get[i] == sum + n * i);
        CHECK(goal_group_igather(group, give, get, sizeof(int), root, &handle) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        for (r = 0; r < n && here == root; r++)
            CHECK(get[r] == list[r]);
        for (r = 0; r < n; r++)
            give[r] = list[here] * 100 + r;
        CHECK(goal_group_iscatter(group, give, get, sizeof(int), root, &handle) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        CHECK(get[0] == list[root] * 100 + here);
    }
    for (i = 0; i < n * COUNT; i++)
        give[i] = list[here] + i;
    CHECK(goal_group_iallreduce(group, give, get, COUNT, GOAL_INT, GOAL_ADD, &handle) == GOAL_SUCCESS);
    while (handle != GOAL_HANDLE_NULL) {
        int done;
        CHECK(GOAL_Progress() == GOAL_SUCCESS);
        CHECK(GOAL_Test(&handle, &done) == GOAL_SUCCESS);
    }
    for (i = 0; i < COUNT; i++)
        CHECK(get[i] == sum + n * i);
    CHECK(goal_group_iallgather(group, give, get, sizeof(int), &handle) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
    for (r = 0; r < n; r++)
        CHECK(get[r] == list[r]);
    CHECK(goal_group_ialltoall(group, give, get, sizeof(int), &handle) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
    for (r = 0; r < n; r++)
        CHECK(get[r] == list[r] + here);
    CHECK(goal_group_iscan(group, give, get, 1, GOAL_INT, GOAL_MAX, &handle) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
    for (r = 0, other = 0; r <= here; r++)
        other = list[r] > other ? list[r] : other;
    CHECK(get[0] == other);
    CHECK(goal_group_ireduce_scatter(group, give, get, COUNT, GOAL_INT, GOAL_ADD, &handle) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
    for (i = 0; i < COUNT; i++)
        CHECK(get[i] == sum + n * (here * COUNT + i));
    {
        int next = (here + 1) % n, last = (here + n - 1) % n;
        CHECK(goal_group_ineighbor_alltoall(group, &last, 1, &next, 1, give, get, sizeof(int), &handle) ==
              GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        CHECK(get[0] == list[last]);
        CHECK(goal_group_ineighbor_allgather(group, &last, 1, &next, 1, give, get, sizeof(int), &handle) ==
              GOAL_SUCCESS);
        CHECK(GOAL_Wait(&handle) == GOAL_SUCCESS);
        CHECK(get[0] == list[last]);
    }
}

int main(void)
{
    int list[16], rank, size, i, n, round;
    GOAL_Group backwards, half, again, none = 0;
    GOAL_Handle handles[2];

    begin("groups");
    rank = me();
    size = ranks();
    for (i = 0; i < size; i++)
        list[i] = size - 1 - i;
    CHECK(GOAL_Group_create(1, list, size, &backwards) == GOAL_SUCCESS);
    CHECK(GOAL_Group_create(2, list, size, &again) == GOAL_SUCCESS);
    all_of(backwards, list, size, size - 1 - rank);
    /* Two groups with the same ranks, whose collectives begin in either order. */
    for (round = 0; round < 20; round++) {
        int give[2] = {rank + round, rank * round}, get[2], k;
        for (k = 0; k < 2; k++) {
            int which = (k + rank + round) % 2;
            GOAL_Group group = which ? again : backwards;
            CHECK(goal_group_iallreduce(group, &give[which], &get[which], 1, GOAL_INT, GOAL_ADD, &handles[which]) ==
                  GOAL_SUCCESS);
        }
        CHECK(GOAL_Wait(&handles[0]) == GOAL_SUCCESS && GOAL_Wait(&handles[1]) == GOAL_SUCCESS);
        CHECK(get[0] == size * (size - 1) / 2 + size * round && get[1] == size * (size - 1) / 2 * round);
    }
    /* The even and the odd ranks, at the same time, with the same context. */
    for (i = rank % 2, n = 0; i < size; i += 2)
        list[n++] = i;
    CHECK(GOAL_Group_create(3, list, n, &half) == GOAL_SUCCESS);
    all_of(half, list, n, rank / 2);

    CHECK(GOAL_Group_create(0, list, n, &none) == GOAL_ERR_ARGUMENT && none == 0);
    CHECK(GOAL_Group_create(4, list, 0, &none) == GOAL_ERR_ARGUMENT);
    list[n] = list[0];
    CHECK(GOAL_Group_create(4, list, n + 1, &none) == GOAL_ERR_ARGUMENT);
    list[0] = size;
    CHECK(GOAL_Group_create(4, list, n, &none) == GOAL_ERR_RANK);
    CHECK(goal_group_ibarrier(none, &handles[0]) == GOAL_ERR_ARGUMENT);
    CHECK(goal_group_ibroadcast(half, list, list, 4, n, &handles[0]) == GOAL_ERR_RANK);
    CHECK(GOAL_Group_free(&half) == GOAL_SUCCESS && half == 0);
    CHECK(GOAL_Group_free(&again) == GOAL_SUCCESS && GOAL_Group_free(&backwards) == GOAL_SUCCESS);
    CHECK(GOAL_Group_free(&again) == GOAL_ERR_ARGUMENT);
    return finish();
}
