/* With one thread, waiting tasks start in falling priority (OpenMP 5.1, 2.12.1; a recommendation that libgomp follows).
   hetmp-test: env=OMP_MAX_TASK_PRIORITY=20 */
#include "check.h"

int main(void)
{
    enum { N = 40 };
    int order[N], at = 0;
    CHECK(omp_get_max_task_priority() == 20);
#pragma omp parallel num_threads(1)
    {
        for (int i = 0; i < N; i++) {
            int p = (i * 7) % 20;
#pragma omp task priority(p) shared(order, at) firstprivate(p)
            order[at++] = p;
        }
#pragma omp taskwait
    }
    CHECK(at == N);
    for (int i = 0; i < N; i++)
        printf("%d ", order[i]);
    puts("");
    return check_end();
}
