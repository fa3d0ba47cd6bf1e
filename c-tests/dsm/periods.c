/* Threads that compute long between faults, in as many regions as the argument says. */
#include <stdio.h>
#include <stdlib.h>

#define N 400

static double a[N];

static void compute(void)
{
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < N; i++) {
        double x = a[i];
        for (int k = 0; k < 20000; k++)
            x = x * 0.999999 + 1e-6;
        a[i] = x;
    }
}

int main(int argc, char **argv)
{
    for (long i = 0; i < N; i++)
        a[i] = (double)i;
    for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--)
        compute();
    double sum = 0;
    for (long i = 0; i < N; i++)
        sum += a[i];
    printf("%.6f\n", sum);
    return 0;
}
