/* Threads that compute long between faults, in as many regions as the argument says. They write integers: pages of
   which nodes write different floating-point numbers would be lent, and have no faults. */
#include <stdio.h>
#include <stdlib.h>

#define N 400

static unsigned long a[N];

static void compute(void)
{
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < N; i++) {
        unsigned long x = a[i];
        for (int k = 0; k < 20000; k++)
            x = x * 6364136223846793005UL + 1;
        a[i] = x;
    }
}

int main(int argc, char **argv)
{
    for (long i = 0; i < N; i++)
        a[i] = (unsigned long)i;
    for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--)
        compute();
    unsigned long sum = 0;
    for (long i = 0; i < N; i++)
        sum += a[i];
    printf("%lu\n", sum);
    return 0;
}
