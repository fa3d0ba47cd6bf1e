/* The first thread has another factor than the others, which a function gets: the results depend on the number of
   threads. hetmp-test: threads=2,3
   hetmp-test: way=thread-number */
#include "loop_check.h"

enum { N = 999 };
static double given[2];

__attribute__((noinline)) static void note(double factor)
{
    int which = factor > 1.5;
#pragma omp atomic
    given[which] += factor;
}

int main(void)
{
    static double a[N];
#pragma omp parallel
    {
        double factor = 1;
        if (omp_get_thread_num() == 0)
            factor = 2;
        note(factor);
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] = i;
    }
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i];
    printf("%.12g %g %g\n", sum, given[0], given[1]);
    return check_end();
}
