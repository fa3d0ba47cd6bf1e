/* A first GOAL program: a sum over all processes that goes on while each computes, and a graph of its own. scripts/demo
 * goal compiles and starts it. */
#include <goal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NEED(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            char why[200]; \
            GOAL_Last_error(why, sizeof why); \
            fprintf(stderr, "goal_first: %s\n", why); \
            exit(1); \
        } \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
    enum { N = 128 }; /* 1 KiB of integers: every engine takes such a sum */
    static long mine[N], sum[N];
    int me, all, i, done = 0, token = 0;
    GOAL_Handle handle;
    GOAL_Graph graph;
    GOAL_Schedule schedule;
    GOAL_Op got;
    double begun;
    volatile double x = 1;

    NEED(GOAL_Init());
    NEED(GOAL_Rank(&me));
    NEED(GOAL_Size(&all));
    for (i = 0; i < N; i++)
        mine[i] = me + i;
    NEED(goal_iallreduce(mine, sum, N, GOAL_LONG, GOAL_ADD, &handle));
    /* Computing: no call of GOAL. */
    begun = now();
    while (now() - begun < 0.1)
        x = x * 1.0000001;
    NEED(GOAL_Test(&handle, &done));
    NEED(GOAL_Wait(&handle));
    for (i = 0; i < N; i++)
        if (sum[i] != (long)all * i + (long)all * (all - 1) / 2) {
            fprintf(stderr, "goal_first: sum %d is %ld\n", i, sum[i]);
            exit(2);
        }
    if (me == 0)
        printf("sum of %d processes: right; after 0.1 s of computing it was %s\n", all,
               done ? "there" : "not there yet");

    /* A graph: a token goes around the ring, each process adds one. */
    NEED(GOAL_Create(&graph));
    if (all > 1) {
        static const int one = 1;
        GOAL_Op add, sent;
        int next = (me + 1) % all, before = (me + all - 1) % all;
        NEED(GOAL_Recv(graph, &token, GOAL_USERSPACE, sizeof token, before, 0, &got));
        if (me == 0) {
            NEED(GOAL_Send(graph, &one, GOAL_USERSPACE, sizeof one, next, 0, &sent));
        } else {
            NEED(GOAL_Local(graph, GOAL_ADD, GOAL_INT, 1, &token, GOAL_USERSPACE, &one, GOAL_USERSPACE, &add));
            NEED(GOAL_Requires(graph, add, got));
            NEED(GOAL_Send(graph, &token, GOAL_USERSPACE, sizeof token, next, 0, &sent));
            NEED(GOAL_Requires(graph, sent, add));
        }
    } else {
        token = 1;
    }
    NEED(GOAL_Compile(graph, &schedule));
    NEED(GOAL_Run(schedule, &handle));
    NEED(GOAL_Wait(&handle));
    if (me == 0)
        printf("around the ring: %d\n", token);
    NEED(GOAL_Free_schedule(&schedule));
    NEED(GOAL_Free_graph(&graph));
    return token == all || me != 0 ? GOAL_Finalize() : 3;
}
