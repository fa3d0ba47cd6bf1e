/* Each task has its own ICVs: changes stay inside, children inherit (OpenMP 5.1, 2.4.3). */
#include "check.h"

int main(void)
{
    omp_set_num_threads(5);
    omp_set_max_active_levels(2);
    int regions = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int i = 1; i <= 30; i++) {
#pragma omp task shared(regions)
            {
                CHECK(omp_get_max_threads() == 5);
                omp_set_num_threads(i);
#pragma omp task shared(regions)
                {
                    CHECK(omp_get_max_threads() == i);
                    omp_set_num_threads(i + 100);
#pragma omp atomic
                    regions++;
                }
#pragma omp taskwait
                CHECK(omp_get_max_threads() == i);
            }
        }
#pragma omp taskwait
        CHECK(omp_get_max_threads() == 5);
    }
    CHECK(omp_get_max_threads() == 5);
    printf("%d\n", regions);
    return check_end();
}
