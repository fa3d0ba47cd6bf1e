/* scope with private, reduction, nowait and a task reduction (OpenMP 5.1, 2.9). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 7; n += 3) {
        int sum = 0, tasks = 0;
        long prod = 1;
#pragma omp parallel num_threads(n)
        {
            for (int i = 0; i < 50; i++) {
#pragma omp scope reduction(+ : sum)
                sum += 1;
#pragma omp barrier
                CHECK(sum == n * (i + 1));
#pragma omp barrier
            }
#pragma omp scope reduction(* : prod) nowait
            prod *= 2;
#pragma omp scope reduction(task, + : tasks)
            {
#pragma omp task in_reduction(+ : tasks)
                tasks += 3;
                tasks += 1;
            }
        }
        printf("%d %ld %d\n", sum, prod, tasks);
    }
    return check_end();
}
