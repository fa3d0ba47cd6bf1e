/* What the programs of this folder share: checks that say where, and one line of rank 0 at the end. */
#ifndef GTEST_H
#define GTEST_H

#include <goal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *gtest_name;
static long gtest_checks;

/* Ends the program, and so the job, where a condition does not hold. */
#define CHECK(condition) gtest_check((condition), #condition, __LINE__)

static inline int me(void)
{
    int rank = -1;
    GOAL_Rank(&rank);
    return rank;
}

static inline int ranks(void)
{
    int size = -1;
    GOAL_Size(&size);
    return size;
}

static void gtest_check(int holds, const char *what, int line)
{
    gtest_checks++;
    if (!holds) {
        char why[200] = "";
        GOAL_Last_error(why, sizeof why);
        fprintf(stderr, "%s: rank %d line %d: %s (last error: %s)\n", gtest_name, me(), line, what, why);
        fflush(stderr);
        _Exit(1);
    }
}

static inline void begin(const char *name)
{
    gtest_name = name;
    CHECK(GOAL_Init() == GOAL_SUCCESS);
}

/* All processes: leaves the job, and says that everything was right. */
static inline int finish(void)
{
    int rank = me(), size = ranks();
    CHECK(goal_barrier() == GOAL_SUCCESS);
    CHECK(GOAL_Finalize() == GOAL_SUCCESS);
    if (rank == 0)
        printf("%s: passed, %ld checks on rank 0 of %d\n", gtest_name, gtest_checks, size);
    return 0;
}

#endif
