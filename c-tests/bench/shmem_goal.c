/* OpenSHMEM's own collectives against GOAL's nonblocking ones, begun and waited for at once, in one job: what would a
 * shmem_barrier_all cost that ran as a schedule? shmem_goal MS: each row takes some MS milliseconds. PE 0 prints
 * `ROW BYTES SHMEM GOAL` (us). With HETMP_GOAL_ENGINE the schedules take another engine. */
#define _GNU_SOURCE
#include <goal.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BARRIER, SUM, BROADCAST, ALLTOALL, KINDS };
static const char *const names[] = {"barrier", "sum", "broadcast", "alltoall"};
static long *give, *get;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void by_shmem(int what, size_t n)
{
    switch (what) {
    case BARRIER: shmem_barrier_all(); break;
    case SUM: shmem_long_sum_reduce(SHMEM_TEAM_WORLD, get, give, n); break;
    case BROADCAST: shmem_long_broadcast(SHMEM_TEAM_WORLD, get, give, n, 0); break;
    default: shmem_long_alltoall(SHMEM_TEAM_WORLD, get, give, n);
    }
}

static void by_goal(int what, size_t n)
{
    GOAL_Handle h;
    int code;
    switch (what) {
    case BARRIER: code = goal_ibarrier(&h); break;
    case SUM: code = goal_iallreduce(give, get, n, GOAL_LONG, GOAL_ADD, &h); break;
    case BROADCAST: code = goal_ibroadcast(give, get, n * 8, 0, &h); break;
    default: code = goal_ialltoall(give, get, n * 8, &h);
    }
    if (code != GOAL_SUCCESS || GOAL_Wait(&h) != GOAL_SUCCESS)
        exit(1);
}

/* What one takes, us, after a barrier; the number of turns is the same at all PEs. */
static double mean(void (*one)(int, size_t), int what, size_t n, int turns)
{
    static double mine, longest;
    double from;
    int i;
    shmem_barrier_all();
    from = now();
    for (i = 0; i < turns; i++)
        one(what, n);
    mine = (now() - from) / turns;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &longest, &mine, 1);
    return longest;
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {1, 512, 8192};
    double ms = argc > 1 ? atof(argv[1]) : 20, time[2];
    void (*const ways[2])(int, size_t) = {by_shmem, by_goal};
    int what, way;
    size_t i;
    shmem_init();
    if (GOAL_Init() != GOAL_SUCCESS)
        return 1;
    give = shmem_calloc((size_t)shmem_n_pes() * 8192, 8);
    get = shmem_calloc((size_t)shmem_n_pes() * 8192, 8);
    if (!give || !get)
        return 1;
    for (what = 0; what < KINDS; what++)
        for (i = 0; i < sizeof lengths / sizeof *lengths && (what != BARRIER || i == 0); i++) {
            for (way = 0; way < 2; way++) {
                mean(ways[way], what, lengths[i], 20);
                time[way] = mean(ways[way], what, lengths[i], 50);
                time[way] = mean(ways[way], what, lengths[i], (int)(ms * 1e3 / time[way]) + 10);
            }
            if (shmem_my_pe() == 0)
                printf("%s %zu %.2f %.2f\n", names[what], what == BARRIER ? 0 : lengths[i] * 8, time[0], time[1]);
        }
    shmem_free(give);
    shmem_free(get);
    if (GOAL_Finalize() != GOAL_SUCCESS)
        return 1;
    shmem_finalize();
    return 0;
}
