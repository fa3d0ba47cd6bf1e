/* Threads that only meet a cancellation point leave the region too (OpenMP 5.1, 2.20.2).
   hetmp-test: env=OMP_CANCELLATION=true
   hetmp-test: timeout=30 */
#include "check.h"

int main(void)
{
    for (int n = 2; n <= 6; n++) {
        int late = 0;
#pragma omp parallel num_threads(n)
        {
            if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
            } else {
                for (;;) {
#pragma omp cancellation point parallel
                }
            }
#pragma omp atomic
            late++;
        }
        CHECK(late == 0);
        printf("%d %d\n", n, late);
    }
    return check_end();
}
