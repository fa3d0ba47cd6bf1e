/* errno stays as it was across all of OpenMP that succeeds: to a program these are no calls of the C library.
   hetmp-test: threads=2,3
   hetmp-test: libs=-lpthread */
#include "check.h"
#include <errno.h>
#include <pthread.h>

enum { N = 20000, MINE = 77, ROUNDS = 12 };
static double a[N];
static volatile double sink;
static int lost;

static void work(int n)
{
    for (int i = 0; i < n; i++)
        sink = sink + i;
}

/* Is errno still what it was? */
static void still(const char *what)
{
    if (errno != MINE) {
#pragma omp critical(report)
        if (lost++ < 10)
            printf("%s: errno %d\n", what, errno);
    }
    errno = MINE;
}

static void regions(void)
{
    errno = MINE;
#pragma omp parallel
    work(100);
    still("region");
#pragma omp parallel num_threads(4)
    work(500 * omp_get_thread_num());
    still("larger region");
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        a[i] += i;
    still("static loop");
#pragma omp parallel for schedule(dynamic, 100)
    for (int i = 0; i < N; i++)
        a[i] += i;
    still("dynamic loop");
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++)
        a[i] += i;
    still("runtime loop");
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] += i;
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] *= 0.5;
    }
    still("two loops");
}

static void *in_thread(void *unused)
{
    regions();
    return unused;
}

static void constructs(omp_lock_t *lock)
{
    errno = MINE;
    work(2000 * omp_get_thread_num());
#pragma omp barrier
    still("barrier");
#pragma omp for schedule(guided)
    for (int i = 0; i < N; i++)
        a[i] += i;
    still("guided loop");
#pragma omp for ordered
    for (int i = 0; i < 50; i++) {
#pragma omp ordered
        sink = sink + 1;
    }
    still("ordered");
#pragma omp critical
    work(5000);
    still("critical");
    omp_set_lock(lock);
    work(5000);
    omp_unset_lock(lock);
    still("lock");
#pragma omp single
    for (int i = 0; i < 100; i++)
#pragma omp task
        work(500);
    still("tasks");
#pragma omp taskgroup
    {
#pragma omp task
        work(100);
#pragma omp taskwait
    }
    still("taskgroup");
}

int main(void)
{
    errno = MINE;
    CHECK(omp_get_max_threads() > 0);
    still("omp_get_max_threads");
    CHECK(omp_get_num_procs() > 0 && omp_get_wtime() > 0);
    still("queries");
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int k = 0; k < ROUNDS; k++) {
        regions();
#pragma omp parallel num_threads(4)
        constructs(&lock);
        pthread_t thread;
        if (k % 4 == 0 && pthread_create(&thread, NULL, in_thread, NULL) == 0)
            pthread_join(thread, NULL);
    }
    CHECK(lost == 0);
    return check_end();
}
