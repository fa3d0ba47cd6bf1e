/* taskloop simd, with priority, untied, mergeable and firstprivate (OpenMP 5.1, 2.12.3).
   hetmp-test: env=OMP_MAX_TASK_PRIORITY=3 */
#include "loop_check.h"

int main(void)
{
    int add = 1, a[900];
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop simd priority(2) firstprivate(add) grainsize(16)
        for (int i = 0; i < 900; i++)
            a[i] = i + add;
#pragma omp taskloop untied mergeable priority(9)
        for (int i = 0; i < 900; i++)
            loop_hit(i);
    }
    for (int i = 0; i < 900; i++)
        CHECK(a[i] == i + 1);
    LOOP_EXPECT(900, 1);
    return check_end();
}
