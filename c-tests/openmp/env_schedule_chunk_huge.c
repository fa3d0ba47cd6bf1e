/* OMP_SCHEDULE with a chunk larger than any loop (OpenMP 5.1, 6.1).
   hetmp-test: env=OMP_SCHEDULE=dynamic,2147483647 */
#include "loop_check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%d\n", chunk);
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(runtime)
        for (long i = 0; i < 1000; i++)
            loop_hit(i);
#pragma omp for schedule(runtime)
        for (unsigned long long i = 1000; i > 0; i--)
            loop_hit((long)i - 1);
    }
    LOOP_EXPECT(1000, 2);
    return check_end();
}
