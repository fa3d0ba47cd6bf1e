/* Dynamic loops over unsigned long long near the top of the range (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    unsigned long long top = ~0ull;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 7)
        for (unsigned long long i = top - 1000; i < top; i++)
            loop_hit((long)(i - (top - 1000)));
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 1000; i > 0; i--)
            loop_hit((long)i - 1);
        /* Half the range apart: the difference does not fit a signed long. */
#pragma omp for schedule(dynamic, 3)
        for (unsigned long long i = 5; i < top - (1ull << 54); i += 1ull << 54)
            loop_hit((long)((i - 5) >> 54));
#pragma omp for schedule(dynamic, 2)
        for (unsigned long long i = top; i > 1ull << 54; i -= 1ull << 54)
            loop_hit((long)((top - i) >> 54));
    }
    int full = 0, part = 0;
    for (int i = 0; i < 1024; i++) {
        int h = loop_hits[i];
        full += h == 4;
        part += h;
    }
    printf("%d %d\n", full, part);
    return check_end();
}
