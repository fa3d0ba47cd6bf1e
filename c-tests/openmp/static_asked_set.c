/* The same for a program that sets the number of threads, with barriers inside of the region.
   hetmp-test: threads=2
   hetmp-test: way=fibers */
#include "loop_check.h"

static double a[4000], b[4000];

int main(void)
{
    enum { N = 4000 };
    omp_set_num_threads(2);
    for (int i = 0; i < N; i++)
        a[i] = i % 17;
    for (int round = 0; round < 4; round++) {
#pragma omp parallel
        for (int step = 0; step < 20; step++) {
#pragma omp for
            for (int i = 1; i < N - 1; i++)
                b[i] = (a[i - 1] + a[i + 1]) / 2;
#pragma omp for
            for (int i = 1; i < N - 1; i++)
                a[i] = b[i];
        }
    }
    double total = 0;
    for (int i = 0; i < N; i++)
        total += a[i];
    printf("%.9f\n", total);
    return check_end();
}
