/* What each thread does once tells how many threads a region has: as many as OMP_NUM_THREADS says, whatever the
 * schedule. Prints "ok". */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000, EXECUTIONS = 12 };

static double values[N];

static void work(int i)
{
    double x = i;
    for (int k = 0; k < 40; k++)
        x = x * 0.5 + k;
    values[i] = x;
}

int main(void)
{
    const char *told = getenv("OMP_NUM_THREADS");
    long threads = told ? strtol(told, NULL, 10) : omp_get_max_threads();
    FILE *lines = tmpfile();
    if (lines == NULL)
        return 1;
    for (int e = 0; e < EXECUTIONS; e++) {
        int counted = 0, added = 0;
#pragma omp parallel
        {
            fprintf(lines, "line\n");
#pragma omp for
            for (int i = 0; i < N; i++)
                work(i);
        }
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < N; i++)
                work(i);
#pragma omp atomic
            counted++;
        }
#pragma omp parallel reduction(+ : added)
        {
            added++;
#pragma omp for
            for (int i = 0; i < N; i++)
                work(i);
        }
        if (counted != threads || added != threads) {
            printf("%ld threads counted as %d and %d\n", threads, counted, added);
            return 1;
        }
    }
    long printed = ftell(lines) / 5;
    if (printed != EXECUTIONS * threads) {
        printf("%ld lines of %ld threads\n", printed, EXECUTIONS * threads);
        return 1;
    }
    puts("ok");
    return 0;
}
