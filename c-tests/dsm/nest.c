/* Nestable locks on all nodes: exact counts, the number of nestings, tasks as owners, and a lock that the initial task
   holds. */
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 40 };

static omp_nest_lock_t lock, other;
static long count, wrong, refused;
static int owner;

static void work(int i)
{
    omp_set_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    count++;
    if (omp_test_nest_lock(&lock) != 3)
        wrong++;
    omp_unset_nest_lock(&lock);
    count++;
    omp_unset_nest_lock(&lock);
    int got = omp_test_nest_lock(&other);
    if (got) {
        if (got != 1)
            wrong++;
        omp_unset_nest_lock(&other);
    }
    count += i % 3;
    omp_unset_nest_lock(&lock);
}

int main(void)
{
    omp_init_nest_lock(&lock);
    omp_init_nest_lock(&other);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(THREADS)
        for (int i = 0; i < ROUNDS; i++)
            work(i);
        work(1);
        /* The lock belongs to the task: a task of the same thread waits, or is refused. */
#pragma omp parallel num_threads(THREADS)
        {
            for (int i = 0; i < ROUNDS / 4; i++) {
#pragma omp task
                work(i);
            }
#pragma omp taskwait
#pragma omp barrier
#pragma omp single
            {
                omp_set_nest_lock(&lock);
                owner = omp_get_thread_num();
            }
            /* A task of the owner's thread is another owner, but not for libomp. */
#ifndef __clang__
#pragma omp task
            if (!omp_test_nest_lock(&lock)) {
#pragma omp atomic
                refused++;
            }
#endif
#pragma omp barrier
            if (omp_get_thread_num() == owner)
                omp_unset_nest_lock(&lock);
        }
    }
    omp_set_nest_lock(&lock);
#pragma omp parallel num_threads(THREADS) reduction(+ : refused)
    if (omp_get_thread_num() != 0)
        refused += !omp_test_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
    omp_destroy_nest_lock(&other);
    printf("count %ld, wrong %ld, refused %ld\n", count, wrong, refused);
    return 0;
}
