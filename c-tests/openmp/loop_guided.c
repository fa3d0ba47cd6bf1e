/* schedule(guided) with and without a minimum chunk (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    static const int chunks[] = {1, 2, 9, 100, 4000000};
    for (long n = 0; n < 30000; n = n * 3 + 1) {
#pragma omp parallel for schedule(guided)
        for (long i = 0; i < n; i++)
            loop_hit(i);
        LOOP_EXPECT(n, 1);
        for (unsigned k = 0; k < sizeof chunks / sizeof *chunks; k++) {
            int c = chunks[k];
#pragma omp parallel for schedule(guided, c) num_threads(2 + k)
            for (long i = 0; i < n; i++)
                loop_hit(i);
            LOOP_EXPECT(n, 1);
        }
    }
    return check_end();
}
