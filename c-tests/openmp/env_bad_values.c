/* Values that do not parse are reported on standard error and otherwise ignored (OpenMP 5.1, 6).
   hetmp-test: env=OMP_SCHEDULE=sometimes,3
   hetmp-test: env=OMP_DYNAMIC=perhaps
   hetmp-test: env=OMP_THREAD_LIMIT=-4
   hetmp-test: env=OMP_STACKSIZE=12Q
   hetmp-test: env=OMP_MAX_TASK_PRIORITY=x
   hetmp-test: env=OMP_CANCELLATION=2
   hetmp-test: env=OMP_PROC_BIND=tight
   hetmp-test: env=GOMP_SPINCOUNT=many */
#include "check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk, n = 0;
    omp_get_schedule(&kind, &chunk);
    printf("%d %d\n", (int)(kind & 0x7fffffff), chunk);
    printf("%d %d %d\n", omp_get_dynamic(), omp_get_cancellation(), omp_get_max_task_priority());
    CHECK(omp_get_thread_limit() > 1000);
#pragma omp parallel num_threads(4) reduction(+ : n)
    n++;
    printf("%d\n", n);
    return check_end();
}
