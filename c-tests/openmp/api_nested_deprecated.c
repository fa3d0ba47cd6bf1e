/* omp_set_nested and omp_get_nested act on max-active-levels (OpenMP 5.0, 3.2.10).
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=1
   hetmp-test: flags=-Wno-deprecated-declarations */
#include "check.h"

int main(void)
{
    printf("%d %d\n", omp_get_nested(), omp_get_max_active_levels());
    omp_set_nested(1);
    printf("%d %d\n", omp_get_nested(), omp_get_max_active_levels());
    int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
#pragma omp parallel num_threads(2) reduction(+ : n)
    n++;
    omp_set_nested(0);
    printf("%d %d %d\n", n, omp_get_nested(), omp_get_max_active_levels());
    omp_set_max_active_levels(3);
    printf("%d\n", omp_get_nested());
    omp_set_nested(1);
    printf("%d\n", omp_get_max_active_levels());
    return check_end();
}
