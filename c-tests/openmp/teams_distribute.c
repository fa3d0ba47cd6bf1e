/* distribute and distribute parallel for in all schedule forms on the host (OpenMP 5.1, 2.11.6). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 4; n++) {
#pragma omp teams num_teams(n)
        {
#pragma omp distribute
            for (int i = 0; i < 1003; i++)
                loop_hit(i);
#pragma omp distribute dist_schedule(static, 10)
            for (int i = 1002; i >= 0; i--)
                loop_hit(i);
#pragma omp distribute parallel for num_threads(2) dist_schedule(static, 64) schedule(dynamic, 3)
            for (int i = 0; i < 1003; i++)
                loop_hit(i);
#pragma omp distribute simd collapse(2)
            for (int i = 0; i < 17; i++)
                for (int j = 0; j < 59; j++)
                    loop_hit(i * 59 + j);
        }
#pragma omp teams distribute parallel for simd num_teams(n) schedule(guided)
        for (unsigned long long i = 0; i < 1003; i++)
            loop_hit((long)i);
        LOOP_EXPECT(1003, 5);
    }
    return check_end();
}
