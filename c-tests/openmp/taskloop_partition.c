/* grainsize(g) gives tasks of g..2g-1 iterations, num_tasks(t) exactly min(t, trips) tasks; strict forms exact (OpenMP
   5.1, 2.12.2). */
#include "check.h"

enum { N = 103 };
static int first[N];

/* Counts the tasks and notes their smallest and largest share: a task's iterations follow each other, and each task
   has its own copy of `fresh`. */
static void report(const char *what)
{
    int tasks = 0, low = N, high = 0, len = 0;
    for (int i = 0; i <= N; i++) {
        if (i == N || first[i]) {
            if (i) {
                low = len < low ? len : low;
                high = len > high ? len : high;
            }
            len = 0;
            tasks += i < N;
        }
        len++;
    }
    printf("%s: %d tasks of %d..%d\n", what, tasks, low, high);
    memset(first, 0, sizeof first);
}

int main(void)
{
    int fresh = 1;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop grainsize(10) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("grainsize(10)");
#pragma omp taskloop grainsize(strict : 10) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("grainsize(strict:10)");
#pragma omp taskloop num_tasks(8) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("num_tasks(8)");
#pragma omp taskloop num_tasks(strict : 8) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("num_tasks(strict:8)");
#pragma omp taskloop num_tasks(500) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("num_tasks(500)");
#pragma omp taskloop grainsize(500) firstprivate(fresh)
        for (int i = 0; i < N; i++) {
            first[i] = fresh;
            fresh = 0;
        }
        report("grainsize(500)");
    }
    return check_end();
}
