/* GOMP_STACKSIZE counts kilobytes when OMP_STACKSIZE is unset (libgomp manual, 3.19).
   hetmp-test: env=GOMP_STACKSIZE=49152
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
#pragma omp parallel num_threads(3) reduction(+ : sum)
    sum += omp_get_thread_num() ? deep(10000) : 10000;
    printf("%ld\n", sum);
    return check_end();
}
