/* Loop start entries that combine ordered, conditional lastprivate and task reductions (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int next = 0, x = -1;
        long sum = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered schedule(dynamic, 2) lastprivate(conditional : x) reduction(+ : sum)
            for (int i = 0; i < 120; i++) {
                if (i % 7 == 1)
                    x = i;
                sum += i;
#pragma omp ordered
                {
                    CHECK(next == i);
                    next++;
                }
            }
        }
        printf("%d %d %ld\n", next, x, sum);
    }
    return check_end();
}
