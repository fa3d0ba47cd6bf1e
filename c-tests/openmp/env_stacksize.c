/* OMP_STACKSIZE gives pool threads deep stacks (OpenMP 5.1, 6.7).
   hetmp-test: env=OMP_STACKSIZE=48M
   hetmp-test: flags=-O0 */
#include "check.h"

static long deep(long n)
{
    volatile char frame[4096];
    frame[0] = (char)n;
    return n ? deep(n - 1) + frame[0] * 0 + 1 : 0;
}

int main(void)
{
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    /* 40 MB in pool threads; the initial thread has the process's own stack. */
    sum += omp_get_thread_num() ? deep(10000) : 10000;
    printf("%ld\n", sum);
    return check_end();
}
