/* Tasks created in worksharing loops and sections with nowait, from all threads (OpenMP 5.1, 2.12.1). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 500; i++) {
#pragma omp task
                loop_hit(i);
            }
#pragma omp for schedule(guided) nowait
            for (int i = 0; i < 500; i++) {
#pragma omp task untied
                loop_hit(i);
            }
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp task
                    loop_hit(500);
                }
#pragma omp section
                {
#pragma omp task
                    loop_hit(500);
                }
            }
        }
        LOOP_EXPECT(501, 2);
    }
    return check_end();
}
