/* Place list and partition routines under OMP_PLACES (OpenMP 5.1, 3.3).
   hetmp-test: env=OMP_PLACES={0},{1}
   hetmp-test: env=OMP_PROC_BIND=close */
#include "check.h"

int main(void)
{
    int n = omp_get_num_places(), ids[8] = {-1, -1};
    printf("places %d bind %d\n", n, (int)omp_get_proc_bind());
    for (int p = 0; p < n; p++) {
        omp_get_place_proc_ids(p, ids);
        printf("place %d: %d procs, first %d\n", p, omp_get_place_num_procs(p), ids[0]);
    }
    CHECK(omp_get_place_num_procs(-1) == 0 && omp_get_place_num_procs(n) == 0);
    CHECK(omp_get_place_num() == 0);
    CHECK(omp_get_partition_num_places() == 2);
    int part[8];
    omp_get_partition_place_nums(part);
    CHECK(part[0] == 0 && part[1] == 1);
    int where[2] = {-1, -1};
#pragma omp parallel num_threads(2)
    where[omp_get_thread_num()] = omp_get_place_num();
    printf("%d %d\n", where[0], where[1]);
    return check_end();
}
