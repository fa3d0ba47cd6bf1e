/* schedule(static, c): round-robin chunks by thread number (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    for (int chunk = 1; chunk < 40; chunk += 3)
        for (int n = 0; n < 300; n += 37) {
#pragma omp parallel num_threads(5)
            {
                CHECK(omp_get_num_threads() == 5);
#pragma omp for schedule(static, chunk)
                for (int i = 0; i < n; i++) {
                    loop_hit(i);
                    CHECK(omp_get_thread_num() == i / chunk % 5);
                }
            }
            LOOP_EXPECT(n, 1);
        }
    return check_end();
}
