/* Whoever leaves a ready task behind and goes to work has seen to it that another thread begins that task. Two tasks
   wait for each other here: if one of them lies in a queue while all other threads sleep, the program hangs.
   hetmp-test: only=hetmp
   hetmp-test: env=OMP_WAIT_POLICY=passive
   hetmp-test: timeout=60 */
#include "check.h"
#include <unistd.h>

static int met;

static void meet(int goal)
{
    __atomic_fetch_add(&met, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&met, __ATOMIC_ACQUIRE) < goal)
        ;
}

/* One task releases two. */
static void released(int goal)
{
    int x = 0;
#pragma omp task depend(out : x) shared(x)
    x = 1;
    for (int k = 0; k < 2; k++)
#pragma omp task depend(in : x) shared(x)
        meet(goal);
#pragma omp task depend(inout : x) shared(x)
    x++;
#pragma omp taskwait
}

/* A task before the two keeps others awake, or not. */
static void in_a_row(int goal)
{
#pragma omp task
    ;
    for (int k = 0; k < 2; k++)
#pragma omp task untied
        meet(goal);
#pragma omp taskwait
}

static void by_priority(int goal)
{
    for (int k = 0; k < 2; k++)
#pragma omp task priority(k + 1)
        meet(goal);
#pragma omp taskwait
}

static void in_a_group(int goal)
{
#pragma omp taskgroup
    {
#pragma omp task
        {
            for (int k = 0; k < 2; k++)
#pragma omp task
                meet(goal);
        }
    }
}

static void of_a_loop(int goal)
{
#pragma omp taskloop num_tasks(2)
    for (int k = 0; k < 2; k++)
        meet(goal);
}

/* The maker does something else than to wait. */
static void and_goes_on(int goal)
{
#pragma omp task
    meet(goal);
    meet(goal);
#pragma omp taskwait
}

/* A thread sleeps that waits inside of a task, and may begin none of the others. */
static void beside_a_waiter(int goal)
{
    int inside = 0, over = 0;
#pragma omp task shared(inside, over)
    {
#pragma omp task shared(inside, over)
        {
            __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
            while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
                usleep(50);
        }
        while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
            ;
#pragma omp taskwait
    }
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
        ;
    usleep(200);
#pragma omp task
    meet(goal);
    meet(goal);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
#pragma omp taskwait
}

static void (*const forms[])(int) = { released, in_a_row, by_priority, in_a_group, of_a_loop, and_goes_on };

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    for (int n = 2; n <= 8; n += n < 4 ? 1 : 4) {
        for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++) {
            met = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
            for (int round = 1; round <= rounds; round++)
                forms[f](2 * round);
            CHECK(met == 2 * rounds);
        }
    }
    met = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int round = 1; round <= rounds; round++)
        beside_a_waiter(2 * round);
    printf("%d\n", met);
    return check_end();
}
