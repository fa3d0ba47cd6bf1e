/* qsort calls the program back, which keeps a count for each thread there: seen in the function that is handed to
   qsort. hetmp-test: way=thread-number */
#include "loop_check.h"
#include <stdlib.h>

enum { MOST = 4096, N = 640 };
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
        int some[16];
        for (int j = 0; j < 16; j++)
            some[j] = (i * 7 + j * 5) % 16;
        qsort(some, 16, sizeof *some, compare);
        for (int j = 1; j < 16; j++)
            wrong += some[j - 1] > some[j];
    }
    for (int t = 0; t < omp_get_max_threads(); t++)
        all += calls[t];
    CHECK(all >= N * 15);
    printf("%ld %ld\n", wrong, all);
    return check_end();
}
