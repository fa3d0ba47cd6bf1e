/* Negative bounds and steps for every schedule (OpenMP 5.1, 2.11.1). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int odd = 0;
#pragma omp parallel num_threads(n) reduction(+ : odd)
        {
#pragma omp for schedule(static)
            for (int i = -1; i >= -999; i -= 1)
                loop_hit(-1 - i);
#pragma omp for schedule(static, 4)
            for (int i = -999; i <= -1; i++)
                loop_hit(i + 999);
#pragma omp for schedule(dynamic, 4)
            for (int i = 500; i > -499; i--)
                loop_hit(500 - i);
#pragma omp for schedule(guided, 4)
            for (int i = -499; i < 500; i++)
                loop_hit(i + 499);
#pragma omp for schedule(dynamic)
            for (int i = 998 * 7; i >= 0; i -= 7) {
                odd += i & 1;
                loop_hit(i / 7);
            }
        }
        LOOP_EXPECT(999, 5);
        CHECK(odd == 499);
    }
    return check_end();
}
