/* taskyield inside critical must not start a sibling that enters the same region (OpenMP 5.1, 2.12.6).
   hetmp-test: timeout=40 */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int count = 0, inside = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(count, inside)
            {
#pragma omp critical
                {
                    CHECK(++inside == 1);
#pragma omp taskyield
                    count++;
#pragma omp taskyield
                    CHECK(inside == 1);
                    inside--;
                }
            }
        }
        printf("%d\n", count);
    }
    return check_end();
}
