/* ordered(1) with source and sink of distance 1 and 3 under every schedule (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

enum { N = 48 };
static int a[N + 1];

#define BODY(i)                                             \
    {                                                       \
        a[(i) + 1] = a[i] + 1;                              \
        if ((i) >= 3)                                       \
            CHECK(a[(i) - 2] == (i) - 2);                   \
    }

static void expect(int line)
{
    for (int i = 0; i < N; i++)
        if (a[i + 1] != i + 1)
            check_fail(line, "wave order");
    memset(a, 0, sizeof a);
}

int main(void)
{
    for (int n = 1; n <= 8; n += n < 3 ? 1 : 5) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(static)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1) depend(sink : i - 3)
                BODY(i)
#pragma omp ordered depend(source)
            }
        }
        expect(__LINE__);
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(static, 3)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
                BODY(i)
#pragma omp ordered depend(source)
            }
        }
        expect(__LINE__);
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(dynamic, 2)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
                BODY(i)
#pragma omp ordered depend(source)
            }
        }
        expect(__LINE__);
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(guided)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
                BODY(i)
#pragma omp ordered depend(source)
            }
        }
        expect(__LINE__);
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(runtime)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
                BODY(i)
#pragma omp ordered depend(source)
            }
        }
        expect(__LINE__);
    }
    return check_end();
}
