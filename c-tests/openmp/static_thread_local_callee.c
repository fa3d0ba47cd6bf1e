/* A thread-local variable that a region reaches through a function that it calls: what each thread keeps there,
   another region collects.
   hetmp-test: way=thread-local */
#include "loop_check.h"

static __thread long kept;

static __attribute__((noinline)) void keep(long x)
{
    kept += x;
}

int main(void)
{
    enum { N = 4000 };
    long sum = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            keep(i);
    }
#pragma omp parallel reduction(+ : sum)
    sum += kept;
    printf("%ld\n", sum);
    return check_end();
}
