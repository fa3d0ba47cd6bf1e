/* ordered over unsigned long long (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

int main(void)
{
    unsigned long long base = ~0ull - 1000, last;
    for (int n = 1; n <= 8; n += 3) {
        int count = 0;
        last = base - 1;
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered schedule(dynamic, 3)
            for (unsigned long long i = base; i < base + 200; i++) {
#pragma omp ordered
                {
                    CHECK(i == last + 1);
                    last = i;
                    count++;
                }
            }
#pragma omp single
            last = base - 1;
#pragma omp for ordered schedule(guided)
            for (unsigned long long i = base; i < base + 200; i++) {
#pragma omp ordered
                {
                    CHECK(i == last + 1);
                    last = i;
                    count++;
                }
            }
#pragma omp single
            last = base - 1;
#pragma omp for ordered schedule(static, 5)
            for (unsigned long long i = base; i < base + 200; i++) {
#pragma omp ordered
                {
                    CHECK(i == last + 1);
                    last = i;
                    count++;
                }
            }
        }
        printf("%d\n", count);
    }
    return check_end();
}
