/* Without OMP_SCHEDULE the kind reported is libgomp's default, dynamic with chunk 1 (OpenMP 5.1, 2.4.2). */
#include "loop_check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("kind %d chunk %d\n", (int)(kind & 0x7fffffff), chunk);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < 999; i++)
        loop_hit(i);
    LOOP_EXPECT(999, 1);
    return check_end();
}
