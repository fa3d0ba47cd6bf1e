/* The part of mixed.c that gcc builds. */
#include <omp.h>

void gcc_region(void (*inside)(void))
{
#pragma omp parallel
    inside();
}

int gcc_threads(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

/* Takes a nestable lock that the caller's task holds `times` times once more; the nesting after the first. */
int gcc_locks(void *lock, int times)
{
    int first = 0;
    for (int i = 0; i < times; i++) {
        int nesting = omp_test_nest_lock(lock);
        if (i == 0)
            first = nesting;
    }
    for (int i = 0; i < times; i++)
        omp_unset_nest_lock(lock);
    return first;
}
