/* omp_display_env prints the ICVs in libgomp's format (OpenMP 5.1, 3.15).
   hetmp-test: env=OMP_SCHEDULE=guided,5
   hetmp-test: env=OMP_DYNAMIC=true
   hetmp-test: env=OMP_THREAD_LIMIT=100
   hetmp-test: env=OMP_STACKSIZE=4M
   hetmp-test: env=OMP_WAIT_POLICY=passive
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=4
   hetmp-test: env=OMP_NUM_THREADS=3,2
   hetmp-test: threads=3 */
#include <unistd.h>
#include "check.h"

int main(void)
{
    fflush(stdout);
    dup2(1, 2);
    setvbuf(stderr, NULL, _IONBF, 0);
    omp_display_env(0);
    return check_end();
}
