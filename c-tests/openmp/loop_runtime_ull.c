/* schedule(runtime) over unsigned long long, both directions (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto,
                                        omp_sched_monotonic | omp_sched_dynamic,
                                        omp_sched_monotonic | omp_sched_guided};
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int chunk = 0; chunk < 12; chunk += 5) {
            omp_set_schedule(kinds[k], chunk);
            unsigned long long top = ~0ull - 5, n = 1500;
#pragma omp parallel num_threads(5)
            {
#pragma omp for schedule(runtime)
                for (unsigned long long i = top - n; i < top; i++)
                    loop_hit((long)(i - (top - n)));
#pragma omp for schedule(runtime)
                for (unsigned long long i = n; i > 0; i--)
                    loop_hit((long)(i - 1));
#pragma omp for schedule(monotonic : runtime)
                for (unsigned long long i = 0; i < n * 1000000007ull; i += 1000000007ull)
                    loop_hit((long)(i / 1000000007ull));
            }
            LOOP_EXPECT((long)n, 3);
        }
    return check_end();
}
