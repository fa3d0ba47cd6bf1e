/* Without places there are none to ask for (OpenMP 5.1, 3.3).
   hetmp-test: env=OMP_PROC_BIND=false */
#include "check.h"

int main(void)
{
    printf("%d %d %d\n", omp_get_num_places(), omp_get_place_num(), omp_get_partition_num_places());
    printf("%d\n", (int)omp_get_proc_bind());
    CHECK(omp_get_place_num_procs(0) == 0);
    return check_end();
}
