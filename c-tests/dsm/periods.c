/* Threads that fault at nearly each iteration, or, with an argument, that compute long between faults. */
#include <stdio.h>
#include <stdlib.h>

#define N (1L << 20)

static void scatter(double *a, long round)
{
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < N; i++) {
        long j = (i * 4097 + round * 131071L) & (N - 1);
        a[j] = a[j] * 1.0000001 + 1;
    }
}

static void compute(double *a)
{
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < 400; i++) {
        double x = a[i];
        for (int k = 0; k < 20000; k++)
            x = x * 0.999999 + 1e-6;
        a[i] = x;
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    double *a = malloc(N * sizeof *a);
    for (long i = 0; i < N; i++)
        a[i] = (double)i;
    for (int round = 0; round < 20; round++) {
        if (argc > 1)
            compute(a);
        else
            scatter(a, round);
    }
    double sum = 0;
    for (long i = 0; i < N; i++)
        sum += a[i];
    printf("%.6f\n", sum);
    return 0;
}
