/* Programs that asked for two threads, each of which takes a piece of memory before its loop and fills the memory anew
   in each iteration. They may be divided into more pieces.
   hetmp-test: threads=2
   hetmp-test: way=fibers */
#include "loop_check.h"

static double rows[1000], from[1000 + 16];

static void __attribute__((noinline)) fill(double *to, const double *with, int m)
{
    for (int j = 0; j < m; j++)
        to[j] = with[j] + 1;
}

static double __attribute__((noinline)) most(const double *of, int m)
{
    double x = of[0];
    for (int j = 1; j < m; j++)
        x = of[j] > x ? of[j] : x;
    return x;
}

int main(void)
{
    enum { N = 1000 };
    int m = 16, k = 64;
    for (int i = 0; i < N + m; i++)
        from[i] = i * 7919 % 1009;

#pragma omp parallel num_threads(2)
    {
        double *own = malloc(m * sizeof *own);
#pragma omp for
        for (int i = 0; i < N; i++) {
            fill(own, from + i, m);
            rows[i] = most(own, m);
        }
        free(own);
    }
    unsigned long all = 0;
    for (int i = 0; i < N; i++)
        all = all * 31 + (long)rows[i];
    printf("rows %lu\n", all);

    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        int *seen = malloc(k * sizeof *seen);
#pragma omp for
        for (int i = 0; i < N; i++) {
            memset(seen, 0, k * sizeof *seen);
            for (int j = 0; j < m; j++)
                seen[(int)from[i + j] & 63]++;
            sum += seen[7] * i;
        }
        free(seen);
    }
    printf("sum %ld\n", sum);
    return 0;
}
