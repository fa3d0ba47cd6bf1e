/* Deep recursion with taskwait (OpenMP 5.1, 2.19.5). */
#include "check.h"

static int fib(int n)
{
    if (n < 2)
        return n;
    int a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    int r = 0;
#pragma omp parallel
#pragma omp single
    r = fib(21);
    printf("%d\n", r);
    CHECK(r == 10946);
    return check_end();
}
