/* OMP_SCHEDULE=static,3 gives round-robin chunks of three (OpenMP 5.1, 6.1).
   hetmp-test: env=OMP_SCHEDULE=static,3 */
#include "loop_check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("kind %d chunk %d\n", (int)(kind & 0x7fffffff), chunk);
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(runtime)
        for (int i = 0; i < 1000; i++) {
            loop_hit(i);
            CHECK(omp_get_thread_num() == i / 3 % 4);
        }
    }
    LOOP_EXPECT(1000, 1);
    return check_end();
}
