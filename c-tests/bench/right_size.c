// How many threads should a program have? Four kinds that want different numbers, for scripts/bench size.
//   chain   regions of about 2 us of work, one after the other
//   steps   regions of about 40 us
//   compute a loop that only computes
//   memory  a loop that only moves memory, in arrays of 64 MB together
// Prints the kind and a sum that does not depend on the number of threads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double regions(int count, int n)
{
    double *a = calloc(n, sizeof *a);
    for (int r = 0; r < count; r++) {
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            a[i] = a[i] * 0.999 + i;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    free(a);
    return sum;
}

static double compute(int laps, int n)
{
    double *a = calloc(n, sizeof *a), sum = 0;
    for (int lap = 0; lap < laps; lap++) {
#pragma omp parallel for
        for (int i = 0; i < n; i++) {
            double x = i + lap;
            for (int k = 0; k < 200; k++)
                x = x * 0.9999 + 1 / (x + 1);
            a[i] += x;
        }
    }
    for (int i = 0; i < n; i++)
        sum += a[i];
    free(a);
    return sum;
}

static double memory(int laps, int n)
{
    double *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), sum = 0;
    for (int lap = 0; lap < laps; lap++) {
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            a[i] = 3 * b[i] + lap;
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            b[i] = 0.5 * a[i];
    }
    for (int i = 0; i < n; i++)
        sum += b[i];
    free(a);
    free(b);
    return sum;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    double sum;
    if (!strcmp(kind, "chain"))
        sum = regions(1000000, 4000);
    else if (!strcmp(kind, "steps"))
        sum = regions(60000, 80000);
    else if (!strcmp(kind, "compute"))
        sum = compute(20, 100000);
    else if (!strcmp(kind, "memory"))
        sum = memory(200, 4 << 20);
    else {
        fprintf(stderr, "hetmp: kind '%s': unknown (expected chain, steps, compute or memory)\n", kind);
        return 2;
    }
    printf("%s %.9e\n", kind, sum);
    return 0;
}
