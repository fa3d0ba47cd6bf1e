/* OMP_SCHEDULE=auto is accepted and covers the loop (OpenMP 5.1, 6.1).
   hetmp-test: env=OMP_SCHEDULE=auto */
#include "loop_check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("kind %d\n", (int)(kind & 0x7fffffff));
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (int i = 0; i < 777; i++)
            loop_hit(i);
#pragma omp for schedule(auto)
        for (int i = 0; i < 777; i++)
            loop_hit(i);
    }
    LOOP_EXPECT(777, 2);
    return check_end();
}
