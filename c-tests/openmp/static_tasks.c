/* Tasks from the iterations of a static loop, waited for at its barrier.
   hetmp-test: way=tasks */
#include "loop_check.h"

int main(void)
{
    enum { N = 500 };
    static int a[N], b[N];
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i)
            a[i] = i;
        }
        /* All tasks are complete here. */
#pragma omp for
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i] + 1;
    }
    for (int i = 0; i < N; i++)
        CHECK(b[i] == N - i);
    return check_end();
}
