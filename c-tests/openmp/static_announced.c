/* Small regions that use the thread number next to their loop, in a program that sizes its arrays by what it
   is told at the start. However often they run, there are no more threads than cores.
   hetmp-test: threads=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: env=HETMP_NODES=cores={0},watts=2;cores={1},watts=1
   hetmp-test: way=fibers */
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
    enum { N = 500, RUNS = 3000 };
    int threads = omp_get_max_threads();
    long *best = calloc((size_t)threads, sizeof *best);
    static long v[N];
    for (int i = 0; i < N; i++)
        v[i] = (i * 7919L) % 10007;
    long sum = 0;
    for (int run = 0; run < RUNS; run++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            long b = -1;
#pragma omp for
            for (int i = 0; i < N; i++)
                if (v[i] + run > b)
                    b = v[i] + run;
            best[me] = b;
        }
        long top = -1;
        for (int t = 0; t < threads; t++)
            if (best[t] > top)
                top = best[t];
        sum += top;
    }
    printf("%ld\n", sum);
    /* A team of two at least, a thread that watches, and one that keeps the report. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(threads_of_process() <= (cores > 2 ? cores : 2) + 2);
    free(best);
    return check_end();
}
