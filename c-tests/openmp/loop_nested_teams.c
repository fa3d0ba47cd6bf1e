/* Dynamic loops in nested teams: each inner team shares its own loop (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
        int base = omp_get_thread_num() * 1000;
        for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(3)
            {
#pragma omp for schedule(dynamic, 4) nowait
                for (int i = 0; i < 1000; i++)
                    loop_hit(base + i);
#pragma omp for schedule(guided)
                for (int i = 0; i < 1000; i++)
                    loop_hit(base + i);
            }
        }
    }
    LOOP_EXPECT(3000, 20);
    return check_end();
}
