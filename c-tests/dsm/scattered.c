/* Threads write all over an array, a page at nearly each iteration: across nodes that is hopeless. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    long n = 1L << 21;
    double *a = malloc(n * sizeof *a);
    for (long i = 0; i < n; i++)
        a[i] = (double)i;
    for (int round = 0; round < 40; round++) {
#pragma omp parallel for schedule(runtime)
        for (long i = 0; i < n; i++) {
            long j = (i * 4097 + round * 131071L) & (n - 1);
            a[j] = a[j] * 1.0000001 + 1;
        }
    }
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i];
    printf("%.3f\n", sum);
    return 0;
}
