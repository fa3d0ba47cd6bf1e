/* Intervals with length and stride in OMP_PLACES (OpenMP 5.1, 6.5).
   hetmp-test: env=OMP_PLACES={1}:2:-1 */
#include "check.h"

int main(void)
{
    int ids[8];
    printf("%d %d\n", omp_get_num_places(), (int)omp_get_proc_bind());
    for (int p = 0; p < omp_get_num_places(); p++) {
        omp_get_place_proc_ids(p, ids);
        printf("%d: %d %d\n", p, omp_get_place_num_procs(p), ids[0]);
    }
    return check_end();
}
