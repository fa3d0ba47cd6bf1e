/* Priorities hold among tasks released together by a dependence and above the maximum are cut (OpenMP 5.1, 2.12.1).
   hetmp-test: env=OMP_MAX_TASK_PRIORITY=5 */
#include "check.h"

int main(void)
{
    int order[30], at = 0, gate = 0;
#pragma omp parallel num_threads(1)
    {
#pragma omp task depend(out : gate) shared(gate)
        gate = 1;
        for (int i = 0; i < 30; i++) {
            int p = i % 9;
#pragma omp task priority(p) depend(in : gate) shared(order, at) firstprivate(p)
            order[at++] = p > 5 ? 5 : p;
        }
    }
    CHECK(at == 30);
    for (int i = 1; i < 30; i++)
        CHECK(order[i] <= order[i - 1]);
    for (int i = 0; i < at; i++)
        printf("%d ", order[i]);
    puts("");
    return check_end();
}
