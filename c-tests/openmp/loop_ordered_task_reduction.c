/* An ordered loop that also is the reduction scope of tasks, and doacross with one (OpenMP 5.1, 2.21.5). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 4; n++) {
        int next = 0, x = -1;
        long a = 0, b = 0;
        unsigned wave[31] = {0};
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered schedule(dynamic, 2) reduction(task, + : a) lastprivate(conditional : x)
            for (int i = 0; i < 40; i++) {
#pragma omp task in_reduction(+ : a)
                a += i;
                if (i % 9 == 4)
                    x = i;
#pragma omp ordered
                {
                    CHECK(next == i);
                    next++;
                }
            }
#pragma omp for ordered(1) schedule(static, 1) reduction(task, + : b)
            for (int i = 1; i <= 30; i++) {
#pragma omp task in_reduction(+ : b)
                b += i;
#pragma omp ordered depend(sink : i - 1)
                wave[i] = wave[i - 1] + 1;
#pragma omp ordered depend(source)
            }
        }
        CHECK(wave[30] == 30);
        printf("%d %d %ld %ld\n", next, x, a, b);
    }
    return check_end();
}
