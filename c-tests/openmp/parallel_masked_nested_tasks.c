/* A region whose master runs ahead into nested regions while the others execute its tasks (OpenMP 5.1, 2.12.6). */
#include "check.h"

int main(void)
{
    int done = 0, inner = 0;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp master
            {
                for (int i = 0; i < 50; i++) {
#pragma omp task
#pragma omp atomic
                    done++;
                }
#pragma omp parallel num_threads(2)
                {
#pragma omp atomic
                    inner++;
#pragma omp barrier
                }
#pragma omp taskwait
                int d;
#pragma omp atomic read
                d = done;
                CHECK(d == 50 * (round + 1));
            }
        }
    }
    printf("%d %d\n", done, inner);
    return check_end();
}
