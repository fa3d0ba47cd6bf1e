/* taskloop covers its range once, with default, grainsize and num_tasks forms (OpenMP 5.1, 2.12.2). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++)
        for (int trip = 0; trip < 1200; trip = trip * 4 + 1) {
#pragma omp parallel num_threads(n)
#pragma omp single
            {
#pragma omp taskloop
                for (int i = 0; i < trip; i++)
                    loop_hit(i);
#pragma omp taskloop grainsize(7)
                for (int i = trip - 1; i >= 0; i--)
                    loop_hit(i);
#pragma omp taskloop num_tasks(5)
                for (int i = -trip; i < 0; i++)
                    loop_hit(-1 - i);
#pragma omp taskloop num_tasks(100000)
                for (long i = 0; i < trip * 3L; i += 3)
                    loop_hit(i / 3);
            }
            LOOP_EXPECT(trip, 4);
        }
    return check_end();
}
