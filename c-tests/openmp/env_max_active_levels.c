/* OMP_MAX_ACTIVE_LEVELS bounds active nesting (OpenMP 5.1, 6.8).
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=2 */
#include "check.h"

int main(void)
{
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
#pragma omp parallel num_threads(2) reduction(+ : n)
#pragma omp parallel num_threads(2) reduction(+ : n)
    n++;
    printf("%d %d\n", omp_get_max_active_levels(), n);
    return check_end();
}
