/* copyprivate hands the single thread's values to all: scalars, arrays, pointers (OpenMP 5.1, 2.21.6.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        long sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : sum)
        {
            int x = -1, a[5] = {0};
            int *p = NULL;
            for (int i = 0; i < 60; i++) {
#pragma omp single copyprivate(x, a, p)
                {
                    x = i;
                    for (int k = 0; k < 5; k++)
                        a[k] = i * k;
                    p = malloc(sizeof *p);
                    *p = i + 7;
                }
                CHECK(x == i && a[4] == 4 * i && *p == i + 7);
                sum += x;
#pragma omp barrier
#pragma omp single
                free(p);
            }
        }
        printf("%ld\n", sum / n);
        CHECK(sum % n == 0);
    }
    return check_end();
}
