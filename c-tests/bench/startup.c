// A program's first parallel region: from main to the end of the region, which
// holds the runtime's initialisation and the creation of its threads. Prints
// one JSON line in microseconds.
#include "harness.h"

#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    alarm(60);
    int team = 0;
    double start = bench_now();
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
    }
    double first = bench_now();
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
    }
    double second = bench_now();
    printf("{\"first_us\":%.3f,\"second_us\":%.3f,\"threads\":%d}\n", 1e6 * (first - start),
           1e6 * (second - first), team);
    return 0;
}
