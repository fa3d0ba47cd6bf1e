/* Thread and level routines outside and inside of regions (OpenMP 5.1, 3.2). */
#include "check.h"

int main(void)
{
    CHECK(omp_get_level() == 0 && omp_get_active_level() == 0);
    CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(1) == -1);
    CHECK(omp_get_team_size(0) == 1 && omp_get_team_size(1) == -1 && omp_get_team_size(-3) == -1);
    CHECK(!omp_in_parallel() && !omp_in_final());
    CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
    omp_set_num_threads(7);
    CHECK(omp_get_max_threads() == 7);
    omp_set_num_threads(0); /* not positive: libgomp takes 1 */
    printf("%d\n", omp_get_max_threads());
    omp_set_num_threads(-4);
    printf("%d\n", omp_get_max_threads());
    omp_set_num_threads(5);
    int sizes = 0;
#pragma omp parallel reduction(+ : sizes)
    sizes += omp_get_num_threads();
    printf("%d\n", sizes);
    printf("%d\n", omp_get_supported_active_levels());
    return check_end();
}
