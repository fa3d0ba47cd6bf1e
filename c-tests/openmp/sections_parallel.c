/* parallel sections with firstprivate, lastprivate and reduction (OpenMP 5.1, 2.16.3). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int first = 9, last = 0, sum = 1;
#pragma omp parallel sections num_threads(n) firstprivate(first) lastprivate(last) reduction(+ : sum)
        {
#pragma omp section
            {
                sum += first;
                last = 1;
            }
#pragma omp section
            {
                sum += 10 * first;
                last = 2;
            }
#pragma omp section
            {
                sum += 100 * first;
                last = 3;
            }
        }
        printf("%d %d\n", last, sum);
    }
    return check_end();
}
