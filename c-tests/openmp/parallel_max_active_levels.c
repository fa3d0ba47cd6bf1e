/* omp_set_max_active_levels: values, negative ignored, effect per level (OpenMP 5.1, 3.2.15).
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=2 */
#include "check.h"

int main(void)
{
    printf("%d\n", omp_get_max_active_levels());
    for (int limit = 0; limit <= 4; limit++) {
        omp_set_max_active_levels(limit);
        CHECK(omp_get_max_active_levels() == limit);
        int leaves = 0;
#pragma omp parallel num_threads(2) reduction(+ : leaves)
#pragma omp parallel num_threads(2) reduction(+ : leaves)
#pragma omp parallel num_threads(2) reduction(+ : leaves)
        {
            int depth = limit < 3 ? limit : 3;
            CHECK(omp_get_active_level() == depth);
            leaves++;
        }
        printf("limit %d: %d leaves\n", limit, leaves);
    }
    return check_end();
}
