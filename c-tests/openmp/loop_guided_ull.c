/* Guided loops over unsigned long long, large steps and huge chunks (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    unsigned long long top = ~0ull;
    for (int n = 1; n < 8; n += 2) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(guided, 3)
            for (unsigned long long i = top - 900; i < top; i++)
                loop_hit((long)(i - (top - 900)));
#pragma omp for schedule(guided)
            for (unsigned long long i = 0; i < 900ull << 50; i += 1ull << 50)
                loop_hit((long)(i >> 50));
#pragma omp for schedule(guided, 1ull << 62)
            for (unsigned long long i = 900; i > 0; i--)
                loop_hit((long)i - 1);
        }
        LOOP_EXPECT(900, 3);
    }
    return check_end();
}
