/* Parallel regions inside tasks, tasks inside those, with their own taskwait (OpenMP 5.1, 2.12.1). */
#include "check.h"

int main(void)
{
    int total = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task shared(total)
        {
            int mine = 0;
#pragma omp parallel num_threads(2)
            {
                CHECK(omp_get_num_threads() == 2);
                for (int k = 0; k < 5; k++) {
#pragma omp task shared(mine)
#pragma omp atomic
                    mine++;
                }
            }
            CHECK(mine == 10);
#pragma omp atomic
            total += mine;
        }
    }
    printf("%d\n", total);
    return check_end();
}
