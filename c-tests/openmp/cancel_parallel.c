/* cancel parallel ends the region for all threads; what comes after works (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "check.h"

int main(void)
{
    CHECK(omp_get_cancellation());
    for (int n = 1; n <= 8; n++)
        for (int round = 0; round < 20; round++) {
            int before = 0, after = 0;
#pragma omp parallel num_threads(n)
            {
#pragma omp atomic
                before++;
#pragma omp barrier
                if (omp_get_thread_num() == n - 1) {
#pragma omp cancel parallel
                }
                /* Every thread gets here or is cancelled at this barrier; none passes it. */
#pragma omp barrier
#pragma omp atomic
                after++;
            }
            CHECK(before == n && after == 0);
            int next = 0;
#pragma omp parallel num_threads(n) reduction(+ : next)
            {
#pragma omp barrier
                next++;
            }
            CHECK(next == n);
        }
    return check_end();
}
