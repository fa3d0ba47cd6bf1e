/* collapse(2) and collapse(3), mixed types and steps, with an empty inner loop (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
#pragma omp parallel num_threads(5)
    {
#pragma omp for collapse(2) schedule(dynamic, 3)
        for (int i = 0; i < 20; i++)
            for (long j = 30; j > 0; j--)
                loop_hit(i * 30 + j - 1);
#pragma omp for collapse(3) schedule(guided, 2)
        for (int i = -5; i < 5; i++)
            for (unsigned long long j = 0; j < 24; j += 2)
                for (char k = 0; k < 5; k++)
                    loop_hit((i + 5) * 60 + (long)j / 2 * 5 + k);
#pragma omp for collapse(2) schedule(static, 7)
        for (int i = 0; i < 60; i++)
            for (int j = 0; j < 10; j++)
                loop_hit(i * 10 + j);
#pragma omp for collapse(2) schedule(dynamic)
        for (int i = 0; i < 60; i++)
            for (int j = 5; j < 5; j++)
                loop_hit(0);
#pragma omp for collapse(2) schedule(runtime)
        for (int i = 0; i < 60; i++)
            for (int j = 0; j < 10; j++)
                loop_hit(i * 10 + j);
    }
    LOOP_EXPECT(600, 4);
    return check_end();
}
