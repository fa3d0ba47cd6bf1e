/* With OMP_CANCELLATION=false cancel does nothing (OpenMP 5.1, 6.11).
   hetmp-test: env=OMP_CANCELLATION=false */
#include "loop_check.h"

int main(void)
{
    int through = 0, tasks = 0, secs = 0;
    CHECK(!omp_get_cancellation());
#pragma omp parallel num_threads(4)
    {
#pragma omp for
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for
            loop_hit(i);
#pragma omp cancellation point for
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                secs++;
            }
#pragma omp section
#pragma omp atomic
            secs++;
        }
#pragma omp single
#pragma omp taskgroup
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(tasks)
            {
#pragma omp cancel taskgroup
#pragma omp atomic
                tasks++;
            }
        }
#pragma omp cancel parallel
#pragma omp barrier
#pragma omp atomic
        through++;
    }
    LOOP_EXPECT(100, 1);
    printf("%d %d %d\n", through, tasks, secs);
    return check_end();
}
