/* schedule(dynamic) with default, small and larger-than-loop chunks (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    static const int chunks[] = {1, 2, 5, 64, 1000, 5000000};
    long n = 20011;
#pragma omp parallel for schedule(dynamic)
    for (long i = 0; i < n; i++)
        loop_hit(i);
    LOOP_EXPECT(n, 1);
    for (unsigned k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        int c = chunks[k];
#pragma omp parallel num_threads(1 + k)
        {
#pragma omp for schedule(dynamic, c)
            for (long i = 0; i < n; i++)
                loop_hit(i);
#pragma omp for schedule(dynamic, c) nowait
            for (long i = 0; i < n; i++)
                loop_hit(i);
#pragma omp for schedule(dynamic, c)
            for (long i = n - 1; i >= 0; i--)
                loop_hit(i);
        }
        LOOP_EXPECT(n, 3);
    }
    return check_end();
}
