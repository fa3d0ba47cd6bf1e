/* Two threads on two nodes, static-csr with a share of 0 for one of them: that node's thread gets no iteration, and the
   other one gets them all, in every form of loop that the schedule divides. abi-compat/tests/nodes.rs sets the schedule
   and compares who ran how many; run alone, each iteration runs once (OpenMP 5.1, 2.11.4).
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=static-csr:1,0
   hetmp-test: threads=2 */
#include "check.h"

enum { N = 10000 };
static int by[2];

static void shown(const char *what)
{
    CHECK(by[0] + by[1] == N);
    fprintf(stderr, "%s %d %d\n", what, by[0], by[1]);
    by[0] = by[1] = 0;
}

int main(void)
{
#pragma omp parallel for schedule(runtime) num_threads(2)
    for (int i = 0; i < N; i++)
        by[omp_get_thread_num()]++;
    shown("runtime");
#pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < N; i++)
        by[omp_get_thread_num()]++;
    shown("dynamic");
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(monotonic : runtime) nowait
        for (long i = N - 1; i >= 0; i--)
            by[omp_get_thread_num()]++;
    }
    shown("monotonic");
    return check_end();
}
