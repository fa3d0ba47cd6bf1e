/* A parallel region in an atexit handler and in a destructor still works. */
#include "check.h"

static int run(void)
{
    int n = 0;
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
    {
        n++;
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i;
#pragma omp task shared(sum)
#pragma omp atomic
        sum += 0;
    }
    return n * 10000 + (int)sum;
}

static void handler(void)
{
    printf("atexit %d\n", run());
    fflush(stdout);
}

__attribute__((constructor)) static void early(void)
{
    printf("constructor %d\n", run());
}

__attribute__((destructor)) static void late(void)
{
    printf("destructor %d\n", run());
    fflush(stdout);
}

int main(void)
{
    atexit(handler);
    printf("main %d\n", run());
    return 0;
}
