/* OMP_PROC_BIND=master keeps all threads on the first place (OpenMP 5.1, 6.4).
   hetmp-test: env=OMP_PROC_BIND=master
   hetmp-test: env=OMP_PLACES={1},{0} */
#include "check.h"

int main(void)
{
    int place[4];
    printf("%d %d\n", (int)omp_get_proc_bind(), omp_get_num_places());
#pragma omp parallel num_threads(4)
    place[omp_get_thread_num()] = omp_get_place_num();
    printf("%d %d %d %d\n", place[0], place[1], place[2], place[3]);
    return check_end();
}
