/* Loops that touch LONG_MIN, LONG_MAX and INT limits without overflow (OpenMP 5.1, 2.11.1). */
#include <limits.h>
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n += 7) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(dynamic, 3)
            for (long i = LONG_MAX - 500; i < LONG_MAX; i++)
                loop_hit(i - (LONG_MAX - 500));
#pragma omp for schedule(guided, 2)
            for (long i = LONG_MAX - 500; i < LONG_MAX; i++)
                loop_hit(i - (LONG_MAX - 500));
#pragma omp for schedule(dynamic, 4)
            for (long i = LONG_MIN + 500; i > LONG_MIN; i--)
                loop_hit(LONG_MIN + 500 - i);
#pragma omp for schedule(guided)
            for (long i = LONG_MIN + 500; i > LONG_MIN; i--)
                loop_hit(LONG_MIN + 500 - i);
#pragma omp for schedule(static, 9)
            for (int i = INT_MIN; i < INT_MIN + 500; i++)
                loop_hit(i - (long)INT_MIN);
#pragma omp for schedule(dynamic)
            for (int i = INT_MAX - 500; i < INT_MAX; i++)
                loop_hit(i - (INT_MAX - 500));
#pragma omp for schedule(dynamic, LONG_MAX)
            for (long i = 0; i < 500; i++)
                loop_hit(i);
#pragma omp for schedule(guided, LONG_MAX / 2)
            for (long i = 0; i < 500; i++)
                loop_hit(i);
            /* Steps so large that a chunk past the end would overflow. */
#pragma omp for schedule(dynamic, 100)
            for (long i = 0; i < LONG_MAX / 512 * 500; i += LONG_MAX / 512)
                loop_hit(i / (LONG_MAX / 512));
        }
        for (int i = 0; i < 500; i++)
            CHECK(loop_hits[i] == 9);
        memset(loop_hits, 0, 1000);
    }
    return check_end();
}
