/* OMP_SCHEDULE with a modifier: monotonic:guided,2; each thread's iterations rise (OpenMP 5.1, 6.1).
   hetmp-test: env=OMP_SCHEDULE=monotonic:guided,2 */
#include "loop_check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK(kind & omp_sched_monotonic);
    printf("kind %d chunk %d\n", (int)(kind & 0x7fffffff), chunk);
#pragma omp parallel
    {
        int last = -1;
#pragma omp for schedule(runtime)
        for (int i = 0; i < 5000; i++) {
            loop_hit(i);
            CHECK(i > last);
            last = i;
        }
    }
    LOOP_EXPECT(5000, 1);
    return check_end();
}
