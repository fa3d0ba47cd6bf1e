/* ordered regions run in iteration order under every schedule (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

enum { N = 300 };
static int log_[N], at;

static void put(int v)
{
    log_[at++] = v;
}

static void expect(int line)
{
    if (at != N)
        check_fail(line, "all iterations");
    for (int i = 0; i < N; i++)
        if (log_[i] != i)
            check_fail(line, "order");
    at = 0;
}

int main(void)
{
    for (int n = 1; n <= 8; n++) {
#pragma omp parallel for ordered schedule(static) num_threads(n)
        for (int i = 0; i < N; i++) {
#pragma omp ordered
            put(i);
        }
        expect(__LINE__);
#pragma omp parallel for ordered schedule(static, 3) num_threads(n)
        for (int i = 0; i < N; i++) {
#pragma omp ordered
            put(i);
        }
        expect(__LINE__);
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(n)
        for (int i = N - 1; i >= 0; i--) {
#pragma omp ordered
            put(N - 1 - i);
        }
        expect(__LINE__);
#pragma omp parallel for ordered schedule(guided, 2) num_threads(n)
        for (long i = 0; i < N; i++) {
#pragma omp ordered
            put((int)i);
        }
        expect(__LINE__);
#pragma omp parallel for ordered schedule(runtime) num_threads(n)
        for (int i = 0; i < N; i++) {
#pragma omp ordered
            put(i);
        }
        expect(__LINE__);
    }
    return check_end();
}
