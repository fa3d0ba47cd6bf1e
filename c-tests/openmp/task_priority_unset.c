/* Without OMP_MAX_TASK_PRIORITY priorities are accepted and ignored (OpenMP 5.1, 6.16). */
#include "check.h"

int main(void)
{
    int sum = 0;
    printf("%d\n", omp_get_max_task_priority());
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 500; i++) {
#pragma omp task priority(i) shared(sum)
#pragma omp atomic
        sum += i;
    }
    printf("%d\n", sum);
    return check_end();
}
