/* Only the first thread runs timers, in functions that ask for the thread number once and keep whether it is 0. A team
   of any size has one such thread.
   hetmp-test: threads=2,3
   hetmp-test: way=fibers */
#include "loop_check.h"

enum { N = 4000, RUNS = 20 };
static double a[N];
int timing = 1;
static int started, stopped;
static double began, spent;

__attribute__((noinline)) static void start(void)
{
    started++;
    began = omp_get_wtime();
}

__attribute__((noinline)) static void stop(void)
{
    stopped++;
    spent += omp_get_wtime() - began;
}

__attribute__((noinline)) static void step(int n, double x, double y)
{
    int me = omp_get_thread_num();
    double z = x * y;
    if (timing && me == 0)
        start();
#pragma omp for
    for (int i = 0; i < n; i++)
        a[i] = a[i] * z + x;
    if (timing && me == 0)
        stop();
}

int main(void)
{
    for (int run = 0; run < RUNS; run++) {
#pragma omp parallel
        {
            step(N, 0.5, 1.5);
            step(N / 2, 0.25, 2);
        }
    }
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i];
    CHECK(started == 2 * RUNS && stopped == 2 * RUNS && spent >= 0);
    printf("%.12g\n", sum);
    return check_end();
}
