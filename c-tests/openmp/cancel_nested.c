/* Cancelling an inner region leaves the outer one alone (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "check.h"

int main(void)
{
    int outer = 0, inner = 0;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(3)
        {
#pragma omp parallel num_threads(2)
            {
                if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
                }
#pragma omp barrier
#pragma omp atomic
                inner++;
            }
#pragma omp barrier
#pragma omp atomic
            outer++;
        }
    }
    printf("%d %d\n", outer, inner);
    return check_end();
}
