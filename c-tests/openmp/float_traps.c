/* A program that asks for a signal at floating-point exceptions (Fortran: -ffpe-trap) and computes with integers
 * only. Whatever the runtime computes for itself, for its schedules for example, raises no signal and leaves no
 * flag. With the argument "all" inexact results count, too, so that hardly any computation goes unseen.
   hetmp-test: libs=-lm */
#define _GNU_SOURCE
#include <fenv.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 10000, EXECUTIONS = 50 };

static unsigned values[N];
static unsigned long long total;

static unsigned mix(unsigned x, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

static void loops(int execution)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        values[i] += mix(i + 1, 40);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++)
        values[i] ^= mix(i + 7, 40);
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < N / 4; i++)
        values[i] += mix(i + 3, i & 127);
    unsigned long long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(guided)
        for (int i = 0; i < N / 8; i++)
            values[i] ^= mix(i + execution, 10);
#pragma omp for nowait
        for (int i = 0; i < N; i++)
            sum += values[i];
    }
    total += sum;
    /* Many short ones. */
    for (int k = 0; k < 20; k++) {
#pragma omp parallel for
        for (int i = 0; i < 64; i++)
            values[i] += mix(i + k, 2);
    }
}

static void tasks(void)
{
#pragma omp parallel
#pragma omp single
    {
        for (int t = 0; t < 64; t++) {
#pragma omp task firstprivate(t)
            values[t] += mix(t + 1, 500);
        }
#pragma omp taskwait
#pragma omp taskloop grainsize(100)
        for (int i = 0; i < 2000; i++)
            values[i] ^= mix(i + 2, 10);
    }
}

int main(int argc, char **argv)
{
    int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        traps = FE_ALL_EXCEPT;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(traps);
    for (int e = 0; e < EXECUTIONS; e++) {
        loops(e);
        if (e % 8 == 0)
            tasks();
    }
    omp_set_num_threads(2);
    loops(EXECUTIONS);
    int modes = 0, flags = 0;
#pragma omp parallel reduction(+ : modes) reduction(| : flags)
    {
        modes += fegetexcept() == traps;
        flags |= fetestexcept(traps);
    }
    fedisableexcept(FE_ALL_EXCEPT);
    printf("sum %llu, signals asked for: %s, flags %d\n", total, modes == 2 ? "yes" : "no", flags);
    return 0;
}
