/* One place of two processors, by interval inside the braces (OpenMP 5.1, 6.5).
   hetmp-test: env=OMP_PLACES={0:2}
   hetmp-test: env=OMP_PROC_BIND=true */
#define _GNU_SOURCE
#include <sched.h>
#include "check.h"

int main(void)
{
    int ids[8], n = 0;
    printf("%d %d\n", omp_get_num_places(), (int)omp_get_proc_bind());
    omp_get_place_proc_ids(0, ids);
    printf("%d: %d %d\n", omp_get_place_num_procs(0), ids[0], ids[1]);
#pragma omp parallel num_threads(3) reduction(+ : n)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        CHECK(omp_get_place_num() == 0);
        n += CPU_COUNT(&set);
    }
    printf("%d\n", n);
    return check_end();
}
