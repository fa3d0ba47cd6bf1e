// Barriers of a team, for distances that are emulated (HETMP_FAR): `far BARRIERS`. Prints one JSON line: the
// microseconds of a barrier, and the number of threads. Fails if a thread passes before another has come.
#include "harness.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1024 };

// One cache line for each thread.
static struct {
    long come;
    char pad[120];
} slot[MOST];

int main(int argc, char **argv)
{
    alarm(280);
    int barriers = argc > 1 ? atoi(argv[1]) : 20;
    int threads = 1, wrong = 0;
    double start = 0, end = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        for (int i = 1; i <= barriers + 2; i++) {
            slot[me % MOST].come = i;
#pragma omp barrier
            // The other thread may be at the next barrier by now.
            long other = slot[(me + n / 2) % n % MOST].come;
            wrong += other != i && other != i + 1;
            // Two barriers to begin with: threads of the first region come late.
            if (me == 0 && i == 2) start = bench_now();
        }
        if (me == 0) {
            end = bench_now();
            threads = n;
        }
    }
    if (wrong) {
        fprintf(stderr, "far: %d times a thread passed before another had come\n", wrong);
        return 1;
    }
    printf("{\"us\":%.3f,\"threads\":%d}\n", 1e6 * (end - start) / barriers, threads);
    return 0;
}
