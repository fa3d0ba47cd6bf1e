/* schedule(runtime) under every kind and chunk set by omp_set_schedule (OpenMP 5.1, 2.11.4 and 3.2.11). */
#include "loop_check.h"

int main(void)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto,
                                        omp_sched_monotonic | omp_sched_static,
                                        omp_sched_monotonic | omp_sched_dynamic,
                                        omp_sched_monotonic | omp_sched_guided};
    static const int chunks[] = {0, 1, 3, 64, 100000};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (unsigned c = 0; c < 5; c++)
            for (int n = 0; n < 2000; n = n * 5 + 1) {
                omp_set_schedule(kinds[k], chunks[c]);
#pragma omp parallel num_threads(4)
                {
#pragma omp for schedule(runtime)
                    for (int i = 0; i < n; i++)
                        loop_hit(i);
#pragma omp for schedule(monotonic : runtime) nowait
                    for (int i = n - 1; i >= 0; i--)
                        loop_hit(i);
#pragma omp for schedule(nonmonotonic : runtime)
                    for (long i = 0; i < 3L * n; i += 3)
                        loop_hit(i / 3);
                }
                LOOP_EXPECT(n, 3);
            }
    return check_end();
}
