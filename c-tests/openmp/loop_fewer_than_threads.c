/* Fewer iterations than threads: some threads get none and still pass (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    for (int trip = 1; trip < 6; trip++) {
        for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(12)
            {
#pragma omp for schedule(dynamic) nowait
                for (int i = 0; i < trip; i++)
                    loop_hit(i);
#pragma omp for schedule(guided) nowait
                for (int i = 0; i < trip; i++)
                    loop_hit(i);
#pragma omp for schedule(static) nowait
                for (int i = 0; i < trip; i++)
                    loop_hit(i);
#pragma omp for schedule(static, 1)
                for (int i = 0; i < trip; i++)
                    loop_hit(i);
            }
            LOOP_EXPECT(trip, 4);
        }
    }
    return check_end();
}
