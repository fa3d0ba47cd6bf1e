/* White space and letter case around values (OpenMP 5.1, 6).
   hetmp-test: env=OMP_SCHEDULE= GuIdEd , 7
   hetmp-test: env=OMP_DYNAMIC= TRUE 
   hetmp-test: env=OMP_NUM_THREADS= 5 
   hetmp-test: env=OMP_THREAD_LIMIT= 0x20
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS= 3
   hetmp-test: threads=1 */
#include "check.h"

int main(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%d %d\n", (int)(kind & 0x7fffffff), chunk);
    printf("%d %d\n", omp_get_dynamic(), omp_get_max_threads());
    printf("%d %d\n", omp_get_thread_limit(), omp_get_max_active_levels());
    return check_end();
}
