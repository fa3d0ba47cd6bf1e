/* The monotonic modifier: a thread's iterations come in rising order (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
#pragma omp parallel num_threads(n)
        {
            int last = -1;
#pragma omp for schedule(monotonic : dynamic, 3)
            for (int i = 0; i < 4000; i++) {
                CHECK(i > last);
                last = i;
                loop_hit(i);
            }
            last = -1;
#pragma omp for schedule(monotonic : guided)
            for (int i = 0; i < 4000; i++) {
                CHECK(i > last);
                last = i;
                loop_hit(i);
            }
            last = 4000;
#pragma omp for schedule(monotonic : dynamic)
            for (int i = 3999; i >= 0; i--) {
                CHECK(i < last);
                last = i;
                loop_hit(i);
            }
            last = -1;
#pragma omp for schedule(monotonic : static, 2)
            for (int i = 0; i < 4000; i++) {
                CHECK(i > last);
                last = i;
                loop_hit(i);
            }
        }
        LOOP_EXPECT(4000, 4);
    }
    return check_end();
}
