/* The same through a pointer to a function, which the scan does not follow.
   hetmp-test: way=thread-local */
#include "loop_check.h"

static __thread long kept;

static void keep(long x)
{
    kept += x;
}

static void forget(long x)
{
    kept -= x;
}

int main(int argc, char **argv)
{
    enum { N = 4000 };
    (void)argv;
    void (*volatile chosen)(long) = argc > 5 ? forget : keep;
    long sum = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            chosen(i);
    }
#pragma omp parallel reduction(+ : sum)
    sum += kept;
    printf("%ld\n", sum);
    return check_end();
}
