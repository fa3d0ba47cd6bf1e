/* A loop that the compiler divides, often enough that its division follows the nodes' speeds. */
#include <stdio.h>

enum { N = 1 << 12, LAPS = 12 };

static double result[N];

static void compute(int lap)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        double x = i * 1e-3 + lap;
        for (int k = 0; k < 1000; k++)
            x = x * 0.5 + 1 / (1 + x * x);
        result[i] += x;
    }
}

int main(void)
{
    double sum = 0;
    for (int lap = 0; lap < LAPS; lap++)
        compute(lap);
    for (int i = 0; i < N; i++)
        sum += result[i];
    printf("%.9f\n", sum);
    return 0;
}
