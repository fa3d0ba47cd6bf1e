/* A program that asks for the very number of threads that it was told, by omp_set_num_threads and by a clause. It has
   that number in each region, and no more threads than cores behind it.
   hetmp-test: threads=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: env=HETMP_NODES=cores={0},watts=2;cores={1},watts=1
   hetmp-test: way=virtual-team */
#include "loop_check.h"
#include <string.h>
#include <unistd.h>

static long threads_of_process(void)
{
    char line[256];
    long threads = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Threads:", 8) == 0)
            threads = atol(line + 8);
    if (f)
        fclose(f);
    return threads;
}

int main(int argc, char **argv)
{
    (void)argc;
    /* The number of threads is to be the runtime's own choice. */
    if (getenv("OMP_NUM_THREADS")) {
        unsetenv("OMP_NUM_THREADS");
        execv("/proc/self/exe", argv);
        return 1;
    }
    enum { N = 500, RUNS = 300 };
    int threads = omp_get_max_threads();
    omp_set_num_threads(threads);
    CHECK(omp_get_max_threads() == threads);
    static long v[N];
    for (int run = 0; run < RUNS; run++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            v[i] += i ^ run;
#pragma omp parallel for num_threads(threads)
        for (int i = 0; i < N; i++)
            v[i] += i * 3 + run;
    }
    /* What each thread adds counts all of them: no smaller team may run this. */
    int here = 0;
#pragma omp parallel reduction(+ : here)
    here++;
    CHECK(here == threads);
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += v[i] * (i + 1);
    printf("%ld\n", sum);
    /* A team of two at least, a thread that watches, and one that keeps the report. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(threads_of_process() <= (cores > 2 ? cores : 2) + 2);
    return check_end();
}
