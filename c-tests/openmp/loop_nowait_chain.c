/* Hundreds of nowait loops in one region, mixed schedules: work shares do not mix (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    enum { ROUNDS = 60 };
#pragma omp parallel num_threads(6)
    {
        for (int round = 0; round < ROUNDS; round++) {
#pragma omp for schedule(dynamic, 3) nowait
            for (int i = 0; i < 200; i++)
                loop_hit(i);
#pragma omp for schedule(guided) nowait
            for (int i = 0; i < 200; i++)
                loop_hit(200 + i);
#pragma omp for schedule(dynamic) nowait
            for (unsigned long long i = 0; i < 200; i++)
                loop_hit(400 + (long)i);
#pragma omp single nowait
            loop_hit(600);
#pragma omp sections nowait
            {
#pragma omp section
                loop_hit(601);
#pragma omp section
                loop_hit(602);
            }
        }
    }
    LOOP_EXPECT(603, ROUNDS);
    return check_end();
}
