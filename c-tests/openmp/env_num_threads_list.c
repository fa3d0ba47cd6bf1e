/* OMP_NUM_THREADS as a list sets each nesting level (OpenMP 5.1, 6.2).
   hetmp-test: env=OMP_NUM_THREADS=4,3,2
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=3
   hetmp-test: threads=4 */
#include "check.h"

int main(void)
{
    int leaves = 0;
    printf("%d\n", omp_get_max_threads());
#pragma omp parallel reduction(+ : leaves)
    {
        CHECK(omp_get_num_threads() == 4);
        CHECK(omp_get_max_threads() == 3);
#pragma omp parallel reduction(+ : leaves)
        {
            CHECK(omp_get_num_threads() == 3);
            CHECK(omp_get_max_threads() == 2);
#pragma omp parallel reduction(+ : leaves)
            {
                CHECK(omp_get_num_threads() == 2);
                leaves++;
            }
        }
    }
    printf("%d\n", leaves);
    return check_end();
}
