/* Each thread's iterations come in the order of the loop, as libgomp's always do: a thread's first index is its
   smallest, under any schedule, whatever the iterations cost and whoever comes late.
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe-i
   hetmp-test: timeout=60 */
#include "loop_check.h"

static volatile double sink;

static void work(long rounds)
{
    double x = 1;
    for (long k = 0; k < rounds; k++)
        x = x * 0.999 + 1;
    sink = x;
}

/* Iteration `i` of `n`, the `at`th in the order of the loop. The thread has had those before `*last`. */
static void step(int line, long *last, long i, long at, long n)
{
    if (at < *last)
        check_fail(line, "goes back");
    *last = at + 1;
    /* The first iterations, of which probes are made, say little about the others. */
    work(at < n / 4 ? 5 : at < n / 2 ? 400 : 40);
    loop_hit(i);
}

static void executions(long n)
{
    for (int e = 0; e < 6; e++) {
        long last = 0;
#pragma omp parallel firstprivate(last)
        {
            if (omp_get_thread_num() == e % omp_get_num_threads())
                work(e * 20000);
#pragma omp for schedule(dynamic)
            for (long i = 0; i < n; i++)
                step(__LINE__, &last, i, i, n);
            last = 0;
#pragma omp for schedule(dynamic, 10) nowait
            for (long i = 0; i < n; i++)
                step(__LINE__, &last, i, i, n);
            last = 0;
#pragma omp for schedule(guided)
            for (long i = n - 1; i >= 0; i--)
                step(__LINE__, &last, i, n - 1 - i, n);
            last = 0;
#pragma omp for schedule(guided, 7) nowait
            for (unsigned long long i = 0; i < (unsigned long long)n; i++)
                step(__LINE__, &last, (long)i, (long)i, n);
            last = 0;
#pragma omp for schedule(runtime) nowait
            for (long i = 0; i < n; i++)
                step(__LINE__, &last, i, i, n);
            last = 0;
#pragma omp for schedule(runtime)
            for (unsigned long long i = (unsigned long long)n; i > 0; i--)
                step(__LINE__, &last, (long)i - 1, n - (long)i, n);
        }
        LOOP_EXPECT(n, 6);
#pragma omp parallel for schedule(dynamic, 3) firstprivate(last)
        for (long i = 0; i < n; i++)
            step(__LINE__, &last, i, i, n);
#pragma omp parallel for schedule(runtime) firstprivate(last)
        for (long i = 0; i < n; i++)
            step(__LINE__, &last, i, i, n);
        LOOP_EXPECT(n, 2);
    }
}

int main(void)
{
    executions(1);
    executions(17);
    executions(1000);
    executions(20000);
    return check_end();
}
