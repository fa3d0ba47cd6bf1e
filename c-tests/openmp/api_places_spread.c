/* proc_bind(spread) divides the partition, close fills it, master stays (OpenMP 5.1, 2.6.2).
   hetmp-test: env=OMP_PLACES={0},{1}
   hetmp-test: env=OMP_PROC_BIND=spread,close */
#define _GNU_SOURCE
#include <sched.h>
#include "check.h"

int main(void)
{
    int place[4], size[4], cpu[4];
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        place[me] = omp_get_place_num();
        size[me] = omp_get_partition_num_places();
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        cpu[me] = CPU_COUNT(&set) == 1 && CPU_ISSET(place[me], &set);
    }
    for (int i = 0; i < 2; i++)
        printf("spread %d: place %d of %d, bound %d\n", i, place[i], size[i], cpu[i]);
#pragma omp parallel num_threads(4) proc_bind(close)
    place[omp_get_thread_num()] = omp_get_place_num();
    for (int i = 0; i < 4; i++)
        printf("close %d: place %d\n", i, place[i]);
#pragma omp parallel num_threads(3) proc_bind(master)
    {
        place[omp_get_thread_num()] = omp_get_place_num();
    }
    for (int i = 0; i < 3; i++)
        printf("master %d: place %d\n", i, place[i]);
    return check_end();
}
