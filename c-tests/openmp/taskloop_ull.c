/* taskloop over unsigned long long near the top and downwards (OpenMP 5.1, 2.12.2). */
#include "loop_check.h"

int main(void)
{
    unsigned long long top = ~0ull;
    for (int n = 1; n <= 5; n++) {
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskloop grainsize(9)
            for (unsigned long long i = top - 700; i < top; i++)
                loop_hit((long)(i - (top - 700)));
#pragma omp taskloop num_tasks(13)
            for (unsigned long long i = 700; i > 0; i--)
                loop_hit((long)i - 1);
#pragma omp taskloop
            for (unsigned long long i = 0; i < 700ull << 53; i += 1ull << 53)
                loop_hit((long)(i >> 53));
        }
        LOOP_EXPECT(700, 3);
    }
    return check_end();
}
