/* Where nobody asks for binding, no thread loses CPUs by opening or joining a region, and nothing that it starts does:
   threads and processes, in regions and behind them. A mask that the program sets itself stays, too.
   hetmp-test: threads=2
   hetmp-test: libs=-lpthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;
static char *program;
static cpu_set_t all;

static int is_mine(const cpu_set_t *set)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, set);
}

static void *in_thread(void *set)
{
    return is_mine(set) ? set : NULL;
}

static int starts_with(cpu_set_t *set)
{
    pthread_t thread;
    void *same = NULL;
    if (pthread_create(&thread, NULL, in_thread, set) == 0)
        pthread_join(thread, &same);
    char count[16];
    snprintf(count, sizeof count, "%d", CPU_COUNT(set));
    char *args[] = {program, count, NULL};
    pid_t child;
    int status = -1;
    if (posix_spawn(&child, program, NULL, NULL, args, environ) == 0)
        waitpid(child, &status, 0);
    int forked = -1;
    if ((child = fork()) == 0)
        _exit(!is_mine(set));
    waitpid(child, &forked, 0);
    return same != NULL && status == 0 && forked == 0;
}

static void regions(cpu_set_t *set)
{
    static double a[20000];
    int good = 0;
    for (int k = 0; k < 5; k++) {
#pragma omp parallel for
        for (int i = 0; i < 20000; i++)
            a[i] += i;
        CHECK(is_mine(set));
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < 20000; i++)
            a[i] += i;
        CHECK(is_mine(set));
    }
    CHECK(starts_with(set));
#pragma omp parallel reduction(+ : good)
    {
#pragma omp critical
        good += is_mine(set) && starts_with(set);
#pragma omp barrier
    }
    CHECK(good == 2);
}

int main(int argc, char **argv)
{
    program = argv[0];
    sched_getaffinity(0, sizeof all, &all);
    if (argc > 1)
        return CPU_COUNT(&all) != atoi(argv[1]);
    regions(&all);
    cpu_set_t last;
    CPU_ZERO(&last);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_ZERO(&last);
            CPU_SET(i, &last);
        }
    /* The workers that there are keep their masks. */
    sched_setaffinity(0, sizeof last, &last);
#pragma omp parallel
    if (omp_get_thread_num() == 0)
        CHECK(is_mine(&last) && starts_with(&last));
    CHECK(is_mine(&last) && starts_with(&last));
    return check_end();
}
