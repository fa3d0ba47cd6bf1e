/* reduction and in_reduction on taskloop, with lastprivate and collapse (OpenMP 5.1, 2.12.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        long sum = 5, group = 0;
        int last = -1, hist[4] = {0};
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskloop reduction(+ : sum, hist) lastprivate(last) grainsize(3)
            for (int i = 0; i < 500; i++) {
                sum += i;
                hist[i % 4]++;
                last = i;
            }
#pragma omp taskgroup task_reduction(+ : group)
            {
#pragma omp taskloop in_reduction(+ : group) collapse(2) nogroup
                for (int i = 0; i < 20; i++)
                    for (int j = 0; j < 30; j++)
                        group += i * j;
#pragma omp task in_reduction(+ : group)
                group += 1;
            }
        }
        printf("%ld %d %d %d %ld\n", sum, hist[0], hist[3], last, group);
    }
    return check_end();
}
