/* ordered schedule(runtime) under each kind set at run time, several loops in a row (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

int main(void)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    int total = 0;
    for (int k = 0; k < 4; k++)
        for (int chunk = 0; chunk < 6; chunk += 2) {
            omp_set_schedule(kinds[k], chunk);
            int next = 0;
#pragma omp parallel num_threads(4)
            for (int round = 0; round < 5; round++) {
#pragma omp for ordered schedule(runtime)
                for (int i = 0; i < 60; i++) {
#pragma omp ordered
                    {
                        CHECK(next == round * 60 + i);
                        next++;
                    }
                }
            }
            total += next;
        }
    printf("%d\n", total);
    return check_end();
}
