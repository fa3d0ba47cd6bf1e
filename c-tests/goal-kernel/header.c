/* What goal.h shows, to the letter: a sum over a tree; and, from what it says, an exchange in which each process sends
 * to a few others only, and knows who sends to it. */
#include "../goal/gtest.h"

enum { WORDS = 5, MOST = 64 };

static int rank, size;

/* The processes that one sends to: the next, itself, and each third one 0. */
static int targets(int of, int to[3])
{
    int n = 0;
    to[n++] = of;
    if (size > 1)
        to[n++] = (of + 1) % size;
    if (of % 3 == 2)
        to[n++] = 0;
    return n;
}

static long value(int of, int i, int round) { return of * 1000003L + i * 101L + round; }

static void tree(void)
{
    double sum, got[2];
    GOAL_Schedule schedule;
    GOAL_Handle handle;
    GOAL_Graph graph;
    GOAL_Op last = -1, sent;

    GOAL_Create(&graph);
    for (int child = 2 * rank + 1, i = 0; i < 2 && child < size; child++, i++) {
        GOAL_Op received, added;
        GOAL_Recv(graph, &got[i], GOAL_USERSPACE, sizeof(double), child, 0, &received);
        GOAL_Local(graph, GOAL_ADD, GOAL_DOUBLE, 1, &sum, GOAL_USERSPACE, &got[i], GOAL_USERSPACE, &added);
        GOAL_Requires(graph, added, received);
        if (last >= 0) GOAL_Requires(graph, added, last);
        last = added;
    }
    if (rank > 0) {
        GOAL_Send(graph, &sum, GOAL_USERSPACE, sizeof(double), (rank - 1) / 2, 0, &sent);
        if (last >= 0) GOAL_Requires(graph, sent, last);
    }
    GOAL_Compile(graph, &schedule);
    GOAL_Agree(schedule);          // lets the engines kernel and nic run it
    for (int round = 0; round < 20; round++) {
        sum = rank + 0.5 * round;
        GOAL_Run(schedule, &handle);   // as often as needed
        GOAL_Wait(&handle);
        CHECK(rank > 0 || sum == size * (size - 1) / 2 + 0.5 * round * size);
    }
    CHECK(GOAL_Free_schedule(&schedule) == GOAL_SUCCESS && GOAL_Free_graph(&graph) == GOAL_SUCCESS);
}

static void exchange(void)
{
    static long give[WORDS], get[MOST][WORDS];
    int to[3], from[MOST], n = 0;
    GOAL_Schedule schedule;
    GOAL_Graph graph;
    CHECK(GOAL_Create(&graph) == GOAL_SUCCESS);
    for (int i = 0, all = targets(rank, to); i < all; i++)
        CHECK(GOAL_Send(graph, give, GOAL_USERSPACE, sizeof give, to[i], i, NULL) == GOAL_SUCCESS);
    for (int r = 0; r < size; r++) {
        for (int i = 0, all = targets(r, to); i < all; i++) {
            if (to[i] != rank)
                continue;
            CHECK(GOAL_Recv(graph, get[n], GOAL_USERSPACE, sizeof give, r, i, NULL) == GOAL_SUCCESS);
            from[n++] = r;
        }
    }
    CHECK(GOAL_Compile(graph, &schedule) == GOAL_SUCCESS && GOAL_Free_graph(&graph) == GOAL_SUCCESS);
    CHECK(GOAL_Agree(schedule) == GOAL_SUCCESS);
    for (int round = 0; round < 20; round++) {
        GOAL_Handle handle;
        for (int i = 0; i < WORDS; i++)
            give[i] = value(rank, i, round);
        CHECK(GOAL_Run(schedule, &handle) == GOAL_SUCCESS && GOAL_Wait(&handle) == GOAL_SUCCESS);
        for (int k = 0; k < n; k++)
            for (int i = 0; i < WORDS; i++)
                CHECK(get[k][i] == value(from[k], i, round));
    }
    CHECK(GOAL_Free_schedule(&schedule) == GOAL_SUCCESS);
}

int main(void)
{
    begin("header");
    rank = me();
    size = ranks();
    tree();
    exchange();
    return finish();
}
