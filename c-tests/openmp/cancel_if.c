/* cancel with a false if clause is only a cancellation point (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "loop_check.h"

int main(void)
{
    int reached = 0, groups = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 300; i++) {
#pragma omp cancel for if (i > 1000)
            loop_hit(i);
        }
#pragma omp cancel parallel if (0)
#pragma omp atomic
        reached++;
#pragma omp barrier
#pragma omp single
#pragma omp taskgroup
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(groups)
                {
#pragma omp cancel taskgroup if (0)
#pragma omp atomic
                    groups++;
                }
            }
        }
    }
    LOOP_EXPECT(300, 1);
    printf("%d %d\n", reached, groups);
    return check_end();
}
