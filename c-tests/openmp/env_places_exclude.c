/* Exclusion with ! in OMP_PLACES (OpenMP 5.1, 6.5).
   hetmp-test: env=OMP_PLACES={0:2,!0},{0} */
#include "check.h"

int main(void)
{
    int ids[8] = {-1, -1};
    printf("%d\n", omp_get_num_places());
    for (int p = 0; p < omp_get_num_places(); p++) {
        omp_get_place_proc_ids(p, ids);
        printf("%d: %d %d\n", p, omp_get_place_num_procs(p), ids[0]);
    }
    return check_end();
}
