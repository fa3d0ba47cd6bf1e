/* A bad OMP_NUM_THREADS is ignored as a whole: the default stays (OpenMP 5.1, 6.2).
   hetmp-test: env=OMP_NUM_THREADS=4,,x
   hetmp-test: threads=1 */
#include "check.h"

int main(void)
{
    CHECK(omp_get_max_threads() >= 1);
    CHECK(omp_get_max_threads() <= omp_get_num_procs());
    return check_end();
}
