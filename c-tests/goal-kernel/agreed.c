/* Graphs of the program itself on which all ranks have agreed, against what a serial program computes: a ring of bound
 * segments, a tree that adds, and a message between two ranks, in which the others have no part. With the argument
 * "refused", a graph that no engine takes away from the process. */
#include "../goal/gtest.h"
#include <stdint.h>

enum { AT_ONCE = 24, WORDS = 3 };

static int rank, size;

static int64_t value(int of, int i, int round) { return (of + 1) * 1000003L + i * 101L + round * 7L; }

static GOAL_Schedule compiled(GOAL_Graph *g)
{
    GOAL_Schedule s;
    CHECK(GOAL_Compile(*g, &s) == GOAL_SUCCESS);
    CHECK(GOAL_Free_graph(g) == GOAL_SUCCESS);
    return s;
}

static GOAL_Schedule agreed(GOAL_Graph *g)
{
    GOAL_Schedule s = compiled(g);
    CHECK(GOAL_Agree(s) == GOAL_SUCCESS);
    return s;
}

/* To the right, from the left. Each rank adds what it gives, segment 0, to what it gets, segment 1; in between lies its
 * scratchpad. Many at once, ended from the last to the first. */
static void ring(void)
{
    const size_t bytes = WORDS * sizeof(int64_t);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, give, get, i, k;
    static int64_t given[AT_ONCE][WORDS], got[AT_ONCE][WORDS];
    size_t pad, both[2] = {bytes, bytes};
    GOAL_Handle h[AT_ONCE];
    GOAL_Op message, own, add;
    GOAL_Schedule s;
    GOAL_Graph g;

    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Bind(g, bytes, &give) == GOAL_SUCCESS);
    CHECK(GOAL_Bind(g, bytes, &get) == GOAL_SUCCESS);
    CHECK(GOAL_Scratchpad(g, bytes, &pad) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, GOAL_OFFSET(0), give, bytes, right, 3, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Recv(g, GOAL_OFFSET(pad), GOAL_SCRATCHPAD, bytes, left, 3, &message) == GOAL_SUCCESS);
    CHECK(GOAL_Copy(g, GOAL_OFFSET(0), get, GOAL_OFFSET(0), give, bytes, &own) == GOAL_SUCCESS);
    CHECK(GOAL_Local(g, GOAL_ADD, GOAL_LONG, WORDS, GOAL_OFFSET(0), get, GOAL_OFFSET(pad), GOAL_SCRATCHPAD, &add) ==
          GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, add, message) == GOAL_SUCCESS);
    CHECK(GOAL_Requires(g, add, own) == GOAL_SUCCESS);
    s = agreed(&g);
    for (k = 0; k < AT_ONCE; k++) {
        void *segments[2] = {given[k], got[k]};
        for (i = 0; i < WORDS; i++) {
            given[k][i] = value(rank, i, k);
            got[k][i] = -1;
        }
        both[1]--;
        CHECK(GOAL_Run_bound(s, 5, segments, both, 2, &h[k]) == GOAL_ERR_BOUNDS);
        both[1]++;
        CHECK(GOAL_Run_bound(s, 5, segments, both, 2, &h[k]) == GOAL_SUCCESS);
    }
    for (k = AT_ONCE; k-- > 0;) {
        CHECK(GOAL_Wait(&h[k]) == GOAL_SUCCESS);
        for (i = 0; i < WORDS; i++)
            CHECK(got[k][i] == value(rank, i, k) + value(left, i, k));
    }
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
}

/* Rank r is the parent of ranks 2r+1 and 2r+2. A collective follows each run. */
static void tree(int rounds)
{
    int64_t sum = 0, parts[2] = {0, 0}, total, all, expected;
    int round, child, r;
    GOAL_Op got, add[2] = {-1, -1}, up;
    GOAL_Handle h, of_all;
    GOAL_Schedule s;
    GOAL_Graph g;

    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    for (child = 0; child < 2 && 2 * rank + 1 + child < size; child++) {
        CHECK(GOAL_Recv(g, &parts[child], GOAL_USERSPACE, 8, 2 * rank + 1 + child, 1, &got) == GOAL_SUCCESS);
        CHECK(GOAL_Local(g, GOAL_ADD, GOAL_LONG, 1, &sum, GOAL_USERSPACE, &parts[child], GOAL_USERSPACE, &add[child]) ==
              GOAL_SUCCESS);
        CHECK(GOAL_Requires(g, add[child], got) == GOAL_SUCCESS);
        if (child > 0)
            CHECK(GOAL_Requires(g, add[1], add[0]) == GOAL_SUCCESS);
    }
    if (rank > 0) {
        CHECK(GOAL_Send(g, &sum, GOAL_USERSPACE, 8, (rank - 1) / 2, 1, &up) == GOAL_SUCCESS);
        if (child > 0)
            CHECK(GOAL_Requires(g, up, add[child - 1]) == GOAL_SUCCESS);
    }
    s = agreed(&g);
    for (round = 0; round < rounds; round++) {
        sum = value(rank, 0, round);
        CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
        all = rank;
        CHECK(goal_iallreduce(&all, &total, 1, GOAL_LONG, GOAL_MAX, &of_all) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&of_all) == GOAL_SUCCESS);
        CHECK(total == size - 1);
        for (expected = 0, r = 0; rank == 0 && r < size; r++)
            expected += value(r, 0, round);
        CHECK(rank > 0 || sum == expected);
    }
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
}

