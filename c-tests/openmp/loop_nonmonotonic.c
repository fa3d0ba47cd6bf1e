/* The nonmonotonic modifier for dynamic and guided, long and unsigned long long (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n += 3) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(nonmonotonic : dynamic)
            for (int i = 0; i < 3001; i++)
                loop_hit(i);
#pragma omp for schedule(nonmonotonic : dynamic, 17) nowait
            for (int i = 0; i < 3001; i++)
                loop_hit(i);
#pragma omp for schedule(nonmonotonic : guided, 4)
            for (unsigned long long i = 0; i < 3001; i++)
                loop_hit((long)i);
#pragma omp for schedule(nonmonotonic : dynamic, 4)
            for (unsigned long long i = 3001; i > 0; i--)
                loop_hit((long)i - 1);
        }
        LOOP_EXPECT(3001, 4);
    }
    return check_end();
}
