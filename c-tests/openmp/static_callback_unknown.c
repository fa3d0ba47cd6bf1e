/* A function of the C library that is not known to call the program back does so, and the program keeps a count for
   each thread there. hetmp-test: way=unscanned */
#include "loop_check.h"
#include <search.h>

enum { MOST = 4096, N = 640, SOME = 16 };
static long calls[MOST];

static int compare(const void *a, const void *b)
{
    calls[omp_get_thread_num()]++;
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    long wrong = 0, all = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (int i = 0; i < N; i++) {
        int some[SOME];
        size_t count = SOME;
        for (int j = 0; j < SOME; j++)
            some[j] = i * SOME + j;
        const int wanted = i * SOME + SOME - 1;
        const int *found = lfind(&wanted, some, &count, sizeof *some, compare);
        wrong += found != some + SOME - 1;
    }
    for (int t = 0; t < omp_get_max_threads(); t++)
        all += calls[t];
    CHECK(all == N * SOME);
    printf("%ld %ld\n", wrong, all);
    return check_end();
}