/* From the first to the last. All begin it, with and without a part. */
static void two(int rounds)
{
    int64_t word = 0;
    int round;
    GOAL_Schedule s;
    GOAL_Handle h;
    GOAL_Graph g;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    if (rank == 0)
        CHECK(GOAL_Send(g, &word, GOAL_USERSPACE, 8, size - 1, 9, NULL) == GOAL_SUCCESS);
    if (rank == size - 1)
        CHECK(GOAL_Recv(g, &word, GOAL_USERSPACE, 8, 0, 9, NULL) == GOAL_SUCCESS);
    s = agreed(&g);
    for (round = 0; round < rounds; round++) {
        word = rank == 0 ? value(0, 1, round) : 0;
        CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
        CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
        CHECK(word == (rank == 0 || rank == size - 1 ? value(0, 1, round) : 0));
    }
    CHECK(GOAL_Free_schedule(&s) == GOAL_SUCCESS);
}

/* All but the last, and all but the first: a ring in each, which their common members begin in different orders, with
 * the group's own sum in between. */
static void groups(int rounds)
{
    GOAL_Group group[2];
    GOAL_Schedule s[2];
    GOAL_Handle h[2], sums[2];
    int64_t given[2], got[2], total[2];
    int members[2][64], n = size - 1, left[2], i, k, round;
    for (k = 0; k < 2; k++) {
        int here = rank - k;
        GOAL_Graph g;
        for (i = 0; i < n; i++)
            members[k][i] = i + k;
        if (here < 0 || here >= n)
            continue;
        left[k] = members[k][(here + n - 1) % n];
        CHECK(GOAL_Group_create(1 + k, members[k], n, &group[k]) == GOAL_SUCCESS);
        CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
        CHECK(GOAL_Send(g, &given[k], GOAL_USERSPACE, 8, members[k][(here + 1) % n], 7, NULL) == GOAL_SUCCESS);
        CHECK(GOAL_Recv(g, &got[k], GOAL_USERSPACE, 8, left[k], 7, NULL) == GOAL_SUCCESS);
        s[k] = compiled(&g);
        CHECK(GOAL_Group_agree(group[k], s[k]) == GOAL_SUCCESS);
    }
    for (round = 0; round < rounds; round++) {
        for (i = 0; i < 2; i++) {
            k = (i + rank) % 2;
            if (rank - k < 0 || rank - k >= n)
                continue;
            given[k] = value(rank, k, round);
            got[k] = -1;
            CHECK(GOAL_Run_bound(s[k], 10 + k, NULL, NULL, 0, &h[k]) == GOAL_SUCCESS);
            CHECK(goal_group_iallreduce(group[k], &given[k], &total[k], 1, GOAL_LONG, GOAL_MAX, &sums[k]) ==
                  GOAL_SUCCESS);
        }
        for (k = 0; k < 2; k++) {
            if (rank - k < 0 || rank - k >= n)
                continue;
            CHECK(GOAL_Wait(&h[k]) == GOAL_SUCCESS);
            CHECK(GOAL_Wait(&sums[k]) == GOAL_SUCCESS);
            CHECK(got[k] == value(left[k], k, round));
            CHECK(total[k] == value(members[k][n - 1], k, round));
        }
    }
    for (k = 0; k < 2; k++) {
        if (rank - k < 0 || rank - k >= n)
            continue;
        CHECK(GOAL_Free_schedule(&s[k]) == GOAL_SUCCESS);
        CHECK(GOAL_Group_free(&group[k]) == GOAL_SUCCESS);
    }
}

static void refused(void)
{
    long long when = 0;
    int word = rank, got = -1;
    GOAL_Schedule s;
    GOAL_Handle h;
    GOAL_Graph g;
    CHECK(GOAL_Create(&g) == GOAL_SUCCESS);
    CHECK(GOAL_Timestamp(g, &when, GOAL_USERSPACE, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Send(g, &word, GOAL_USERSPACE, sizeof word, (rank + 1) % size, 1, NULL) == GOAL_SUCCESS);
    CHECK(GOAL_Recv(g, &got, GOAL_USERSPACE, sizeof got, (rank + size - 1) % size, 1, NULL) == GOAL_SUCCESS);
    s = agreed(&g);
    CHECK(GOAL_Run(s, &h) == GOAL_SUCCESS);
    CHECK(GOAL_Wait(&h) == GOAL_SUCCESS);
    CHECK(when > 0 && got == (rank + size - 1) % size);
}

int main(int argc, char **argv)
{
    begin("agreed");
    rank = me();
    size = ranks();
    if (argc > 1 && strcmp(argv[1], "refused") == 0) {
        refused();
        return finish();
    }
    ring();
    tree(30);
    two(30);
    if (size > 2)
        groups(30);
    ring();
    CHECK(GOAL_Agree(NULL) == GOAL_ERR_ARGUMENT);
    return finish();
}
